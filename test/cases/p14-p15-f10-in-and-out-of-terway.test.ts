/**
 * P14, P15, F10: nothing happens while Terway’s daemon has its lock; then twenty pods of Terway’s in the layout of each of three versions are
 * adopted as they run, their DEL works through a plugin under Terway’s name, the node is refilled, and goes back with live pods. The daemon, the
 * plugin and the command are the real ones, and one node has all three layouts, as one whose Terway was upgraded twice.
 */
import '../lab/in-box.ts';

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { readTerwayDatabase, TERWAY_BUCKET } from '../../src/adapters/bolt/terway-database.ts';
import { tryFileLock } from '../../src/adapters/locks/file-lock.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { isHeldBack } from '../../src/core/held-back.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { podKey } from '../../src/core/sandbox.ts';
import type { TerwayRecord } from '../../src/core/terway-record.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { type DaemonRun, type Machine, machine } from '../daemon/machine.ts';
import { argsOf, PLUGIN, startPlugin } from '../plugin/plugin-process.ts';
import { ip, recordOf, type TerwayPod, terwayEnis, here as terwayHere, terwayPods } from './terway-node.ts';

t.setTimeout(240_000);

const STICKY = 5;
/** The soak fills all that was emptied, less what is kept for StatefulSets’ pods. */
const REFILL = process.env.ENACTOR_SPEED === '1' ? 36 : 3;
const LAYOUTS = ['v1.0.10', 'v1.2', 'current'] as const;
const CLI = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js');
const RUN = '/run/eni';
const socket = `${RUN}/enactor.socket`;
const LOCK = `${RUN}/terwayd.lock`;

/** As CRI-O calls it for a pod of Terway's: with the configuration that it cached, which tells nothing of us. */
function del(here: Machine, containerId: string, name: string, netns: string) {
  const env = {
    CNI_COMMAND: 'DEL',
    CNI_CONTAINERID: containerId,
    CNI_NETNS: netns,
    CNI_IFNAME: 'eth0',
    CNI_PATH: here.dir,
  };
  const stdin = JSON.stringify({ cniVersion: '0.4.0', name: 'terway', type: 'terway', eniip_virtual_type: 'Veth' });
  return startPlugin(null, { env: { ...env, CNI_ARGS: argsOf(name) }, stdin, plugin: join(here.dir, 'terway') });
}

function add(here: Machine, containerId: string, name: string, netns: string) {
  const env = {
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: containerId,
    CNI_NETNS: netns,
    CNI_IFNAME: 'eth0',
    CNI_PATH: here.dir,
  };
  const conf = {
    cniVersion: '1.0.0',
    name: 'enactor',
    type: 'enactor-cni',
    daemonSocket: socket,
    dataDir: here.paths.dataDir,
  };
  return startPlugin(null, { env: { ...env, CNI_ARGS: argsOf(name) }, stdin: JSON.stringify(conf), plugin: PLUGIN });
}

/** Rules about these addresses. */
function about(addresses: readonly string[]): string[] {
  const lines = ip('rule').split('\n');
  return lines.filter((line) => addresses.some((address) => line.includes(`${address} `)));
}

/** Addresses of the ENIs that a fresh store knows nothing of are held back for a moment. */
const podsOf = ({ leases }: NodeReport) => leases.filter(({ sandbox }) => !isHeldBack(sandbox));

const start = (here: Machine): DaemonRun => here.start({ jsonSocket: socket, lockFile: LOCK });

/**
 * Its runtime stops it: DEL, then its namespace goes, then the API server’s object. `late`: the namespace is gone before, so that the runtime knows
 * no path of it any more. Either way the lease ends with the DEL: the collector could not, while the API server has the pod.
 */
async function end(t: Test, here: Machine, daemon: DaemonRun, pod: TerwayPod, late: boolean): Promise<void> {
  const veth = hostVethName({ namespace: 'default', name: pod.name }, 'eth0');
  if (late) pod.namespace.remove();
  // The kernel takes its devices in its own time.
  if (late) await daemon.until(async () => !ip('-o', 'link').includes(veth));
  const { exitCode, stdout } = await del(here, pod.containerId, pod.name, late ? '' : pod.namespace.path);
  if (exitCode !== 0 || stdout !== '') t.fail(`DEL of ${pod.name}: ${exitCode} ${stdout}`);
  if (ip('-o', 'link').includes(veth)) t.fail(`${pod.name}: its device is there yet`);
  const rules = about([pod.ip]).filter((line) => !line.startsWith('100:'));
  if (rules.length > 0) t.fail(`${pod.name}: ${rules.join(', ')}`);
  const leased = podsOf(await daemon.report()).filter(({ sandbox }) => sandbox.pod.name === pod.name);
  if (leased.length > 0) t.fail(`${pod.name}: its lease is there yet`);
  if (!late) pod.namespace.remove();
  here.removePod(pod.name);
}

/** As libcni calls it, with the result that Terway’s plugin once printed: exit code 0, or what is missing. */
async function check(here: Machine, { containerId, name, namespace, ip: address }: TerwayPod): Promise<unknown> {
  const env = {
    CNI_COMMAND: 'CHECK',
    CNI_CONTAINERID: containerId,
    CNI_NETNS: namespace.path,
    CNI_IFNAME: 'eth0',
    CNI_PATH: here.dir,
  };
  const conf = { cniVersion: '1.0.0', name: 'enactor', type: 'enactor-cni', daemonSocket: socket };
  const prevResult = {
    cniVersion: '1.0.0',
    interfaces: [{ name: 'eth0', sandbox: containerId }],
    ips: [{ address: `${address}/24`, gateway: '192.168.0.253', interface: 0 }],
  };
  const stdin = JSON.stringify({ ...conf, dataDir: here.paths.dataDir, prevResult });
  const ran = await startPlugin(null, { env: { ...env, CNI_ARGS: argsOf(name) }, stdin, plugin: PLUGIN });
  return ran.exitCode === 0 ? 0 : (ran.json() as { msg: string }).msg;
}

async function added(
  t: Test,
  here: Machine,
  daemon: DaemonRun,
  name: string,
): Promise<readonly [string, string, string]> {
  const namespace = new TestNamespace(t, 'pod');
  here.addPod(name);
  let ran = await add(here, `c-${name}`, name, namespace.path);
  await daemon.until(async () => {
    if (ran.exitCode !== 0) ran = await add(here, `c-${name}`, name, namespace.path);
    return ran.exitCode === 0;
  });
  const { ips } = ran.json() as { ips: { address: string }[] };
  return [`default/${name}`, ips[0]?.address.split('/')[0] ?? '', `c-${name}`];
}

t.test('P14, P15, F10: in and out of Terway', async (t) => {
  for (const needed of [CLI, PLUGIN]) if (!existsSync(needed)) throw new Error(`${needed} is not built: npm run build`);
  const quick = {
    gc_period: '300ms',
    gc_grace: '0s',
    leftover_grace: '100ms',
    kernel_gather: '50ms',
    kernel_period: '1s',
  };
  const config = { cool_down: '0s', min_pool_size: 0, max_pool_size: 6, backoff: '100ms', ...quick };
  const here = await machine(t, config, { topology: defaultTopology('ecs.g7.4xlarge', 1) });
  if (!here.dir.startsWith('/run/')) {
    t.comment('NOT RUN: the box has no /run of its own');
    return;
  }
  mkdirSync(RUN, { recursive: true });
  copyFileSync(PLUGIN, join(here.dir, 'terway'));
  const enis = await terwayEnis(here.cloud.url, LAYOUTS.length);
  ip('link', 'add', 'cali0000foreign', 'type', 'veth', 'peer', 'name', 'foreignp');
  ip('rule', 'add', 'from', '10.9.9.9/32', 'lookup', '1077', 'priority', '2048');

  const calls = async () =>
    ((await (await fetch(`${here.cloud.adminUrl}/ledger`)).json()) as { lastSeq: number }).lastSeq;
  const before = await calls();
  t.ok(before > 0, 'calls are counted');
  const terway = tryFileLock(LOCK);
  const refused = start(here);
  const pods = LAYOUTS.flatMap((layout, at) =>
    terwayPods(terwayHere(t), layout, enis[at] as CloudEni, { sticky: STICKY }),
  );
  for (const { name } of pods) here.addPod(name);
  const db = join(here.dir, 'terway.db');
  const entries = pods.map((pod) => [`default/${pod.name}`, Buffer.from(recordOf(pod))] as const);
  writeFileSync(db, bucketFile(TERWAY_BUCKET, new Map(entries)));
  t.strictSame(await refused.ended, { code: 1, signal: null }, 'P14: Terway’s daemon has its lock, so we end');
  t.match(refused.log, /already running: another daemon holds .*lock/, 'and say why');
  t.equal(await calls(), before, 'without one call of the cloud');
  terway?.release();

  // Terway’s own may stay: ours is the first by name.
  const conflists = join(here.dir, 'cni');
  writeFileSync(join(conflists, '10-terway.conflist'), '{}');
  const daemon = start(here);
  await daemon.serving();
  t.equal(tryFileLock(LOCK), null, 'P14: Terway’s daemon does not get its lock while we run');
  const told = podsOf(await daemon.report()).map(({ sandbox, grant, reserveMs }) => [
    ...[podKey(sandbox.pod), grant.address.ipv4, grant.eni.eniId, sandbox.containerId, reserveMs ?? 0],
  ]);
  const wanted = pods.map(({ name, ip: address, eni, layout, containerId, sticky }) => [
    ...[`default/${name}`, address, eni.eniId],
    ...[layout === 'current' ? containerId : `unnamed:default.${name}`, sticky ? 300_000 : 0],
  ]);
  t.strictSame(told.sort(), wanted.sort(), 'P15: each of sixty pods has its address, and what is kept of it');

  const instead = join(conflists, '00-terway.conf');
  writeFileSync(instead, '{}');
  await daemon.until(async () => /00-terway.conf.*comes before ours/.test(daemon.log));
  t.notMatch(
    daemon.log,
    /10-terway.conflist.*comes before ours/,
    'two configurations: the one that the runtime takes is told',
  );
  rmSync(instead);

  const fresh = await Promise.all(['new-0', 'new-1', 'new-2'].map((name) => added(t, here, daemon, name)));
  const all = [...fresh.map(([, address]) => address), ...pods.map((pod) => pod.ip)];
  t.equal(new Set(all).size, pods.length + fresh.length, 'no address is given twice');

  for (const layout of LAYOUTS) {
    const rebuilt = pods.findLast((pod) => pod.layout === layout) as TerwayPod;
    const late = await del(here, 'an-older-sandbox', rebuilt.name, layout === 'v1.2' ? '/run/netns/older' : '');
    t.equal(late.exitCode, 0, `${layout}: a late DEL of the sandbox before`);
    t.match(ip('route', 'get', rebuilt.ip), /dev cali/, 'costs the pod nothing');
    ip('rule', 'add', 'from', `${rebuilt.ip}/32`, 'lookup', '77', 'priority', '100');
    t.equal(await check(here, rebuilt), 0, `${layout}: CHECK finds all that the pod needs`);
    rebuilt.namespace.ip('route', 'del', 'default');
    t.match(await check(here, rebuilt), /missing: default route via 169.254.1.1/, 'and says what it lacks');
    rebuilt.namespace.ip('route', 'add', 'default', 'via', '169.254.1.1', 'dev', 'eth0', 'onlink');
  }
  t.equal(podsOf(await daemon.report()).length, pods.length + fresh.length, 'nor is it given up by the daemon');

  const live = pods.slice(-10);
  const [sticky, ...others] = pods.filter((pod) => pod.layout === 'current' && !live.includes(pod)) as [TerwayPod];
  const ended = [...pods.filter((pod) => pod.layout !== 'current'), sticky, ...others];
  await Promise.all(
    [0, 1, 2, 3].map(async (turn) => {
      for (const pod of ended.filter((_, at) => at % 4 === turn))
        await end(t, here, daemon, pod, pod.name.endsWith('-7'));
    }),
  );
  t.equal(podsOf(await daemon.report()).length, live.length + fresh.length, 'each lease ended with its DEL');
  const gone = ended.map((pod) => pod.ip);
  const left = () => about(gone).map((line) => line.split(':')[0]);
  await daemon.until(async () => left().length === 2);
  t.strictSame(left(), ['100', '100'], 'emptied: of all rules about their addresses somebody else’s are left');
  t.match(ip('-o', 'link'), /cali0000foreign/, 'and his device');
  t.match(ip('rule'), /10\.9\.9\.9/, 'and his rule');

  const again = await added(t, here, daemon, sticky.name);
  t.equal(again[1], sticky.ip, 'a StatefulSet’s pod comes back to its address');
  const refilled = [...fresh, again];
  for (let nth = 0; nth < REFILL; nth += 1) refilled.push(await added(t, here, daemon, `r-${nth}`));
  t.equal(
    new Set([...refilled.map(([, address]) => address), ...live.map((pod) => pod.ip)]).size,
    live.length + refilled.length,
  );

  const command = [
    CLI,
    'terway-give-back',
    '--db',
    db,
    '--data-dir',
    here.paths.dataDir,
    '--lock-file',
    LOCK,
    '--cni-conf-dir',
    conflists,
  ];
  const giveBack = () => spawnSync(process.execPath, [...command, '-o', 'json'], { encoding: 'utf8' });
  t.match(giveBack(), { status: 3, stderr: /the daemon runs: stop it first/ }, 'F10: not while we run');
  await daemon.stop();
  const ran = giveBack();
  t.equal(ran.status, 0, ran.stderr);
  t.strictSame(readdirSync(conflists), ['10-terway.conflist'], 'the runtime turns to Terway’s configuration');
  const back = [...refilled, ...live.map((pod) => [`default/${pod.name}`, pod.ip, pod.containerId])].sort();
  // Of StatefulSets’ pods that are gone the addresses are kept on.
  const records = readTerwayDatabase(db)?.records ?? [];
  const running = records.filter(({ netns }) => netns !== '');
  const lines = (list: readonly TerwayRecord[]) =>
    list.map(({ pod, ipv4, containerId }) => [podKey(pod), ipv4, containerId]).sort();
  t.strictSame(lines(running), back, 'F10: each live pod is where Terway’s daemon looks');
  const kept = ended.filter((pod) => pod.sticky && pod !== sticky).map((pod) => [`default/${pod.name}`, pod.ip]);
  t.strictSame(
    records
      .filter(({ netns }) => netns === '')
      .map(({ pod, ipv4 }) => [podKey(pod), ipv4])
      .sort(),
    kept.sort(),
  );

  if (process.env.ENACTOR_SPEED !== '1') return; // the soak's
  t.match(giveBack(), { status: 0, stdout: /"written": *\[\]/ }, 'again: what was written stays');
  const once = start(here);
  await once.serving();
  const mine = podsOf(await once.report()).map(({ sandbox, grant }) => [
    podKey(sandbox.pod),
    grant.address.ipv4,
    sandbox.containerId,
  ]);
  t.strictSame(mine.sort(), back, 'and in once more');
});
