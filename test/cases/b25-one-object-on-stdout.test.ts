/** B25: whatever goes wrong and however the plugin's surroundings are, stdout holds one JSON object that names the first cause. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, type Given, pluginBench, type Ran, startPlugin } from '../plugin/plugin-process.ts';

const skip = cannotRunPlugin();

/** With debug on: stderr closed, stderr full (every write fails), and the log a directory, or where no directory is. */
const SURROUNDINGS: readonly { readonly name: string; readonly redirect: string; readonly logFile: string }[] = [
  { name: 'stderr closed', redirect: '2>&-', logFile: 'cni.log' },
  { name: 'stderr full', redirect: '2>/dev/full', logFile: 'cni.log' },
  { name: 'log is a directory', redirect: '', logFile: '.' },
  { name: 'log in a directory that is not there', redirect: '2>&-', logFile: 'absent/cni.log' },
];

function isOneError(ran: Ran, msg: RegExp): boolean {
  const object = ran.json();
  return (
    ran.exitCode === 1 &&
    typeof object.cniVersion === 'string' &&
    typeof object.code === 'number' &&
    msg.test(String(object.msg)) &&
    ran.stdout.trim().split('\n').length === 1
  );
}

for (const { name, redirect, logFile } of SURROUNDINGS) {
  test(`B25: one object on stdout with debug on and ${name}`, { skip }, async (t) => {
    const host = new TestNamespace(t, 'host');
    const pod = new TestNamespace(t, 'pod');
    const { daemon, directory, conf, env } = await pluginBench(t, pod);
    const before = [host.state(), pod.state()];
    const loud = { debug: true, logFile: join(directory, logFile) };
    const run = (given: Given): Promise<Ran> =>
      startPlugin(host, { redirect, env: env('ADD'), stdin: conf(loud), ...given });

    const added = await run({});
    t.equal(added.exitCode, 0, added.stdout);
    t.match(added.json(), { cniVersion: '1.0.0', ips: [{ address: '192.168.0.10/32' }] });
    t.equal((await run({ env: env('DEL') })).stdout, '');

    daemon.faults.set('AllocIP', {
      status: 429,
      code: 'resource_exhausted',
      message: 'code: OpenAPIErr, msg: QuotaExceeded.PrivateIpAddress',
    });
    daemon.faults.set('ReleaseIP', { status: 500, code: 'internal', message: 'second failure' });
    daemon.faults.set('RecordEvent', { status: 500, code: 'internal', message: 'third failure' });
    t.ok(isOneError(await run({}), /QuotaExceeded\.PrivateIpAddress/), 'failing at allocation');

    daemon.faults.delete('AllocIP');
    host.ip('link', 'add', 'foreign', 'type', 'veth', 'peer', 'name', 'far');
    host.ip('link', 'set', 'foreign', 'up');
    for (let number = 10; number < 20; number += 1) host.ip('route', 'add', `192.168.0.${number}`, 'dev', 'foreign');
    const ran = await run({});
    t.ok(
      isOneError(ran, /route to 192\.168\.0\.\d+ exists on foreign/),
      `failing in the kernel, with roll-back and event failing too: ${ran.stdout}`,
    );
    host.ip('link', 'del', 'foreign');

    await daemon.close();
    t.ok(isOneError(await run({}), /not reachable/), 'daemon unreachable');
    t.ok(isOneError(await run({ stdin: '' }), /stdin is empty/), 'stdin empty');
    t.ok(isOneError(await run({ stdin: conf(loud).slice(0, 30) }), /stdin is not JSON/), 'stdin truncated');
    t.strictSame([host.state(), pod.state()], before);
  });
}

test('B25: SIGTERM while the daemon thinks: one error, the address given back', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { daemon, conf, env } = await pluginBench(t, pod);
  const before = [host.state(), pod.state()];
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    daemon.faults.set('AllocIP', 'hang');
    let pid = 0;
    const asked = daemon.calls.length;
    const running = startPlugin(host, { env: env('ADD'), stdin: conf(), started: (started) => (pid = started) });
    while (daemon.calls.length === asked) await new Promise((resolve) => setTimeout(resolve, 10));
    process.kill(pid, signal); // nsenter and the shell have become the plugin by exec
    const ran = await running;
    t.ok(isOneError(ran, new RegExp(`ended by ${signal}`)), ran.stdout);
    t.strictSame(daemon.methods().slice(asked), ['AllocIP', 'ReleaseIP']);
  }
  t.strictSame([host.state(), pod.state()], before);
});

test('B25: a directory it cannot read is one error that says so', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { directory, conf, env, daemon } = await pluginBench(t, pod);
  mkdirSync(join(directory, 'data'));
  symlinkSync('pending-deletes', join(directory, 'data', 'pending-deletes'));
  const ran = await startPlugin(host, { env: env('ADD'), stdin: conf({ dataDir: join(directory, 'data') }) });
  t.ok(isOneError(ran, /old note: ELOOP.*pending-deletes/), ran.stdout);
  t.strictSame(daemon.methods(), [], 'before an address was asked for');
});

test('B25: stdout that cannot be written is a failure, not a success nobody saw', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { conf, env } = await pluginBench(t, pod);
  t.equal((await startPlugin(host, { env: env('ADD'), stdin: conf(), redirect: '>/dev/full' })).exitCode, 1);
});
