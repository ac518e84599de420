/**
 * Whether a pod may have an address here: it exists, is this node's, wants its own network and is not somebody else's to serve.
 *
 * Source: Terway treats pods of other nodes, hostNetwork pods and those labelled k8s.aliyun.com/ignore-by-terway as not found.
 */
import { EnactorError } from '../core/errors.ts';
import { IGNORE_LABEL, isOfUid, type KeptPod } from '../core/pod-copy.ts';
import { type PodRef, podKey } from '../core/sandbox.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { PodCopies } from './pod-copies.ts';

export type PodSources = {
  readonly kubernetes: Pick<Kubernetes, 'getPod'>;
  /** Absent: the API server alone is asked. */
  readonly copies?: Pick<PodCopies, 'there' | 'gone'>;
  readonly nodeName: string;
  /** Whether a pod that is gone for the API server may be served yet. */
  readonly servesGone: (pod: KeptPod) => boolean;
};

/**
 * The pod as the watch has it, if it has the one that is meant, else as the API server has it, else as it was. Rejects with `podUnknown`
 * naming the reason, or `kubernetes` when the server does not answer: the two must not be confused, since only one of them says that the
 * pod is not there.
 */
export async function podOnThisNode(
  { kubernetes, copies, nodeName, servesGone }: PodSources,
  wanted: PodRef,
  signal: AbortSignal,
): Promise<KeptPod> {
  const known = copies?.there(wanted) ?? null;
  const pod = known ?? (await kubernetes.getPod(wanted.namespace, wanted.name, signal)) ?? goneOne();
  const problem = pod === null ? 'does not exist' : problemOf(pod, nodeName, wanted.uid);
  if (pod === null || problem !== null) throw new EnactorError('podUnknown', `pod ${podKey(wanted)} ${problem}`);
  return pod;

  function goneOne(): KeptPod | null {
    const gone = copies?.gone(wanted) ?? null;
    return gone !== null && servesGone(gone) ? gone : null;
  }
}

function problemOf(pod: KeptPod, nodeName: string, uid: string | null): string | null {
  if (pod.nodeName !== nodeName) return `is on node ${pod.nodeName ?? '(none yet)'}, not on ${nodeName}`;
  if (pod.hostNetwork) return "uses the host's network";
  if (pod.labels[IGNORE_LABEL] === 'true') return `is labelled ${IGNORE_LABEL}`;
  if (uid === null || isOfUid(pod, uid)) return null;
  return `has uid ${pod.uid}, the sandbox was made for ${uid}`;
}
