/**
 * Makes a failing plan short: delta debugging over its decisions, keeping what still breaks the same invariant.
 *
 * Source: A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (ddmin), 2002.
 */
import type { Decision } from './deed.ts';
import { runScenario } from './run-seed.ts';
import type { Scenario } from './scenario.ts';
import type { Violation } from './violation.ts';
import type { WorldOptions } from './world.ts';

export type Shortened = { readonly plan: readonly Decision[]; readonly violation: Violation; readonly runs: number };

/** `runsMax` bounds the tries; null when the whole plan does not fail. */
export async function shorten(
  scenario: Scenario,
  options: WorldOptions = {},
  runsMax = 400,
): Promise<Shortened | null> {
  const { violation: first, decided } = await runScenario(scenario, scenario.plan, options);
  if (first === null) return null;
  let runs = 1;
  const fails = async (plan: readonly Decision[]): Promise<Violation | null> => {
    runs += 1;
    const { violation } = await runScenario(scenario, plan, options);
    return violation?.invariant === first.invariant ? violation : null;
  };
  let found = first;
  let plan: readonly Decision[] = scenario.plan.slice(0, decided);
  let parts = 2;
  while (plan.length > 1 && runs < runsMax) {
    const size = Math.ceil(plan.length / parts);
    let shorter: readonly Decision[] | null = null;
    for (let start = 0; start < plan.length && runs < runsMax; start += size) {
      const without = [...plan.slice(0, start), ...plan.slice(start + size)];
      const violation = await fails(without);
      if (violation === null) continue;
      found = violation;
      shorter = without;
      break;
    }
    if (shorter !== null) {
      plan = shorter;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(plan.length, parts * 2);
  }
  return { plan, violation: found, runs };
}

/** One line a decision, times relative to the start. */
export function describePlan(scenario: Scenario, plan: readonly Decision[]): string {
  return plan
    .map(({ atMs, do: deed, ...rest }) => {
      const { node, ...what } = rest as { node?: number };
      const where = node === undefined ? '' : ` node ${node + 1}`;
      return `  ${String(atMs - scenario.startMs).padStart(8)} ms ${deed}${where} ${JSON.stringify(what)}`;
    })
    .join('\n');
}
