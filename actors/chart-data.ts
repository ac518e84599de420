/** A chart as data: its states and transitions by name, for drawing it, for comparing it, and for tools that read JSON. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { ChartData, ChartState, ChartTransition } from '../src/ports/chart-data.ts';
import { cloudKeeperMachine } from '../statecharts/cloud-keeper.ts';
import { eniMachine } from '../statecharts/eni.ts';
import { eniFactoryMachine } from '../statecharts/eni-factory.ts';
import { garbageCollectorMachine } from '../statecharts/garbage-collector.ts';
import { idlePoolMachine } from '../statecharts/idle-pool.ts';
import { kernelKeeperMachine } from '../statecharts/kernel-keeper.ts';
import { leaseMachine } from '../statecharts/lease.ts';
import { leasesMachine } from '../statecharts/leases.ts';
import { nodeMachine } from '../statecharts/node.ts';

const machines: readonly AnyStateMachine[] = [
  nodeMachine,
  leasesMachine,
  leaseMachine,
  eniFactoryMachine,
  eniMachine,
  idlePoolMachine,
  garbageCollectorMachine,
  cloudKeeperMachine,
  kernelKeeperMachine,
];

/** All charts, the root's first. */
export const charts = (): readonly ChartData[] => machines.map(chartData);

export function chartData(machine: AnyStateMachine): ChartData {
  return { id: machine.id, ...stateOf(machine.root) };
}

type Named = { readonly type: string } | string | ((...args: never[]) => unknown);

/** The parts of a state node that are told; XState's own type has many more, and its lists are of `any`. */
type Node = {
  readonly key: string;
  readonly type: ChartState['type'];
  readonly tags: readonly string[];
  readonly entry: readonly Named[];
  readonly exit: readonly Named[];
  readonly invoke: readonly { readonly src: unknown; readonly id: string }[];
  readonly always?: readonly Transition[];
  readonly transitions: ReadonlyMap<string, readonly Transition[]>;
  readonly initial: { readonly target: readonly AnyStateNode[] } | undefined;
  readonly states: Readonly<Record<string, AnyStateNode>>;
};

type Transition = {
  readonly eventType: string;
  readonly target?: readonly AnyStateNode[] | undefined;
  readonly guard?: Named | undefined;
  readonly actions: readonly Named[];
};

function stateOf(stateNode: AnyStateNode): ChartState {
  const node = stateNode as unknown as Node;
  const all = [...(node.always ?? []), ...[...node.transitions.values()].flat()];
  return {
    path: stateNode.path.join('.'),
    type: node.type,
    initial: node.initial?.target[0]?.path.join('.') ?? null,
    tags: node.tags,
    entry: node.entry.map(nameOf),
    exit: node.exit.map(nameOf),
    invokes: node.invoke.map(({ src, id }) => ({ src: typeof src === 'string' ? src : 'inline', id })),
    transitions: all.map(transitionOf),
    states: Object.values(node.states).map(stateOf),
  };
}

function transitionOf({ eventType, target, guard, actions }: Transition): ChartTransition {
  return {
    event: eventType,
    on: triggerOf(eventType),
    guard: guard === undefined ? null : nameOf(guard),
    targets: (target ?? []).map((node) => node.path.join('.')),
    actions: actions.map(nameOf),
  };
}

/** XState's own events carry the path of their state, which their reader sees anyway; an actor that was given a name is told by it. */
function triggerOf(eventType: string): string {
  if (eventType === '') return 'always';
  const [, kind, name = ''] = /^xstate\.(after|done\.actor|done\.state|error\.actor)\.(.+)$/.exec(eventType) ?? [];
  if (kind === 'after') return `after ${name.split('.')[0]}`;
  if (kind === 'done.state') return 'done';
  if (kind === undefined) return eventType;
  const who = name === '*' ? 'child' : /^\d/.test(name) ? '' : name;
  return `${kind === 'done.actor' ? 'done' : 'failed'} ${who}`.trim();
}

function nameOf(named: Named): string {
  if (typeof named === 'string') return named;
  const { type } = named as { readonly type?: unknown };
  return typeof type === 'string' ? type.replace(/^xstate\./, '') : 'inline';
}
