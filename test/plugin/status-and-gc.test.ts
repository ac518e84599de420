/** The verbs that version 1.1.0 brings, by the compiled plugin and a daemon that answers on request. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { jsonServer } from '../../src/adapters/http/json-server.ts';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { HEARTBEAT_GRACE_MS, HEARTBEAT_NAME } from '../../src/core/heartbeat.ts';
import { fakeBackend } from '../adapters/http/fake-backend.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { type Bench, cannotRunPlugin, pluginBench, startPlugin } from './plugin-process.ts';

const skip = cannotRunPlugin();
const BOOT = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

const statusOf = async ({ conf }: Bench, more: object = {}) => {
  const stdin = conf({ cniVersion: '1.1.0', ...more });
  const ran = await startPlugin(null, { env: { CNI_COMMAND: 'STATUS', CNI_PATH: '/opt/cni/bin' }, stdin });
  return ran.stdout === '' ? ran.exitCode : { exitCode: ran.exitCode, ...ran.json() };
};

const beatAt = ({ directory }: Bench, atMs: number, bootId = BOOT): void =>
  writeFileSync(join(directory, HEARTBEAT_NAME), JSON.stringify({ version: 1, atMs, bootId }));

test('plugin STATUS: silent and 0 when ADD can work, else 50 or 51 with the daemon’s words', { skip }, async (t) => {
  const bench = await pluginBench(t, null);
  t.equal(await statusOf(bench), 0);
  t.strictSame(bench.daemon.calls.at(-1), { method: 'Status', body: { NetworkName: 'podnet' }, timeoutMs: '900' });
  for (const code of [50, 51]) {
    bench.daemon.status = { Code: code, Message: 'no room at all', Passing: false };
    t.strictSame(await statusOf(bench), { exitCode: 1, cniVersion: '1.1.0', code, msg: 'no room at all' });
  }
  t.match(await statusOf(bench, { cniVersion: '1.0.0' }), { exitCode: 1, code: 1, msg: /needs.*1\.1\.0/ });
});

test('plugin STATUS: a daemon that is away for less than a minute in this boot is excused, and nothing else is', {
  skip,
}, async (t) => {
  const bench = await pluginBench(t, null);
  const { daemon } = bench;
  bench.daemon.status = { Code: 50, Message: 'recovering', Passing: true };
  t.match(await statusOf(bench), { code: 50, msg: 'recovering' }, 'no heartbeat yet');
  beatAt(bench, Date.now());
  t.equal(await statusOf(bench), 0, 'it served a moment ago');
  daemon.status = { Code: 50, Message: 'the node is full', Passing: false };
  t.match(await statusOf(bench), { code: 50, msg: 'the node is full' }, 'what does not pass by itself');
  daemon.faults.set('Status', 'hang');
  const startMs = performance.now();
  t.equal(await statusOf(bench), 0, 'one that hangs');
  t.ok(performance.now() - startMs < 20_000, 'and is not waited for');
  daemon.faults.set('Status', { status: 503, code: 'unavailable', message: 'code: InternalError, msg: starting' });
  t.equal(await statusOf(bench), 0, 'one that starts');
  await daemon.close();
  t.equal(await statusOf(bench), 0, 'one that is not there');
  beatAt(bench, Date.now() - HEARTBEAT_GRACE_MS - 1_000);
  t.match(await statusOf(bench), { code: 50, msg: /not reachable/ }, 'for too long');
  beatAt(bench, Date.now() + 3_600_000);
  t.match(await statusOf(bench), { code: 50 }, 'in a future that cannot be');
  beatAt(bench, Date.now(), 'another-boot');
  t.match(await statusOf(bench), { code: 50 }, 'before a reboot');
  writeFileSync(join(bench.directory, HEARTBEAT_NAME), '{"version":1,');
  t.match(await statusOf(bench), { code: 50 }, 'by something that is no heartbeat');
});

test('plugin GC: what is not listed is given back and leaves the host, what is listed stays', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const [kept, gone] = [new TestNamespace(t, 'kept'), new TestNamespace(t, 'gone')];
  const bench = await pluginBench(t, kept);
  const { daemon, conf, env } = bench;
  const at = (id: string, netns: string) => env('ADD', { CNI_CONTAINERID: id, CNI_NETNS: netns });
  const stdin = conf({ cniVersion: '1.1.0' });
  const before = host.state();
  const dead = { ...at('dead', gone.path), CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0' };
  t.equal((await startPlugin(host, { env: dead, stdin })).exitCode, 0);
  const withBoth = () =>
    startPlugin(host, {
      env: { ...at('alive', kept.path), CNI_ARGS: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-1' },
      stdin,
    });
  t.equal((await withBoth()).exitCode, 0);
  const gc = async (more: object) => {
    const env = { CNI_COMMAND: 'GC', CNI_PATH: '/opt/cni/bin' };
    const ran = await startPlugin(host, { env, stdin: conf({ cniVersion: '1.1.0', ...more }) });
    return ran.stdout === '' ? ran.exitCode : ran.json();
  };
  for (const [wrong, msg] of [
    [{}, /"cni\.dev\/valid-attachments" is missing/],
    [{ 'cni.dev/valid-attachments': {} }, /is no list/],
    [{ 'cni.dev/valid-attachments': [{ containerID: 'alive' }] }, /names no containerID and ifname/],
  ] as const)
    t.match(await gc(wrong), { code: 7, msg });
  t.equal(daemon.methods().includes('Gc'), false, 'nothing was asked for a list that cannot be read');
  const attachments = [{ containerID: 'alive', ifname: 'eth0' }];
  t.equal(await gc({ 'cni.dev/valid-attachments': attachments }), 0);
  t.match(daemon.calls.at(-1), {
    method: 'Gc',
    body: { NetworkName: 'podnet', ValidAttachments: [{ ContainerId: 'alive', IfName: 'eth0' }] },
  });
  t.strictSame([...daemon.leases.keys()], ['alive/eth0']);
  t.notMatch(host.ip('rule'), /192\.168\.0\.10 /, 'the rules of the dead are gone');
  t.match(host.ip('rule'), /192\.168\.0\.11 /, 'those of the living are there');
  t.equal(await gc({ 'cni.dev/attachments': attachments }), 0, 'by the key of libcni before the specification');
  t.equal(daemon.leases.size, 1);
  daemon.faults.set('Gc', { status: 503, code: 'unavailable', message: 'code: InternalError, msg: starting' });
  t.match(await gc({ 'cni.dev/valid-attachments': [] }), { code: 11 }, 'a daemon that cannot is asked again');
  daemon.faults.delete('Gc');
  t.equal(await gc({ 'cni.dev/valid-attachments': [] }), 0);
  t.equal(daemon.leases.size, 0, 'an empty list: nothing is valid');
  t.strictSame(host.state(), before, 'nothing is left');
});

test('plugin GC: 10,000 attachments are heard, and who sends too many is told so', { skip }, async (t) => {
  const bench = await pluginBench(t, null);
  const { backend, seen } = fakeBackend(() => ({}));
  const socket = join(bench.directory, 'json');
  const server = jsonServer(backend, silentLog);
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const gc = async (count: number) => {
    const all = Array.from({ length: count }, (_, nth) => ({
      containerID: `${nth}`.padStart(64, 'a'),
      ifname: 'eth0',
    }));
    const conf = { cniVersion: '1.1.0', daemonSocket: socket, 'cni.dev/valid-attachments': all };
    const ran = await startPlugin(null, {
      env: { CNI_COMMAND: 'GC', CNI_PATH: '/opt/cni/bin' },
      stdin: bench.conf(conf),
    });
    return ran.stdout === '' ? ran.exitCode : ran.json();
  };
  t.equal(await gc(10_000), 0);
  t.match(seen, [{ request: { ValidAttachments: { length: 10_000 } } }]);
  t.match(await gc(40_000), { msg: /larger than 2097152 bytes/ });
});
