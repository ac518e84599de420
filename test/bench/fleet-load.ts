/**
 * One run of bench fleet, under Node: all nodes restart in the same second, or each scales from 10 to 100 pods, and time goes on until all are
 * served. It prints when, and what the account's calls were.
 */
import { CallTurns } from '../../src/adapters/ecs/call-turns.ts';
import { fixedBackoff } from './fleet-turns.ts';
import { Fleet } from './fleet-world.ts';

export type FleetLoad = {
  readonly event: 'restart' | 'scale';
  readonly nodes: number;
  /** How many they stand for; each knows it from the API server. */
  readonly fleet: number;
  readonly by: 'enactor' | 'fixed';
  /** The account's; null: no limits, to learn what a node needs. */
  readonly perMinute: Readonly<Record<string, number>> | null;
  readonly seed: number;
};

export type FleetAnswer = {
  /** From the event until each was served, ascending: nodes of a restart, pods of a scale-out. */
  readonly servedMs: readonly number[];
  /** Restart: until the first AllocIP of each node was answered. */
  readonly answeredMs: readonly number[];
  readonly unserved: number;
  readonly done: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
  readonly all: number;
};

const PODS_BEFORE = 10;
const PODS_AFTER = 100;
const GIVEN_UP_MS = 3 * 3_600_000;
/** The restart hits all within this. */
const SPREAD_MS = 1_000;
/** Before the event the nodes come up one after the other, and their ENIs are attached. */
const REST_MS = 20_000;
/** A read of one object. */
const API_SERVER_MS = 10;
const EXPONENT = 1_000;

const load = JSON.parse(process.argv[2] ?? '') as FleetLoad;

const fleet = new Fleet({
  nodes: load.nodes,
  settings: load.event === 'restart' ? { minIdle: 2, maxIdle: 5 } : {},
  perMinute: load.perMinute ?? {},
  seed: load.seed,
  turns: ({ index, life, chance }) =>
    load.by === 'fixed'
      ? fixedBackoff(life, () => chance.fraction())
      : new CallTurns({
          rateLimits: {},
          fleet: () => load.fleet,
          crowd: () => life.promise((tell) => void life.after(API_SERVER_MS, () => tell(crowdAt(index)))),
          ...{ nowMs: life.nowMs, wallMs: life.nowMs },
          fraction: () => chance.fraction(),
          timers: life.timers as unknown as NonNullable<ConstructorParameters<typeof CallTurns>[0]['timers']>,
        }),
});
const { clock, nodes } = fleet;

/** What a node reads off the owners of its pods: how many of theirs are not ready in the cluster, for each that is not ready here. */
function crowdAt(index: number): number | null {
  const all = nodes.reduce((sum, node) => sum + node.waiting, 0) * (load.fleet / load.nodes);
  const own = nodes[index]?.waiting ?? 0;
  return own === 0 ? null : Math.min(load.fleet, Math.max(1, Math.round(all / own)));
}

/** A fleet that has come up: with ten pods on each node where it is to scale, with an ENI and idle addresses where it is to restart. */
const before = load.event === 'scale' ? PODS_BEFORE : 0;
let ready = 0;
const isReady = (): void => {
  ready += 1;
};
nodes.forEach((node, nth) => {
  clock.after((nth * SPREAD_MS) / EXPONENT, () =>
    node.start(() => {
      if (before === 0) isReady();
      for (let pod = 0; pod < before; pod += 1) node.add(`pod-${pod}`, isReady);
    }),
  );
});
if (!(await fleet.until(() => ready === nodes.length * Math.max(1, before))))
  throw new Error('the fleet never came up');
const calmMs = clock.nowMs() + REST_MS;
await fleet.until(() => clock.nowMs() >= calmMs, calmMs);
await fleet.untilWholeMinute();
fleet.limit();

const startMs = clock.nowMs();
const mark = fleet.mark;
const servedMs: number[] = [];
const answeredMs: number[] = [];
const note = (into: number[]) => (): void => void into.push(clock.nowMs() - startMs);
const wanted = load.event === 'restart' ? nodes.length : nodes.length * (PODS_AFTER - PODS_BEFORE);
for (const node of nodes) {
  if (load.event === 'restart')
    clock.after(node.chance.between(0, SPREAD_MS), () => {
      node.start(note(servedMs));
      node.add('pod-new', note(answeredMs));
    });
  else for (let pod = PODS_BEFORE; pod < PODS_AFTER; pod += 1) node.add(`pod-${pod}`, note(servedMs));
}
const all = () => servedMs.length === wanted && (load.event === 'scale' || answeredMs.length === wanted);
await fleet.until(all, startMs + GIVEN_UP_MS);
const { done, refused, all: calls } = fleet.callsSince(mark);
const answer: FleetAnswer = {
  ...{ servedMs, answeredMs, unserved: wanted - servedMs.length },
  ...{ done: Object.fromEntries(done), refused: Object.fromEntries(refused), all: calls },
};
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
