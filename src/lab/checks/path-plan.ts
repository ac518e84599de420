/**
 * Every path between the places of a lab, by the kind of way that the packets take.
 *
 * Which ENI a pod is on comes from the cloud's truth, not from the daemon that is being judged.
 */
import type { DaemonMode } from '../../core/daemon-mode.ts';
import { familyOf } from '../../core/ip.ts';
import type { Lab } from '../lab.ts';

export type PathKind =
  | 'pod to pod on one ENI'
  | 'pod to pod across two ENIs of a node'
  | 'pod to pod of a node'
  | 'pod to pod across nodes'
  | 'pod to its node'
  | 'node to its pod'
  | 'node to a pod on another node'
  | 'pod to another node'
  | 'pod to a host elsewhere in the VPC'
  | 'host elsewhere in the VPC to a pod';

export const PATH_KINDS: readonly PathKind[] = [
  'pod to pod on one ENI',
  'pod to pod across two ENIs of a node',
  'pod to pod of a node',
  'pod to pod across nodes',
  'pod to its node',
  'node to its pod',
  'node to a pod on another node',
  'pod to another node',
  'pod to a host elsewhere in the VPC',
  'host elsewhere in the VPC to a pod',
];

const NOT_IN: Readonly<Record<DaemonMode, readonly PathKind[]>> = {
  ENIMultiIP: ['pod to pod of a node'],
  VPC: ['pod to pod on one ENI', 'pod to pod across two ENIs of a node'],
  ENIOnly: ['pod to pod of a node', 'pod to pod on one ENI'],
};

/** Those that a lab has, by where its pods' addresses come from. */
export function kindsIn(mode: DaemonMode): readonly PathKind[] {
  return PATH_KINDS.filter((kind) => !NOT_IN[mode].includes(kind));
}

export type Path = {
  readonly kind: PathKind;
  readonly from: string;
  readonly to: string;
  /** Absent: the first address of the far end, which is an IPv4. */
  readonly family?: 6;
};

const hasIpv6 = (ips: readonly string[]): boolean => ips.some((ip) => familyOf(ip) === 6);

/** How many paths of IPv4 `pathsOf` gives for so many running pods and machines: each pod with everything else, both ways. */
export function pathCount(pods: number, machines: number): number {
  return pods * (pods - 1 + 2 * machines);
}

export function pathsOf(lab: Lab): Path[] {
  const eniByIp = new Map(lab.truth().enis.flatMap((eni) => eni.ipv4.map((ip) => [ip, eni.eniId] as const)));
  const pods = [...lab.pods.values()].filter((pod) => pod.phase === 'running');
  const eniOf = (ips: readonly string[]) => eniByIp.get(ips[0] ?? '');
  const paths: Path[] = [];
  for (const pod of pods) {
    for (const other of pods) {
      if (other === pod) continue;
      const kind =
        other.node !== pod.node
          ? 'pod to pod across nodes'
          : eniOf(pod.ips) === undefined
            ? 'pod to pod of a node'
            : eniOf(other.ips) === eniOf(pod.ips)
              ? 'pod to pod on one ENI'
              : 'pod to pod across two ENIs of a node';
      paths.push({ kind, from: pod.name, to: other.name });
      // Machines have no IPv6 here: that of pods goes from pod to pod.
      if (hasIpv6(pod.ips) && hasIpv6(other.ips)) paths.push({ kind, from: pod.name, to: other.name, family: 6 });
    }
    for (const { name } of lab.nodes) {
      const own = name === pod.node;
      paths.push({ kind: own ? 'pod to its node' : 'pod to another node', from: pod.name, to: name });
      paths.push({ kind: own ? 'node to its pod' : 'node to a pod on another node', from: name, to: pod.name });
    }
    for (const { name } of lab.hosts) {
      paths.push({ kind: 'pod to a host elsewhere in the VPC', from: pod.name, to: name });
      paths.push({ kind: 'host elsewhere in the VPC to a pod', from: name, to: pod.name });
    }
  }
  return paths;
}
