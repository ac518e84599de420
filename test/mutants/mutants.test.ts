/** A sample of `npm run mutants`: that the simulation notices when a chart is not what it should be. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import t from 'tap';
import { CHARTS } from '../../src/simulation/coverage.ts';
import { runSeed } from '../../src/simulation/run-seed.ts';
import { EXPLAINED, UNDECIDED } from './explained.ts';
import { allMutants, fateOf, walkOf } from './fate.ts';

const SAMPLE = 16;
const SEEDS = 10;
/** Most of those that live here are killed by one of the 500 seeds that a whole run takes. */
const KILLED_MIN = 4;

t.test('mutants: of a sample some are killed within a few seeds', async (t) => {
  const outfile = join(t.testdir(), 'mutants.mjs');
  const target = { platform: 'node', format: 'esm', target: 'node20.19', logLevel: 'silent' } as const;
  await build({ entryPoints: ['test/mutants/main.ts'], outfile, bundle: true, ...target });
  const args = ['--sample', `${SAMPLE}`, '--seeds', `${SEEDS}`, '--steps', '340', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, [outfile, ...args], { encoding: 'utf8', timeout: 200_000 });
  const told = JSON.parse(stdout) as {
    mutants: number;
    killed: number;
    survivors: { name: string }[];
    unsound: number[];
  };
  t.equal(told.mutants, SAMPLE, stderr);
  t.same(told.unsound, [], 'the charts as they are live through all seeds');
  t.ok(told.killed >= KILLED_MIN, `${told.killed} of ${SAMPLE} were killed`);
  for (const { name } of told.survivors) t.comment(`alive after ${SEEDS} seeds: ${name}`);
});

t.test('mutants: one is killed, and then the charts are themselves again', async (t) => {
  const options = { steps: 100 };
  const before = (await runSeed(3, options)).hash;
  const configs = CHARTS.map(({ config }) => config);
  const mutant = allMutants().find(({ name }) => name === 'node recovering.calling done recover 0: missing');
  t.match(mutant && (await fateOf(mutant, 3, options)), /^(alive|rest): /, 'a node that never recovers');
  t.ok(CHARTS.every(({ config }, index) => config === configs[index]));
  t.equal((await runSeed(3, options)).hash, before);
});

t.test('mutants: one that a seed comes nowhere near is the chart itself', async (t) => {
  const options = { steps: 60 };
  const { met, why } = await walkOf(5, options);
  t.equal(why, null);
  const far = allMutants().filter(({ name }) => met[name] === undefined);
  t.ok(far.length > 100, `${far.length} of ${allMutants().length}`);
  for (const mutant of far.filter((_, index) => index % 60 === 0))
    t.equal(await fateOf(mutant, 5, options), null, mutant.name);
});

t.test('mutants: every explanation is of a mutant that exists', (t) => {
  const names = new Set(allMutants().map(({ name }) => name));
  t.same(
    Object.keys({ ...EXPLAINED, ...UNDECIDED }).filter((name) => !names.has(name)),
    [],
  );
  t.end();
});
