/**
 * A node at rest makes no call that would change anything, for an hour, in every configuration of B11 (test/cases): after a random
 * workload with crashes and faults, in simulated time. What it holds then is checked against the water marks as in every seed.
 */
import t from 'tap';
import { parseConfig } from '../../src/core/config.ts';
import { runSeed } from '../../src/simulation/run-seed.ts';

const HOUR_MS = 3_600_000;
/** As much as the largest type of the simulated instances may have, and more than the others. */
const CAPACITY = 45;

type Marks = { readonly min_pool_size?: number; readonly max_pool_size?: number };
const configurations: readonly Marks[] = [
  { min_pool_size: 0, max_pool_size: 0 },
  { min_pool_size: 0, max_pool_size: 3 },
  { min_pool_size: 3, max_pool_size: 3 },
  { min_pool_size: 5, max_pool_size: 2 },
  { min_pool_size: CAPACITY, max_pool_size: CAPACITY },
  { min_pool_size: CAPACITY + 5, max_pool_size: CAPACITY + 5 },
  { min_pool_size: 4 },
  { max_pool_size: 4 },
];

for (const [index, marks] of configurations.entries()) {
  t.test(`rest for an hour: ${JSON.stringify(marks)}`, async (t) => {
    const { settings } = parseConfig(JSON.stringify({ access_key: 'k', access_secret: 's', ...marks }), 'node-1');
    const { minIdle, maxIdle } = settings;
    for (const seed of [1_900 + index]) {
      const options = { steps: 150, settings: { minIdle, maxIdle }, outOfBand: false };
      const { violation, steps } = await runSeed(seed, options, { watchMs: HOUR_MS });
      t.equal(violation, null, `seed ${seed}, ${steps} steps: ${violation?.what ?? 'not one call'}`);
    }
  });
}

t.test('rest for an hour: a node that gives an address back now and then is found out', async (t) => {
  const plant: NonNullable<Parameters<typeof runSeed>[2]>['plant'] = ({ cloud, ...rest }) => ({
    ...rest,
    cloud: Object.assign(Object.create(cloud), {
      describeEnis: async (filter: Parameters<typeof cloud.describeEnis>[0], signal: AbortSignal) => {
        const enis = await cloud.describeEnis(filter, signal);
        const [eni] = enis.filter((one) => one.type === 'Secondary');
        if (eni !== undefined) await cloud.deleteEni(eni.eniId, signal).catch(() => undefined);
        return enis;
      },
    }),
  });
  const options = { steps: 100, settings: { minIdle: 3, maxIdle: 3 }, outOfBand: false, faults: false, crashes: false };
  const { violation } = await runSeed(901, options, { watchMs: HOUR_MS, plant });
  t.ok(violation !== null, violation?.what ?? 'nothing was found');
});
