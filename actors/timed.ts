/**
 * Gives every chart the time: before an event reaches it, its `nowMs` is the instant of the input that the event follows from.
 *
 * Charts read no clock, and timers and failed calls carry no instant, so that a chart that hears nothing else would live in the past, and
 * set its next timers by it. All that one input leads to happens at that input's instant, which the journal keeps: a replay has the same.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';

/** The instant of the input that is being processed, ms since the epoch. */
export type Instant = { nowMs: number };

export function timed<Logic extends AnyStateMachine>(logic: Logic, instant: Instant): Logic {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) =>
    logic.transition(at(snapshot as AnyMachineSnapshot, instant.nowMs), event, scope);
  return Object.assign(Object.create(logic) as Logic, { transition });
}

function at(snapshot: AnyMachineSnapshot, nowMs: number): AnyMachineSnapshot {
  const context = snapshot.context as { readonly nowMs?: number };
  if (context.nowMs === undefined || context.nowMs >= nowMs) return snapshot;
  return { ...snapshot, context: { ...context, nowMs } };
}
