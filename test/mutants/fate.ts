/** What becomes of a mutant in one seed of the simulation. */
import type { AnyStateMachine } from 'xstate';
import { CHARTS } from '../../src/simulation/coverage.ts';
import { runSeed } from '../../src/simulation/run-seed.ts';
import type { ScenarioOptions } from '../../src/simulation/scenario.ts';
import { type Mutant, mutantsOf, withEars } from './mutants-of.ts';

/** Far more than a seed of these lengths takes, its rest included: a mutant that takes more never comes to rest. */
const STEPS_MAX = 30_000;

const ALL = CHARTS.flatMap(mutantsOf);

export function allMutants(): readonly Mutant[] {
  return ALL;
}

/**
 * What a seed is without any mutant: why the charts as they are do not live through it (null: they do), and how often each cut is come
 * to, by the mutant's name. One that is not named here is the chart itself.
 */
export type Walk = { readonly why: string | null; readonly met: Readonly<Record<string, number>> };

export async function walkOf(seed: number, options: ScenarioOptions): Promise<Walk> {
  const taken = new Map<string, number>();
  const count = (name: string): void => void taken.set(name, (taken.get(name) ?? 0) + 1);
  const refused = new Map<string, number>();
  const undo = CHARTS.map((chart) =>
    impersonate(
      chart,
      withEars(chart, (name) => void refused.set(name, (refused.get(name) ?? 0) + 1)),
    ),
  );
  try {
    const onLine = (line: string): void => count(line.slice(line.lastIndexOf(' ') + 1));
    const { violation, states } = await runSeed(seed, options, { stepsMax: STEPS_MAX, onLine });
    for (const name of states) count(name);
    for (const [name, times] of [...taken]) {
      const [source = ''] = name.split('|');
      if (source !== name) taken.set(source, (taken.get(source) ?? 0) + times);
    }
    const met = allMutants().flatMap(({ name, state, transition, guarded }): [string, number][] => {
      const times = guarded ? refused.get(name) : taken.get(transition ?? state);
      return times === undefined ? [] : [[name, times]];
    });
    return {
      why: violation === null ? null : `${violation.invariant}: ${violation.what}`,
      met: Object.fromEntries(met),
    };
  } finally {
    for (const one of undo) one();
  }
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
