/**
 * A supervisor hears of the end of a child under the name of its kind: `xstate.done.actor.lease`, whichever lease it was (`actorId` says).
 *
 * XState names that event after the child, and remembers for every type of event a chart ever heard which transitions it has, for as long as
 * the chart lives. A child a sandbox is a name a sandbox: 265 bytes of each pod that ever was on the node. Deaths keep their names: they are
 * rare, and people look for them. Source: xstate 5.33.3, StateNode.next and its `memo` of `candidates-<type>`.
 */
import type { AnyEventObject, AnyStateMachine } from 'xstate';

const DONE = 'xstate.done.actor.';
/** Between the kind of a child and what sets it apart: `lease:c1/eth0`. */
const APART = ':';

/** The chart handles `xstate.done.actor.*`, and asks the event which child it was. */
export function endsByKind<Logic extends AnyStateMachine>(logic: Logic): Logic {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) =>
    logic.transition(snapshot, byKind(event), scope);
  return Object.assign(Object.create(logic) as Logic, { transition });
}

function byKind(event: AnyEventObject): AnyEventObject {
  if (!event.type.startsWith(DONE)) return event;
  const at = event.type.indexOf(APART, DONE.length);
  return at === -1 ? event : { ...event, type: event.type.slice(0, at) };
}
