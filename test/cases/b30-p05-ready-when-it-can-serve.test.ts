/**
 * B30: the node looked ready before the daemon could serve, or its configuration was read half-written. P5: STATUS that fails, or a config
 * that vanishes, for the length of an upgrade, takes a whole node's pods out of their services.
 *
 * The real daemon and the compiled plugin. The directory is watched as a runtime watches it; cold starts are killed on the way while the
 * API server is away and the cloud is slow. Then STATUS is asked all the time while the daemon is killed and started again: 3 times in CI, 20
 * times in a soak. A full node is asked in both settings.
 */
import '../lab/in-box.ts';

import { existsSync, type FSWatcher, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { HEARTBEAT_NAME } from '../../src/core/heartbeat.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type Machine, machine, NODE } from '../daemon/machine.ts';
import { TcpDoor } from '../daemon/tcp-door.ts';
import { cannotRunPlugin, startPlugin } from '../plugin/plugin-process.ts';
import { SPEED } from './speed.ts';

t.setTimeout(240_000);

const NAME = '10-enactor.conflist';
const RESTARTS = SPEED > 1 ? 3 : 20;
const COLD_STARTS = SPEED > 1 ? 2 : 20;
const POLL_MS = 200;
const skip = cannotRunPlugin();

type Said = { readonly exitCode: number | null; readonly code?: unknown; readonly msg?: unknown };

/** As a runtime that knows 1.1.0 asks: by the installed file, whose newest version it takes. */
async function verb(here: Machine, command: string, more: object = {}): Promise<Said> {
  const installed = JSON.parse(readFileSync(join(here.dir, 'shipped', NAME), 'utf8'));
  const stdin = JSON.stringify({ ...installed.plugins[0], name: installed.name, cniVersion: '1.1.0', ...more });
  const ran = await startPlugin(null, { env: { CNI_COMMAND: command, CNI_PATH: here.dir }, stdin });
  return { exitCode: ran.exitCode, ...(ran.stdout === '' ? {} : ran.json()) };
}

/** Names that appeared or changed in the directory, and whether what was read there was ever broken. */
/** Where the file is finished, for a moment: a directory, and no runtime reads such (src/daemon/conflist.ts). */
const STAGING = '.enactor';

function watched(directory: string): {
  readonly names: string[];
  readonly broken: string[];
  readonly watcher: FSWatcher;
} {
  const [names, broken]: [string[], string[]] = [[], []];
  const watcher = watch(directory, (_, name) => {
    if (name === STAGING) return;
    names.push(name ?? '');
    if (!existsSync(join(directory, NAME))) return;
    const text = readFileSync(join(directory, NAME), 'utf8');
    try {
      JSON.parse(text);
    } catch {
      broken.push(text);
    }
  });
  return { names, broken, watcher };
}

function addNode(here: Machine): void {
  const nodes = resourceNamed('nodes');
  if (nodes !== null)
    here.api.lifecycle.create(nodes, null, { metadata: { name: NODE }, status: { capacity: { pods: '64' } } });
}

t.test('B30, P5: ready once ADD can succeed, and through every restart after that', { skip }, async (t) => {
  const fast = defaultSettings('fast');
  const here = await machine(
    t,
    { cool_down: '0s', max_pool_size: 2, min_pool_size: 1, backoff: '50ms', backoff_max: '200ms' },
    { topology: defaultTopology('lab.small', 1), settings: { ...fast, delays: { ...fast.delays, attachingMs: 500 } } },
  );
  addNode(here);
  const door = await TcpDoor.to(here.api.url);
  t.teardown(() => door.close());
  const kubeconfig = join(here.dir, 'kubeconfig');
  const through = readFileSync(kubeconfig, 'utf8').replaceAll(new URL(here.api.url).host, `127.0.0.1:${door.port}`);
  writeFileSync(kubeconfig, through);
  // What the daemon will install, for a runtime that asks before it is there.
  mkdirSync(join(here.dir, 'shipped'));
  const shipped = JSON.parse(readFileSync('deploy/10-enactor.conflist', 'utf8'));
  Object.assign(shipped.plugins[0], { daemonSocket: here.paths.jsonSocket, dataDir: here.paths.dataDir });
  writeFileSync(join(here.dir, 'shipped', NAME), JSON.stringify(shipped));
  const cni = join(here.dir, 'cni');
  const seen = watched(cni);
  t.teardown(() => seen.watcher.close());

  t.match(await verb(here, 'STATUS'), { exitCode: 1, code: 50, msg: /not reachable/ }, 'before there is a daemon');
  door.cut();
  for (let nth = 0; nth < COLD_STARTS; nth += 1) {
    const killed = here.start();
    const asked = verb(here, 'STATUS');
    await sleep(150 + Math.random() * 350);
    if (!existsSync(join(cni, NAME))) t.match(await asked, { exitCode: 1, code: 50 }, 'while it cannot serve');
    await killed.kill();
  }
  let daemon = here.start();
  await daemon.until(async () => existsSync(join(cni, NAME)));
  t.equal((await verb(here, 'STATUS')).exitCode, 0, 'with the file there STATUS is well');
  door.mend();
  here.addPod('p0');
  await daemon.until(
    async () => (await call(here.paths.jsonSocket, 'AllocIP', 'p0', { NetworkName: 'enactor' })).status === 200,
  );
  t.strictSame(JSON.parse(readFileSync(join(cni, NAME), 'utf8')), shipped, 'the file is the shipped one');
  t.strictSame([...new Set(seen.names)], [NAME], 'nothing else was ever in the directory');
  t.strictSame(seen.broken, [], 'and it was whole each time');

  const appearances = seen.names.length;
  const asked: Said[] = [];
  let polling = true;
  const poll = (async () => {
    while (polling) {
      asked.push(await verb(here, 'STATUS'));
      await sleep(POLL_MS);
    }
  })();
  await daemon.until(async () => existsSync(join(here.paths.dataDir, HEARTBEAT_NAME)));
  for (let nth = 0; nth < RESTARTS; nth += 1) {
    if (nth % 2 === 0) await daemon.kill();
    else await daemon.stop();
    await sleep(POLL_MS);
    daemon = here.start();
    if (nth % 3 !== 1) await daemon.serving();
  }
  await daemon.serving();
  polling = false;
  await poll;
  t.strictSame(
    asked.filter(({ exitCode }) => exitCode !== 0),
    [],
    `P5: STATUS never failed through ${RESTARTS} restarts`,
  );
  t.ok(asked.length >= RESTARTS, `${asked.length} times asked`);
  t.equal(seen.names.length, appearances, 'P5: the file was not touched');

  rmSync(join(cni, NAME));
  await daemon.until(async () => existsSync(join(cni, NAME)));
  t.strictSame([...new Set(seen.names)], [NAME], 'a file that somebody deleted comes back, whole');

  // GC by the runtime: this network's alone.
  for (const [pod, network] of [
    ['listed', 'enactor'],
    ['unknown', 'enactor'],
    ['foreign', 'another'],
    ['terway', ''],
  ] as const) {
    here.addPod(pod);
    t.equal((await call(here.paths.jsonSocket, 'AllocIP', pod, { NetworkName: network })).status, 200);
  }
  const holders = async () => (await daemon.report()).leases.map(({ sandbox }) => sandbox.pod.name).sort();
  const valid = { 'cni.dev/valid-attachments': [{ containerID: 'sandbox-listed', ifname: 'eth0' }] };
  t.equal((await verb(here, 'GC', valid)).exitCode, 0);
  t.strictSame(await holders(), ['foreign', 'listed', 'terway']);
  t.equal((await verb(here, 'GC', valid)).exitCode, 0, 'again: nothing to do');

  // Full. By default that is no failure.
  const room = async () => (await daemon.report()).pool?.capacity ?? 0;
  const filled: string[] = [];
  here.removePod('unknown');
  for (let nth = 0; nth < (await room()); nth += 1) {
    const pod = `fill-${nth}`;
    here.addPod(pod);
    if ((await call(here.paths.jsonSocket, 'AllocIP', pod)).status === 200) filled.push(pod);
    else here.removePod(pod);
  }
  t.match(await daemon.report(), { room: { full: true, free: 0 }, readiness: { Code: 0 } });
  t.equal((await verb(here, 'STATUS')).exitCode, 0, 'B30: a full node is well');
  await daemon.stop();
  const conf = join(here.dir, 'eni_conf');
  const strict = { ...JSON.parse(readFileSync(conf, 'utf8')), full_node: 'status', full_node_hold: '1ms' };
  writeFileSync(conf, JSON.stringify(strict));
  daemon = here.start();
  await daemon.serving();
  await daemon.until(async () => (await daemon.report()).podWatch?.syncedAtMs !== null);
  t.match(
    await verb(here, 'STATUS'),
    { exitCode: 1, code: 50, msg: /the node is full: / },
    'B30: or it is not, by setting',
  );
  for (const pod of filled.slice(0, 2)) {
    t.equal((await call(here.paths.jsonSocket, 'ReleaseIP', pod)).status, 200);
    here.removePod(pod);
  }
  await daemon.until(async () => (await verb(here, 'STATUS')).exitCode === 0);

  await daemon.stop();
  t.equal((await verb(here, 'STATUS')).exitCode, 0, 'stopped a moment ago');
  const beat = join(here.paths.dataDir, HEARTBEAT_NAME);
  const aged = JSON.parse(readFileSync(beat, 'utf8'));
  writeFileSync(beat, JSON.stringify({ ...aged, atMs: aged.atMs - 61_000 }));
  t.match(
    await verb(here, 'STATUS'),
    { exitCode: 1, code: 50, msg: /not reachable/ },
    'stopped for longer than the grace',
  );
  t.ok(existsSync(join(cni, NAME)), 'the file stays: without it no DEL comes');
});
