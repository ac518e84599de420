import t from 'tap';
import { everything } from '../../src/simulation/coverage.ts';
import type { Decision, Deed, PlanKinds } from '../../src/simulation/deed.ts';
import { LapsePlan } from '../../src/simulation/lapse-plan.ts';
import { Seeded } from '../../src/simulation/seeded.ts';
import { withStories } from '../../src/simulation/stories.ts';

const ALL: PlanKinds = { faults: true, crashes: true, defects: true, outOfBand: true, dual: false };
const NONE: PlanKinds = { faults: false, crashes: false, defects: false, outOfBand: false, dual: false };
const plan: readonly Decision[] = Array.from({ length: 300 }, (_, index) => ({
  ...{ do: 'del', node: 0, container: `p${index}` },
  atMs: 1_000 * index,
}));
const statesIn = (deeds: readonly Deed[]): readonly string[] =>
  deeds.flatMap((deed) => (deed.do === 'ambush' ? [deed.state, ...statesIn(deed.deeds)] : []));
const told = (kinds: PlanKinds, ownEnis: boolean): readonly (readonly Decision[])[] =>
  Array.from({ length: 60 }, (_, seed) => withStories(plan, kinds, ownEnis, new Seeded(seed + 1, 'stories')));

t.test('stories: a part of the seeds has any, in their order, and nothing else of the plan is changed', (t) => {
  const { states } = everything();
  const all = told(ALL, true);
  const some = all.filter((one) => one !== plan);
  t.ok(some.length > 12 && some.length < 40, `${some.length} of 60`);
  for (const one of some) {
    t.ok(one.every(({ atMs }, index) => index === 0 || atMs >= (one[index - 1]?.atMs ?? 0)));
    const own = new Set(plan);
    t.same(
      one.filter((decision) => own.has(decision)),
      plan,
    );
    for (const state of statesIn(one)) t.ok(states.has(state), `${state} is a state`);
  }
  const deeds = new Set(some.flat().map((one) => one.do));
  for (const deed of ['pending', 'lapse', 'stuck', 'outOfBand', 'settings'] as const) t.ok(deeds.has(deed), deed);
  t.end();
});

t.test('stories: where nobody makes trouble pods of StatefulSets wait for their nodes, and no more', (t) => {
  const deeds = new Set(told(NONE, false).flatMap((one) => one.map((decision) => decision.do)));
  t.same([...deeds].sort(), ['add', 'del', 'lookNow', 'pending']);
  t.end();
});

t.test('lapse: a witness is mistaken from one list to the next, and not again soon', (t) => {
  const time = { nowMs: 0 };
  const lapse = new LapsePlan(() => time.nowMs);
  lapse.arm('api');
  t.notOk(lapse.isOf('api'), 'the pass that is under way sees the truth');
  lapse.listed();
  t.ok(lapse.isOf('api'));
  t.notOk(lapse.isOf('host'));
  time.nowMs = 10_000;
  lapse.arm('host');
  lapse.listed();
  t.notOk(lapse.isOf('api') || lapse.isOf('host'));
  time.nowMs = 300_000;
  lapse.arm('host');
  lapse.listed();
  t.ok(lapse.isOf('host'));
  t.end();
});
