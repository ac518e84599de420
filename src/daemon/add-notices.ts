/** What the owner of a pod sees of its ADD, as events: why there is no address yet, how long it took, or why there is none. */
import { failureOf } from '../core/errors.ts';
import { podKey } from '../core/sandbox.ts';
import type { AllocIPReply, AllocIPRequest } from '../core/wire.ts';
import type { Backend } from '../ports/backend.ts';
import type { Clock } from '../ports/clock.ts';
import type { KubeEvent } from '../ports/kubernetes.ts';
import type { Notices } from './notices.ts';
import type { PodCopies } from './pod-copies.ts';

/** A pod that goes on waiting is told again after so many times the first wait, each time longer. */
const AGAIN_TIMES = 3;

export type AddNoticesParts = {
  readonly notices: Pick<Notices, 'tell'>;
  readonly copies: Pick<PodCopies, 'there'>;
  readonly clock: Clock;
  /** The first word about a pod that waits comes after this. */
  readonly afterMs: number;
  /** Why the pod (`namespace/name`) waits, for people. */
  readonly why: (pod: string) => string | null;
  /** Whether the sandbox has its lease already: a repeated ADD is no news. */
  readonly isServed: (containerId: string, ifName: string) => boolean;
};

/** The same backend; nothing of this takes any of the caller's time. */
export function withAddNotices(backend: Backend, parts: AddNoticesParts): Backend {
  const { clock, isServed } = parts;
  return {
    ...backend,
    AllocIP: async (request, call) => {
      if (isServed(request.K8sPodInfraContainerId, request.IfName || 'eth0')) return backend.AllocIP(request, call);
      const startMs = clock.nowMs();
      const stop = tellWhileWaiting(request, startMs, parts);
      try {
        const reply = await backend.AllocIP(request, call);
        tell(
          parts,
          request,
          'Normal',
          'AllocIPSucceed',
          `Alloc IP ${ipsIn(reply)} took ${took(clock.nowMs() - startMs)}`,
        );
        return reply;
      } catch (error) {
        const { code, detail } = failureOf(error);
        if (code !== 'cancelled') tell(parts, request, 'Warning', 'AllocIPFailed', detail);
        throw error;
      } finally {
        stop();
      }
    },
  };
}

function tellWhileWaiting(request: AllocIPRequest, startMs: number, parts: AddNoticesParts): () => void {
  const { clock, why, afterMs } = parts;
  const pod = podKey({ namespace: request.K8sPodNamespace, name: request.K8sPodName });
  let timer: NodeJS.Timeout;
  const again = (waitMs: number): void => {
    timer = setTimeout(() => {
      const because = why(pod) ?? 'the node is at work';
      const message = `no address yet after ${took(clock.nowMs() - startMs)}: ${because}`;
      tell(parts, request, 'Warning', 'AllocIPPending', message);
      again(waitMs * AGAIN_TIMES);
    }, waitMs);
    timer.unref();
  };
  again(afterMs);
  return () => clearTimeout(timer);
}

function tell(
  { notices, copies }: AddNoticesParts,
  { K8sPodNamespace: namespace, K8sPodName: name, PodUid }: AllocIPRequest,
  type: KubeEvent['type'],
  reason: string,
  message: string,
): void {
  if (namespace === '' || name === '') return;
  // A static pod is named by the kubelet with another uid than the API server has.
  const uid = copies.there({ namespace, name, uid: PodUid || null })?.uid ?? (PodUid || null);
  notices.tell({ target: { kind: 'pod', namespace, name, uid }, type, reason, message });
}

/** As Terway writes it, `192.168.0.5/24` or `192.168.0.5/24-fd00::5/64`. */
function ipsIn({ NetConfs = [] }: AllocIPReply): string {
  const [conf] = NetConfs;
  const masked = (['IPv4', 'IPv6'] as const).flatMap((family) => {
    const ip = conf?.BasicInfo?.PodIP?.[family];
    const [, mask] = conf?.BasicInfo?.PodCIDR?.[family]?.split('/') ?? [];
    return ip === undefined || ip === '' ? [] : [mask === undefined ? ip : `${ip}/${mask}`];
  });
  return masked.join('-');
}

const took = (ms: number): string => (ms < 1_000 ? `${Math.max(0, Math.round(ms))}ms` : `${(ms / 1_000).toFixed(1)}s`);
