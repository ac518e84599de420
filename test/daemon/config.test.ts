import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import type { ConfigReport } from '../../src/core/config-report.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { LAB_ACCESS_KEY } from '../../src/lab/cloud/keys.ts';
import { ask, call, type DaemonRun, type Machine, machine, NODE } from './machine.ts';

const { accessKeyId: access_key, accessKeySecret: access_secret } = LAB_ACCESS_KEY;
const base = {
  access_key,
  access_secret,
  eni_link_kinds: ['device', 'veth'],
  describe_period: '20ms',
  cool_down: '0s',
};

function put(here: Machine, plural: 'nodes' | 'configmaps', name: string, object: Record<string, unknown>): void {
  const resource = resourceNamed(plural);
  if (resource === null) throw new Error(plural);
  const namespace = plural === 'nodes' ? null : 'kube-system';
  const there = here.api.store.get(resource, namespace, name);
  const { metadata = {}, ...rest } = object;
  const whole = { ...rest, metadata: { ...(there?.metadata ?? {}), name, ...(metadata as object) } };
  if (there === null) here.api.lifecycle.create(resource, namespace, whole);
  else here.api.lifecycle.update(resource, there, whole as never, null);
}

/** As the kubelet mounts a ConfigMap: the file is a link through `..data`, which is swapped. */
function mounted(here: Machine) {
  const dir = join(here.dir, 'mount');
  mkdirSync(dir);
  let version = 0;
  const write = (text: string): void => {
    version += 1;
    mkdirSync(join(dir, `..v${version}`));
    writeFileSync(join(dir, `..v${version}`, 'eni_conf'), text);
    symlinkSync(`..v${version}`, join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    if (version > 1) rmSync(join(dir, `..v${version - 1}`), { recursive: true });
  };
  write(JSON.stringify({ ...base, max_pool_size: 3 }));
  symlinkSync('..data/eni_conf', join(dir, 'eni_conf'));
  return {
    path: join(dir, 'eni_conf'),
    write: (keys: object) => write(JSON.stringify({ ...base, ...keys })),
    text: write,
  };
}

async function config(here: Machine): Promise<ConfigReport> {
  return (await ask(here.paths.debugSocket, 'GET', '/v1/config')).body as ConfigReport;
}
const shown = (report: ConfigReport, key: string) => report.values.find((value) => value.key === key);

async function until(run: DaemonRun, here: Machine, met: (report: ConfigReport) => boolean): Promise<ConfigReport> {
  await run.until(async () => met(await config(here)));
  return await config(here);
}

const eventsOf = (here: Machine): string[] => {
  const events = resourceNamed('events');
  const all = events === null ? [] : here.api.store.list(events, 'default');
  return all.map((event) => `${event.reason}: ${event.message}`);
};

/** An event of a reason is written over by the next one of it. */
const told = (run: DaemonRun, here: Machine, said: RegExp) =>
  run.until(async () => eventsOf(here).some((event) => said.test(event)));

t.test('config: file, overlay and flag, changed under a running daemon', async (t) => {
  const here = await machine(t);
  const file = mounted(here);
  const node = (labels: object, unschedulable = false) =>
    put(here, 'nodes', NODE, { metadata: { labels }, spec: { unschedulable } });
  const overlay = (name: string, keys: object) =>
    put(here, 'configmaps', name, { data: { eni_conf: JSON.stringify(keys) } });
  overlay('gpu', { min_pool_size: 1, mtu: 1400 });
  node({ 'terway-config': 'gpu' });
  const run = here.start({ more: ['--config', file.path, '--log-level', 'debug'] });
  await run.serving();

  const first = await config(here);
  t.match(first.overlay, { configMap: 'kube-system/gpu', state: 'applied' });
  t.match(shown(first, 'min_pool_size'), { value: 1, source: 'overlay gpu', change: 'live' });
  t.match(shown(first, 'mtu'), { value: 1400, source: 'overlay gpu', pending: null });
  t.match(shown(first, 'max_pool_size'), { value: 3, source: 'file' });
  t.match(shown(first, 'log_level'), { value: 'debug', source: 'flag --log-level' });
  t.match(
    first.flags.find(({ flag }) => flag === '--node-name'),
    { value: NODE, source: 'flag' },
  );
  t.match((await run.report()).pool, { minIdle: 1, maxIdle: 3 });
  const [cli = '', dist] = [resolve('dist', 'enactor.js'), process.execPath];
  const text = execFileSync('env', ['-i', dist, cli, 'config', '--debug-socket', here.paths.debugSocket], {
    encoding: 'utf8',
  });
  t.match(text, /^overlay {2}ConfigMap kube-system\/gpu, applied$/m);
  t.match(text, /^access_secret +\*{6} +file$/m);
  t.notMatch(text + JSON.stringify(first), new RegExp(access_secret));

  // The mount is swapped: one key is taken at once, one waits.
  file.write({ max_pool_size: 5, speed: 2 });
  const swapped = await until(run, here, (report) => shown(report, 'max_pool_size')?.value === 5);
  t.match(shown(swapped, 'speed'), { value: 1, source: 'default', pending: { value: 2, source: 'file' } });
  t.match((await run.report()).pool, { minIdle: 1, maxIdle: 5 });

  await told(run, here, /^ConfigChanged: the configuration has changed: max_pool_size$/);
  await told(run, here, /^ConfigNeedsRestart: a change needs a restart of the daemon: speed$/);

  // What is wrong is refused as a whole, and told.
  file.write({ max_pool_size: -1, cool_down: 'soon', min_pool_sise: 2 });
  const refused = await until(run, here, (report) => report.refusals.length > 0);
  t.same(refused.refusals.map(({ source, key }) => `${source} ${key}`).sort(), [
    'file cool_down',
    'file max_pool_size',
    'file min_pool_sise',
  ]);
  t.match(shown(refused, 'max_pool_size'), { value: 5 });
  await told(run, here, /^ConfigError: refused, what was before holds: .*cool_down \(file\): is not a duration/);
  file.text('{"access_secret": "TOPSECRET",');
  await until(run, here, (report) => report.refusals.some(({ why }) => why.startsWith('is not JSON')));
  file.write({ max_pool_size: 5 });
  const mended = await until(run, here, (report) => report.refusals.length === 0);
  t.match(shown(mended, 'speed'), { value: 1, pending: null }, 'nothing waits any more');

  // The overlay: another version, another one, one that does not fit the instance, none.
  overlay('gpu', { min_pool_size: 2, mtu: 1400 });
  await until(run, here, (report) => shown(report, 'min_pool_size')?.value === 2);
  overlay('far', { vswitches: { 'cn-lab-a': ['vsw-nowhere'] } });
  node({ 'terway-config': 'far' });
  const far = await until(run, here, (report) => report.refusals.length > 0);
  t.match(far.refusals, [{ why: /none of the vSwitches vsw-nowhere is in zone/ }]);
  t.match(shown(far, 'min_pool_size'), { value: 2, source: 'overlay gpu' }, 'what was before holds');
  await told(run, here, /^ConfigError: .*vsw-nowhere/);
  node({});
  const none = await until(run, here, (report) => report.overlay.state === 'none');
  t.match(shown(none, 'min_pool_size'), { value: 0, source: 'default' });
  t.match(shown(none, 'mtu'), { value: 1400, source: 'overlay gpu', pending: { value: 1500, source: 'default' } });

  // A cordoned node.
  file.write({ max_pool_size: 5, min_pool_size: 2 });
  await run.until(async () => ((await run.report()).pool?.counts.idle ?? 0) >= 2);
  node({}, true);
  await run.until(async () => (await run.report()).pool?.why === 'paused: the node is cordoned');
  here.addPod('p');
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'p'), { status: 200 });

  t.notMatch(run.log + eventsOf(here).join(), /TOPSECRET/);
  await run.stop();

  // Which overlay there was is remembered where nobody can be asked; and what waited has come.
  node({ 'terway-config': 'gpu' });
  const second = here.start({ more: ['--config', file.path] });
  await second.serving();
  await until(second, here, (report) => report.overlay.state === 'applied');
  await second.stop();
  const nobody = join(here.dir, 'nobody');
  const kubeconfig = readFileSync(join(here.dir, 'kubeconfig'), 'utf8');
  writeFileSync(nobody, kubeconfig.replace(/"server": "[^"]*"/, '"server": "https://127.0.0.1:1"'));
  const frozen = here.start({ more: ['--config', file.path, '--kubeconfig', nobody, '--read-only'] });
  await frozen.serving();
  const third = await config(here);
  t.match(third.overlay, { configMap: 'kube-system/gpu', state: 'remembered' });
  t.match(shown(third, 'mtu'), { value: 1400, source: 'overlay gpu' });
  t.match(shown(third, 'read_only'), { value: true, source: 'flag --read-only', change: 'restart' });
  t.strictSame((await frozen.report()).readOnly, { would: [], refused: [] });
  t.match(
    await call(here.paths.jsonSocket, 'GetIPInfo', 'p'),
    { body: { NetConfs: [{}] } },
    'pods keep what they have',
  );
});
