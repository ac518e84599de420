/** B26: ADD made to fail at each point undoes what it made, and only that; the retry succeeds once the cause is gone. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, pluginBench, startPlugin } from '../plugin/plugin-process.ts';

const skip = cannotRunPlugin();

async function setting(t: Parameters<typeof pluginBench>[0]) {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const bench = await pluginBench(t, pod);
  const add = (more: Readonly<Record<string, string>> = {}) =>
    startPlugin(host, { env: bench.env('ADD', more), stdin: bench.conf() });
  return { ...bench, host, pod, add, state: () => [host.state(), pod.state()] };
}

test('B26: eth0 exists already: refused, untouched, no address', { skip }, async (t) => {
  const { host, pod, daemon, add, state } = await setting(t);
  pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
  pod.ip('addr', 'add', '10.5.5.5/24', 'dev', 'eth0');
  const before = state();
  const ran = await add();
  t.equal(ran.exitCode, 1);
  t.match(ran.json(), { code: 101, msg: /eth0 exists/ });
  t.strictSame(state(), before);
  t.strictSame(daemon.methods(), []);
  pod.ip('link', 'del', 'eth0');
  t.equal((await add()).exitCode, 0);
  t.match(host.ip('rule'), /192\.168\.0\.10/);
});

test('B26: eth0 appears while the daemon answers: untouched, the address given back', { skip }, async (t) => {
  const { pod, daemon, host, add } = await setting(t);
  const hostBefore = host.state();
  daemon.before = (method) => {
    if (method === 'AllocIP') pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
  };
  const ran = await add();
  t.match(ran.json(), { code: 11, msg: /eth0 in .*EEXIST/ });
  t.match(pod.ip('link', 'show', 'other'), /other@eth0/, 'whoever made it keeps it');
  t.equal(host.state(), hostBefore);
  t.equal(daemon.leases.size, 0);
});

test('B26: the namespace disappears after the address is given', { skip }, async (t) => {
  const { pod, daemon, host, add } = await setting(t);
  const hostBefore = host.state();
  daemon.before = (method) => {
    if (method === 'AllocIP') pod.remove();
  };
  const ran = await add();
  t.equal(ran.exitCode, 1);
  t.match(ran.json(), { code: 11, msg: /network namespace .* is gone/ });
  t.equal(host.state(), hostBefore);
  t.equal(daemon.leases.size, 0);
  daemon.before = () => {};
  const fresh = new TestNamespace(t, 'pod');
  t.equal((await add({ CNI_NETNS: fresh.path })).exitCode, 0, 'the next namespace works');
});

test('B26: a host route to the address on a device that is not a pod’s', { skip }, async (t) => {
  const { host, daemon, add, state } = await setting(t);
  host.ip('link', 'add', 'foreign', 'type', 'veth', 'peer', 'name', 'far');
  host.ip('link', 'set', 'foreign', 'up');
  host.ip('route', 'add', '192.168.0.10', 'dev', 'foreign');
  const before = state();
  const ran = await add();
  t.match(ran.json(), { code: 11, msg: /192\.168\.0\.10 exists on foreign/ });
  t.strictSame(state(), before, 'the route stays, nothing is added');
  t.equal(daemon.leases.size, 0);
  host.ip('route', 'del', '192.168.0.10', 'dev', 'foreign');
  host.ip('route', 'add', '192.168.0.11', 'dev', 'lo', 'scope', 'link');
  host.ip('route', 'del', '192.168.0.11', 'dev', 'lo');
  t.equal((await add()).exitCode, 0);
});

test('B26: what the kernel refuses half-way is undone: the last route, the rule, the device’s size', {
  skip,
}, async (t) => {
  const { host, daemon, add, state } = await setting(t);
  daemon.dual = true;
  host.ip('link', 'add', 'foreign', 'type', 'veth', 'peer', 'name', 'far');
  host.ip('link', 'set', 'foreign', 'up');
  for (const number of [10, 11]) host.ip('-6', 'route', 'add', `fd00::${number}`, 'dev', 'foreign', 'metric', '1024');
  const before = state();
  const ran = await add();
  t.match(ran.json(), { code: 11, msg: /route to fd00::10 exists on foreign/ }, 'after IPv4 was done already');
  t.strictSame(state(), before);
  t.equal(daemon.leases.size, 0);
  daemon.shape = (reply) => {
    const [conf] = reply.NetConfs ?? [];
    return { ...reply, NetConfs: [{ ...conf, ENIInfo: { ...conf?.ENIInfo, Mtu: 70_000 } }] };
  };
  t.match((await add()).json(), { code: 11, msg: /create veth.*EINVAL/ });
  t.strictSame(state(), before);
  daemon.shape = (reply) => reply;
  host.ip('link', 'del', 'foreign');
  t.equal((await add()).exitCode, 0);
});

test('B26: /proc/sys is read-only: an error where it matters, undone; the retry succeeds', { skip }, async (t) => {
  const { host, pod, daemon, env, conf, add, state } = await setting(t);
  daemon.dual = true; // IPv6 needs accept_ra written in the pod, which no default gives
  const before = state();
  const readOnly = 'mount -o bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys';
  const ran = await startPlugin(host, { env: env('ADD'), stdin: conf(), before: readOnly });
  t.match(ran.json(), { code: 11, msg: /cannot set \/proc\/sys\/net\/.*EROFS/ });
  t.strictSame(state(), before);
  t.equal(daemon.leases.size, 0);
  t.equal((await add()).exitCode, 0);
  t.match(pod.ip('addr', 'show', 'eth0'), /fd00::/);
});

test('B26: the daemon dies between its reply and the set-up failing: a note is left', { skip }, async (t) => {
  const { pod, daemon, host, directory, add } = await setting(t);
  const hostBefore = host.state();
  daemon.before = (method) => {
    if (method !== 'AllocIP') return;
    pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
    daemon.die();
  };
  const ran = await add();
  t.match(ran.json(), { code: 11, msg: /eth0 in .*EEXIST/ }, 'the first cause, not the failed roll-back');
  t.equal(host.state(), hostBefore);
  t.match(execFileSync('ls', [join(directory, 'pending-deletes')], { encoding: 'utf8' }), /^[0-9a-f]{40}\.json\n$/);
});

test('B26: a second ADD of a sandbox that has its interface is refused and keeps the first one’s lease', {
  skip,
}, async (t) => {
  const { host, pod, daemon, add } = await setting(t);
  const shown = (): string[] => [
    pod.ip('-4', 'addr').replace(/NO-CARRIER,|state \S+/g, ''),
    pod.ip('route'),
    host.ip('route'),
    host.ip('rule'),
  ];
  t.equal((await add()).exitCode, 0);
  const before = shown();
  t.match((await add()).json(), { code: 101 });
  t.strictSame(shown(), before);
  t.equal(daemon.leases.get('s1/eth0'), 10);
});
