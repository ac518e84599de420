import t from 'tap';
import { everything } from '../../src/simulation/coverage.ts';
import { type Decision, type Deed, MET_ENI, type PlanKinds } from '../../src/simulation/deed.ts';
import { withLines } from '../../src/simulation/lines.ts';
import { Seeded } from '../../src/simulation/seeded.ts';

const ALL: PlanKinds = { faults: true, crashes: true, defects: true, outOfBand: true, dual: false };
const NONE: PlanKinds = { faults: false, crashes: false, defects: false, outOfBand: false, dual: false };
const plan: readonly Decision[] = Array.from({ length: 400 }, (_, index) => ({
  ...{ do: 'del', node: 0, container: `p${index}` },
  atMs: index,
}));
const deedsIn = (deeds: readonly Deed[]): readonly Deed[] =>
  deeds.flatMap((deed) => (deed.do === 'ambush' ? [deed, ...deedsIn(deed.deeds)] : [deed]));
const drawn = (kinds: PlanKinds): readonly (readonly Decision[])[] =>
  Array.from({ length: 60 }, (_, seed) => withLines(plan, kinds, new Seeded(seed + 1, 'lines')));

t.test('lines: a part of the seeds has any, each begins in a state that there is, and the plan stays', (t) => {
  const { states } = everything();
  const some = drawn(ALL).filter((one) => one !== plan);
  t.ok(some.length > 10 && some.length < 40, `${some.length} of 60`);
  for (const one of some) {
    t.same(
      one.filter(({ do: what }) => what !== 'ambush'),
      plan,
    );
    for (const deed of deedsIn(one)) if (deed.do === 'ambush') t.ok(states.has(deed.state), `${deed.state} is a state`);
  }
  const all = some.flatMap((one) => deedsIn(one));
  for (const what of ['slowTurns', 'unplug', 'portFault', 'callFault', 'crash', 'defect', 'outOfBand'] as const)
    t.ok(
      all.some((deed) => deed.do === what),
      what,
    );
  t.ok(all.every((deed) => deed.do !== 'unplug' || deed.which === MET_ENI));
  t.end();
});

t.test('lines: where nobody makes trouble calls wait, devices go and pods come and leave, and no more', (t) => {
  const deeds = new Set(drawn(NONE).flatMap((one) => deedsIn(one).map((deed) => deed.do)));
  t.same([...deeds].sort(), ['add', 'ambush', 'del', 'slowTurns', 'unplug']);
  t.end();
});
