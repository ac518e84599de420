/**
 * How each pod's last request went: which decision gave it its address, and when it passed each stage. Read off the messages between
 * the actors as they pass, so that charts carry nothing for it; an event that is none of the three costs one comparison of its type.
 *
 * Kept in memory alone, for a bounded number of pods. What an earlier life did is told by the lease only.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { Failure } from '../src/core/errors.ts';
import type { Stage } from '../src/ports/introspection.ts';
import type { EniContext } from '../statecharts/eni-context.ts';
import type { EniEvent } from '../statecharts/messages.ts';

export type Trail = {
  readonly pod: string;
  /** When it passed each stage, as far as it has. */
  readonly atMs: Partial<Record<Stage, number>>;
  readonly decisions: { readonly atMs: number; readonly what: string }[];
  /** null while it is under way, or when it got its address. */
  failure: Failure | null;
};

/** The one asked for longest ago goes first. */
const PODS_MAX = 1_024;
/** A request that is sent from ENI to ENI again and again tells of the first and the last of them. */
const DECISIONS_MAX = 16;

/** When the request came to the daemon, and when it was known whose pod it is. */
export type BeforeAllocate = { readonly askedMs: number; readonly podKnownMs: number };

export class RequestTrails {
  readonly #byPod = new Map<string, Trail>();
  readonly #open = new Map<string, Trail>();

  of(pod: string): Trail | null {
    return this.#byPod.get(pod) ?? null;
  }

  begin(requestId: string, pod: string, atMs: number, before: BeforeAllocate | undefined): void {
    const stages = before === undefined ? { asked: atMs } : { asked: before.askedMs, podKnown: before.podKnownMs };
    this.#open.set(requestId, { pod, atMs: stages, decisions: [], failure: null });
  }

  heard(event: InspectionEvent, nowMs: number): void {
    if (event.type !== '@xstate.event') return;
    const what = event.event as
      | EniEvent
      | { readonly type: 'ipResult'; readonly requestId: string; readonly ok: boolean };
    if (what.type !== 'assign' && what.type !== 'ipResult' && what.type !== 'bind') return;
    const trail = this.#open.get(what.requestId);
    if (trail === undefined) return;
    if (what.type === 'assign') {
      trail.atMs.placed = nowMs;
      if (trail.decisions.length === DECISIONS_MAX) trail.decisions.pop();
      trail.decisions.push({ atMs: nowMs, what: decisionOf(event.actorRef as AnyActorRef, what) });
    } else if (what.type === 'ipResult' && what.ok) trail.atMs.offered = nowMs;
    else if (what.type === 'bind') trail.atMs.persisted ??= nowMs;
  }

  /** Of the pod's stages; a request that was answered from a lease there was already tells nothing new, and is forgotten. */
  end(requestId: string, atMs: number, failure: Failure | null): Trail | null {
    const trail = this.#open.get(requestId);
    if (trail === undefined) return null;
    this.#open.delete(requestId);
    trail.atMs.answered = atMs;
    trail.failure = failure;
    const before = this.#byPod.get(trail.pod);
    if (failure === null && trail.decisions.length === 0 && before?.failure === null) return trail;
    this.#byPod.delete(trail.pod);
    this.#byPod.set(trail.pod, trail);
    const [longestAgo] = this.#byPod.keys();
    if (this.#byPod.size > PODS_MAX && longestAgo !== undefined) this.#byPod.delete(longestAgo);
    return trail;
  }

  /** The last request of the pod that has no answer yet. */
  underWay(pod: string): Trail | null {
    return [...this.#open.values()].findLast((trail) => trail.pod === pod) ?? null;
  }
}

/** As the ENI is when it is told: what it has free decides what it gives. */
function decisionOf(actor: AnyActorRef, told: Extract<EniEvent, { type: 'assign' }>): string {
  const { slot, eniId, phase, book, vSwitchId } = (actor.getSnapshot() as { readonly context: EniContext }).context;
  const name = eniId ?? `eni:${slot}`;
  const serves = phase === 'ready' || phase === 'holding';
  const has = (state: EniContext['book'][number]['state'], pod: string | null = null): boolean =>
    book.some((entry) => entry.state === state && (pod === null || entry.pod === pod));
  if (has('reserved', told.pod)) return `the address that is kept for it on ${name}`;
  if (phase === 'opening' && eniId === null) return `${name}, a new ENI in ${vSwitchId}`;
  if (phase === 'opening') return `${name}, which is being opened in ${vSwitchId}`;
  if (serves && has('idle')) return `an idle address of ${name}`;
  if (serves && told.alsoCooling && has('cooling'))
    return `an address of ${name} that rests yet, since nothing can grow`;
  if (serves && told.alsoReserved === true && has('reserved'))
    return `an address of ${name} that is kept for another pod, since nothing else is left`;
  return `an address yet to be assigned to ${name} in ${vSwitchId}`;
}
