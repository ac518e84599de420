/** What becomes of a mutant in one seed of the simulation. */
import type { AnyStateMachine } from 'xstate';
import { CHARTS } from '../../src/simulation/coverage.ts';
import { runSeed } from '../../src/simulation/run-seed.ts';
import type { ScenarioOptions } from '../../src/simulation/scenario.ts';
import { type Mutant, mutantsOf } from './mutants-of.ts';

/** Far more than a seed of these lengths takes, its rest included: a mutant that takes more never comes to rest. */
const STEPS_MAX = 30_000;

export function allMutants(): readonly Mutant[] {
  return CHARTS.flatMap(mutantsOf);
}

/** Where the charts as they are have been in a seed, and why they do not live through it; null: they do. */
export type Walk = { readonly why: string | null; readonly been: readonly string[] };

export async function walkOf(seed: number, options: ScenarioOptions): Promise<Walk> {
  const { violation, states, transitions } = await runSeed(seed, options, { stepsMax: STEPS_MAX });
  const why = violation === null ? null : `${violation.invariant}: ${violation.what}`;
  return { why, been: [...states, ...transitions] };
}

/** A mutant is the chart itself until what was cut is come to. */
export function meets({ state, transition }: Mutant, been: ReadonlySet<string>): boolean {
  return been.has(transition ?? state);
}

/** Why the seed kills it; null when the mutant lives through it unnoticed. */
export async function fateOf(mutant: Mutant, seed: number, options: ScenarioOptions): Promise<string | null> {
  const chart = CHARTS.find(({ id }) => id === mutant.chart);
  if (chart === undefined) throw new RangeError(`no chart is called ${mutant.chart}`);
  let undo = (): void => {};
  try {
    undo = impersonate(chart, mutant.make());
    const { violation } = await runSeed(seed, options, { stepsMax: STEPS_MAX });
    return violation === null ? null : `${violation.invariant}: ${violation.what}`;
  } catch (thrown) {
    return `thrown: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  } finally {
    undo();
  }
}

/**
 * Makes the chart that everybody imports be another one, until undone. The program gives its charts hands with `provide`, which builds a
 * machine anew from the config: so no part of the program has to know of mutants.
 */
function impersonate(chart: AnyStateMachine, mutant: AnyStateMachine): () => void {
  const own = { ...chart };
  Object.assign(chart, mutant);
  return () => void Object.assign(chart, own);
}
