/** Tries the paths of the table under one form of kube-proxy, and judges each by who answered and which source they saw. */
import type { Family } from '../../core/ip.ts';
import { ask } from '../probe/ask.ts';
import { ECHO_PORT, type ProbeResult } from '../probe/echo-socket.ts';
import { type RefusedCounts, refusedSince } from '../router/refused.ts';
import { KubeProxy, type ProxyForm } from '../services/kube-proxy.ts';
import type { LocalTraffic } from '../services/local-traffic.ts';
import { SERVICE_PORT } from '../services/publish-service.ts';
import type { PodMode } from './pod-modes.ts';
import { type Expected, OWN, type ServicePath, servicePaths, type Target } from './service-paths.ts';
import { OWN_POD_CIDRS, POD_CIDRS, SERVICE_CIDRS } from './service-ranges.ts';
import { HOST_PORT, NODE_PORTS, type Scene } from './service-scene.ts';

export type PathVerdict = {
  readonly path: ServicePath;
  readonly form: ProxyForm;
  readonly family: Family;
  readonly ok: boolean;
  /** `own`, the name of a place, or `dropped`; an address that nobody has as it is. */
  readonly seen: string;
  /** Who answered; null when nobody did. */
  readonly at: string | null;
  /** Empty when it is as it should be. */
  readonly why: string;
};

export type FormVerdict = { readonly verdicts: readonly PathVerdict[]; readonly refused: RefusedCounts };

/** Patience for what should arrive, and the time after which what should not is taken for dropped. */
const [ARRIVES_MS, DROPPED_MS] = [4_000, 1_000];
const AT_ONCE = 24;

/** By the range of the VPC, as a managed cluster's kube-proxy is set up where pods have addresses of the VPC. */
export const RIGHT_CIDR: LocalTraffic = { by: 'clusterCidr', cidrs: POD_CIDRS };

export const rightCidr = (mode: PodMode): LocalTraffic =>
  mode === 'VPCIP' ? { by: 'clusterCidr', cidrs: OWN_POD_CIDRS } : RIGHT_CIDR;

/** Does the work while every node has a kube-proxy of this form, and takes its rules away again. */
export async function withProxies<T>(
  { lab }: Scene,
  form: ProxyForm,
  local: LocalTraffic,
  work: () => Promise<T>,
): Promise<T> {
  const proxies = lab.nodes.map(
    ({ name, guest }) =>
      new KubeProxy(guest.netns, lab.api, form, { name, ips: guest.ips, local, serviceCidrs: SERVICE_CIDRS }),
  );
  await Promise.all(proxies.map((proxy) => proxy.sync()));
  try {
    return await work();
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.remove()));
  }
}

/** `patience`: how many times as long to wait, on a machine that is slow. */
export type Tries = { readonly paths?: readonly ServicePath[]; readonly patience?: number };

/** Tries the paths; the proxies are the caller's (`withProxies`). */
export async function tryForm(
  scene: Scene,
  form: ProxyForm,
  { paths = servicePaths(scene.mode, form), patience = 1 }: Tries = {},
): Promise<FormVerdict> {
  const { lab } = scene;
  const before = lab.refused();
  const jobs = paths.flatMap((path) => path.families.map((family) => ({ path, family })));
  const verdicts: PathVerdict[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < jobs.length; index = next++) {
      const job = jobs[index];
      if (job !== undefined) verdicts[index] = await tryOne(scene, form, job.path, job.family, patience);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { verdicts, refused: refusedSince(lab.refused(), before) };
}

async function tryOne(
  scene: Scene,
  form: ProxyForm,
  path: ServicePath,
  family: Family,
  patience: number,
): Promise<PathVerdict> {
  const expected = path.expected[family];
  const aim = aimOf(scene, path.target, family);
  const from = scene.places.get(path.from) ?? path.from;
  const netns = scene.lab.netnsOf(from);
  if (netns === null || aim === null) {
    const why = netns === null ? `${from} is not there` : 'the far end has no address of this family';
    return { path, form, family, ok: false, seen: 'not tried', at: null, why };
  }
  const timeoutMs = patience * (expected === 'dropped' ? DROPPED_MS : ARRIVES_MS);
  const result = await ask(netns, { ...aim, timeoutMs, attempts: expected === 'dropped' ? 2 : 4 });
  const seen = result.reached ? nameOf(scene, from, result.sourceSeen) : 'dropped';
  const at = result.reached ? tableName(scene, result.place ?? '') : null;
  const why = reasonAgainst(expected, result, seen, at, aim.address);
  return { path, form, family, ok: why === '', seen, at, why };
}

function reasonAgainst(
  expected: Expected,
  result: ProbeResult,
  seen: string,
  at: string | null,
  address: string,
): string {
  if (expected === 'dropped') return result.reached ? `${at} answered, and saw ${seen}` : '';
  if (!result.reached) return result.why;
  if (at !== expected.at) return `${at} answered in place of ${expected.at}`;
  if (seen !== expected.seenAs) return `${at} saw ${seen} in place of ${expected.seenAs}`;
  return result.answeredBy === address ? '' : `the answer came from ${result.answeredBy} in place of ${address}`;
}

/** Where packets to the target are sent; null where it has no address of the family. */
export function aimOf(scene: Scene, target: Target, family: Family): { address: string; port: number } | null {
  const { lab, places, clusterIps, external } = scene;
  const pick = (ips: readonly string[], port: number) => {
    const address = ips.find((ip) => ip.includes(':') === (family === 6));
    return address === undefined ? null : { address, port };
  };
  switch (target.to) {
    case 'place':
      return pick(lab.place(places.get(target.name) ?? target.name).ips, ECHO_PORT);
    case 'clusterIp':
      return pick(clusterIps[target.service] ?? [], SERVICE_PORT);
    case 'external':
      return pick(external(target.service, target.node), SERVICE_PORT);
    case 'nodePort':
      return pick(lab.place(target.node).ips, NODE_PORTS[target.service] ?? 0);
    case 'hostPort':
      return pick(lab.place(target.node).ips, HOST_PORT);
  }
}

function nameOf({ lab, places }: Scene, from: string, ip: string): string {
  if (lab.place(from).ips.includes(ip)) return OWN;
  const owner = lab.placeNames().find((name) => lab.place(name).ips.includes(ip));
  return owner === undefined ? ip : tableName({ places }, owner);
}

function tableName({ places }: Pick<Scene, 'places'>, name: string): string {
  return [...places].find(([, real]) => real === name)?.[0] ?? name;
}
