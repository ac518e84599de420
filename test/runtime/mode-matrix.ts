/**
 * What a pod of each mode that may share a node with the others can be asked of and by: the paths of the matrix, and what should become of each. `own` is the
 * sender's address, everything else the name of a place.
 *
 * What an ENI of a pod's own sends to services goes over the host, which has no way back to it but by itself: the far end sees the node. What a pod on a
 * shared ENI sends to services is turned by the host and keeps its address. Source: src/adapters/datapath/exclusive-plan.ts, Terway 1.2 (facts F1).
 */
import { INTERNET, NAT_GATEWAY, OUTSIDE } from '../../src/lab/edge/edge.ts';

export const MODES = ['shared ENI', 'ENI of its own'] as const;
export type Mode = (typeof MODES)[number];

export const [NODE, ELSEWHERE] = ['node-1', 'node-2'] as const;
/** Of each mode the pod that the matrix is about, and one more that it meets; `far` is on the other node. */
export const PODS = {
  'shared ENI': { pod: 'shared', other: 'shared-2' },
  'ENI of its own': { pod: 'own', other: 'own-2' },
} as const;
export const FAR = 'far';

/** Backends of services, each a service of that name. */
export const BACKENDS = ['shared', 'shared-2', 'own', 'own-2', FAR] as const;
export type Backend = (typeof BACKENDS)[number];

export type Target =
  | { readonly to: 'place'; readonly name: string }
  | { readonly to: 'clusterIp'; readonly service: Backend }
  | { readonly to: 'nodePort'; readonly service: Backend; readonly node: string };

export type MatrixPath = {
  readonly words: string;
  readonly mode: Mode;
  readonly from: string;
  readonly target: Target;
  readonly at: string;
  readonly seenAs: { readonly 4: string; readonly 6: string };
};

const OWN = 'own';
const place = (name: string): Target => ({ to: 'place', name });
const clusterIp = (service: Backend): Target => ({ to: 'clusterIp', service });
const nodePort = (service: Backend, node: string): Target => ({ to: 'nodePort', service, node });

function pathsOf(mode: Mode): readonly MatrixPath[] {
  const { pod, other } = PODS[mode];
  const throughHost = mode === 'ENI of its own' ? NODE : OWN;
  const path = (words: string, from: string, target: Target, at: string, seenAs: string = OWN): MatrixPath => ({
    ...{ words, mode, from, target, at },
    seenAs: { 4: seenAs, 6: seenAs },
  });
  return [
    path('to a pod on a shared ENI', pod, place('shared-2'), 'shared-2'),
    path('to a pod with an ENI of its own', pod, place('own-2'), 'own-2'),
    path('to a pod of another node', pod, place(FAR), FAR),
    path('to ClusterIP, backend on a shared ENI of the node', pod, clusterIp('shared-2'), 'shared-2', throughHost),
    path('to ClusterIP, backend of the node with an ENI of its own', pod, clusterIp('own-2'), 'own-2', throughHost),
    path('to ClusterIP, backend on another node', pod, clusterIp(FAR), FAR, throughHost),
    path('to itself through its ClusterIP', pod, clusterIp(pod), pod, NODE),
    path('to its node', pod, place(NODE), NODE),
    path('to another node', pod, place(ELSEWHERE), ELSEWHERE),
    { ...path('to the internet', pod, place(INTERNET), INTERNET), seenAs: { 4: NAT_GATEWAY, 6: OWN } },
    path('from its node (kubelet’s probe)', NODE, place(pod), pod),
    path('from its node through its ClusterIP', NODE, clusterIp(pod), pod),
    path('from another node', ELSEWHERE, place(pod), pod),
    path('from a pod of another node', FAR, place(pod), pod),
    path('from a pod of another node through its ClusterIP', FAR, clusterIp(pod), pod),
    path('from outside, NodePort of its node', OUTSIDE, nodePort(other, NODE), other, NODE),
    path('from outside, NodePort of another node', OUTSIDE, nodePort(other, ELSEWHERE), other, ELSEWHERE),
  ];
}

export const MATRIX: readonly MatrixPath[] = MODES.flatMap(pathsOf);
