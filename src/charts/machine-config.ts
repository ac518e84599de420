/**
 * A chart as the JSON that XState's `createMachine` takes: what Stately's editor imports, and what XState makes the very same chart of.
 * Functions without a name are called `inline` there; delays, guards, actions and actors go by their names.
 * Source: stately.ai/docs/machines, "machine config"; stately.ai/docs/import-from-code.
 */
import type { ChartData, ChartState, ChartTransition } from '../ports/chart-data.ts';
import { withoutTimers } from './chart-text.ts';

export type ConfigTransition = {
  readonly target?: string | readonly string[];
  readonly guard?: { readonly type: string };
  readonly actions?: readonly { readonly type: string }[];
};

type Transitions = Readonly<Record<string, readonly ConfigTransition[]>>;

export type ConfigInvoke = {
  readonly src: string;
  readonly id?: string;
  readonly onDone?: readonly ConfigTransition[];
  readonly onError?: readonly ConfigTransition[];
};

export type StateConfig = {
  readonly id?: string;
  readonly type?: ChartState['type'];
  readonly initial?: string;
  readonly tags?: readonly string[];
  readonly entry?: readonly { readonly type: string }[];
  readonly exit?: readonly { readonly type: string }[];
  readonly invoke?: readonly ConfigInvoke[];
  readonly on?: Transitions;
  readonly after?: Transitions;
  readonly always?: readonly ConfigTransition[];
  readonly onDone?: readonly ConfigTransition[];
  readonly states?: Readonly<Record<string, StateConfig>>;
};

export function machineConfigOf(chart: ChartData): StateConfig {
  return { id: chart.id, ...configOf(chart, chart.id) };
}

function configOf(state: ChartState, chartId: string): StateConfig {
  const { type, initial, tags, states, transitions } = state;
  const { entry, exit } = withoutTimers(state);
  const of = (events: (event: string) => string | null) => byName(state, chartId, events);
  const invoke = state.invokes.map((one) => invokeOf(one, state, chartId));
  const invoked = new Set(state.invokes.flatMap(({ id }) => [`xstate.done.actor.${id}`, `xstate.error.actor.${id}`]));
  const always = transitions.filter(({ event }) => event === '').map((one) => transitionOf(one, state, chartId));
  const after = of((event) => /^xstate\.after\.([^.]+)\./.exec(event)?.[1] ?? null);
  const onDone = of((event) => (event.startsWith('xstate.done.state.') ? 'done' : null)).done;
  const own = (event: string) => event === '' || /^xstate\.(after|done\.state)\./.test(event) || invoked.has(event);
  const on = of((event) => (own(event) ? null : event));
  return {
    ...(type === 'parallel' || type === 'final' || type === 'history' ? { type } : {}),
    ...(initial === null || type === 'parallel' ? {} : { initial: keyOf(initial) }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(entry.length === 0 ? {} : { entry: entry.map(typed) }),
    ...(exit.length === 0 ? {} : { exit: exit.map(typed) }),
    ...(invoke.length === 0 ? {} : { invoke }),
    ...(Object.keys(on).length === 0 ? {} : { on }),
    ...(Object.keys(after).length === 0 ? {} : { after }),
    ...(always.length === 0 ? {} : { always }),
    ...(onDone === undefined ? {} : { onDone }),
    ...(states.length === 0
      ? {}
      : { states: Object.fromEntries(states.map((one) => [keyOf(one.path), configOf(one, chartId)])) }),
  };
}

const typed = (type: string) => ({ type });
const keyOf = (path: string) => path.split('.').at(-1) ?? '';

function invokeOf({ src, id }: ChartState['invokes'][number], state: ChartState, chartId: string): ConfigInvoke {
  const of = (event: string) =>
    state.transitions.filter((one) => one.event === event).map((one) => transitionOf(one, state, chartId));
  const [onDone, onError] = [of(`xstate.done.actor.${id}`), of(`xstate.error.actor.${id}`)];
  return {
    src,
    // XState numbers those without a name, in the same way again.
    ...(/^\d+\./.test(id) ? {} : { id }),
    ...(onDone.length === 0 ? {} : { onDone }),
    ...(onError.length === 0 ? {} : { onError }),
  };
}

/** Those transitions of a state whose event has a name here, by that name; their order is that in which their guards are asked. */
function byName(state: ChartState, chartId: string, nameOf: (event: string) => string | null): Transitions {
  const all: Record<string, ConfigTransition[]> = {};
  for (const transition of state.transitions) {
    const name = nameOf(transition.event);
    if (name === null) continue;
    all[name] ??= [];
    all[name].push(transitionOf(transition, state, chartId));
  }
  return all;
}

function transitionOf(
  { targets, guard, actions }: ChartTransition,
  from: ChartState,
  chartId: string,
): ConfigTransition {
  const [first, ...more] = targets.map((target) => nearTarget(target, from.path, chartId));
  return {
    ...(first === undefined ? {} : { target: more.length === 0 ? first : [first, ...more] }),
    ...(guard === null ? {} : { guard: { type: guard } }),
    ...(actions.length === 0 ? {} : { actions: actions.map(typed) }),
  };
}

/** A sibling by its key, one further in by `.key`, others by the way from the chart's id. */
function nearTarget(target: string, from: string, chartId: string): string {
  if (target === '') return `#${chartId}`;
  const inside = from === '' ? '' : `${from}.`;
  if (target.startsWith(inside)) return `.${target.slice(inside.length)}`;
  const home = from.slice(0, from.length - keyOf(from).length);
  const near = target.slice(home.length);
  return target.startsWith(home) && !near.includes('.') ? near : `#${chartId}.${target}`;
}
