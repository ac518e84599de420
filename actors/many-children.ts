/**
 * A supervisor of hundreds keeps its children in one record, which is added to and taken from; XState copies the record of all of them for each
 * that comes or goes (64 us at 256, and garbage of 10 KB).
 *
 * For the time of a transition the chart is given a record that has nothing of its own but the child that the event is about, and finds the
 * others behind it (by its prototype); what it has of its own afterwards came or went. So `children` of a snapshot from before shows who is
 * there now. Source: xstate 5.33.3, resolveSpawn and resolveStop: `{ ...snapshot.children }`.
 */
import type { AnyActorRef, AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate';

type Children = Record<string, AnyActorRef>;

const STOP = 'xstate.stop';

/**
 * The chart stops no child but the one whose end or death the event tells, invokes nothing, never ends by itself, and sends to no child by its name
 * after it has spawned one, but to that one.
 */
export function manyChildren<Logic extends AnyStateMachine>(logic: Logic): Logic {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    const before = snapshot as AnyMachineSnapshot;
    // All of them are to be stopped.
    if (event.type === STOP) return logic.transition(snapshot, event, scope);
    const all = before.children as Children;
    const few = fewOf(all, event);
    const next = logic.transition({ ...before, children: few }, event, scope) as { children: Children };
    if (next.children !== few) follow(all, few, next.children);
    next.children = all;
    return next as unknown as AnyMachineSnapshot;
  };
  return Object.assign(Object.create(logic) as Logic, { transition });
}

function fewOf(all: Children, event: AnyEventObject): Children {
  const few = Object.create(all) as Children;
  const { actorId } = event as { readonly actorId?: unknown };
  const child = typeof actorId === 'string' ? all[actorId] : undefined;
  if (child !== undefined) few[child.id] = child;
  return few;
}

function follow(all: Children, few: Children, now: Children): void {
  for (const id of Object.keys(few)) if (now[id] === undefined) delete all[id];
  for (const [id, child] of Object.entries(now)) all[id] = child;
}
