/** Who waits for an actor to enter a state. An actor that is in it already is not met before it enters it again. */
import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';

type Strike = (met: AnyActorRef) => void;

export class Ambushes {
  #laid: { readonly state: string; left: number; readonly strike: Strike }[] = [];
  readonly #states = new WeakMap<AnyActorRef, ReadonlySet<string>>();

  /** Strikes the nth time from now on. */
  lay(state: string, nth: number, strike: Strike): void {
    this.#laid.push({ state, left: nth, strike });
  }

  clear(): void {
    this.#laid = [];
  }

  meet(event: InspectionEvent & { type: '@xstate.microstep' }): void {
    if (this.#laid.length === 0) return;
    const ref = event.actorRef as AnyActorRef;
    const now = new Set((event.snapshot as AnyMachineSnapshot)._nodes?.map((node) => node.id));
    const before = this.#states.get(ref) ?? new Set();
    this.#states.set(ref, now);
    for (const one of this.#laid) {
      if (!now.has(one.state) || before.has(one.state)) continue;
      one.left -= 1;
      if (one.left === 0) one.strike(ref);
    }
    this.#laid = this.#laid.filter(({ left }) => left > 0);
  }
}
