/**
 * Every mutant of a chart that differs from it in one place: a transition is missing, a guard always lets through, an action is missing, a
 * target is the next state beside it.
 *
 * A guard that never lets through is the transition that is missing, and is counted once. Initial states, delays and the inside of actions and
 * guards are left alone. A mutant is found again by its name as long as the place it is cut at stays where it is.
 */
import { type AnyStateMachine, type AnyStateNode, createMachine, or } from 'xstate';
import { transitionName } from '../../src/simulation/coverage.ts';
import { type PlainState, type PlainTransition, plainConfig } from './plain-config.ts';

export type Mutant = {
  /** `eni inUse.looking always 1: without guard wantsFewer` */
  readonly name: string;
  readonly chart: string;
  /** The state that is cut, and the transition, where it makes a difference only when that is taken: as the coverage names them. */
  readonly state: string;
  readonly transition: string | null;
  /** It is its guard that is cut: that makes a difference only where the guard does not let through. */
  readonly guarded: boolean;
  make(): AnyStateMachine;
};

type Cut = {
  readonly what: string;
  readonly path: readonly string[];
  /** The event that XState gives the transition, or how that begins, and its place among those of the event. */
  readonly taken: { readonly event: string; readonly nth: number } | null;
  readonly apply: (config: PlainState) => void;
  /** Of one that lacks a guard: puts an ear to it. */
  readonly listen?: (config: PlainState, onRefused: () => void) => void;
};
type Reach = (config: PlainState) => PlainState;

export function mutantsOf(machine: AnyStateMachine): readonly Mutant[] {
  const chart = machine.id;
  const plain = plainConfig(machine);
  return cutsOf(plain, plain, [], (config) => config).map(({ what, path, taken, apply, listen }) => ({
    name: `${chart} ${what}`,
    chart,
    state: [chart, ...path].join('.'),
    transition: taken === null ? null : nameIn(machine, path, taken),
    guarded: listen !== undefined,
    make: () => {
      const config = plainConfig(machine);
      apply(config);
      return createMachine(
        config as Parameters<typeof createMachine>[0], // the shape of it is that of the machine's own
        machine.implementations as Parameters<typeof createMachine>[1],
      );
    },
  }));
}

/** The chart itself, but `onRefused` hears the name of the mutant without a guard whenever that guard does not let through. */
export function withEars(machine: AnyStateMachine, onRefused: (name: string) => void): AnyStateMachine {
  const config = plainConfig(machine);
  for (const { what, listen } of cutsOf(config, config, [], (same) => same))
    listen?.(config, () => onRefused(`${machine.id} ${what}`));
  return createMachine(
    config as Parameters<typeof createMachine>[0], // the shape of it is that of the machine's own
    machine.implementations as Parameters<typeof createMachine>[1],
  );
}

/** Of a state and of all below it. */
function cutsOf(root: PlainState, state: PlainState, path: readonly string[], reach: Reach): Cut[] {
  const at = path.length === 0 ? '(root)' : path.join('.');
  const cuts: Cut[] = [];
  const actions = (where: string, taken: Cut['taken'], listIn: (state: PlainState) => unknown[]): void => {
    for (const [index, action] of listIn(state).entries())
      cuts.push({
        ...{ path, taken },
        what: `${at} ${where}: without action ${index} ${actionName(action)}`,
        apply: (config) => void listIn(reach(config)).splice(index, 1),
      });
  };
  const transitions = (where: string, event: string, listIn: (state: PlainState) => PlainTransition[]): void => {
    for (const [index, transition] of listIn(state).entries()) {
      const taken = { event, nth: index };
      const name = `${where} ${index}`;
      const edit = (change: (transition: PlainTransition) => void) => (config: PlainState) =>
        change(listIn(reach(config))[index] as PlainTransition);
      cuts.push({
        ...{ path, taken, what: `${at} ${name}: missing` },
        apply: (config) => void listIn(reach(config)).splice(index, 1),
      });
      if (transition.guard !== undefined)
        cuts.push({
          ...{ path, taken: null },
          what: `${at} ${name}: without guard ${guardName(transition.guard)}`,
          apply: edit((one) => {
            delete one.guard;
          }),
          listen: (config, onRefused) =>
            edit((one) => {
              const tell = (): boolean => {
                onRefused();
                return false;
              };
              one.guard = or([one.guard as string, tell]);
            })(config),
        });
      actions(name, taken, (from) => listIn(from)[index]?.actions ?? []);
      const swapped = transition.target === undefined ? null : besides(root, path, transition.target);
      if (swapped !== null)
        cuts.push({
          ...{ path, taken },
          what: `${at} ${name}: to ${swapped.join('.')}`,
          apply: edit((one) => {
            one.target = `#${String(root.id)}.${swapped.join('.')}`;
          }),
        });
    }
  };
  actions('entry', null, (from) => from.entry);
  actions('exit', null, (from) => from.exit);
  for (const event of Object.keys(state.on)) transitions(`on ${event}`, event, (from) => from.on[event] ?? []);
  transitions('always', '', (from) => from.always);
  for (const delay of Object.keys(state.after))
    transitions(`after ${delay}`, `xstate.after.${delay}.`, (from) => from.after[delay] ?? []);
  for (const [index, { src, id }] of state.invoke.entries()) {
    const of = typeof id === 'string' ? id : `${index}.`;
    transitions(`done ${src}`, `xstate.done.actor.${of}`, (from) => from.invoke[index]?.onDone ?? []);
    transitions(`error ${src}`, `xstate.error.actor.${of}`, (from) => from.invoke[index]?.onError ?? []);
  }
  for (const [key, child] of Object.entries(state.states))
    cuts.push(...cutsOf(root, child, [...path, key], (config) => reach(config).states[key] as PlainState));
  return cuts;
}

function nameIn(machine: AnyStateMachine, path: readonly string[], { event, nth }: NonNullable<Cut['taken']>): string {
  const state = path.reduce<AnyStateNode | undefined>((node, key) => node?.states[key], machine.root);
  const lists = event === '' ? [state?.always ?? []] : [...(state?.transitions ?? new Map()).values()];
  const made = /^xstate\..*\.$/.test(event);
  const found = lists.find(([one]) => (made ? one?.eventType.startsWith(event) : one?.eventType === event));
  const transition = found?.[nth];
  if (transition === undefined) throw new RangeError(`${path.join('.')} has no transition ${nth} on ${event}`);
  return transitionName(transition);
}

/** The path of the state that follows the target among its siblings; null when it has none. */
function besides(root: PlainState, source: readonly string[], target: string): readonly string[] | null {
  const path = pathOf(root, source, target);
  const parent = path.slice(0, -1).reduce<PlainState | undefined>((state, key) => state?.states[key], root);
  const siblings = Object.keys(parent?.states ?? {});
  const index = siblings.indexOf(path.at(-1) ?? '');
  if (index < 0) throw new RangeError(`${target}, from ${source.join('.')}, is no state`);
  const next = siblings[(index + 1) % siblings.length];
  return siblings.length < 2 || next === undefined ? null : [...path.slice(0, -1), next];
}

/** `#eni.gone` from the root, `.looking` from the source, `calling` from beside the source. */
function pathOf(root: PlainState, source: readonly string[], target: string): readonly string[] {
  const keys = target.split('.');
  if (target.startsWith('#')) {
    if (keys[0] !== `#${String(root.id)}`) throw new RangeError(`${target} is not named after its path`);
    return keys.slice(1);
  }
  return keys[0] === '' ? [...source, ...keys.slice(1)] : [...source.slice(0, -1), ...keys];
}

function actionName(action: unknown): string {
  if (typeof action === 'string') return action;
  const { type } = action as { readonly type?: string };
  return type?.replace(/^xstate\./, '') ?? 'function';
}

/** Those made of others have parts, and no name of their own. */
function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const { type, guards } = guard as { readonly type?: string; readonly guards?: readonly unknown[] };
  return type ?? (guards === undefined ? 'function' : `[${guards.map(guardName).join(', ')}]`);
}
