/**
 * Annotates pods with their addresses (`k8s.aliyun.com/pod-ips`), which policy agents read before the kubelet has reported them.
 *
 * By comparing: a lease whose pod, as the watch shows it, says something else is written. So what a restart or an API server that was away
 * has missed is made good, and an ADD waits for none of it. Source: Terway, PatchPodIPInfo; Felix reads it.
 */
import { failureOf } from '../core/errors.ts';
import { isHeldBack } from '../core/held-back.ts';
import type { Lease } from '../core/lease.ts';
import { podKey } from '../core/sandbox.ts';
import { untilEither } from '../core/until-either.ts';
import type { Clock } from '../ports/clock.ts';
import type { KubeWrites } from '../ports/kube-writes.ts';
import type { Log } from '../ports/log.ts';
import type { PodCopies } from './pod-copies.ts';

export const POD_IPS = 'k8s.aliyun.com/pod-ips';

/** Pods annotated at once, and each time that this is called. */
const AT_ONCE = 4;
const PER_CALL = 16;
/** One that was written is not written again before the watch should long have shown it; nor is one that failed. */
const SETTLED_MS = 60_000;
const CALL_MS = 10_000;

export type PodAnnotatorParts = {
  readonly writes: Pick<KubeWrites, 'annotatePod'>;
  readonly copies: Pick<PodCopies, 'there'>;
  readonly leases: () => readonly Lease[];
  readonly clock: Clock;
  readonly log: Log;
};

export class PodAnnotator {
  readonly #parts: PodAnnotatorParts;
  /** By uid: what was written last, and when. */
  readonly #written = new Map<string, { readonly ips: string; readonly atMs: number }>();

  constructor(parts: PodAnnotatorParts) {
    this.#parts = parts;
  }

  /** Called again and again; never rejects. */
  async annotate(signal: AbortSignal): Promise<void> {
    const { copies, leases, clock, writes, log } = this.#parts;
    const nowMs = clock.nowMs();
    for (const [uid, { atMs }] of this.#written) if (nowMs - atMs >= SETTLED_MS) this.#written.delete(uid);
    const due = newestOfEach(leases()).flatMap(({ sandbox, grant: { address } }) => {
      // An interface beside eth0 is not what the pod is known by.
      const pod = isHeldBack(sandbox) || sandbox.ifName !== 'eth0' ? null : copies.there(sandbox.pod);
      const ips = address.ipv6 === null ? address.ipv4 : `${address.ipv4},${address.ipv6}`;
      if (pod === null || pod.annotations[POD_IPS] === ips || this.#written.get(pod.uid)?.ips === ips) return [];
      return [{ pod, ips }];
    });
    const some = due.slice(0, PER_CALL);
    for (let at = 0; at < some.length && !signal.aborted; at += AT_ONCE)
      await Promise.all(
        some.slice(at, at + AT_ONCE).map(async ({ pod, ips }) => {
          this.#written.set(pod.uid, { ips, atMs: nowMs });
          try {
            await untilEither([signal, AbortSignal.timeout(CALL_MS)], (limit) =>
              writes.annotatePod(pod, { [POD_IPS]: ips }, limit),
            );
          } catch (error) {
            log.debug(
              { pod: `${pod.namespace}/${pod.name}`, failure: failureOf(error) },
              'pod-ips could not be written',
            );
          }
        }),
      );
  }
}

/** A new sandbox of a pod has an address of its own while the old one may still be there. */
function newestOfEach(leases: readonly Lease[]): readonly Lease[] {
  const byPod = new Map<string, Lease>();
  for (const lease of leases) {
    const key = podKey(lease.sandbox.pod);
    if ((byPod.get(key)?.boundAtMs ?? Number.NEGATIVE_INFINITY) <= lease.boundAtMs) byPod.set(key, lease);
  }
  return [...byPod.values()];
}
