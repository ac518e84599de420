/** What ADD, DEL and CHECK do (points 22 to 38). Source: CNI SPEC 1.1; facts/peers 3.7. */
import assert from 'node:assert/strict';
import type { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { type AddResult, assertCode, failureOf, type Ground, NotApplicable } from './ground.ts';
import type { Point } from './point.ts';
import type { Hands } from './subject.ts';

const AT_ONCE = 100;
/** Much longer than an ADD takes on an idle machine. */
const KILL_AFTER_MS = [2, 5, 10, 20, 40, 80];
/** A runtime waits two minutes; whoever finds nobody should know sooner. */
const BOUND_MS = 60_000;
const SIGNAL_AFTER_MS = 1_000;

function handsOf(ground: Ground): Hands {
  if (ground.subject.hands === null) throw new NotApplicable('nothing is known of what is behind the plugin');
  return ground.subject.hands;
}

const ipOf = ({ ips = [] }: AddResult): string => ips[0]?.address ?? '';
const bare = (address: string): string => address.split('/')[0] ?? '';

/** An attached pod, checked to be whole. */
async function attached(
  ground: Ground,
): Promise<{ pod: TestNamespace; prevResult: AddResult; check: () => ReturnType<Ground['call']> }> {
  const pod = ground.pod();
  const prevResult = await ground.add({ netns: pod.path });
  const check = () => ground.call('CHECK', { netns: pod.path, conf: { prevResult } });
  const ran = await check();
  assert.equal(ran.exitCode, 0, `CHECK after ADD: ${ran.stdout}`);
  return { pod, prevResult, check };
}

export const verbPoints: readonly Point[] = [
  {
    number: 22,
    words: 'ADD with an interface that exists fails, leaves it, and keeps no address',
    async holds(ground) {
      const pod = ground.pod();
      pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
      const before = pod.ip('-o', 'link');
      await ground.leavingNothing(async () => void failureOf(await ground.call('ADD', { netns: pod.path })));
      assert.equal(pod.ip('-o', 'link'), before);
    },
  },
  {
    number: 23,
    words: 'the same ADD again fails or answers the same address',
    async holds(ground) {
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        const first = await ground.add({ netns: pod.path });
        const again = await ground.call('ADD', { netns: pod.path });
        if (again.exitCode === 0) assert.equal(ipOf(again.json() as AddResult), ipOf(first));
        else failureOf(again);
        await ground.del({ netns: pod.path });
      });
    },
  },
  {
    number: 24,
    words: 'two interfaces of one container are two attachments',
    async holds(ground) {
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        const first = await ground.add({ netns: pod.path });
        const second = await ground.add({ netns: pod.path, ifname: 'net1' });
        assert.notEqual(ipOf(first), ipOf(second));
        await ground.del({ netns: pod.path });
        assert.match(pod.ip('-o', 'addr', 'show', 'net1'), new RegExp(bare(ipOf(second)).replaceAll('.', '\\.')));
        await ground.del({ netns: pod.path, ifname: 'net1' });
      });
    },
  },
  {
    number: 25,
    words: 'what a plugin before it has made is in the result too; a prevResult that is none is refused',
    async holds(ground) {
      const pod = ground.pod();
      const before = {
        cniVersion: '1.0.0',
        interfaces: [{ name: 'earlier0', sandbox: pod.path }],
        ips: [{ address: '203.0.113.7/24', interface: 0 }],
        routes: [{ dst: '198.51.100.0/24' }],
      };
      await ground.leavingNothing(async () => {
        const conf = { cniVersion: '1.0.0', prevResult: before };
        const { interfaces = [], ips = [], routes = [] } = await ground.add({ netns: pod.path, conf });
        assert.ok(
          interfaces.some(({ name }) => name === 'earlier0'),
          'the interface is not in the result',
        );
        const kept = ips.find(({ address }) => address === '203.0.113.7/24');
        assert.equal(interfaces[kept?.interface ?? -1]?.name, 'earlier0', 'the address is not on it');
        assert.ok(
          routes.some(({ dst }) => dst === '198.51.100.0/24'),
          'the route is not in the result',
        );
        await ground.del({ netns: pod.path });
      });
      assertCode(await ground.call('ADD', { netns: pod.path, conf: { prevResult: 'nonsense' } }), [6, 7]);
    },
  },
  {
    number: 26,
    words: 'an ADD that is killed at any moment costs nothing after its DEL, and the next ADD works',
    async holds(ground) {
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        for (const killAfterMs of KILL_AFTER_MS) {
          await ground.call('ADD', { netns: pod.path, killAfterMs });
          await ground.del({ netns: pod.path });
        }
        await ground.add({ netns: pod.path });
        await ground.del({ netns: pod.path });
      });
    },
  },
  {
    number: 27,
    words: `${AT_ONCE} ADDs at once get different addresses`,
    async holds(ground) {
      const pods = Array.from({ length: AT_ONCE }, () => ground.pod());
      const each = pods.map(({ path }, index) => ({ netns: path, id: `p${index}`, pod: `web-${index}` }));
      await ground.leavingNothing(async () => {
        const results = await Promise.all(each.map((one) => ground.add(one)));
        assert.equal(new Set(results.map(ipOf)).size, AT_ONCE);
        await Promise.all(each.map((one) => ground.del(one)));
      });
    },
  },
  {
    number: 28,
    words:
      'when nobody answers it, ADD is code 11 within a minute; when no address is left, 11 or one of the plugin’s own, with the reason',
    async holds(ground) {
      const hands = handsOf(ground);
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        await hands.stop();
        try {
          const startMs = performance.now();
          assertCode(await ground.call('ADD', { netns: pod.path }), 11);
          assert.ok(performance.now() - startMs < BOUND_MS);
        } finally {
          await hands.start();
        }
        hands.exhaust(true);
        const ran = await ground.call('ADD', { netns: pod.path });
        hands.exhaust(false);
        const { code } = failureOf(ran);
        assert.ok(code === 11 || code >= 100, `code ${code}`);
        await ground.del({ netns: pod.path });
      });
    },
  },
  {
    number: 29,
    words: 'an ADD that is told to end does so, and its DEL leaves nothing',
    async holds(ground) {
      const hands = handsOf(ground);
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        hands.hang(true);
        const startMs = performance.now();
        const ran = await ground.call('ADD', { netns: pod.path, killAfterMs: SIGNAL_AFTER_MS, signal: 'SIGTERM' });
        hands.hang(false);
        assert.notEqual(ran.exitCode, 0);
        assert.ok(performance.now() - startMs < BOUND_MS);
        await ground.del({ netns: pod.path });
      });
    },
  },
  {
    number: 30,
    words: 'DEL twice, before any ADD, and of what it never heard of, succeeds',
    async holds(ground) {
      const pod = ground.pod();
      await ground.del({ netns: pod.path, id: 'never-heard-of' });
      await ground.add({ netns: pod.path });
      for (let times = 0; times < 2; times += 1) await ground.del({ netns: pod.path });
    },
  },
  {
    number: 31,
    words: 'DEL without a namespace, or with one that is gone or is none, succeeds and gives the address back',
    async holds(ground) {
      for (const netns of ['', '/run/netns/enactor-nobody', '/proc/version'])
        await ground.leavingNothing(async () => {
          const pod = ground.pod();
          await ground.add({ netns: pod.path });
          pod.remove();
          await ground.del({ netns });
        });
    },
  },
  {
    number: 32,
    words: 'DEL does not need a prevResult, and garbage for one does not stop it',
    async holds(ground) {
      for (const conf of [{}, { prevResult: { ips: 'garbage' } }, { prevResult: { cniVersion: '1.0.0', ips: [{}] } }])
        await ground.leavingNothing(async () => {
          const pod = ground.pod();
          await ground.add({ netns: pod.path });
          await ground.del({ netns: pod.path, conf });
        });
    },
  },
  {
    number: 33,
    words: 'DEL of an interface that somebody removed gives the address back',
    async holds(ground) {
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        await ground.add({ netns: pod.path });
        pod.ip('link', 'del', 'eth0');
        await ground.del({ netns: pod.path });
      });
    },
  },
  {
    number: 34,
    words: 'a late DEL of an old sandbox takes nothing from the new one of the same pod',
    async holds(ground) {
      const [old, current] = [ground.pod(), ground.pod()];
      await ground.add({ netns: old.path, id: 'old' });
      const prevResult = await ground.add({ netns: current.path, id: 'new' });
      await ground.del({ netns: old.path, id: 'old' });
      const ran = await ground.call('CHECK', { netns: current.path, id: 'new', conf: { prevResult } });
      assert.equal(ran.exitCode, 0, ran.stdout);
      await ground.del({ netns: current.path, id: 'new' });
    },
  },
  {
    number: 35,
    words: 'a DEL that nobody hears asks to be repeated, or leaves word for whoever comes back',
    async holds(ground) {
      const hands = handsOf(ground);
      const pod = ground.pod();
      await ground.add({ netns: pod.path });
      await hands.stop();
      const ran = await ground.call('DEL', { netns: pod.path });
      const isNoted = ran.exitCode === 0;
      if (!isNoted) failureOf(ran);
      await hands.start();
      if (!isNoted) await ground.del({ netns: pod.path });
      // Left word: reading it is the daemon's part (case B24).
      else await ground.call('DEL', { netns: pod.path });
      assert.deepEqual(hands.leases(), []);
    },
  },
  {
    number: 36,
    words:
      'CHECK says 0 after ADD, and names what is taken away: the address, a route, a rule, the interface, the lease',
    async holds(ground) {
      const take: [string, (pod: TestNamespace, ip: string) => void][] = [
        ['the address', (pod, ip) => pod.ip('addr', 'flush', 'dev', 'eth0', 'to', ip)],
        ['the route on the host', (_, ip) => ground.host.ip('route', 'del', ip)],
        ['the default route', (pod) => pod.ip('route', 'del', 'default')],
        ['the interface', (pod) => pod.ip('link', 'del', 'eth0')],
      ];
      if (/from \d/.test(await rulesDuring(ground)))
        take.push(['a rule', (_, ip) => ground.host.ip('rule', 'del', 'from', ip)]);
      for (const [what, away] of take) {
        const { pod, prevResult, check } = await attached(ground);
        away(pod, bare(ipOf(prevResult)));
        const { text } = failureOf(await check());
        assert.notEqual(text.trim(), '', what);
        await ground.del({ netns: pod.path });
      }
      if (ground.subject.hands === null) return;
      const { pod, prevResult, check } = await attached(ground);
      await ground.del({ netns: pod.path, conf: { prevResult } });
      failureOf(await check());
    },
  },
  {
    number: 37,
    words: 'CHECK bears what a later plugin has added; before 0.4.0 it is code 1, and without prevResult an error',
    async holds(ground) {
      const { pod, prevResult, check } = await attached(ground);
      pod.ip('route', 'add', '198.51.100.0/24', 'dev', 'eth0');
      const ran = await check();
      assert.equal(ran.exitCode, 0, ran.stdout);
      assertCode(await ground.call('CHECK', { netns: pod.path, conf: { cniVersion: '0.3.1', prevResult } }), 1);
      failureOf(await ground.call('CHECK', { netns: pod.path }));
      await ground.del({ netns: pod.path });
    },
  },
  {
    number: 38,
    words: 'CHECK changes nothing',
    async holds(ground) {
      const { pod, prevResult, check } = await attached(ground);
      ground.host.ip('route', 'del', bare(ipOf(prevResult)));
      const before = [ground.host.state(), pod.state()];
      failureOf(await check());
      assert.deepEqual([ground.host.state(), pod.state()], before);
      await ground.del({ netns: pod.path });
    },
  },
];

/** The host's rules while a pod is attached: not every plugin makes some. */
async function rulesDuring(ground: Ground): Promise<string> {
  const pod = ground.pod();
  await ground.add({ netns: pod.path });
  const rules = ground.host.ip('rule');
  await ground.del({ netns: pod.path });
  return rules;
}
