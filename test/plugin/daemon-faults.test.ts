/** A daemon that refuses, hangs, lies or is not there. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { test } from 'tap';
import { parsePendingDelete } from '../../src/core/pending-delete.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { argsOf, cannotRunPlugin, pluginBench, startPlugin } from './plugin-process.ts';

const skip = cannotRunPlugin();
const REFUSED_LIMIT_MS = 5_000;

/** The plugin waits for seconds for a daemon that is away: all but the first, which has a limit, wait side by side. */
t.jobs = 4;
const besides = () => ({ skip, buffered: true }); // each its own: tap keeps the test in it

test('plugin: with no daemon ADD and CHECK answer code 11 within five seconds and name the socket', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { conf, env, daemon, directory } = await pluginBench(t, pod);
  await daemon.close();
  const before = [host.state(), pod.state()];
  const prevResult = { cniVersion: '1.0.0', ips: [{ address: '192.168.0.10/32' }] };
  for (const daemonSocket of [daemon.socketPath, join(directory, 'never.sock')]) {
    for (const command of ['ADD', 'CHECK']) {
      const startMs = Date.now();
      const ran = await startPlugin(host, { env: env(command), stdin: conf({ daemonSocket, prevResult }) });
      t.ok(Date.now() - startMs < REFUSED_LIMIT_MS, 'the limit of the issue, not a measurement');
      t.equal(ran.exitCode, 1);
      t.match(ran.json(), { cniVersion: '1.0.0', code: 11, msg: new RegExp(`not reachable on ${daemonSocket}`) });
    }
  }
  t.strictSame([host.state(), pod.state()], before);
});

test('plugin: a daemon that comes back while ADD waits is used', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { conf, env, daemon } = await pluginBench(t, pod);
  const later = await pluginBench(t, pod);
  await daemon.close();
  const running = startPlugin(host, { env: env('ADD'), stdin: conf({ daemonSocket: `${later.directory}/late.sock` }) });
  const { FakeDaemon } = await import('./fake-daemon.ts');
  const back = new FakeDaemon(`${later.directory}/late.sock`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await back.listen();
  t.teardown(() => back.close());
  t.equal((await running).exitCode, 0);
});

test(
  'plugin: DEL with no daemon clears the host, leaves a synced note and succeeds; ADD of the sandbox takes it away',
  besides(),
  async (t) => {
    const host = new TestNamespace(t, 'host');
    const pod = new TestNamespace(t, 'pod');
    const { conf, env, daemon, directory } = await pluginBench(t, pod);
    const before = [host.state(), pod.state()];
    const CNI_ARGS = argsOf('web-0', ';K8S_POD_UID=u1');
    t.equal((await startPlugin(host, { env: env('ADD', { CNI_ARGS }), stdin: conf() })).exitCode, 0);
    const nowhere = conf({ daemonSocket: join(directory, 'never.sock') });
    for (let time = 0; time < 2; time += 1) {
      const ran = await startPlugin(host, { env: env('DEL', { CNI_ARGS }), stdin: nowhere });
      t.strictSame([ran.exitCode, ran.stdout], [0, '']);
      t.strictSame([host.state(), pod.state()], before);
    }
    const notes = readdirSync(join(directory, 'pending-deletes'));
    t.equal(notes.length, 1, 'one note, whole, under its final name');
    const note = parsePendingDelete(readFileSync(join(directory, 'pending-deletes', notes[0] ?? ''), 'utf8'));
    t.match(note, {
      containerId: 's1',
      ifName: 'eth0',
      network: 'podnet',
      podNamespace: 'default',
      podName: 'web-0',
      podUid: 'u1',
      atMs: Number,
    });
    t.equal(daemon.leases.size, 1, 'the daemon has not been told');
    t.equal((await startPlugin(host, { env: env('ADD', { CNI_ARGS }), stdin: conf() })).exitCode, 0);
    t.strictSame(readdirSync(join(directory, 'pending-deletes')), []);
  },
);

test('plugin: at 256 notes DEL fails as try again, except for a sandbox that has one', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const { conf, env, daemon, directory } = await pluginBench(t, null);
  await daemon.close();
  const stdin = conf();
  t.equal((await startPlugin(host, { env: env('DEL'), stdin })).exitCode, 0);
  const notes = join(directory, 'pending-deletes');
  for (let index = 1; index < 256; index += 1) writeFileSync(join(notes, `${index}.json`), '');
  const ran = await startPlugin(host, { env: env('DEL', { CNI_CONTAINERID: 's2' }), stdin });
  t.match(ran.json(), { code: 11, msg: /256 deletions wait/ });
  t.equal(ran.exitCode, 1);
  t.equal((await startPlugin(host, { env: env('DEL'), stdin })).exitCode, 0);
});

test('plugin: a data directory that is a file makes DEL fail as try again', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const { conf, env, daemon, directory } = await pluginBench(t, null);
  await daemon.close();
  writeFileSync(join(directory, 'file'), '');
  const ran = await startPlugin(host, { env: env('DEL'), stdin: conf({ dataDir: join(directory, 'file') }) });
  t.match(ran.json(), { code: 11, msg: /cannot note the deletion/ });
});

test(
  'plugin: the daemon’s refusal is what the runtime reads; nothing is made and nothing released',
  besides(),
  async (t) => {
    const host = new TestNamespace(t, 'host');
    const pod = new TestNamespace(t, 'pod');
    const { conf, env, daemon } = await pluginBench(t, pod);
    const before = [host.state(), pod.state()];
    const message = 'code: OpenAPIErr, msg: InvalidVSwitchId.IpNotEnough';
    daemon.faults.set('AllocIP', { status: 503, code: 'unavailable', message });
    const ran = await startPlugin(host, { env: env('ADD'), stdin: conf() });
    t.match(ran.json(), { cniVersion: '1.0.0', code: 11, msg: message });
    t.strictSame(daemon.methods(), ['AllocIP']);
    t.strictSame([host.state(), pod.state()], before);
  },
);

test('plugin: an answer that broke off may have been a grant, and is given back', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  for (const fault of ['reset', 'garbage'] as const) {
    const { conf, env, daemon } = await pluginBench(t, pod);
    daemon.faults.set('AllocIP', fault);
    const ran = await startPlugin(host, { env: env('ADD'), stdin: conf() });
    t.match(ran.json(), { code: 11, msg: /AllocIP/ }, fault);
    t.strictSame(daemon.methods(), ['AllocIP', 'ReleaseIP'], fault);
  }
});

test('plugin: a reply that lacks what a pod needs is refused and given back', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const before = [host.state(), pod.state()];
  const cases: [object, number, RegExp][] = [
    [{ NetConfs: [] }, 11, /eth0 config is missing/],
    [{ NetConfs: [{ IfName: 'eth1' }] }, 11, /eth0 config is missing/],
    [{ IPType: 0 }, 102, /network type 0/],
    [
      { NetConfs: [{ BasicInfo: { PodIP: { IPv4: 'nonsense' } }, ENIInfo: { RouteTable: 1007 } }] },
      11,
      /no valid address/,
    ],
    [{ NetConfs: [{ BasicInfo: { PodIP: { IPv4: '10.0.0.1' } }, ENIInfo: {} }] }, 11, /no route table/],
    [
      { NetConfs: [{ BasicInfo: { PodIP: { IPv4: '10.0.0.1' } }, ENIInfo: { Trunk: true, RouteTable: 1007 } }] },
      102,
      /trunk/,
    ],
  ];
  for (const [change, code, msg] of cases) {
    const { conf, env, daemon } = await pluginBench(t, pod);
    daemon.shape = (reply) => ({ ...reply, ...change });
    const ran = await startPlugin(host, { env: env('ADD'), stdin: conf() });
    t.match(ran.json(), { code, msg });
    t.strictSame(daemon.methods(), ['AllocIP', 'ReleaseIP', 'RecordEvent']);
    t.match(daemon.calls[2]?.body, {
      EventTarget: 1,
      EventType: 1,
      Reason: 'AllocIPFailed',
      K8sPodName: 'web-0',
      Message: msg,
    });
    t.equal(daemon.leases.size, 0);
  }
  t.strictSame([host.state(), pod.state()], before);
});

test(
  'plugin: DEL clears the host although the daemon answers with an error, and lets the runtime try again',
  besides(),
  async (t) => {
    const host = new TestNamespace(t, 'host');
    const pod = new TestNamespace(t, 'pod');
    const { conf, env, daemon } = await pluginBench(t, pod);
    const before = [host.state(), pod.state()];
    t.equal((await startPlugin(host, { env: env('ADD'), stdin: conf() })).exitCode, 0);
    daemon.faults.set('ReleaseIP', {
      status: 503,
      code: 'unavailable',
      message: 'code: InternalError, msg: store is read-only',
    });
    const ran = await startPlugin(host, { env: env('DEL'), stdin: conf() });
    t.match(ran.json(), { code: 11, msg: /store is read-only/ });
    t.strictSame([host.state(), pod.state()], before);
    daemon.faults.set('ReleaseIP', { status: 404, code: 'not_found', message: 'unknown' });
    t.equal(
      (await startPlugin(host, { env: env('DEL'), stdin: conf() })).exitCode,
      0,
      'what the daemon does not know is deleted',
    );
  },
);

test('plugin: a differing K8S_POD_INFRA_CONTAINER_ID is logged, the container id counts', besides(), async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { conf, env, daemon, directory } = await pluginBench(t, pod);
  mkdirSync(join(directory, 'log'));
  const logFile = join(directory, 'log', 'cni.log');
  const CNI_ARGS = argsOf('web-0', ';K8S_POD_INFRA_CONTAINER_ID=other');
  t.equal((await startPlugin(host, { env: env('ADD', { CNI_ARGS }), stdin: conf({ logFile }) })).exitCode, 0);
  t.equal(daemon.calls[0]?.body.K8sPodInfraContainerId, 's1');
  t.match(JSON.parse(readFileSync(logFile, 'utf8').split('\n')[0] ?? ''), {
    level: 'warn',
    infraContainerId: 'other',
    containerId: 's1',
  });
});
