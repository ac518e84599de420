/**
 * Takes a chart's step without XState's machinery where the chart stays in its state: most of what our actors hear changes what they know, and
 * sends. XState makes a whole snapshot for each `assign` (the state's value, a set of its tags, a function that spawns), eight functions for each
 * `enqueueActions`, and looks through the states for what is left and entered where nothing is: 10 us and 10 KB an event.
 *
 * Which transition is taken is XState's to say, and so is whatever leaves or enters a state, or may be followed by an eventless transition. Here
 * the actions of transitions without a target are carried out, in their order and to the same effect: the next snapshot, what is sent, and what
 * inspectors hear are the same, but for `@xstate.action` of XState's own actions. A simulated run has the same trace with and without it.
 *
 * Charts spawn by `spawnChild` alone, and have no use for `check`. What an event that was raised raises itself comes before what else the step
 * had raised, where the former enters a state.
 * Source: xstate 5.33.3, macrostep, microstep, resolveAndExecuteActionsWithContext, resolveAssign, resolveEnqueueActions, executeSendTo.
 */
import {
  type AnyActorRef,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  cancel,
  emit,
  raise,
  sendParent,
  sendTo,
  spawnChild,
  stopChild,
} from 'xstate';

/** What an actor is to its logic; in part not in XState's types. */
type Scope = {
  readonly self: AnyActorRef;
  readonly system: {
    _relay(source: unknown, target: unknown, event: AnyEventObject): void;
    _sendInspectionEvent(event: object): void;
  };
  defer(later: () => void): void;
  actionExecutor(action: object): void;
};
type Args = {
  readonly context: object;
  readonly event: AnyEventObject;
  readonly self: AnyActorRef;
  readonly system: unknown;
};
type Extra = { readonly internalQueue: AnyEventObject[]; readonly deferredActorIds: undefined };

/** An action of XState's: a function that nobody calls, with what it needs. */
type Builtin = {
  readonly type: string;
  readonly assignment?: Assignment;
  readonly collect?: (args: object, params: unknown) => void;
  resolve(
    scope: Scope,
    snapshot: AnyMachineSnapshot,
    args: Args,
    params: unknown,
    action: Builtin,
    extra: Extra,
  ): [AnyMachineSnapshot, unknown, readonly Action[] | undefined];
  execute?(scope: Scope, params: unknown): void;
};
type Custom = (args: Args, params: unknown) => void;
type Named = { readonly type: string; readonly params?: unknown };
/** What charts enqueue most. `to`: an actor, or the name of a child. */
type Light =
  | { readonly light: 'assign'; readonly assignment: Assignment }
  | { readonly light: 'send'; readonly to: unknown; readonly event: AnyEventObject };
type Action = string | Named | Builtin | Custom | Light;
type Assignment = Custom | Readonly<Record<string, unknown>>;

type Taken = readonly { readonly target?: unknown; readonly actions: readonly Action[] }[];

const PARENT = '#_parent';

export function lightSteps<Logic extends AnyStateMachine>(logic: Logic): Logic {
  const named = logic.implementations.actions as Readonly<Record<string, Builtin | Custom | undefined>>;
  const most = logic.options.maxIterations ?? Number.POSITIVE_INFINITY;

  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    const extra: Extra = { internalQueue: [], deferredActorIds: undefined };
    const within = scope as unknown as Scope;
    let next = step(snapshot as AnyMachineSnapshot, event, within, extra);
    for (let steps = 1; extra.internalQueue.length > 0; steps += 1) {
      if (steps > most) throw new Error(`${logic.id} raises events without end`);
      next = step(next, extra.internalQueue.shift() as AnyEventObject, within, extra);
    }
    return next;
  };

  function step(from: AnyMachineSnapshot, event: AnyEventObject, scope: Scope, extra: Extra): AnyMachineSnapshot {
    const taken = stayingIn(from, event);
    if (taken === null) return logic.transition(from, event, scope as never) as AnyMachineSnapshot;
    let snapshot = from;
    for (const { actions } of taken) snapshot = carriedOut(actions, snapshot, event, scope, extra);
    const told = { type: '@xstate.microstep', actorRef: scope.self, event, snapshot, _transitions: taken };
    scope.system._sendInspectionEvent(told);
    return snapshot;
  }

  /** The transitions that the event takes, if the chart stays in its state for sure; null otherwise. */
  function stayingIn(snapshot: AnyMachineSnapshot, event: AnyEventObject): Taken | null {
    for (const { always } of snapshot._nodes) if (always !== undefined) return null;
    const taken = logic.getTransitionData(snapshot, event) as unknown as Taken;
    for (const { target } of taken) if (target !== undefined) return null;
    return taken.length === 0 ? null : taken;
  }

  function carriedOut(
    actions: readonly Action[],
    from: AnyMachineSnapshot,
    event: AnyEventObject,
    scope: Scope,
    extra: Extra,
  ): AnyMachineSnapshot {
    let snapshot = from;
    for (const action of actions) {
      const args: Args = { context: snapshot.context, event, self: scope.self, system: scope.system };
      if (typeof action === 'object' && 'light' in action) {
        if (action.light === 'assign') snapshot = assigned(snapshot, args, action.assignment, undefined);
        else send(snapshot, scope, action.to, action.event);
        continue;
      }
      const params = paramsOf(action, args);
      const own = isFunction(action) ? action : named[typeof action === 'string' ? action : action.type];
      if (own === undefined || !('resolve' in own)) {
        const type = typeof action === 'string' ? action : ((action as Named).type ?? own?.name);
        scope.actionExecutor({ type, info: args, params, exec: own });
      } else if (own.assignment !== undefined) snapshot = assigned(snapshot, args, own.assignment, params);
      else if (own.collect !== undefined)
        snapshot = carriedOut(collected(own.collect, args, params), snapshot, event, scope, extra);
      else {
        const [after, resolved, more] = own.resolve(scope, snapshot, args, params, own, extra);
        own.execute?.(scope, resolved);
        snapshot = more === undefined ? after : carriedOut(more, after, event, scope, extra);
      }
    }
    return snapshot;
  }
  return Object.assign(Object.create(logic) as Logic, { transition });
}

const isFunction = (action: Action): action is Builtin | Custom => typeof action === 'function';

function paramsOf(action: Exclude<Action, Light>, { context, event }: Args): unknown {
  if (typeof action !== 'object' || !('params' in action)) return undefined;
  const { params } = action;
  return typeof params === 'function' ? params({ context, event }) : params;
}

function assigned(snapshot: AnyMachineSnapshot, args: Args, assignment: Assignment, params: unknown) {
  const change =
    typeof assignment === 'function'
      ? (assignment(args, params) as unknown as object)
      : Object.fromEntries(
          Object.entries(assignment).map(([key, to]) => [key, typeof to === 'function' ? to(args, params) : to]),
        );
  return { ...snapshot, context: { ...snapshot.context, ...change } } as AnyMachineSnapshot;
}

/** It goes once the snapshot is the sender's. */
function send(snapshot: AnyMachineSnapshot, scope: Scope, to: unknown, event: AnyEventObject): void {
  const { self, system } = scope;
  const target = typeof to !== 'string' ? (to ?? self) : to === PARENT ? self._parent : snapshot.children[to];
  if (target === undefined)
    throw new Error(`Unable to send event to actor '${to}' from machine '${snapshot.machine.id}'.`);
  scope.defer(() => system._relay(self, target, event));
}

/** Of the chart that enqueues just now: no two do at once, since what is enqueued is carried out afterwards. */
let queue: Action[] = [];

const push = (action: unknown): void => void queue.push(action as Action);
const isPlain = (to: unknown, event: unknown, options: unknown): boolean =>
  options === undefined && typeof event !== 'function' && typeof to !== 'function';

/** Its overloads are for the logic of one chart. */
const spawned = spawnChild as unknown as (src: unknown, options: unknown) => unknown;

/** XState makes one for each call. */
const enqueue = Object.assign((action: Action): void => push(action), {
  assign: (assignment: Assignment): void => push({ light: 'assign', assignment }),
  sendTo: (to: unknown, event: unknown, options?: unknown): void =>
    push(
      isPlain(to, event, options)
        ? { light: 'send', to, event }
        : sendTo(to as never, event as never, options as never),
    ),
  sendParent: (event: unknown, options?: unknown): void =>
    push(
      isPlain(PARENT, event, options)
        ? { light: 'send', to: PARENT, event }
        : sendParent(event as never, options as never),
    ),
  cancel: (id: string): void => push(cancel(id)),
  raise: (event: unknown, options?: unknown): void => push(raise(event as never, options as never)),
  spawnChild: (src: unknown, options?: unknown): void => push(spawned(src, options)),
  stopChild: (actor: unknown): void => push(stopChild(actor as never)),
  emit: (event: unknown): void => push(emit(event as never)),
});

function collected(collect: NonNullable<Builtin['collect']>, args: Args, params: unknown): readonly Action[] {
  queue = [];
  collect({ ...args, enqueue }, params);
  return queue;
}
