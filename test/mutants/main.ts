/**
 * `npm run mutants -- [--seeds 500] [--first 1] [--steps 2000] [--chart NAME] [--only TEXT] [--names FILE] [--sample N] [--hazards a,b] [--verbose] [--json]`
 *
 * Runs every mutant of the charts through the simulation, seed after seed, until one kills it: by a violated invariant, by the end of the
 * root, or because the node never comes to rest. Prints how many were killed, chart by chart, and those that lived, with what is known of
 * them (explained.ts). `--verbose` tells each one's fate as it is known. `--sample` takes so many of them, always the same, `--names` those that
 * a file names, a line each: survivors of a short run meet more seeds. The exit code is 1 when fewer than 95 % of those that can be
 * killed were, when an explanation is wrong, or when a seed fails without any mutant.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { HAZARDS, type Hazard, lasting } from '../../src/simulation/scenario.ts';
import { Seeded } from '../../src/simulation/seeded.ts';
import { EXPLAINED, UNDECIDED } from './explained.ts';
import { allMutants } from './fate.ts';
import { type Fate, hunt, serveMutants, walkAll } from './hunt.ts';
import type { Mutant } from './mutants-of.ts';

const AIM = 0.95;
const PROGRESS_MS = 15_000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '500' },
      first: { type: 'string', default: '1' },
      steps: { type: 'string', default: '2000' },
      chart: { type: 'string' },
      only: { type: 'string', default: '' },
      names: { type: 'string' },
      sample: { type: 'string' },
      hazards: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const [count, first, steps] = [values.seeds, values.first, values.steps].map(Number);
  if (![count, first, steps].every((one) => Number.isSafeInteger(one) && Number(one) > 0))
    throw new RangeError('--seeds, --first and --steps are whole numbers above 0');
  const hazards = values.hazards === 'all' ? HAZARDS : values.hazards.split(',').filter((name) => name !== '');
  const unknown = hazards.find((name) => !HAZARDS.includes(name as Hazard));
  if (unknown !== undefined) throw new RangeError(`--hazards ${unknown} is none of ${HAZARDS.join(', ')}, all`);
  const all = allMutants();
  const named = values.names === undefined ? null : new Set(readFileSync(values.names, 'utf8').split('\n'));
  const asked = all.filter(
    ({ name, chart }) =>
      (values.chart === undefined || chart === values.chart) &&
      name.includes(values.only) &&
      named?.has(name) !== false,
  );
  const chosen = values.sample === undefined ? asked : sampleOf(asked, Number(values.sample));
  if (chosen.length === 0) throw new RangeError('no such mutant');

  const fates: Fate[] = [];
  const unsound: number[] = [];
  const progress = setInterval(() => {
    const alive = fates.filter(({ why }) => why === null).length;
    process.stderr.write(`  ${fates.length} of ${chosen.length} mutants, ${alive} of them alive\n`);
  }, PROGRESS_MS);
  const seeds = Array.from({ length: count ?? 0 }, (_, index) => (first ?? 0) + index);
  const options = { ...lasting(steps ?? 0), hazards: hazards as Hazard[] };
  try {
    const program = new URL(import.meta.url);
    const walks = await walkAll(seeds, options, program);
    for (const [seed, { why }] of walks) {
      if (why === null) continue;
      unsound.push(seed);
      process.stderr.write(`  seed ${seed} is left out, since the charts as they are do not live through it: ${why}\n`);
    }
    await hunt(chosen, walks, options, program, (fate) => {
      fates.push(fate);
      if (!values.verbose) return;
      const end = fate.why === null ? `alive after ${fate.seeds} seeds` : `dead by seed ${fate.by}`;
      process.stderr.write(`${end}: ${fate.name}: ${fate.why ?? ''}\n`);
    });
  } finally {
    clearInterval(progress);
  }

  const charts = [...new Set(chosen.map(({ chart }) => chart))].map((chart) => {
    const of = fates.filter(({ name }) => name.startsWith(`${chart} `));
    const alive = of.filter(({ why }) => why === null);
    const explained = alive.filter(({ name }) => EXPLAINED[name] !== undefined).length;
    return { chart, mutants: of.length, killed: of.length - alive.length, survived: alive.length, explained };
  });
  const survivors = fates
    .filter(({ why }) => why === null)
    .map(({ name, seeds: met }) => ({
      name,
      seeds: met,
      explained: EXPLAINED[name] ?? null,
      known: UNDECIDED[name] ?? null,
    }))
    .sort((a, b) => chosen.findIndex(({ name }) => name === a.name) - chosen.findIndex(({ name }) => name === b.name));
  const stale = Object.keys({ ...EXPLAINED, ...UNDECIDED }).filter(
    (name) => !all.some((mutant) => mutant.name === name),
  );
  const wrong = fates.filter(({ name, why }) => why !== null && EXPLAINED[name] !== undefined);
  const killed = fates.filter(({ why }) => why !== null).length;
  const killable = fates.length - survivors.filter(({ explained }) => explained !== null).length;
  const share = killable === 0 ? 1 : killed / killable;

  if (values.json) {
    const told = { seeds: count, steps, mutants: fates.length, killed, share, charts, survivors, stale, unsound };
    process.stdout.write(`${JSON.stringify({ ...told, wrong: wrong.map(({ name }) => name) })}\n`);
  } else {
    for (const { chart, mutants, killed: dead, survived, explained } of charts)
      console.log(
        `${chart.padEnd(12)} ${mutants} mutants, ${dead} killed, ${survived} survived (${explained} explained)`,
      );
    for (const { name, seeds: met, explained, known } of survivors) {
      const told = explained ?? (known === null ? null : `undecided: ${known}`);
      console.log(`  alive after ${met} seeds: ${name}${told === null ? '' : ` (${told})`}`);
    }
    for (const name of stale) console.log(`  EXPLAINED and not there any more: ${name}`);
    for (const { name, why, by } of wrong) console.log(`  EXPLAINED and killed by seed ${by}: ${name}: ${why}`);
    console.log(`${killed} of ${killable} that can be told apart were killed: ${(100 * share).toFixed(1)} %`);
  }
  return share >= AIM && stale.length + wrong.length + unsound.length === 0 ? 0 : 1;
}

function sampleOf(mutants: readonly Mutant[], size: number): readonly Mutant[] {
  const left = mutants.filter(({ name }) => EXPLAINED[name] === undefined);
  const chance = new Seeded(1, 'mutants');
  return Array.from({ length: Math.min(size, left.length) }).flatMap(() =>
    left.splice(chance.between(0, left.length - 1), 1),
  );
}

if (!isMainThread) serveMutants();
else {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
    process.stderr.write(`mutants: ${error.message}\n`);
    process.exitCode = 2;
  }
}
