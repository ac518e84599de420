/** The simulation as part of every test run: some seeds that are always the same, and some that never are. */
import t from 'tap';
import { runSeed } from '../../src/simulation/run-seed.ts';
import { lasting, scenarioOf } from '../../src/simulation/scenario.ts';
import { describePlan, shorten } from '../../src/simulation/shorten.ts';

const STEPS = 800;
/** Some are enough here: `npm run simulate` goes through thousands. */
const FIXED = Array.from({ length: 8 }, (_, index) => index + 1);
/**
 * Seeds that nobody chose: printed, and no more than fit into this time. ENACTOR_RANDOM_SEEDS is their number, without a bound. Only two: the
 * wide search is `npm run simulate`.
 */
const RANDOM_MS = 12_000;
const RANDOM = Array.from({ length: Number(process.env.ENACTOR_RANDOM_SEEDS ?? 2) }, () =>
  Math.floor(Math.random() * 1_000_000_000),
);

/** Once each of these showed a fault that is mended, or a check that asked too much. */
const ONCE_FAILED: readonly (readonly [seed: number, steps: number])[] = [
  [40, 1_500],
  [102, 3_330],
  [109, 1_000],
  [979, 2_000],
  [51_005, 2_000],
  [90_035, 2_000],
  [820_043, 2_000],
  [336_045_575, 1_000],
  [650_800_778, 2_000],
  [356, 2_000],
  [494, 2_000],
  [1_292, 2_000],
  [1_367, 2_000],
  [1_598, 2_000],
];

async function asserted(
  test: typeof t,
  seed: number,
  stepsWanted = STEPS,
): Promise<{ steps: number; crashes: number }> {
  const { violation, steps, crashes } = await runSeed(seed, lasting(stepsWanted));
  if (violation === null) test.pass(`seed ${seed}: ${steps} steps, ${crashes} crashes`);
  else {
    const scenario = scenarioOf(seed, lasting(stepsWanted));
    const short = await shorten(scenario, {}, 100);
    const plan = describePlan(scenario, short?.plan ?? scenario.plan);
    test.fail(`seed ${seed}, invariant ${violation.invariant}, step ${violation.step}: ${violation.what}\n${plan}`);
  }
  return { steps, crashes };
}

t.test('simulation: the fixed seeds hold every invariant, through crashes and faults', async (t) => {
  let crashes = 0;
  let steps = 0;
  for (const seed of FIXED) {
    const done = await asserted(t as typeof import('tap').default, seed);
    crashes += done.crashes;
    steps += done.steps;
  }
  t.ok(3 * crashes >= FIXED.length, `${crashes} crashes`);
  t.ok(steps >= FIXED.length * STEPS, `${steps} steps`);
});

t.test('simulation: seeds that once failed hold every invariant', async (t) => {
  for (const [seed, steps] of ONCE_FAILED) await asserted(t as typeof import('tap').default, seed, steps);
});

t.test('simulation: random seeds hold every invariant', async (t) => {
  const endMs = performance.now() + RANDOM_MS;
  for (const seed of RANDOM) {
    if (process.env.ENACTOR_RANDOM_SEEDS === undefined && performance.now() > endMs) break;
    t.comment(`one alone: npm run simulate -- --seeds 1 --steps ${STEPS} --seed ${seed}`);
    await asserted(t as typeof import('tap').default, seed);
  }
});

t.test('simulation: a seed replays exactly, and another one does not', async (t) => {
  for (const seed of [2, 7]) {
    const [first, again] = [await runSeed(seed, { steps: 400 }), await runSeed(seed, { steps: 400 })];
    t.equal(first.hash, again.hash, `seed ${seed}: ${first.hash}`);
    t.equal(first.steps, again.steps);
  }
  t.not((await runSeed(2, { steps: 400 })).hash, (await runSeed(3, { steps: 400 })).hash);
});
