/**
 * B22 with the real daemon: whatever the order of DELs of an old sandbox and ADDs of a new one, the new one's address, devices and
 * rules stay, its packets never stop, and the old one's address ends idle.
 */
import '../lab/in-box.ts';

import t from 'tap';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { cannotWalk, eventually, Ping, type Sandbox, walk } from '../lab/whole-path.ts';

t.setTimeout(200_000);
const skip = cannotWalk();
const PARALLEL_ROUNDS = 100;
const PODS = 300;

t.test('B22: late DELs of the old sandbox, in both orders, never stop the new one’s packets', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { lab, add, del } = runtime;
    const far = lab.place('elsewhere');
    for (const [first, second] of [
      ['s1', 's2'],
      ['s2', 's1'],
    ] as const) {
      const old = runtime.sandbox(first, 'web-0', runtime.createPod('web-0'));
      const oldIp = (await add(old)).ip;
      runtime.deletePod('web-0');
      const fresh = runtime.sandbox(second, 'web-0', runtime.createPod('web-0'));
      const freshIp = (await add(fresh)).ip;
      t.not(freshIp, oldIp, 'the new sandbox has its own address');
      const echo = await runtime.echo(fresh);
      const pings = [new Ping(echo, far.ips[0] ?? '', freshIp), new Ping(far.echo, freshIp, far.ips[0] ?? '')];
      for (const round of ['once', 'twice']) {
        t.equal((await del(old, { netns: '' })).exitCode, 0, round);
        t.equal((await runtime.run('CHECK', fresh, checked(freshIp))).exitCode, 0, round);
      }
      await eventually(`${oldIp} is idle`, async () => (await runtime.stateOf(oldIp)) === 'idle');
      t.equal(await runtime.stateOf(freshIp), 'bound');
      for (const ping of pings) {
        const { sent, lost } = await ping.stop();
        t.strictSame(lost, [], `none of ${sent} lost`);
        t.ok(sent > 20, `${sent} were sent`);
      }
      await runtime.invariants(t, new Map([[fresh, freshIp]]));
      // The other order: the DEL of the new one leaves nothing of the old one behind, and vice versa.
      t.equal((await del(fresh)).exitCode, 0);
      runtime.removeNetns(old);
      runtime.deletePod('web-0');
      await runtime.invariants(t);
    }
  });
});

t.test(`B22: DEL of the old and ADD of the new at the same time, ${PARALLEL_ROUNDS} times`, { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { add, del } = runtime;
    let uid = runtime.createPod('web-0');
    let last = runtime.sandbox('r0', 'web-0', uid);
    let ip = (await add(last)).ip;
    for (let round = 1; round <= PARALLEL_ROUNDS; round += 1) {
      runtime.deletePod('web-0');
      uid = runtime.createPod('web-0');
      const next = runtime.sandbox(`r${round}`, 'web-0', uid);
      const netns = round % 2 === 0 ? '' : last.netns.path;
      const [deleted, added] = await Promise.all([del(last, { netns }), add(next)]);
      if (deleted.exitCode !== 0 || added.exitCode !== 0) t.fail(`round ${round}: ${deleted.stdout} ${added.stdout}`);
      ip = added.ip;
      const whole = await runtime.run('CHECK', next, checked(ip));
      if (whole.exitCode !== 0) t.fail(`round ${round}: ${whole.stdout}`);
      if (round % 10 === 0) t.equal(await runtime.reaches(next, ip), '', `round ${round}`);
      runtime.removeNetns(last);
      last = next;
    }
    await runtime.invariants(t, new Map([[last, ip]]));
  });
});

t.test(
  `B22: ${PODS} pods on one node, ids that share their start, names that differ in one sign`,
  { skip },
  async (t) => {
    const topology = labTopology(1, 'ecs.ebmre7p.32xlarge');
    const cidrs = ['192.168.16.0/22', '192.168.1.0/24'];
    const vSwitches = topology.vSwitches.map((one, index) => ({ ...one, cidr: cidrs[index] ?? one.cidr }));
    await walk(t, { topology: { ...topology, vSwitches } }, async (runtime) => {
      // `a-b.c`, `a.b-c`, `a-b-c`, `a.b.c` in namespaces that could be read as their start.
      const namespaces = ['a', 'a-b', 'a-b-c'];
      const signs = ['--', '-.', '.-', '..'];
      const sandboxes = Array.from({ length: PODS }, (_, index) => {
        const [one = '', two = ''] = signs[index % 4] ?? '';
        const namespace = namespaces[Math.floor(index / 4) % 3] ?? '';
        const name = `a${one}b${two}c${Math.floor(index / 12)}`;
        return runtime.sandbox(`0123456789ab${index}`, name, runtime.createPod(name, namespace), namespace);
      });
      const names = sandboxes.map(({ namespace, pod }) => hostVethName({ namespace, name: pod }, 'eth0'));
      t.equal(new Set(names).size, PODS, 'no two host ends would have one name');
      const live = new Map<Sandbox, string>();
      await atATime(8, sandboxes, async (sandbox) => {
        const ran = await runtime.add(sandbox);
        if (ran.exitCode === 0) live.set(sandbox, ran.ip);
        else t.fail(`${sandbox.id}: ${ran.stdout}`);
      });
      t.equal(live.size, PODS);
      const shown = runtime.host().links ?? [];
      for (const name of names) if (!shown.some((line) => line.startsWith(`${name} `))) t.fail(`no host end ${name}`);
      await runtime.invariants(t, live);
      // Every second one goes, and takes nothing of its neighbour along.
      await atATime(
        8,
        sandboxes.filter((_, index) => index % 2 === 0),
        async (sandbox) => {
          if ((await runtime.del(sandbox)).exitCode !== 0) t.fail(`DEL ${sandbox.id}`);
          live.delete(sandbox);
        },
      );
      await runtime.invariants(t, live);
    });
  },
);

function checked(ip: string) {
  return { conf: { prevResult: { cniVersion: '1.0.0', ips: [{ address: `${ip}/32` }] } } };
}

async function atATime<T>(count: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: count }, worker));
}
