/** CHECK names what is missing and repairs nothing; DEL succeeds with whatever is left. Source: facts/peers 3.7, points 30 to 38. */
import { type Test, test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { ENI_TABLE } from './fake-daemon.ts';
import { cannotRunPlugin, hostWithEni, leadOut, pluginBench, startPlugin } from './plugin-process.ts';

const skip = cannotRunPlugin();

async function added(t: Test, host: TestNamespace) {
  const pod = new TestNamespace(t, 'pod');
  const bench = await pluginBench(t, pod);
  const ran = await startPlugin(host, { env: bench.env('ADD'), stdin: bench.conf() });
  t.equal(ran.exitCode, 0, ran.stdout);
  const result = ran.json() as { interfaces: { name: string }[] };
  const veth = result.interfaces[0]?.name ?? '';
  const call = (command: string, prevResult: unknown = result, env: Readonly<Record<string, string>> = {}, conf = {}) =>
    startPlugin(host, { env: bench.env(command, env), stdin: bench.conf({ prevResult, ...conf }) });
  return { ...bench, pod, result, veth, call };
}

test('CHECK: each missing thing is named with code 100, and not repaired [36, 38]', { skip }, async (t) => {
  const host = hostWithEni(t);
  type Made = Awaited<ReturnType<typeof added>>;
  const cases: [string, (made: Made) => unknown, RegExp][] = [
    [
      'address',
      ({ pod }) => pod.ip('addr', 'del', '192.168.0.10/32', 'dev', 'eth0'),
      /address 192\.168\.0\.10\/32 on eth0/,
    ],
    ['route', ({ pod }) => pod.ip('route', 'del', 'default'), /default route via 169\.254\.1\.1/],
    [
      'rule',
      () => host.ip('rule', 'del', 'from', '192.168.0.10'),
      /host rule 2048 from 192\.168\.0\.10\/32 lookup 1007/,
    ],
    [
      'host route',
      ({ veth }) => host.ip('route', 'del', '192.168.0.10', 'dev', veth),
      /host route 192\.168\.0\.10\/32/,
    ],
    [
      'the way out of its ENI',
      () => host.ip('route', 'flush', 'table', `${ENI_TABLE}`),
      /default route for 192\.168\.0\.10 in the ENI's table 1007/,
    ],
    ['interface', ({ pod }) => pod.ip('link', 'del', 'eth0'), /interface eth0 in the pod/],
    [
      'the address in the cloud',
      ({ daemon }) => {
        daemon.problems = ['address 192.168.0.10 on an ENI of this node'];
      },
      /missing: address 192\.168\.0\.10 on an ENI of this node/,
    ],
    ['lease', ({ daemon }) => daemon.leases.clear(), /lease of container s1/],
  ];
  for (const [what, remove, msg] of cases) {
    leadOut(host, 'eth1');
    const made = await added(t, host);
    t.strictSame(
      [(await made.call('CHECK')).stdout, (await made.call('CHECK')).exitCode],
      ['', 0],
      `${what}: whole at first`,
    );
    remove(made);
    for (const time of ['first', 'again']) {
      const ran = await made.call('CHECK');
      t.equal(ran.exitCode, 1, `${what}, ${time}`);
      t.match(ran.json(), { cniVersion: '1.0.0', code: 100, msg }, `${what}, ${time}`);
    }
    t.equal((await made.call('DEL')).exitCode, 0, `${what}: DEL`);
    host.ip('rule', 'flush', 'priority', '512');
  }
});

test('CHECK: what a later plugin of the chain did is no fault; a prevResult without our address is [37]', {
  skip,
}, async (t) => {
  const host = hostWithEni(t);
  const { pod, call } = await added(t, host);
  pod.ip('route', 'add', '10.99.0.0/16', 'via', '169.254.1.1', 'dev', 'eth0', 'onlink');
  pod.ip('link', 'set', 'eth0', 'mtu', '1300');
  const ran = await call('CHECK');
  t.strictSame([ran.exitCode, ran.stdout], [0, '']);
  const other = await call('CHECK', { cniVersion: '1.0.0', ips: [{ address: '10.1.1.1/24' }] });
  t.match(other.json(), { code: 100, msg: /address 192\.168\.0\.10 of the lease in prevResult/ });
  t.match((await call('CHECK', { ips: 'x' })).json(), { code: 6 });
  t.match((await call('CHECK', undefined, {}, { cniVersion: '0.4.0' })).stdout, '');
});

test('CHECK: a daemon of an older version, which knows no such question, is enough; one that fails is told', {
  skip,
}, async (t) => {
  const host = hostWithEni(t);
  const { daemon, call } = await added(t, host);
  daemon.faults.set('Check', { status: 404, code: 'unimplemented', message: 'no such method' });
  t.strictSame([(await call('CHECK')).stdout, (await call('CHECK')).exitCode], ['', 0]);
  daemon.faults.set('Check', { status: 503, code: 'unavailable', message: 'the leases are not read yet' });
  t.match((await call('CHECK')).json(), { code: 11, msg: /leases are not read yet/ });
});

test('DEL: unknown, repeated, before any ADD, without or with garbage in prevResult [30, 32]', { skip }, async (t) => {
  const host = hostWithEni(t);
  const pod = new TestNamespace(t, 'pod');
  const { conf, env } = await pluginBench(t, pod);
  const before = [host.state(), pod.state()];
  for (const prevResult of [null, 7, 'x', { ips: 3 }, { cniVersion: '0.2.0', ip4: {} }]) {
    const ran = await startPlugin(host, { env: env('DEL'), stdin: conf({ prevResult }) });
    t.strictSame([ran.exitCode, ran.stdout], [0, '']);
  }
  const bare = { CNI_COMMAND: 'DEL', CNI_CONTAINERID: 'never-seen', CNI_IFNAME: 'eth0' };
  const ran = await startPlugin(host, { env: bare, stdin: conf() });
  t.strictSame([ran.exitCode, ran.stdout], [0, ''], 'with nothing but what the specification requires');
  t.strictSame([host.state(), pod.state()], before);
});

test('DEL: namespace path empty, gone or none, interface removed by hand: the address is back after the first [31, 33]', {
  skip,
}, async (t) => {
  const host = hostWithEni(t);
  const before = host.state();
  for (const CNI_NETNS of ['', '/run/netns/enactor-absent', '/etc/hostname']) {
    const { daemon, call } = await added(t, host);
    const ran = await call('DEL', undefined, { CNI_NETNS });
    t.strictSame([ran.exitCode, ran.stdout], [0, ''], CNI_NETNS);
    t.equal(daemon.leases.size, 0, CNI_NETNS);
    t.equal(host.state(), before, CNI_NETNS);
  }
  const { pod, daemon, call } = await added(t, host);
  pod.ip('link', 'del', 'eth0');
  t.equal((await call('DEL')).exitCode, 0);
  t.equal(daemon.leases.size, 0);
  t.equal(host.state(), before, 'the rules too, though the veth was gone');
});

test('DEL: a name in the namespace that belongs to someone else stays', { skip }, async (t) => {
  const host = hostWithEni(t);
  const { pod, call } = await added(t, host);
  pod.ip('link', 'del', 'eth0');
  pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'theirs');
  t.equal((await call('DEL')).exitCode, 0);
  t.match(pod.ip('link', 'show', 'eth0'), /eth0@theirs/);
});

test('ADD and DEL: two interfaces of one container are two attachments [24]', { skip }, async (t) => {
  const host = hostWithEni(t);
  const { pod, daemon, call } = await added(t, host);
  t.equal((await call('ADD', undefined, { CNI_IFNAME: 'net1' })).exitCode, 0);
  t.strictSame([...daemon.leases.keys()], ['s1/eth0', 's1/net1']);
  t.match(pod.ip('addr', 'show', 'net1'), /192\.168\.0\.11\/32/);
  t.equal((await call('DEL', undefined, { CNI_IFNAME: 'net1' })).exitCode, 0);
  t.equal((await call('CHECK')).exitCode, 0, 'the first is whole');
});
