/** `npm run simulate -- --days 30 [--seed S]`: one world of days (long-scenario.ts), and the figures of it. */
import { grown, type Size, sizeOf } from './growth.ts';
import { DAY_MS, longScenario } from './long-scenario.ts';
import { type Outcome, runScenario } from './run-seed.ts';
import type { World, WorldOptions } from './world.ts';

/** Two passes of the garbage collector, a hold-down, the longest back-off, and time to spare: none of it is hurried here. */
const CALM_MS = 2 * 3_600_000;
const STEPS_MAX = 50_000_000;

export type LongOutcome = Outcome & {
  readonly days: number;
  readonly nodes: number;
  /** Sentences about what has grown over the days. */
  readonly grown: readonly string[];
  /** What was given out, and what was turned away. */
  readonly given: string;
  /** Pods that were answered, and calls that the cloud was asked. */
  readonly pods: number;
  readonly calls: number;
};

export async function runDays(
  seed: number,
  days: number,
  options: WorldOptions = {},
  onDay: (day: number, world: World) => void = () => {},
): Promise<LongOutcome> {
  const scenario = longScenario(seed, days);
  const looks: Size[][] = scenario.topology.instances.map(() => []);
  let last: World | null = null;
  const outcome = await runScenario(scenario, scenario.plan, {
    calmMs: CALM_MS,
    stepsMax: STEPS_MAX,
    ...options,
    onLook: (world) => {
      last = world;
      for (const [index, node] of world.nodes.entries()) if (node.up) looks[index]?.push(sizeOf(node));
      const passed = (world.clock.nowMs() - scenario.startMs) / DAY_MS;
      if (Number.isInteger(passed)) onDay(passed, world);
    },
  });
  const world = last as World | null;
  const { given, turnedAway } = world?.issuers ?? { given: {}, turnedAway: {} };
  return {
    ...outcome,
    days,
    nodes: scenario.topology.instances.length,
    grown: looks.flatMap((sizes, index) => grown(sizes).map((one) => `node ${index + 1}: ${one}`)),
    given: Object.entries(given)
      .map(([kind, count]) => `${count} ${kind}s (${turnedAway[kind as keyof typeof turnedAway]} turned away)`)
      .join(', '),
    pods: world?.kubelet.answered ?? 0,
    calls: world?.cloud.gateway.ledger.lastSeq ?? 0,
  };
}
