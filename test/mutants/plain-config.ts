/**
 * A machine's config in one shape: every list is a list, every transition an object. XState takes what it is made from and this alike,
 * so that a mutation has one place to cut.
 */
import type { AnyStateMachine } from 'xstate';

export type PlainTransition = {
  target?: string;
  guard?: unknown;
  actions: unknown[];
  readonly [more: string]: unknown;
};
export type PlainInvoke = {
  onDone: PlainTransition[];
  onError: PlainTransition[];
  readonly src: string;
  readonly [more: string]: unknown;
};
export type PlainState = {
  entry: unknown[];
  exit: unknown[];
  on: Record<string, PlainTransition[]>;
  always: PlainTransition[];
  after: Record<string, PlainTransition[]>;
  invoke: PlainInvoke[];
  states: Record<string, PlainState>;
  readonly [more: string]: unknown;
};

type Raw = Readonly<Record<string, unknown>>;

/** A copy: actions, guards and whatever else is a function are shared with the machine. */
export function plainConfig(machine: AnyStateMachine): PlainState {
  return plainState(machine.config as Raw);
}

function plainState({ entry, exit, on, always, after, invoke, states, ...rest }: Raw): PlainState {
  return {
    ...rest,
    entry: list(entry),
    exit: list(exit),
    on: mapped(on, plainTransitions),
    always: plainTransitions(always),
    after: mapped(after, plainTransitions),
    invoke: list(invoke).map((one) => plainInvoke(one as Raw)),
    states: mapped(states, (state) => plainState(state as Raw)),
  };
}

function plainInvoke({ onDone, onError, ...rest }: Raw): PlainInvoke {
  return { ...rest, src: String(rest.src), onDone: plainTransitions(onDone), onError: plainTransitions(onError) };
}

function plainTransitions(value: unknown): PlainTransition[] {
  return list(value).map((one) => {
    if (typeof one === 'string') return { target: one, actions: [] };
    const { actions, ...rest } = one as Raw;
    return { ...rest, actions: list(actions) };
  });
}

const list = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? [...value] : [value]);

function mapped<T>(record: unknown, of: (value: unknown) => T): Record<string, T> {
  return Object.fromEntries(Object.entries((record ?? {}) as Raw).map(([key, value]) => [key, of(value)]));
}
