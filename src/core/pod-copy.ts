/**
 * What is kept of a pod, so that it is known while the API server does not answer, and for an hour after it was deleted: whose it is, and
 * what decides about its address. Of labels and annotations only those that we read, since others may be large and change often.
 *
 * Source: Terway's pod.db: records of absent pods are marked, and removed after an hour; its ADD takes one when the API server knows no such pod.
 */
export const POD_COPY_VERSION = 1;

/** How long a pod that is gone stays known. */
export const POD_COPY_MS = 3_600_000;

/** Of a pod all that an ADD asks for. */
export type KeptPod = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string | null;
  readonly hostNetwork: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerKind: string | null;
  /** Some container asks for the resource `aliyun/eni`; absent: none does. */
  readonly wantsEni?: boolean;
};

export type PodCopy = {
  readonly version: typeof POD_COPY_VERSION;
  readonly pod: KeptPod;
  /** When it was first known to be gone; null while it is there. */
  readonly goneAtMs: number | null;
};

export const IGNORE_LABEL = 'k8s.aliyun.com/ignore-by-terway';
/** A static pod has one UID for the kubelet, which is this annotation, and another at the API server. Source: kubelet, mirror pods. */
export const STATIC_UID_ANNOTATION = 'kubernetes.io/config.hash';

const READ = /^(k8s\.aliyun\.com\/|kubernetes\.io\/(config\.hash|(in|e)gress-bandwidth)$)/;

export function copyOf(pod: KeptPod): PodCopy {
  const { namespace, name, uid, nodeName, hostNetwork, labels, annotations, ownerKind, wantsEni } = pod;
  const kept = { labels: readOnes(labels), annotations: readOnes(annotations) };
  return {
    version: POD_COPY_VERSION,
    pod: { namespace, name, uid, nodeName, hostNetwork, ...kept, ownerKind, ...(wantsEni === true && { wantsEni }) },
    goneAtMs: null,
  };
}

const readOnes = (all: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => READ.test(key)));

/** null for a record of another version or shape. */
export function parsePodCopy(value: unknown): PodCopy | null {
  const copy = value as Partial<PodCopy> | null;
  if (typeof copy !== 'object' || copy?.version !== POD_COPY_VERSION) return null;
  const { namespace, name, uid, labels, annotations, hostNetwork } = copy.pod ?? {};
  if (![namespace, name, uid].every((text) => typeof text === 'string' && text !== '')) return null;
  if (typeof hostNetwork !== 'boolean' || typeof labels !== 'object' || typeof annotations !== 'object') return null;
  return copy.goneAtMs === null || typeof copy.goneAtMs === 'number' ? (copy as PodCopy) : null;
}

/** Whether a caller who names this uid means this very pod. */
export function isOfUid({ uid, annotations }: Pick<KeptPod, 'uid' | 'annotations'>, wanted: string): boolean {
  return wanted === uid || wanted === annotations[STATIC_UID_ANNOTATION];
}
