/**
 * Which leases outlived their pods: what one list of pods makes suspect, and what a second look has to agree with. Pure.
 *
 * A list may be short, empty or of another node, so it only ever raises a suspicion. A lease is gone when a direct question to the API
 * server agrees and nothing of the sandbox is left in the kernel; an answer that did not come is no answer.
 * Source: cases B16 and B17; Terway takes a pod that is missing from a list for gone once a GET agrees, and looks at no namespace.
 */
import type { Failure } from './errors.ts';
import { type PodRef, podKey, type SandboxKey } from './sandbox.ts';

/** Of a pod as the API server knows it: what tells whether it may hold an address here. */
export type PodSighting = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** A static pod has one UID for the kubelet and another at the API server; null for all others. */
  readonly staticUid: string | null;
  readonly nodeName: string | null;
  /** Succeeded or Failed: its containers will not run again. */
  readonly finished: boolean;
  readonly hostNetwork: boolean;
};

/** A bound lease, as far as its pod's fate is concerned. */
export type HeldLease = {
  readonly sandbox: SandboxKey;
  readonly containerId: string;
  readonly ifName: string;
  readonly pod: PodRef;
  readonly boundAtMs: number;
};

/** Why a lease has nobody any more. */
export type GoneReason = 'deleted' | 'finished' | 'replaced' | 'elsewhere' | 'newerSandbox';

export type Suspect = HeldLease & { readonly reason: GoneReason };

/** What the second look at a suspect brought. */
export type SecondLook = {
  readonly sandbox: SandboxKey;
  /** null in `pod`: the API server knows none of this name. */
  readonly api: { readonly pod: PodSighting | null } | { readonly failure: Failure };
  /** Whether something of the sandbox is left in the kernel. */
  readonly kernel: { readonly runs: boolean } | { readonly failure: Failure };
};

export type Verdict =
  | { readonly gone: true; readonly reason: GoneReason }
  /** `unknown`: a witness did not answer, so that nothing new is known. */
  | { readonly gone: false; readonly unknown: boolean; readonly why: string };

/** Why the pod that a lease was made for holds no address here any more; null while it may. */
export function goneBy(lease: Pick<HeldLease, 'pod'>, pod: PodSighting | null, nodeName: string): GoneReason | null {
  if (pod === null) return 'deleted';
  const { uid } = lease.pod;
  if (uid !== null && uid !== pod.uid && uid !== pod.staticUid) {
    return pod.nodeName !== null && pod.nodeName !== nodeName ? 'elsewhere' : 'replaced';
  }
  if (pod.nodeName !== nodeName) return 'elsewhere';
  if (pod.hostNetwork) return 'replaced';
  return pod.finished ? 'finished' : null;
}

/** The leases that the list, or a newer lease of the same pod and interface, speaks against. */
export function suspectsAmong(
  leases: readonly HeldLease[],
  pods: readonly PodSighting[],
  nodeName: string,
): readonly Suspect[] {
  const listed = new Map(pods.map((pod) => [podKey(pod), pod]));
  const newest = new Map<string, HeldLease>();
  for (const lease of leases) {
    const key = attachmentOf(lease);
    const other = newest.get(key);
    if (other === undefined || other.boundAtMs < lease.boundAtMs) newest.set(key, lease);
  }
  return leases.flatMap((lease): Suspect[] => {
    const reason = goneBy(lease, listed.get(podKey(lease.pod)) ?? null, nodeName);
    if (reason !== null) return [{ ...lease, reason }];
    return newest.get(attachmentOf(lease)) === lease ? [] : [{ ...lease, reason: 'newerSandbox' }];
  });
}

/** What both looks come to. */
export function verdictOn(suspect: Suspect, look: SecondLook, nodeName: string): Verdict {
  const unknown = (what: string, { detail }: Failure): Verdict => ({
    gone: false,
    unknown: true,
    why: `${suspect.reason}, but ${what} did not tell: ${detail}`,
  });
  if ('failure' in look.api) return unknown('the API server', look.api.failure);
  const second = goneBy(suspect, look.api.pod, nodeName);
  const reason = second ?? (suspect.reason === 'newerSandbox' ? suspect.reason : null);
  if (reason === null) return { gone: false, unknown: false, why: 'the list of pods lacks it, the API server has it' };
  if ('failure' in look.kernel) return unknown('the kernel', look.kernel.failure);
  if (look.kernel.runs)
    return { gone: false, unknown: false, why: `${reason}, but its network namespace is there yet` };
  return { gone: true, reason };
}

const attachmentOf = ({ pod, ifName }: HeldLease): string => `${podKey(pod)}/${ifName}`;
