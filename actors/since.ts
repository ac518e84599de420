/**
 * Since when an actor is in its state, and since when in the outermost part of it, its phase: an ENI that has been in use for an hour looks,
 * rests and assigns meanwhile. Instants are ms since the epoch; 0: nobody has looked.
 */
import type { AnyActorRef } from 'xstate';

export type Since = { readonly state: string; readonly atMs: number; readonly phaseAtMs: number };

/** As the inspector of the root, or a tape of it, tells. */
export type SinceOf = (actor: AnyActorRef) => Since;

export const NEVER: Since = { state: '', atMs: 0, phaseAtMs: 0 };

/** @param state dotted path */
export function sinceAfter(before: Since | undefined, state: string, nowMs: number): Since {
  if (before?.state === state) return before;
  const stays = before !== undefined && phaseOf(before.state) === phaseOf(state);
  return { state, atMs: nowMs, phaseAtMs: stays ? before.phaseAtMs : nowMs };
}

const phaseOf = (state: string): string => state.split('.')[0] ?? state;
