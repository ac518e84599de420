/**
 * How many nodes need addresses at this moment, as far as one node can tell: its pods that wait for one have controllers, which tell how many of
 * their pods are not ready in the whole cluster. Of a Deployment that is scaled out over 1,000 nodes 10,000 pods may be to come and 10 be here.
 *
 * An estimate: it takes other nodes to have as many of those pods as this one, and counts pods that are not ready for another reason.
 */
import { KubernetesError } from '../adapters/kubernetes/kubernetes-error.ts';
import { untilEither } from '../core/until-either.ts';
import { CONTROLLER_KINDS, type Kubernetes } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';
import type { NodePods, PodOwner, WaitingPods } from './node-pods.ts';

/** Who has most of what waits says most of the crowd; each is a request. */
const OWNERS_MAX = 3;
/** Whoever asks has a call to make. */
const ANSWER_MS = 1_000;

export type CrowdParts = {
  readonly kubernetes: Pick<Kubernetes, 'unready'>;
  readonly pods: Pick<NodePods, 'waiting'>;
  /** Nodes of the cluster: there is no larger crowd. */
  readonly fleet: () => number;
  readonly log: Log;
  readonly answerMs?: number;
};

type Owned = WaitingPods & { readonly owner: PodOwner };

export class Crowd {
  readonly #parts: CrowdParts;
  #forbidden = false;

  constructor(parts: CrowdParts) {
    this.#parts = parts;
  }

  /** From 1 to the size of the fleet. null where no pod waits, or no controller has answered within a second. Never rejects. */
  async count(signal: AbortSignal): Promise<number | null> {
    const { pods, fleet, answerMs = ANSWER_MS } = this.#parts;
    const waiting = pods.waiting();
    const owned = waiting.filter(isOwned);
    const asked = owned.slice(0, OWNERS_MAX);
    if (asked.length === 0) return null;
    const answers = await untilEither([signal, AbortSignal.timeout(answerMs)], (either) =>
      Promise.all(asked.map(async (one) => [one, await this.#unready(one.owner, either)] as const)),
    );
    const told = new Map<WaitingPods, number>(answers.flatMap(([one, all]) => (all === null ? [] : [[one, all]])));
    if (told.size === 0) return null;
    // Of those who were not asked nothing follows, neither that there are others nor that there are none.
    const passedOver = new Set<WaitingPods>(owned.slice(OWNERS_MAX));
    const heard = waiting.filter((one) => !passedOver.has(one));
    return Math.max(1, Math.min(fleet(), crowdOf(heard, told)));
  }

  /** null: not known. */
  async #unready({ kind, namespace, name }: PodOwner, signal: AbortSignal): Promise<number | null> {
    try {
      return await beforeAbort(signal, this.#parts.kubernetes.unready(kind, namespace, name, signal));
    } catch (error) {
      this.#tell(error);
      return null;
    }
  }

  /** A role of an earlier version lacks the permission: that is said once. */
  #tell(error: unknown): void {
    const { log } = this.#parts;
    const forbidden = error instanceof KubernetesError && error.status === 403;
    if (forbidden && !this.#forbidden)
      log.warn({ err: error }, 'how many nodes need addresses cannot be told: apply deploy/base/permissions.yaml');
    else log.debug({ error: String(error) }, 'a controller could not be asked for its pods');
    this.#forbidden ||= forbidden;
  }
}

const isOwned = (one: WaitingPods): one is Owned => one.owner !== null && CONTROLLER_KINDS.includes(one.owner.kind);

/** Pods of the cluster for each one here. Of those of whom nothing was told there are no others; a controller may be behind what the node knows. */
function crowdOf(waiting: readonly WaitingPods[], told: ReadonlyMap<WaitingPods, number>): number {
  const sum = { all: 0, here: 0 };
  for (const one of waiting) {
    const all = told.get(one);
    const here = all === undefined ? one.waiting : one.unready;
    sum.here += here;
    sum.all += Math.max(here, all ?? here);
  }
  return sum.all / sum.here;
}

/** As `work`, also where that does not hear of `signal`. */
async function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => {}); // it may be late
  return await Promise.race([
    work,
    new Promise<never>((_, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
    }),
  ]);
}
