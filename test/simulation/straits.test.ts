import t from 'tap';
import { everything } from '../../src/simulation/coverage.ts';
import type { Decision, Deed, PlanKinds } from '../../src/simulation/deed.ts';
import { Seeded } from '../../src/simulation/seeded.ts';
import { withStraits } from '../../src/simulation/straits.ts';

const ALL: PlanKinds = { faults: true, crashes: true, defects: true, outOfBand: true, dual: false };
const NONE: PlanKinds = { faults: false, crashes: false, defects: false, outOfBand: false, dual: false };
const plan: readonly Decision[] = Array.from({ length: 400 }, (_, index) => ({
  ...{ do: 'del', node: 0, container: `p${index}` },
  atMs: index,
}));
const ambushesIn = (deeds: readonly Deed[]): readonly (Deed & { do: 'ambush' })[] =>
  deeds.flatMap((deed) => (deed.do === 'ambush' ? [deed, ...ambushesIn(deed.deeds)] : []));

t.test('straits: each begins in a state that there is, and nothing else of the plan is changed', (t) => {
  const { states } = everything();
  const met = new Set<string>();
  let seeds = 0;
  for (let seed = 1; seed <= 60; seed += 1) {
    const strait = withStraits(plan, ALL, new Seeded(seed, 'straits'));
    if (strait !== plan) seeds += 1;
    const laid = ambushesIn(strait);
    for (const { state } of laid) {
      met.add(state);
      t.ok(states.has(state), `${state} is a state`);
    }
    t.same(
      strait.filter(({ do: what }) => what !== 'ambush'),
      plan,
    );
  }
  t.ok(met.size >= 12, `${met.size} states`);
  t.ok(seeds > 8 && seeds < 30, `a part of the seeds has any: ${seeds} of 60`);
  t.end();
});

t.test('straits: a seed without faults, crashes and others at work has none', (t) => {
  for (let seed = 1; seed <= 20; seed += 1) t.equal(withStraits(plan, NONE, new Seeded(seed, 'straits')), plan);
  t.end();
});
