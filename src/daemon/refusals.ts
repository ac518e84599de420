/**
 * The last refusals, so that an operator sees why a pod has no address. A daemon that cannot serve answers at once and the kubelet asks
 * again, so that between two tries nobody waits here and the actors have nothing to tell.
 *
 * One entry a pod, the newest; it goes when the pod gets an address, or when nobody has asked for it for some minutes.
 */
import { failureOf } from '../core/errors.ts';
import { timeOfDay } from '../core/instant-text.ts';
import { podKey } from '../core/sandbox.ts';
import type { Backend } from '../ports/backend.ts';
import type { Clock } from '../ports/clock.ts';
import type { Introspection, Refusal } from '../ports/introspection.ts';

/** Pods told of at most; the one refused longest ago goes first. */
const PODS_MAX = 64;
const KEPT_MS = 5 * 60_000;
/** A caller may name anything: longer names than Kubernetes has are not kept. */
const POD_KEY_MAX = 512;
const DETAIL_MAX = 700;

export class Refusals {
  readonly #clock: Clock;
  readonly #byPod = new Map<string, Refusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same backend; what its AllocIP refuses is remembered. A caller that gave up was not refused. */
  over(backend: Backend): Backend {
    return {
      ...backend,
      AllocIP: async (request, call) => {
        const pod = podKey({ namespace: request.K8sPodNamespace, name: request.K8sPodName });
        try {
          const reply = await backend.AllocIP(request, call);
          this.#byPod.delete(pod);
          return reply;
        } catch (error) {
          const { code, detail } = failureOf(error);
          if (code !== 'cancelled' && pod.length <= POD_KEY_MAX) this.#note(pod, code, detail.slice(0, DETAIL_MAX));
          throw error;
        }
      },
    };
  }

  /** What the actors tell, with the refusals added. */
  beside(introspection: Introspection): Introspection {
    return {
      ...introspection,
      report: () => ({ ...introspection.report(), refusals: this.list() }),
      why: (pod) => {
        const why = introspection.why(pod);
        const refusal = this.list().find((one) => one.pod === pod) ?? null;
        if (refusal === null || why.verdict === 'bound') return why;
        if (why.verdict === 'waiting') return { ...why, refusal };
        const again = `refused ${times(refusal.times)}, last at ${timeOfDay(refusal.atMs)}: ${refusal.detail}`;
        return { ...why, verdict: 'refused', answer: `${pod} was ${again}`, refusal };
      },
    };
  }

  /** The newest first. */
  list(): readonly Refusal[] {
    const oldestMs = this.#clock.nowMs() - KEPT_MS;
    for (const [pod, { atMs }] of this.#byPod) if (atMs < oldestMs) this.#byPod.delete(pod);
    return [...this.#byPod.values()].reverse();
  }

  #note(pod: string, code: Refusal['code'], detail: string): void {
    const times = (this.#byPod.get(pod)?.times ?? 0) + 1;
    this.#byPod.delete(pod); // so that the order is that of the last refusals
    this.#byPod.set(pod, { pod, atMs: this.#clock.nowMs(), times, code, detail });
    const [longestAgo] = this.#byPod.keys();
    if (this.#byPod.size > PODS_MAX && longestAgo !== undefined) this.#byPod.delete(longestAgo);
  }
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
