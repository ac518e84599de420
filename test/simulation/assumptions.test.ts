/** The matrix of what nobody knows about the cloud. */
import t from 'tap';
import { ASSUMPTIONS, ESTIMATES } from '../../src/simulation/assumptions.ts';
import { scenarioOf } from '../../src/simulation/scenario.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';

t.test('assumptions: both sides of each are settings of the model, and differ', async (t) => {
  const base = defaultSettings('realistic');
  for (const { name, sides, delays } of ASSUMPTIONS) {
    const [one, other] = [0, 1].map((side) => ({ ...sides[side], ...delays[side] }));
    t.not(JSON.stringify(one), JSON.stringify(other), name);
    t.strictSame(Object.keys(one ?? {}), Object.keys(other ?? {}), `${name}: both say all that either says`);
    for (const side of [0, 1] as const) {
      for (const key of Object.keys(sides[side])) t.ok(key in base, `${name}: ${key}`);
      for (const key of Object.keys(delays[side])) t.ok(key in base.delays, `${name}: ${key}`);
    }
  }
});

t.test('assumptions: each estimate is tried on both sides, or it is said why it cannot matter', async (t) => {
  const names = ASSUMPTIONS.map(({ name }) => name);
  for (const { about, estimate, ...how } of ESTIMATES) {
    if ('not' in how) t.ok(how.not.length > 0, `${about}: ${estimate}`);
    else for (const name of how.tried) t.ok(names.includes(name), `${about}: ${estimate}`);
  }
});

t.test('assumptions: a few dozen seeds run on both sides of each, and a seed always on the same', async (t) => {
  const seeds = Array.from({ length: 40 }, (_, index) => scenarioOf(index + 1, { steps: 1 }));
  for (const { name, sides, delays } of ASSUMPTIONS)
    for (const side of [0, 1] as const) {
      const on = seeds.filter(({ opposites }) => opposites.includes(name) === (side === 1));
      t.ok(on.length > 0, `${name}, side ${side + 1}: ${on.length} seeds`);
      for (const { cloud } of on) t.match(cloud, { ...sides[side], delays: delays[side] });
    }
  t.strictSame(scenarioOf(7, { steps: 1 }).opposites, seeds[6]?.opposites);
  t.ok(new Set(seeds.map(({ opposites }) => opposites.join())).size > 35, 'hardly any two are alike');
});
