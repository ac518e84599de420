/**
 * Which states and transitions of the charts a run has been through, against all that the machine definitions have.
 *
 * A transition is named `source|event|index`, the index being its place among those of the same event. Initial transitions are
 * not counted; those on `xstate.done` and `xstate.error` of invoked calls are.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { cloudKeeperMachine } from '../../statecharts/cloud-keeper.ts';
import { eniMachine } from '../../statecharts/eni.ts';
import { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import { garbageCollectorMachine } from '../../statecharts/garbage-collector.ts';
import { idlePoolMachine } from '../../statecharts/idle-pool.ts';
import { kernelKeeperMachine } from '../../statecharts/kernel-keeper.ts';
import { leaseMachine } from '../../statecharts/lease.ts';
import { leasesMachine } from '../../statecharts/leases.ts';
import { nodeMachine } from '../../statecharts/node.ts';

export const CHARTS: readonly AnyStateMachine[] = [
  nodeMachine,
  eniFactoryMachine,
  eniMachine,
  leasesMachine,
  leaseMachine,
  idlePoolMachine,
  garbageCollectorMachine,
  kernelKeeperMachine,
  cloudKeeperMachine,
];

const names = new WeakMap<AnyTransitionDefinition, string>();

export function transitionName(transition: AnyTransitionDefinition): string {
  const known = names.get(transition);
  if (known !== undefined) return known;
  nameAll(transition.source);
  const name = names.get(transition) ?? `${transition.source.id}|${transition.eventType}`;
  names.set(transition, name);
  return name;
}

/** The names of a state's own transitions. */
function nameAll(state: AnyStateNode): readonly string[] {
  const lists = [...state.transitions.values(), state.always ?? []];
  return lists.flatMap((list) =>
    list.map((transition, index) => {
      const name = `${state.id}|${transition.eventType}|${index}`;
      names.set(transition, name);
      return name;
    }),
  );
}

export type Coverage = { readonly states: ReadonlySet<string>; readonly transitions: ReadonlySet<string> };

/** All there is to cover. */
export function everything(charts: readonly AnyStateMachine[] = CHARTS): Coverage {
  const states = new Set<string>();
  const transitions = new Set<string>();
  const walk = (state: AnyStateNode): void => {
    states.add(state.id);
    for (const name of nameAll(state)) transitions.add(name);
    for (const child of Object.values(state.states)) walk(child);
  };
  for (const chart of charts) walk(chart.root);
  return { states, transitions };
}
