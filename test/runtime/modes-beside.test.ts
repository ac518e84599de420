/**
 * Pods of all modes that may share a node do so under the real containerd: two that share an ENI, two that have an ENI each (one asks by annotation, one by the
 * resource). Each reaches pods, services, its node and the internet, and is reached, in both families and under both forms of kube-proxy, and the far end sees
 * whom it should; src/lab/checks/paths.md tells the same. Pods that are stopped over CRI leave their ENI's device on the host, and nothing else.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { OWN_ENI_ANNOTATION, OWN_ENI_RESOURCE } from '../../src/core/own-eni.ts';
import { modesTable, type Seen } from '../../src/lab/checks/modes-table.ts';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { POD_CIDRS, SERVICE_CIDRS } from '../../src/lab/checks/service-ranges.ts';
import { INTERNET, openEdge } from '../../src/lab/edge/edge.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { LAB_INSTANCE_TYPE, labTopology } from '../../src/lab/lab-topology.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import { NOTHING_REFUSED } from '../../src/lab/router/refused.ts';
import { KubeProxy, PROXY_FORMS } from '../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';
import { publishService, SERVICE_PORT, syncEndpointSlices } from '../../src/lab/services/publish-service.ts';
import { WEB_PORT } from './busybox-image.ts';
import { missingForContainerd } from './containerd.ts';
import { CriNode, type CriPod } from './cri-node.ts';
import { leftBehind } from './left-behind.ts';
import { BACKENDS, type Backend, ELSEWHERE, FAR, MATRIX, MODES, NODE, type Target } from './mode-matrix.ts';
import { type Aim, inNetns, inPod, type Shell, serveWho, whoAnswers } from './who-answers.ts';

const LISTEN_TRIES = 50;
const LISTEN_PAUSE_MS = 100;

t.setTimeout(180_000);
const missing = [...missingForContainerd(), ...[missingForServices() ?? []].flat()];
const skip = missing.length > 0 && `NOT RUN: ${missing.join(', ')}`;

const wanted = {
  shared: {},
  'shared-2': {},
  own: { annotations: { [OWN_ENI_ANNOTATION]: 'true' } },
  'own-2': { resources: { [OWN_ENI_RESOURCE]: '1' } },
} as const;

/** The addresses of a backend's service. */
function serviceOf(name: Backend): { readonly clusterIps: readonly string[]; readonly nodePort: number } {
  const at = BACKENDS.indexOf(name) + 10;
  return { clusterIps: [`172.21.0.${at}`, `fd00:21::${at}`], nodePort: 30_800 + at };
}

type Rig = { readonly lab: Lab; readonly node: CriNode; readonly pods: ReadonlyMap<string, CriPod> };

t.test(
  'runtime: pods of each mode beside each other, each seen as it should be, and gone without a trace',
  { skip },
  async (t) => {
    const config = {
      ip_stack: 'dual',
      cool_down: '200ms',
      min_pool_size: 0,
      max_pool_size: 12,
      service_cidr: Object.values(SERVICE_CIDRS).join(),
    };
    const lab = await startLab({ topology: labTopology(2, LAB_INSTANCE_TYPE.instanceType, true), config });
    const ends: (() => Promise<unknown>)[] = [];
    try {
      await openEdge(lab);
      const node = await CriNode.start(lab, lab.node(NODE));
      ends.push(() => node.containerd.stop());
      const pods = new Map<string, CriPod>();
      const start = async (name: keyof typeof wanted) =>
        pods.set(name, await node.startPod(name, { labels: { pod: name }, ...wanted[name] }));
      await Promise.all([start('shared'), start('shared-2'), lab.addPod(FAR, ELSEWHERE, { labels: { pod: FAR } })]);
      await Promise.all([start('own'), start('own-2')]);
      for (const name of [FAR, NODE, ELSEWHERE, INTERNET]) ends.push(await serveWho(netnsOf(lab, name), name));
      const rig = { lab, node, pods };
      placed(t, rig);
      await reached(t, rig);
      await stopped(t, rig);
      if (!t.passing())
        t.comment(await node.containerd.logTail(), (await lab.node(NODE).daemon?.logTail(40))?.join('\n'));
    } finally {
      for (const end of ends.toReversed()) await end().catch((error) => t.fail(`${error}`));
      t.strictSame(await leftBehind(join(lab.node(NODE).dir, 'cri')), { processes: [], mounts: [], cgroups: [] });
      t.strictSame(await lab.stop(), [], 'nothing is left behind');
    }
  },
);

function netnsOf(lab: Lab, name: string): Netns {
  const netns = lab.netnsOf(name);
  if (netns === null) throw new Error(`no ${name}`);
  return netns;
}

const ip = (netns: Netns, ...argv: readonly string[]): string => {
  const { command, args } = netns.command('ip', argv);
  return execFileSync(command, args, { encoding: 'utf8' });
};

const eniOf = ({ lab, pods }: Rig, name: string) =>
  lab.truth().enis.find(({ ipv4 }) => ipv4.includes(pods.get(name)?.ip ?? 'none'));

/** On the node, outside of pods. */
const hasDevice = ({ lab }: Rig, mac = 'none') => ip(netnsOf(lab, NODE), '-o', 'link', 'show').includes(mac);

function placed(t: Test, rig: Rig): void {
  for (const [name, { ips }] of rig.pods) t.equal(ips.length, 2, `${name} has an address of each family`);
  t.equal(eniOf(rig, 'shared')?.eniId, eniOf(rig, 'shared-2')?.eniId, 'two pods share an ENI');
  t.ok(hasDevice(rig, eniOf(rig, 'shared')?.mac), 'whose device is the node’s');
  for (const name of ['own', 'own-2']) {
    t.equal(eniOf(rig, name)?.ipv4.length, 1, `${name}: nobody else has an address of its ENI`);
    t.notOk(hasDevice(rig, eniOf(rig, name)?.mac), `${name}: the device of its ENI is not the node’s`);
  }
}

async function reached(t: Test, rig: Rig): Promise<void> {
  const { lab } = rig;
  const target = { protocol: 'TCP', port: WEB_PORT } as const;
  for (const name of BACKENDS) publishService(lab.api, { name, selector: { pod: name }, ...serviceOf(name), target });
  syncEndpointSlices(lab.api);
  const byMode = new Map(MODES.map((mode) => [mode, [] as Seen[]] as const));
  for (const form of PROXY_FORMS) {
    const proxies = lab.nodes.map(({ name, guest }) => {
      const local = { by: 'clusterCidr', cidrs: POD_CIDRS } as const;
      return new KubeProxy(guest.netns, lab.api, form, { name, ips: guest.ips, local, serviceCidrs: SERVICE_CIDRS });
    });
    await Promise.all(proxies.map((proxy) => proxy.sync()));
    for (const from of new Set(MATRIX.map((path) => path.from))) {
      const rows = MATRIX.filter((path) => path.from === from).flatMap((path) =>
        ([4, 6] as const).map((family) => ({ path, family })),
      );
      const answers = await whoAnswers(
        shellOf(rig, from),
        rows.map(({ path, family }) => aimOf(rig, path.target, family)),
      );
      for (const [index, { path, family }] of rows.entries()) {
        const answer = answers[index] ?? null;
        const seen = answer === null ? 'dropped' : nameOf(rig, from, answer.sourceSeen);
        const told = `${form}, IPv${family}: ${path.mode}, ${path.words}`;
        t.equal(answer?.place, path.at, `${told}: who answers`);
        t.equal(seen, path.seenAs[family], `${told}: whom it saw`);
        byMode
          .get(path.mode)
          ?.push({ path, form, family, ok: answer?.place === path.at && seen === path.seenAs[family], seen });
      }
    }
    await Promise.all(proxies.map((proxy) => proxy.remove()));
  }
  t.strictSame(lab.refused(), NOTHING_REFUSED, 'the router refused nothing');
  const table = modesTable(byMode, MODES, [...new Set(MATRIX.map(({ words }) => words))]);
  t.equal(table, tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'runtime'), 'paths.md has this table');
}

function shellOf({ lab, node, pods }: Rig, from: string): Shell {
  const pod = pods.get(from);
  return pod === undefined ? inNetns(netnsOf(lab, from)) : inPod(node, pod);
}

const ipsOf = ({ lab, pods }: Rig, name: string): readonly string[] => pods.get(name)?.ips ?? lab.place(name).ips;

function aimOf(rig: Rig, target: Target, family: 4 | 6): Aim {
  const pick = (ips: readonly string[], port: number): Aim => {
    const address = ips.find((one) => one.includes(':') === (family === 6));
    if (address === undefined) throw new Error(`no address of IPv${family} in ${ips}`);
    return { address, port };
  };
  if (target.to === 'place') return pick(ipsOf(rig, target.name), WEB_PORT);
  const { clusterIps, nodePort } = serviceOf(target.service);
  return target.to === 'clusterIp' ? pick(clusterIps, SERVICE_PORT) : pick(ipsOf(rig, target.node), nodePort);
}

function nameOf(rig: Rig, from: string, source: string): string {
  if (ipsOf(rig, from).includes(source)) return 'own';
  return [...rig.pods.keys(), ...rig.lab.placeNames()].find((name) => ipsOf(rig, name).includes(source)) ?? source;
}

async function stopped(t: Test, rig: Rig): Promise<void> {
  const { lab, node, pods } = rig;
  const enis = [...pods.keys()].map((name) => eniOf(rig, name));
  await Promise.all([...pods.values()].map((pod) => node.stopPod(pod)));
  for (const eni of enis) t.ok(hasDevice(rig, eni?.mac), `${eni?.eniId}: its device is the node’s`);
  t.strictSame((await node.node.report())?.leases, []);
  t.strictSame(tracesOnHost(rig), [], 'no pair, route or rule of a pod');
  for (const pod of pods.values()) await node.removePod(pod);

  // The node has no place for another ENI: the pod waits until the address of one that came back has rested.
  const again = await node.startPod('again', wanted.own);
  const eni = enis.find((one) => one?.ipv4.includes(again.ip));
  t.notOk(hasDevice(rig, eni?.mac ?? ''), 'an ENI that came back is the next pod’s');
  const asked = again.ips.map((address) => ({ address, port: WEB_PORT }));
  // What it runs listens a moment after it was started.
  let probe = await whoAnswers(inNetns(netnsOf(lab, NODE)), asked);
  for (let tries = 1; tries < LISTEN_TRIES && probe.includes(null); tries += 1) {
    await sleep(LISTEN_PAUSE_MS);
    probe = await whoAnswers(inNetns(netnsOf(lab, NODE)), asked);
  }
  t.strictSame(
    probe.map((answer) => answer?.place),
    ['again', 'again'],
    'which is reached by its node',
  );
  await node.stopPod(again);
  t.ok(hasDevice(rig, eni?.mac), 'and comes back again');
  t.strictSame(tracesOnHost(rig), []);
  await node.removePod(again);
}

/** Host's ends of pods, their routes and rules. */
function tracesOnHost({ lab }: Rig): readonly string[] {
  const lines = (wanted: RegExp, ...args: readonly string[]) =>
    ip(netnsOf(lab, NODE), ...args)
      .split('\n')
      .filter((line) => wanted.test(line));
  return [
    ...lines(/cali/, '-o', 'link', 'show'),
    ...['-4', '-6'].flatMap((family) => [
      ...lines(/cali/, family, 'route', 'show', 'table', 'all'),
      ...lines(/^(512|2048):/, family, 'rule', 'show'),
    ]),
  ];
}
