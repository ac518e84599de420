/**
 * Every path that packets of pods and to pods take, with what should become of them: whether they arrive, at whom, and which source address
 * the far end sees.
 *
 * `own` is the sender's address. kube-proxy masquerades what comes from outside by policy Cluster, so that the answer comes back by the same
 * node; by policy Local it keeps the sender's address and drops what reaches a node without a backend. A pod that reaches itself through a
 * service sees its node, since the answer has to pass there (cases/field P20).
 * Source: Kubernetes, "Virtual IPs and service proxies", "Source IP for services"; cases/field, "The paths services take".
 */
import type { Family } from '../../core/ip.ts';
import { CLOUD_SERVICES, INTERNET, NAT_GATEWAY, OUTSIDE } from '../edge/edge.ts';
import type { ProxyForm } from '../services/kube-proxy.ts';
import { isDirect, type PodMode, sharesEnis } from './pod-modes.ts';
import { type ServiceName, WITH, WITHOUT } from './service-scene.ts';

export type Target =
  | { readonly to: 'place'; readonly name: string }
  | { readonly to: 'clusterIp'; readonly service: ServiceName }
  | { readonly to: 'nodePort' | 'external'; readonly service: 'cluster' | 'local'; readonly node: string }
  | { readonly to: 'hostPort'; readonly node: string };

export type Expected = 'dropped' | { readonly at: string; readonly seenAs: string };

export type ServicePath = {
  readonly words: string;
  readonly from: string;
  readonly target: Target;
  readonly expected: Readonly<Record<Family, Expected>>;
  /** The families that it is about. */
  readonly families: readonly Family[];
};

export const OWN = 'own';

const place = (name: string): Target => ({ to: 'place', name });
const clusterIp = (service: ServiceName): Target => ({ to: 'clusterIp', service });
const nodePort = (service: 'cluster' | 'local', node: string): Target => ({ to: 'nodePort', service, node });
const external = (service: 'cluster' | 'local', node: string): Target => ({ to: 'external', service, node });
const hostPort = (node: string): Target => ({ to: 'hostPort', node });

function path(words: string, from: string, target: Target, at: string, seenAs = OWN): ServicePath {
  const expected = { at, seenAs };
  return { words, from, target, expected: { 4: expected, 6: expected }, families: [4, 6] };
}

function dropped(words: string, from: string, target: Target): ServicePath {
  return { words, from, target, expected: { 4: 'dropped', 6: 'dropped' }, families: [4, 6] };
}

export const SERVICE_PATHS: readonly ServicePath[] = [
  path('pod to pod, same ENI', 'pod', place('mate'), 'mate'),
  path('pod to pod, another ENI of the node', 'pod', place('other'), 'other'),
  path('pod to pod, another node', 'pod', place('far'), 'far'),
  path('pod to its node', 'pod', place(WITH), WITH),
  path('pod to another node', 'pod', place(WITHOUT), WITHOUT),
  path('node to its pod (kubelet’s probe)', WITH, place('pod'), 'pod'),
  path('node to a pod of another node', WITHOUT, place('pod'), 'pod'),
  path('outside to pod', OUTSIDE, place('pod'), 'pod'),

  path('pod to ClusterIP, backend on the same ENI', 'pod', clusterIp('same'), 'mate'),
  path('pod to ClusterIP, backend on another ENI of the node', 'pod', clusterIp('across'), 'other'),
  path('pod to ClusterIP, backend on another node only', 'pod', clusterIp('far'), 'far'),
  path('pod to itself through its ClusterIP', 'pod', clusterIp('self'), 'pod', WITH),
  path('node to ClusterIP, backend on it', WITH, clusterIp('across'), 'other'),
  path('node to ClusterIP, backend on another node only', WITHOUT, clusterIp('across'), 'other'),

  path('pod to external IP, Cluster, backend on its node', 'pod', external('cluster', WITHOUT), 'other', WITH),
  path(
    'pod to external IP, Cluster, from a node without a backend',
    'far',
    external('cluster', WITH),
    'other',
    WITHOUT,
  ),
  path('pod to external IP, Local, backend on its node', 'pod', external('local', WITHOUT), 'other'),
  path('pod to external IP, Local, from a node without a backend', 'far', external('local', WITH), 'other'),
  path('node without a backend to external IP, Cluster', WITHOUT, external('cluster', WITH), 'other'),
  path('node without a backend to external IP, Local', WITHOUT, external('local', WITH), 'other'),
  path(
    'outside to external IP, Cluster, through a node with a backend',
    OUTSIDE,
    external('cluster', WITH),
    'other',
    WITH,
  ),
  path(
    'outside to external IP, Cluster, through a node without',
    OUTSIDE,
    external('cluster', WITHOUT),
    'other',
    WITHOUT,
  ),
  path('outside to external IP, Local, through a node with a backend', OUTSIDE, external('local', WITH), 'other'),
  dropped('outside to external IP, Local, through a node without', OUTSIDE, external('local', WITHOUT)),

  path('outside to NodePort, Cluster, on a node with a backend', OUTSIDE, nodePort('cluster', WITH), 'other', WITH),
  path('outside to NodePort, Cluster, on a node without', OUTSIDE, nodePort('cluster', WITHOUT), 'other', WITHOUT),
  path('outside to NodePort, Local, on a node with a backend', OUTSIDE, nodePort('local', WITH), 'other'),
  dropped('outside to NodePort, Local, on a node without', OUTSIDE, nodePort('local', WITHOUT)),
  path('pod to NodePort, Cluster, of its node', 'pod', nodePort('cluster', WITH), 'other', WITH),
  path('pod to NodePort, Cluster, of another node', 'far', nodePort('cluster', WITH), 'other', WITH),
  path('node to NodePort, Cluster, of another node', WITHOUT, nodePort('cluster', WITH), 'other', WITH),

  path('outside to hostPort', OUTSIDE, hostPort(WITH), 'port'),
  path('pod of another node to hostPort', 'far', hostPort(WITH), 'port'),

  { ...path('pod to the internet', 'pod', place(INTERNET), INTERNET), ...behindNat(OWN) },
  { ...path('node to the internet', WITH, place(INTERNET), INTERNET), ...behindNat(OWN) },
  { ...path('pod to a cloud service in 100.64.0.0/10', 'pod', place(CLOUD_SERVICES), CLOUD_SERVICES), families: [4] },
];

/** Those of the mode and the proxy, with what should become of them there. */
export function servicePaths(mode: PodMode, form: ProxyForm = 'iptables'): readonly ServicePath[] {
  const paths = pathsIn(mode);
  if (form !== 'ipvs') return paths;
  const lost = isDirect(mode) ? [...LOST_BY_IPVS, ...LOST_OF_DIRECT] : LOST_BY_IPVS;
  return paths.map((path) =>
    lost.includes(path.words) ? { ...path, expected: { 4: 'dropped', 6: 'dropped' } } : path,
  );
}

/** The node itself asks by the service's address, which is its own, and kube-proxy masquerades nothing by policy Local (ipvs-rules.ts). */
const LOST_BY_IPVS: readonly string[] = ['node without a backend to external IP, Local'];
/** The network leads it to the node without a backend, where it is as what comes from outside. */
const LOST_OF_DIRECT: readonly string[] = ['pod to external IP, Local, backend on its node'];

function pathsIn(mode: PodMode): readonly ServicePath[] {
  if (mode === 'veth') return SERVICE_PATHS;
  const rows = sharesEnis(mode) ? SERVICE_PATHS : SERVICE_PATHS.filter(({ words }) => !words.includes('same ENI'));
  const others = isDirect(mode) ? DIRECT : IN_POD_CIDR;
  return rows.map((one) => {
    const other = others[one.words];
    if (other === undefined) return one;
    const now = (family: Family): Expected => {
      const before = one.expected[family];
      const seenAs = other[family];
      return before === 'dropped' || seenAs === undefined ? before : { ...before, seenAs };
    };
    return { ...one, expected: { 4: now(4), 6: now(6) } };
  });
}

type Otherwise = Readonly<Record<string, Readonly<Partial<Record<Family, string>>>>>;

const seenAs = (name: string) => ({ 4: name, 6: name });

/**
 * A pod on the network itself: what the host rewrites for it or to it bears the node's address, since the pod answers past the host (cases/field F1, F2). A
 * service's address from outside is nothing that its own node knows of: the packet goes where the network sends it, to the other node.
 */
const DIRECT: Otherwise = {
  'pod to ClusterIP, backend on the same ENI': seenAs(WITH),
  'pod to ClusterIP, backend on another ENI of the node': seenAs(WITH),
  'pod to ClusterIP, backend on another node only': seenAs(WITH),
  'pod to external IP, Cluster, backend on its node': seenAs(WITHOUT),
  'pod to external IP, Cluster, from a node without a backend': seenAs(WITH),
  'pod to external IP, Local, backend on its node': seenAs(WITHOUT),
  'pod to external IP, Local, from a node without a backend': seenAs(WITH),
  'outside to external IP, Local, through a node with a backend': seenAs(WITH),
  'outside to NodePort, Local, on a node with a backend': seenAs(WITH),
  'outside to hostPort': seenAs(WITH),
  'pod of another node to hostPort': seenAs(WITH),
};

/** Addresses of the node's prefix are known in the pod range alone: beyond it pods bear the node's. */
const IN_POD_CIDR: Otherwise = {
  'pod to the internet': { 6: WITH },
  'pod to a cloud service in 100.64.0.0/10': { 4: WITH },
};

/** IPv4 is translated on its way to the internet, IPv6 is not. */
function behindNat(seenAs: string): Pick<ServicePath, 'expected'> {
  return { expected: { 4: { at: INTERNET, seenAs: NAT_GATEWAY }, 6: { at: INTERNET, seenAs } } };
}
