/**
 * A run again from its inputs alone: the same charts with hands that never answer and a clock that never ticks, and every answer and
 * tick from the journal.
 *
 * It has to begin with the first input of a life: charts do not tell how they came to be where they are.
 */
import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  createActor,
  fromCallback,
  fromPromise,
  type InspectionEvent,
} from 'xstate';
import { type Input, livingInput } from '../src/core/input-journal.ts';
import type { Settings } from '../src/core/settings.ts';
import type { NodeReport } from '../src/ports/introspection.ts';
import { cloudKeeperMachine } from '../statecharts/cloud-keeper.ts';
import { eniMachine } from '../statecharts/eni.ts';
import type { EniContext } from '../statecharts/eni-context.ts';
import { eniFactoryMachine } from '../statecharts/eni-factory.ts';
import { garbageCollectorMachine } from '../statecharts/garbage-collector.ts';
import { idlePoolMachine } from '../statecharts/idle-pool.ts';
import { kernelKeeperMachine } from '../statecharts/kernel-keeper.ts';
import { leaseMachine } from '../statecharts/lease.ts';
import { leasesMachine } from '../statecharts/leases.ts';
import { type NodeRef, nodeMachine } from '../statecharts/node.ts';
import { endsByKind } from './ends-by-kind.ts';
import { reportOf } from './report.ts';
import { NEVER } from './since.ts';
import { statePath } from './state-path.ts';
import { timed } from './timed.ts';

const never = fromPromise<never>(() => new Promise<never>(() => {}));
const unanswered = (...names: string[]) => Object.fromEntries(names.map((name) => [name, never]));
const hands = (...names: string[]) => ({ actors: unanswered(...names) }) as never;

const ENI_HANDS = [
  'awaitTurn',
  'seekDevice',
  'createEni',
  'findEni',
  'attachEni',
  'describeEni',
  'recall',
  'setUpEni',
  'assignIps',
  'unassignIps',
  'tearDownEni',
  'detachEni',
  'deleteEni',
];

export type Replayed = {
  readonly root: AnyActorRef;
  /** What the node would tell of itself; since when an actor is in its state is not known to a replay. */
  report(): NodeReport;
  /** What each ENI owns, in words. */
  books(): { readonly eniId: string | null; readonly book: readonly string[] }[];
};

/** A replay that goes on: `take` brings one more input in. */
export type Replaying = Replayed & { take(record: Input): void };

/** Hears of all that happens in the replay, at the instant of the input that it follows from. */
export type HeardInReplay = (event: InspectionEvent, atMs: number) => void;

/** `settings`: those that this life began with. */
export function replayed(records: readonly Input[], settings: Settings): Replayed {
  const { take, ...made } = replaying(settings, records[0]?.atMs ?? 0);
  for (const record of records) take(record);
  return made;
}

/** `startMs`: of the life. */
export function replaying(settings: Settings, startMs: number, heard: HeardInReplay = () => undefined): Replaying {
  const instant = { nowMs: startMs };
  const eni = timed(eniMachine.provide(hands(...ENI_HANDS)), instant);
  const eniFactory = timed(eniFactoryMachine.provide({ actors: { ...unanswered('survey'), eni } }), instant);
  const lease = timed(leaseMachine.provide(hands('persist', 'erase')), instant);
  const leases = timed(endsByKind(leasesMachine.provide({ actors: { lease } })), instant);
  const idlePool = timed(idlePoolMachine, instant);
  const keeper = kernelKeeperMachine.provide({
    actors: { ...unanswered('sweep'), watch: fromCallback(() => undefined) },
  } as never);
  const kernelKeeper = timed(keeper, instant);
  const garbageCollector = timed(garbageCollectorMachine.provide(hands('list', 'confirm', 'collect')), instant);
  const cloudKeeper = timed(cloudKeeperMachine.provide(hands('listStrays')), instant);
  const supervisors = { leases, eniFactory, idlePool, kernelKeeper, cloudKeeper, garbageCollector };
  const machine = timed(
    nodeMachine.provide({
      actors: { ...unanswered('identify', 'recover', 'recall', 'look', 'quiet'), ...supervisors },
    }),
    instant,
  );
  const byName = new Map<string, AnyActorRef>();
  const root = createActor(machine, {
    input: { settings, token: 'replay' },
    clock: { setTimeout: () => 0 as never, clearTimeout: () => undefined },
    inspect: (event) => {
      if (event.type === '@xstate.actor') byName.set((event.actorRef as AnyActorRef).id, event.actorRef as AnyActorRef);
      heard(event, instant.nowMs);
    },
  });
  root.start();
  const take = (record: Input): void => {
    const { actor, event, atMs } = livingInput(record);
    instant.nowMs = atMs;
    (actor === 'node' ? (root as AnyActorRef) : byName.get(actor))?.send(event);
  };
  const books = () => {
    const factory = byName.get('eniFactory')?.getSnapshot() as AnyMachineSnapshot | undefined;
    return Object.values(factory?.children ?? {}).map((ref) => {
      const { context } = (ref as AnyActorRef).getSnapshot() as AnyMachineSnapshot;
      const { eniId, book } = context as EniContext;
      return { eniId, book: book.map(({ address, state, pod }) => `${address.ipv4} ${state} ${pod}`) };
    });
  };
  return { root: root as AnyActorRef, books, take, report: () => reportOf(root as NodeRef, () => NEVER) };
}

/** `path state` of every chart, sorted. */
export function statesOf(actor: AnyActorRef, path = 'node'): readonly string[] {
  const { value, children } = actor.getSnapshot() as Partial<AnyMachineSnapshot>;
  if (value === undefined) return [];
  const below = Object.entries(children ?? {}).flatMap(([id, child]) =>
    statesOf(child as AnyActorRef, `${path}/${id}`),
  );
  return [`${path} ${statePath(value)}`, ...below].sort();
}
