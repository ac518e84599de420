/**
 * Whether a pod may have an address here: it exists, is this node's, wants its own network and is not somebody else's to serve.
 *
 * Source: Terway treats pods of other nodes, hostNetwork pods and those labelled k8s.aliyun.com/ignore-by-terway as not found.
 */
import { EnactorError } from '../core/errors.ts';
import { type PodRef, podKey } from '../core/sandbox.ts';
import type { Kubernetes, Pod } from '../ports/kubernetes.ts';

const IGNORE_LABEL = 'k8s.aliyun.com/ignore-by-terway';
/** A static pod has one UID for the kubelet, which is this annotation, and another at the API server. Source: kubelet, mirror pods. */
const STATIC_UID_ANNOTATION = 'kubernetes.io/config.hash';

/**
 * The pod as the API server has it. Rejects with `podUnknown` naming the reason, or `kubernetes` when the server does not answer:
 * the two must not be confused, since only one of them says that the pod is not there.
 */
export async function podOnThisNode(
  kubernetes: Kubernetes,
  nodeName: string,
  wanted: PodRef,
  signal: AbortSignal,
): Promise<Pod> {
  const pod = await kubernetes.getPod(wanted.namespace, wanted.name, signal);
  const problem = pod === null ? 'does not exist' : problemOf(pod, nodeName, wanted.uid);
  if (pod === null || problem !== null) throw new EnactorError('podUnknown', `pod ${podKey(wanted)} ${problem}`);
  return pod;
}

function problemOf(pod: Pod, nodeName: string, uid: string | null): string | null {
  if (pod.nodeName !== nodeName) return `is on node ${pod.nodeName ?? '(none yet)'}, not on ${nodeName}`;
  if (pod.hostNetwork) return "uses the host's network";
  if (pod.labels[IGNORE_LABEL] === 'true') return `is labelled ${IGNORE_LABEL}`;
  if (uid === null || uid === pod.uid || uid === pod.annotations[STATIC_UID_ANNOTATION]) return null;
  return `has uid ${pod.uid}, the sandbox was made for ${uid}`;
}
