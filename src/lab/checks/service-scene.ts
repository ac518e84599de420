/**
 * The lab that the table of paths is made in: two nodes, of which one has every backend but one, and what lies beyond the VPC.
 *
 * On `node-1`: `pod`, `mate` on the same ENI, `other` on another one, `port` with a host port; on `node-2`: `far`. Which ENI a pod is on comes
 * from the cloud's truth.
 */
import { externalIps, openEdge } from '../edge/edge.ts';
import type { Lab, LabOptions } from '../lab.ts';
import { startLab } from '../lab.ts';
import { LAB_INSTANCE_TYPE, labTopology } from '../lab-topology.ts';
import { publishService, syncEndpointSlices } from '../services/publish-service.ts';
import { LAB_OF_MODE, type PodMode, sharesEnis } from './pod-modes.ts';

export const [WITH, WITHOUT] = ['node-1', 'node-2'] as const;

export const HOST_PORT = 30_799;

/** Backends by service; null: every pod. */
const backends = {
  same: 'mate',
  across: 'other',
  far: 'far',
  self: 'pod',
  cluster: 'other',
  local: 'other',
  sticky: null,
} as const;

export type ServiceName = keyof typeof backends;

export const NODE_PORTS: Readonly<Partial<Record<ServiceName, number>>> = { cluster: 30_701, local: 30_702 };

export type Scene = {
  readonly mode: PodMode;
  readonly lab: Lab;
  /** From the names of the table to those of the lab. */
  readonly places: ReadonlyMap<string, string>;
  readonly clusterIps: Readonly<Partial<Record<ServiceName, readonly string[]>>>;
  /** Addresses from outside that lead to this service, by the node that they are routed to. */
  readonly external: (service: 'cluster' | 'local', node: string) => readonly string[];
};

export async function startScene(
  options: Omit<LabOptions, 'nodes' | 'topology' | 'mode'> = {},
  mode: PodMode = 'veth',
): Promise<Scene> {
  const topology = labTopology(2, LAB_INSTANCE_TYPE.instanceType, true);
  const of = LAB_OF_MODE[mode];
  const config = { ip_stack: 'dual', ...of.config, ...options.config };
  const lab = await startLab({ ...of, ...options, topology, config });
  try {
    if (mode === 'ipvlan') lab.router.answerForIpv6();
    await openEdge(lab);
    const places = await startPods(lab, mode);
    return { mode, lab, places, ...publish(lab, places) };
  } catch (error) {
    await lab.stop();
    throw error;
  }
}

async function startPods(lab: Lab, mode: PodMode): Promise<ReadonlyMap<string, string>> {
  const add = (name: string, node: string, hostPorts: readonly number[] = []) =>
    lab.addPod(name, node, { labels: { pod: name }, hostPorts });
  if (!sharesEnis(mode)) {
    await Promise.all([add('pod', WITH), add('other', WITH), add('port', WITH, [HOST_PORT]), add('far', WITHOUT)]);
    return new Map();
  }
  // One more than an ENI holds, so that there are two of them.
  const names = Array.from({ length: LAB_INSTANCE_TYPE.ipv4PerEni + 1 }, (_, index) => `p${index + 1}`);
  const [pods] = await Promise.all([
    Promise.all(names.map((name) => add(name, WITH))),
    add('port', WITH, [HOST_PORT]),
    add('far', WITHOUT),
  ]);
  const eniOf = (ip = '') => lab.truth().enis.find((eni) => eni.ipv4.includes(ip))?.eniId;
  for (const pod of pods) {
    const others = pods.filter((one) => one !== pod);
    const mate = others.find((one) => eniOf(one.ips[0]) === eniOf(pod.ips[0]));
    const other = others.find((one) => eniOf(one.ips[0]) !== eniOf(pod.ips[0]));
    if (mate === undefined || other === undefined) continue;
    return new Map([
      ['pod', pod.name],
      ['mate', mate.name],
      ['other', other.name],
    ]);
  }
  throw new Error('no two pods are on one ENI and a third on another');
}

function publish(lab: Lab, places: ReadonlyMap<string, string>): Pick<Scene, 'clusterIps' | 'external'> {
  const external = { cluster: new Map<string, readonly string[]>(), local: new Map<string, readonly string[]>() };
  for (const node of [WITH, WITHOUT]) {
    external.cluster.set(node, externalIps(lab, node, 0));
    external.local.set(node, externalIps(lab, node, 1));
  }
  const clusterIps: Partial<Record<ServiceName, readonly string[]>> = {};
  for (const [index, [name, backend]] of Object.entries(backends).entries()) {
    // Where no two pods are on one ENI there is no such service.
    if (backend === 'mate' && !places.has(backend)) continue;
    const service = name as ServiceName; // the keys of a record of ours
    const own = [`172.21.0.${index + 10}`, `fd00:21::${index + 10}`];
    clusterIps[service] = own;
    const nodePort = NODE_PORTS[service];
    publishService(lab.api, {
      name: service,
      selector: backend === null ? { app: 'echo' } : { pod: places.get(backend) ?? backend },
      ...(service === 'sticky' ? { affinityS: 60 } : {}),
      clusterIps: own,
      ...(nodePort === undefined ? {} : { nodePort }),
      ...(service === 'cluster' ? { externalIps: [...external.cluster.values()].flat() } : {}),
      ...(service === 'local'
        ? { loadBalancerIps: [...external.local.values()].flat(), policy: 'Local' as const }
        : {}),
    });
  }
  syncEndpointSlices(lab.api);
  return { clusterIps, external: (service, node) => external[service].get(node) ?? [] };
}
