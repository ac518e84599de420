/**
 * B67: a host with tens of thousands of somebody else's routes, rules, neighbours, links and nftables rules. Lists come in many pieces; none is taken for
 * a part of itself, and what overruns the kernel's queue of changes is known to have. At full size in the soak, a tenth of it here.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { type Test, test } from 'tap';
import { ChangeSocket } from '../../src/adapters/netlink/change-socket.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { addRule, deleteRule } from '../../src/adapters/netlink/wire/rule.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, hostWithEni, pluginBench, startPlugin } from '../plugin/plugin-process.ts';
import { type HostPod, SharedHost } from './shared-host.ts';
import { SPEED } from './speed.ts';
import { unruly } from './unruly-libc.ts';

const noNft =
  spawnSync('nft', ['--version']).error !== undefined && 'NOT RUN: needs the program nft (package nftables)';
const skip = cannotMakeNamespaces() || noNft;
const FULL = SPEED === 1;
/** The case's figures. Rules have no tenth: they are to come in many datagrams. */
const SIZE = FULL
  ? { routes: 20_000, rules: 5_000, neighbours: 3_000, links: 1_500, filter: 30_000, pods: 50 }
  : { routes: 2_000, rules: 1_500, neighbours: 300, links: 100, filter: 3_000, pods: 8 };

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);
const dotted = (first: string, at: number) => `${first}.${at >> 8}.${at & 255}`;

/** All of it somebody else's. Links go first, so that devices of ours are beyond the first pieces of each list. */
function crowd(host: TestNamespace): void {
  host.batch(upTo(SIZE.links / 2).map((at) => `link add name dm${at} type veth peer name dp${at}`));
  host.batch([
    'link set dm0 up',
    ...upTo(SIZE.routes).map(
      (at) => `route add ${dotted('10.64', at)}/32 dev dm0 table ${at % 2 === 0 ? 'main' : '97'}`,
    ),
    ...upTo(SIZE.rules).map((at) => `rule add from ${dotted('10.7', at)} priority 1000 table 98`),
    ...upTo(SIZE.neighbours).map(
      (at) => `neigh add ${dotted('10.9', at)} lladdr 02:00:00:00:00:01 dev dm0 nud permanent`,
    ),
  ]);
  const rules = upTo(SIZE.filter).map((at) => `ip saddr ${dotted('10.11', at)} counter`);
  const table = `table inet somebody {\n chain counted { type filter hook forward priority 0;\n${rules.join('\n')}\n}\n}`;
  execFileSync('ip', ['netns', 'exec', host.name, 'nft', '-f', '-'], { input: table });
}

/** Milliseconds of each ADD and each DEL, beside those of the pods that live. */
async function lifeOf(
  t: Test,
  host: SharedHost,
  what: string,
): Promise<{ add: number[]; del: number[]; pods: HostPod[] }> {
  const pods = upTo(SIZE.pods).map((at) => host.pod(t, 10 + at));
  const [add, del]: [number[], number[]] = [[], []];
  const timed = (into: number[], work: () => unknown) => {
    const startMs = performance.now();
    work();
    into.push(performance.now() - startMs);
  };
  for (const pod of pods) {
    timed(add, () => host.attach(pod));
    t.equal(host.verify(pod), null, `${what}: ${pod.name} has all it needs`);
  }
  t.strictSame((await host.keep(pods)).drifts, [], `${what}: nothing is taken for missing or left over`);
  for (const pod of pods.slice(0, SIZE.pods / 2)) {
    timed(del, () => host.detach(pod));
    t.strictSame(host.rulesOf(pod), [], `${what}: ${pod.name} left nothing`);
    host.attach(pod);
  }
  return { add, del, pods };
}

const highest = (ms: readonly number[]) => Math.max(...ms).toFixed(1);

test('B67: a crowded host: ADD, CHECK, DEL, repair and a restart see all of every list', { skip }, async (t) => {
  const empty = await SharedHost.make(t, libc, { replyPaths: true });
  const fast = await lifeOf(t, empty, 'empty host');
  const counting = unruly(libc);
  const crowded = new TestNamespace(t, 'host');
  crowd(crowded);
  const host = await SharedHost.make(t, counting, { replyPaths: true, netns: crowded });
  counting.begin(() => 'arrives');
  const netlink = crowded.run(() => new Netlink(counting));
  t.teardown(() => netlink.close());
  t.equal(netlink.routes(4).filter(({ destination }) => destination?.ip.startsWith('10.64.')).length, SIZE.routes);
  t.equal(netlink.rules(4).filter(({ table }) => table === 98).length, SIZE.rules);
  t.equal(netlink.links().filter(({ name }) => /^d[mp]\d/.test(name)).length, SIZE.links);
  const dm0 = netlink.linkByName('dm0')?.index ?? 0;
  t.equal(netlink.neighbours(4, dm0).length, SIZE.neighbours);
  t.ok(counting.received > 10, `in ${counting.received} datagrams`);

  const foreign = () =>
    host
      .state()
      .split('\n')
      .filter((line) => /"10\.(7|64)\.|"d[mp]\d/.test(line))
      .join('\n');
  const before = foreign();
  const slow = await lifeOf(t, host, 'crowded host');
  t.comment(
    `longest ADD ${highest(slow.add)} ms (empty host ${highest(fast.add)}), DEL ${highest(slow.del)} (${highest(fast.del)})`,
  );
  const [one] = slow.pods as [HostPod];
  crowded.ip('rule', 'del', 'from', one.ips[0] ?? '', 'priority', '2048');
  crowded.ip('-6', 'route', 'del', one.ips[1] ?? '');
  t.match(
    (await host.keep(slow.pods)).drifts,
    [{ outcome: 'repaired' }, { outcome: 'repaired' }],
    'what is broken is mended',
  );
  t.equal(host.verify(one), null);

  const state = host.state();
  const again = await host.afterRestart({ replyPaths: true });
  t.equal(again.routeTable, host.routeTable, 'after a restart the ENI has its table');
  t.strictSame((await again.keep(slow.pods)).drifts, [], 'after a restart nothing is amiss');
  t.equal(host.state(), state);
  t.equal(foreign(), before, 'nothing of somebody else’s was touched');
});

test('B67: the plugin on a crowded host', { skip: skip || cannotRunPlugin() }, async (t) => {
  const host = hostWithEni(t);
  crowd(host);
  const pod = new TestNamespace(t, 'pod');
  const { env, conf } = await pluginBench(t, pod);
  for (const at of upTo(FULL ? 50 : 2)) {
    const added = await startPlugin(host, { env: env('ADD'), stdin: conf() });
    t.equal(added.exitCode, 0, added.stdout);
    const prevResult = added.json();
    const checked = await startPlugin(host, { env: env('CHECK'), stdin: conf({ prevResult }) });
    t.equal(checked.exitCode, 0, checked.stdout);
    const deleted = await startPlugin(host, { env: env('DEL'), stdin: conf({ prevResult }) });
    t.equal(deleted.exitCode, 0, deleted.stdout);
    t.notMatch(host.ip('rule'), new RegExp(`192\\.168\\.0\\.${10 + at}\\b`));
  }
});

test('B67: changes that were too many for the kernel’s queue are told as such, and the next ones are heard', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  const socket = host.run(() => new ChangeSocket(libc));
  const netlink = host.run(() => new Netlink(libc));
  t.teardown(() => {
    socket.close();
    netlink.close();
  });
  const rule = (at: number) => ({ family: 4, priority: 3_000 + at, table: 1_500 }) as const;
  netlink.apply([addRule(rule(0))]);
  t.match(socket.read(), { overrun: false, changes: [{ what: 'rule', gone: false, rule: { priority: 3_000 } }] });
  netlink.apply(Array.from({ length: 2_000 }, (_, at) => addRule(rule(at + 1))));
  t.equal(socket.read().overrun, true);
  netlink.apply([deleteRule(rule(7))]);
  t.match(socket.read(), { overrun: false, changes: [{ what: 'rule', gone: true, rule: { priority: 3_007 } }] });
  t.strictSame(socket.read(), { overrun: false, changes: [] });
  t.end();
});
