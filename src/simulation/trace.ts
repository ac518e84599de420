/**
 * What the actors of all nodes did, as one running hash, and which states and transitions that went through.
 *
 * Actors are named by their path-free id and node, never by XState's session id, which counts on from one life to the next: the same
 * seed gives the same hash.
 */
import type { AnyActorRef, AnyMachineSnapshot, AnyTransitionDefinition, InspectionEvent } from 'xstate';
import { transitionName } from './coverage.ts';

export class Trace {
  readonly states = new Set<string>();
  readonly transitions = new Set<string>();
  /** Called for each line, when somebody wants to read it. */
  onLine: ((line: string) => void) | null = null;
  #low = 0x811c9dc5;
  #high = 0x9dc5811c;
  readonly #nodesSeen = new WeakSet<object>();

  /** 16 hexadecimal digits. */
  get hash(): string {
    return [this.#low, this.#high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  microstep(node: number, event: InspectionEvent & { type: '@xstate.microstep' }, nowMs: number): void {
    const snapshot = event.snapshot as AnyMachineSnapshot;
    const nodes = snapshot._nodes;
    if (nodes !== undefined && !this.#nodesSeen.has(nodes)) {
      this.#nodesSeen.add(nodes);
      for (const state of nodes) this.states.add(state.id);
    }
    for (const transition of event._transitions as AnyTransitionDefinition[]) {
      const name = transitionName(transition);
      this.transitions.add(name);
      // A state that is left within the same step is in no snapshot.
      this.states.add(transition.source.id);
      this.line(node, nameOf(event.actorRef as AnyActorRef), name, nowMs);
    }
  }

  line(node: number, who: string, what: string, nowMs: number): void {
    this.#mix(nowMs);
    this.#mix(node);
    this.#text(who);
    this.#text(what);
    this.onLine?.(`${nowMs} node ${node + 1} ${who} ${what}`);
  }

  #text(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.#mix(text.charCodeAt(index));
  }

  #mix(value: number): void {
    this.#low = Math.imul(this.#low ^ value, 0x01000193);
    this.#high = Math.imul(this.#high ^ (value + this.#low), 0x85ebca6b);
  }
}

/** The root has no id of its own, only XState's session id. */
function nameOf({ id }: AnyActorRef): string {
  return id.startsWith('x:') ? 'node' : id;
}
