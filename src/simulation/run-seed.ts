/** One seed from its scenario to its outcome. */
import { type Scenario, type ScenarioOptions, scenarioOf } from './scenario.ts';
import type { Violation } from './violation.ts';
import { World, type WorldOptions } from './world.ts';

export type Outcome = {
  readonly seed: number;
  readonly steps: number;
  /** Decisions of the plan that were carried out before the run was left to rest. */
  readonly decided: number;
  readonly checks: number;
  readonly violation: Violation | null;
  /** Of the trace: equal for equal runs. */
  readonly hash: string;
  readonly crashes: number;
  /** Assumptions about the cloud of which this seed tries the opposite. */
  readonly opposites: readonly string[];
  readonly states: ReadonlySet<string>;
  readonly transitions: ReadonlySet<string>;
};

export async function runSeed(seed: number, options: ScenarioOptions, world: WorldOptions = {}): Promise<Outcome> {
  const scenario = scenarioOf(seed, options);
  return await runScenario(scenario, scenario.plan, world);
}

/** What the process would die of is a violation too: XState reports errors that nobody handles in a timer of their own. */
export async function runScenario(
  scenario: Scenario,
  plan: Scenario['plan'],
  options: WorldOptions = {},
): Promise<Outcome> {
  const world = new World(scenario, options);
  const thrown: unknown[] = [];
  const onThrown = (reason: unknown): void => void thrown.push(reason);
  process.on('uncaughtException', onThrown);
  process.on('unhandledRejection', onThrown);
  try {
    await world.run(plan);
    if (world.violation === null) await new Promise((resolve) => setTimeout(resolve, 0));
  } finally {
    process.off('uncaughtException', onThrown);
    process.off('unhandledRejection', onThrown);
  }
  const { steps, decided, trace, witness, nodes } = world;
  const uncaught: Violation | null =
    thrown.length === 0
      ? null
      : {
          invariant: 'alive',
          what: `uncaught: ${thrown[0] instanceof Error ? thrown[0].stack : String(thrown[0])}`,
          step: steps,
          atMs: world.clock.nowMs() - scenario.startMs,
        };
  return {
    seed: scenario.seed,
    steps,
    decided,
    checks: witness.checks,
    violation: uncaught ?? world.violation,
    hash: trace.hash,
    crashes: nodes.reduce((sum, node) => sum + Math.max(0, node.lives - 1), 0),
    opposites: scenario.opposites,
    states: trace.states,
    transitions: trace.transitions,
  };
}
