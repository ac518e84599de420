/**
 * P15: what Terway gave otherwise than as an address of a shared ENI by a pair. A pod with an ENI to itself is taken over whole, also by the record of an old
 * version, which tells the ENI's MAC alone; of ipvlan pods and those of its control plane (PodENI) nothing is ever taken while they live, nor is anything left of
 * them afterwards. With the real daemon, plugin and command, through a kill, the way back and in once more.
 */
import '../lab/in-box.ts';

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { readTerwayTexts, TERWAY_BUCKET } from '../../src/adapters/bolt/terway-database.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { isHeldBack } from '../../src/core/held-back.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { type DaemonRun, type Machine, machine } from '../daemon/machine.ts';
import { argsOf, PLUGIN, startPlugin } from '../plugin/plugin-process.ts';
import { ip, terwayEnis } from './terway-node.ts';

t.setTimeout(180_000);

const CLI = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js');
const GATEWAY = '192.168.0.253';

type Pod = { readonly name: string; readonly ip: string; readonly eni: CloudEni; readonly namespace: TestNamespace };

const vethOf = (name: string): string => hostVethName({ namespace: 'default', name }, 'eth0');
const containerOf = (name: string): string => `c-${name}`;

/** As its plugin does: the device moves into the pod, and a pair leads to what is the host's to do. */
function exclusivePod(t: Test, name: string, eni: CloudEni): Pod {
  const namespace = new TestNamespace(t, 'pod');
  const [address = ''] = eni.ipv4;
  const [, device = ''] = new RegExp(`\\d+: (eni\\d+)@.*${eni.mac}`).exec(ip('-o', 'link')) ?? [];
  ip('link', 'set', device, 'down');
  ip('link', 'set', device, 'netns', namespace.name, 'name', 'eth0');
  ip('link', 'add', vethOf(name), 'type', 'veth', 'peer', 'name', 'veth1', 'netns', namespace.name);
  namespace.batch([
    'link set eth0 up',
    `addr add ${address}/32 dev eth0`,
    `route add default via ${GATEWAY} dev eth0 onlink`,
    'link set veth1 up',
    `addr add ${address}/32 dev veth1`,
    'route add 169.254.1.1/32 dev veth1',
  ]);
  ip('link', 'set', vethOf(name), 'up');
  ip('route', 'add', `${address}/32`, 'dev', vethOf(name), 'scope', 'link');
  return { name, ip: address, eni, namespace };
}

/** This kernel has no ipvlan: what matters is what leads to the pod, the host's own slave of the ENI. */
function ipvlanPod(t: Test, name: string, eni: CloudEni): Pod {
  const namespace = new TestNamespace(t, 'pod');
  const [address = ''] = eni.ipv4;
  ip('link', 'add', 'ipvl_7', 'type', 'veth', 'peer', 'name', 'ipvl7p');
  ip('link', 'set', 'ipvl_7', 'up');
  ip('route', 'add', `${address}/32`, 'dev', 'ipvl_7');
  return { name, ip: address, eni, namespace };
}

const info = (name: string, more: object = {}) => ({ Name: name, Namespace: 'default', IPStickTime: 0, ...more });

function plugin(here: Machine, command: string, { name, ip: address, namespace }: Omit<Pod, 'eni'>) {
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: containerOf(name),
    CNI_NETNS: namespace.path,
    CNI_IFNAME: 'eth0',
    CNI_PATH: here.dir,
    CNI_ARGS: argsOf(name),
  };
  const prevResult = { cniVersion: '1.0.0', ips: [{ address: `${address}/24`, gateway: GATEWAY }] };
  const conf = { cniVersion: '1.0.0', name: 'enactor', type: 'enactor-cni', dataDir: here.paths.dataDir };
  const stdin = { ...conf, daemonSocket: here.paths.jsonSocket, ...(command === 'CHECK' && { prevResult }) };
  return startPlugin(null, { env, stdin: JSON.stringify(stdin), plugin: PLUGIN });
}

async function done(t: Test, here: Machine, command: string, pod: Omit<Pod, 'eni'>): Promise<void> {
  const { exitCode, stdout } = await plugin(here, command, pod);
  t.strictSame([exitCode, stdout], [0, ''], `${command} of ${pod.name}`);
}

async function added(t: Test, here: Machine, daemon: DaemonRun, name: string): Promise<string> {
  const namespace = new TestNamespace(t, 'pod');
  here.addPod(name);
  let given = '';
  await daemon.until(async () => {
    const ran = await plugin(here, 'ADD', { name, ip: '', namespace });
    if (ran.exitCode === 0) given = (ran.json() as { ips: { address: string }[] }).ips[0]?.address ?? '';
    return given !== '';
  });
  return given.split('/')[0] ?? '';
}

t.test('P15: pods of Terway’s that have an ENI of their own, ipvlan, or the control plane’s', async (t) => {
  for (const needed of [CLI, PLUGIN]) if (!existsSync(needed)) throw new Error(`${needed} is not built: npm run build`);
  const quick = { gc_period: '300ms', gc_grace: '0s', leftover_grace: '100ms', kernel_gather: '50ms' };
  const config = { cool_down: '0s', min_pool_size: 0, max_pool_size: 3, backoff: '100ms', kernel_period: '300ms' };
  const here = await machine(t, { ...config, ...quick }, { topology: defaultTopology('ecs.g7.4xlarge', 1) });
  const { url } = here.cloud;
  const [mine, old] = (await terwayEnis(url, 2, 1)) as [CloudEni, CloudEni];
  const [shared] = (await terwayEnis(url, 1, 2)) as [CloudEni];
  const [controlled] = (await terwayEnis(url, 1, 1, { creator: 'terway-controller' })) as [CloudEni];
  const own = [exclusivePod(t, 'own-0', mine), exclusivePod(t, 'own-1', old)] as const;
  const slave = ipvlanPod(t, 'slave', shared);
  const podEni = exclusivePod(t, 'pod-eni', controlled);
  const theirs = [...own, slave, podEni];
  for (const { name, ip: address } of theirs) {
    here.addPod(name);
    here.runPod(name, address);
  }
  const records = new Map<string, object>([
    [
      'own-0',
      {
        Resources: [{ type: 'eni', id: mine.mac, eni_id: mine.eniId, eni_mac: mine.mac, ipv4: own[0].ip, ipv6: '' }],
        ...{ PodInfo: info('own-0'), NetNs: own[0].namespace.path, ContainerID: containerOf('own-0') },
      },
    ],
    ['own-1', { Resources: [{ type: 'eni', id: old.mac }], PodInfo: info('own-1') }],
    [
      'slave',
      {
        Resources: [{ type: 'eniIp', id: `${shared.mac}.${slave.ip}` }],
        ...{ PodInfo: info('slave'), NetNs: slave.namespace.path, ContainerID: containerOf('slave') },
      },
    ],
    ['pod-eni', { Resources: null, PodInfo: info('pod-eni', { PodENI: true }), ContainerID: containerOf('pod-eni') }],
  ]);
  const db = join(here.dir, 'terway.db');
  const entries = [...records].map(([name, value]) => [`default/${name}`, Buffer.from(JSON.stringify(value))] as const);
  writeFileSync(db, bucketFile(TERWAY_BUCKET, new Map(entries)));
  const hasAll = (pod: Pod): boolean => pod.namespace.ip('-o', 'addr', 'show', 'eth0').includes(`${pod.ip}/32`);
  const eniInCloud = (pod: Pod) =>
    here.cloud.model.truth(here.cloud.live.nowMs()).enis.find(({ eniId }) => eniId === pod.eni.eniId);
  const leases = async (daemon: DaemonRun) => (await daemon.report()).leases.filter((one) => !isHeldBack(one.sandbox));

  let daemon = here.start();
  await daemon.serving();
  const adopted = [
    ['own-0', own[0].ip, mine.eniId, 'c-own-0', true],
    ['own-1', own[1].ip, old.eniId, 'unnamed:default.own-1', true],
  ];
  const told = async () =>
    (await leases(daemon))
      .map(({ sandbox, grant }) => [
        ...[sandbox.pod.name, grant.address.ipv4, grant.eni.eniId, sandbox.containerId, sandbox.ownEni],
      ])
      .sort();
  t.strictSame(await told(), adopted, 'pods with an ENI of their own have a lease of it');
  for (const pod of own) await done(t, here, 'CHECK', pod);
  own[0].namespace.ip('route', 'del', 'default');
  t.match((await plugin(here, 'CHECK', own[0])).json(), { code: 100, msg: /route to everywhere on eth0/ });
  own[0].namespace.ip('route', 'add', 'default', 'via', GATEWAY, 'dev', 'eth0', 'onlink');

  const fresh = ['new-0', 'new-1', 'new-2', 'new-3'];
  const given: string[] = [];
  for (const name of fresh) given.push(await added(t, here, daemon, name));
  const taken = theirs.map((pod) => pod.ip);
  t.strictSame(
    given.filter((address) => taken.includes(address)),
    [],
    'no address of theirs is given to another pod',
  );

  await daemon.kill();
  daemon = here.start();
  await daemon.serving();
  t.strictSame((await told()).slice(-2), adopted, 'killed and started again');
  for (const pod of [own[0], own[1], podEni]) t.ok(hasAll(pod), `${pod.name} has its device and address`);
  t.match(ip('route', 'get', slave.ip), /dev ipvl_7/, 'the way to the ipvlan pod is as it was');
  for (const pod of theirs) t.match(eniInCloud(pod), { status: 'InUse', ipv4: [pod.ip] }, `${pod.name}: its ENI too`);

  await daemon.stop();
  const files = ['--db', db, '--data-dir', here.paths.dataDir, '--lock-file', here.paths.lockFile];
  const ran = spawnSync(process.execPath, [CLI, 'terway-give-back', ...files], { encoding: 'utf8' });
  t.equal(ran.status, 0, ran.stderr + ran.stdout);
  const back = readTerwayTexts(db)?.texts;
  t.strictSame([...(back?.keys() ?? [])].sort(), [...records.keys(), ...fresh].map((name) => `default/${name}`).sort());
  for (const [name, value] of records)
    t.equal(
      back?.get(`default/${name}`)?.text,
      JSON.stringify(value),
      `${name} goes back with the record that it came with`,
    );
  daemon = here.start();
  await daemon.serving();
  t.strictSame((await told()).slice(-2), adopted, 'and in once more');

  for (const pod of theirs) await done(t, here, 'DEL', pod);
  const left = (await leases(daemon)).filter(({ sandbox }) => sandbox.pod.name.startsWith('own'));
  t.strictSame(left, [], 'their DEL ends the leases');
  for (const pod of own) {
    t.match(ip('-o', 'link'), new RegExp(pod.eni.mac), `${pod.name}: the device is the host’s again`);
    t.notMatch(ip('-o', 'link'), vethOf(pod.name), 'and the pair is gone');
  }
  t.notMatch(ip('-o', 'link'), vethOf(podEni.name), 'as is the one of a pod of which the daemon knows nothing');
  for (const pod of theirs) {
    here.removePod(pod.name);
    pod.namespace.remove();
  }
  const idle = async (pod: Pod): Promise<boolean> => {
    const eni = (await daemon.report()).enis.find(({ eniId }) => eniId === pod.eni.eniId);
    return eni?.addresses.some(({ ipv4, state }) => ipv4 === pod.ip && state === 'idle') === true;
  };
  for (const pod of [...own, slave]) await daemon.until(() => idle(pod));
  await daemon.until(async () => !ip('route').includes(`${slave.ip} `));
  const again: string[] = [];
  while (!taken.slice(0, 3).every((address) => again.includes(address)) && again.length < 20)
    again.push(await added(t, here, daemon, `again-${again.length}`));
  t.strictSame(
    taken.slice(0, 3).filter((address) => !again.includes(address)),
    [],
    'their addresses are of use again',
  );
  t.notOk(again.includes(podEni.ip), 'but for the one of the control plane’s ENI');
  t.match(eniInCloud(podEni), { status: 'InUse' }, 'which is as it was');
  t.notOk((await daemon.report()).enis.some(({ eniId }) => eniId === controlled.eniId));
});
