/** The lab at one instant as a value: what the view draws, and what `enactor lab status` prints. */
import type { NodeReport } from '../../ports/introspection.ts';
import { POD_NAMESPACE } from '../kubelet/kubelet.ts';
import type { PodPhase } from '../kubelet/lab-pod.ts';
import type { Lab } from '../lab.ts';
import type { RefusedCounts } from '../router/refused.ts';
import type { Reachability } from './reachability.ts';

export type NodeStatus = {
  readonly name: string;
  readonly ip: string;
  readonly instanceId: string;
  /** Of the daemon's process; null when it has ended. */
  readonly pid: number | null;
  /** Null while the daemon does not answer. */
  readonly report: NodeReport | null;
  /** As seen from outside the box. */
  readonly debugSocket: string;
  readonly grpcSocket: string;
  readonly log: string;
};

export type PodStatus = {
  readonly name: string;
  readonly node: string;
  readonly phase: PodPhase;
  readonly ip: string | null;
  readonly startedInMs: number | null;
  /** Why the last try failed; while none has, what the daemon says that the pod waits for. */
  readonly failure: string | null;
  readonly failedTries: number;
  readonly sinceMs: number;
  readonly startTimeoutMs: number | null;
};

export type LabStatus = {
  readonly atMs: number;
  readonly hostPid: number;
  readonly nodes: readonly NodeStatus[];
  readonly hosts: readonly { readonly name: string; readonly ip: string }[];
  readonly pods: readonly PodStatus[];
  readonly reachability: Reachability;
  readonly refused: RefusedCounts;
  readonly problems: readonly string[];
};

export async function labStatus(lab: Lab, reachability: Reachability): Promise<LabStatus> {
  const reports = await Promise.all(lab.nodes.map((node) => node.report()));
  return {
    atMs: Date.now(),
    hostPid: lab.hostPid,
    nodes: lab.nodes.map((node, index) => ({
      name: node.name,
      ip: node.nodeIp,
      instanceId: node.instanceId,
      pid: node.daemon?.pid ?? null,
      report: reports[index] ?? null,
      debugSocket: fromOutside(lab, node.debugSocket),
      grpcSocket: fromOutside(lab, node.grpcSocket),
      log: fromOutside(lab, node.logPath),
    })),
    hosts: lab.hosts.map(({ name }) => ({ name, ip: lab.place(name).ips[0] ?? '' })),
    pods: [...lab.pods.values()].map((pod) => ({
      name: pod.name,
      node: pod.node,
      phase: pod.phase,
      ip: pod.ips[0] ?? null,
      startedInMs: pod.startedInMs,
      failure: pod.failure ?? waitsFor(pod.name, reports),
      failedTries: pod.failedTries,
      sinceMs: pod.sinceMs,
      startTimeoutMs: pod.startTimeoutMs,
    })),
    reachability,
    refused: lab.refused(),
    problems: lab.problems(),
  };
}

function waitsFor(name: string, reports: readonly (NodeReport | null)[]): string | null {
  const waiting = reports.flatMap((report) => report?.waiting ?? []);
  return waiting.find(({ pod }) => pod === `${POD_NAMESPACE}/${name}`)?.reason ?? null;
}

/** A path inside the box as another process of this machine has to write it. */
export function fromOutside(lab: Pick<Lab, 'hostPid'>, path: string): string {
  return `/proc/${lab.hostPid}/root${path}`;
}
