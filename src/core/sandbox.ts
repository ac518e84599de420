/**
 * A sandbox is one network attachment of one pod instance, named as the CNI does: container id and interface name.
 *
 * Terway's plugin sends no interface name on release; it means eth0.
 * Source: CNI SPEC 1.1, section 2 (an attachment is the pair CNI_CONTAINERID, CNI_IFNAME).
 */
import type { Shaping } from './shaping.ts';

export const DEFAULT_IF_NAME = 'eth0';

/** `uid` is null when the caller could not tell (kubelet before 1.23, Terway's plugin). */
export type PodRef = { readonly namespace: string; readonly name: string; readonly uid: string | null };

export type Sandbox = {
  readonly containerId: string;
  readonly ifName: string;
  /** Path of the pod's network namespace; empty when the caller gave none. */
  readonly netns: string;
  /** The name in the CNI configuration; empty for callers that send none. */
  readonly network: string;
  readonly pod: PodRef;
  /** What the pod's annotations ask for; absent: no limit. A lease keeps it, so that a second answer is like the first. */
  readonly shaping?: Shaping;
  /** It is to have an ENI of its own (own-eni.ts). A lease keeps it, so that its ENI is known for the pod's after a restart. */
  readonly ownEni?: true;
};

export type SandboxKey = string;

export function sandboxKey(sandbox: Pick<Sandbox, 'containerId' | 'ifName'>): SandboxKey {
  return `${sandbox.containerId}/${sandbox.ifName}`;
}

/**
 * The name of the sandbox of a pod that was taken over from a daemon which had written down no container id: a pod has one of them at most. No
 * runtime calls a container so.
 */
export function unnamedContainerId({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): string {
  return `unnamed:${namespace}.${name}`;
}

export function podKey(pod: Pick<PodRef, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`;
}
