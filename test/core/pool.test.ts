import t from 'tap';
import type { Counts } from '../../src/core/address-book.ts';
import type { EniSummary } from '../../src/core/eni-summary.ts';
import { noHolds } from '../../src/core/holds.ts';
import { surplusSlots } from '../../src/core/over-quota.ts';
import type { PlacementPolicy } from '../../src/core/placement.ts';
import { keptIn, type PoolTotals, poolMove, sameTotals, totalsOf } from '../../src/core/pool.ts';
import { shedPlan as plan } from '../../src/core/shed-plan.ts';

const none: Counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };
const eni = (slot: number, counts: Partial<Counts>, more: Partial<EniSummary> = {}): EniSummary => ({
  slot,
  phase: 'ready',
  eniId: `eni-${slot}`,
  vSwitchId: 'vsw-1',
  ours: true,
  limit: 6,
  counts: { ...none, ...counts },
  sheddable: counts.idle ?? 0,
  arriving: 0,
  queued: 0,
  heard: 0,
  lastFailure: null,
  ...more,
});
const policy: PlacementPolicy = {
  maxEnis: 3,
  foreignEnis: 0,
  looking: false,
  ipv4PerEni: 6,
  eniPolicy: 'most_ips',
  vSwitchIds: ['vsw-1', 'vsw-2'],
  vSwitch: { policy: 'listed', seed: 0, nth: 0, free: {} },
  holds: noHolds,
};
const NEVER = Number.POSITIVE_INFINITY;
/** With a low mark that nothing holds, so that no more goes than is too much. */
const shedPlan = (enis: readonly EniSummary[], count: number, keep = NEVER, young: readonly number[] = []) =>
  plan(enis, { count, keep, young: new Set(young) });
const view = (enis: readonly EniSummary[], waiting = 0) => ({
  enis,
  waiting,
  young: new Set<number>(),
  granted: 0,
  freed: 0,
});

t.test(
  'pool: grows by what is missing and possible, sheds what is too much, and does neither while pods wait',
  async (t) => {
    const totals: PoolTotals = {
      idle: 0,
      cooling: 0,
      leaving: 0,
      spare: 0,
      waiting: 0,
      room: 99,
      soon: 0,
      held: 0,
      young: 0,
      capacity: 99,
      granted: 0,
      freed: 0,
    };
    const bounds = { minIdle: 4, maxIdle: 6 };
    const table: [Partial<PoolTotals>, number, number, number?][] = [
      [{}, 4, 0],
      [{ idle: 4 }, 0, 0],
      [{ idle: 6 }, 0, 0],
      [{ idle: 9 }, 0, 3],
      [{ cooling: 3 }, 1, 0],
      [{ spare: 9 }, 0, 0],
      [{ room: 1 }, 1, 0],
      [{ room: 0 }, 0, 0],
      [{ waiting: 1 }, 0, 0],
      [{ idle: 9, waiting: 1 }, 0, 0],
      [{ cooling: 50 }, 0, 0],
      // Pods come again that got nothing in time.
      [{ idle: 9, returning: 8 }, 0, 1],
      [{ idle: 9, returning: 20 }, 0, 0],
      [{ returning: 20 }, 4, 0],
      // An ENI that waits in line for nobody is not made if there is enough without it.
      [{ spare: 9, unasked: 3 }, 0, 0, 3],
      [{ spare: 9, unasked: 4 }, 0, 0],
      [{ idle: 5, spare: 4, unasked: 3 }, 0, 0, 3],
      [{ idle: 9, spare: 4, unasked: 4 }, 0, 3, 7],
      [{ spare: 9, unasked: 3, returning: 7 }, 0, 0],
      [{ spare: 9, unasked: 3, waiting: 1 }, 0, 0],
    ];
    for (const [change, grow, shed, callOff = 0] of table)
      t.same(poolMove({ ...totals, ...change }, bounds), { grow, shed, callOff }, JSON.stringify(change));
    t.equal(keptIn({ ...totals, returning: 9 }, bounds), 9);
    t.equal(keptIn(totals, bounds), 4);
  },
);

t.test('pool: the totals count what can be used, and room that can be had now', async (t) => {
  const enis = [
    eni(0, { idle: 2, bound: 2, cooling: 1, leaving: 1 }),
    eni(1, { idle: 1, bound: 1 }, { phase: 'holding' }),
    eni(2, { idle: 3 }, { phase: 'opening', queued: 2 }),
    eni(3, { idle: 3 }, { phase: 'faulty' }),
    eni(4, { idle: 3 }, { phase: 'leaving' }),
    eni(5, { idle: 3 }, { phase: 'lost' }),
  ];
  const wide = { ...policy, maxEnis: 7 };
  t.match(totalsOf(view(enis, 3), wide, 0), {
    idle: 3,
    cooling: 1,
    leaving: 1,
    spare: 1,
    waiting: 3,
    room: 3 + 6,
    held: 3,
    capacity: 42,
  });
  const dry = { ...wide, holds: { ...noHolds, vSwitches: { 'vsw-1': 5 } } };
  t.equal(totalsOf(view(enis), dry, 0).room, 6, 'an ENI elsewhere');
  t.equal(totalsOf(view(enis), dry, 5).room, 9, 'and all of it when the hold ends');
  const allDry = { ...wide, holds: { ...noHolds, vSwitches: { 'vsw-1': 5, 'vsw-2': 5 } } };
  t.equal(totalsOf(view(enis), allDry, 0).room, 0);
  t.equal(totalsOf(view(enis), { ...wide, holds: { ...noHolds, openUntilMs: 5 } }, 0).room, 3);
  t.ok(sameTotals(totalsOf(view(enis), wide, 0), totalsOf(view(enis), wide, 9)));
  t.notOk(sameTotals(totalsOf(view(enis), wide, 0), null));
  const worse = enis.map((one) =>
    one.slot === 1 ? { ...one, phase: 'faulty' as const, counts: { ...one.counts, idle: 0 } } : one,
  );
  const was = enis.map((one) => (one.slot === 1 ? { ...one, counts: { ...one.counts, idle: 0 } } : one));
  const [before, after] = [was, worse].map((all) => totalsOf(view(all), wide, 0));
  t.strictSame(
    { ...before, soon: 0 },
    after,
    'an ENI that was to serve the pool soon, and does not, is the only change',
  );
});

t.test('pool: of ENIs that wait in line for nobody the largest that are too many are called off', async (t) => {
  const inLine = (slot: number, arriving: number, more: Partial<EniSummary> = {}) =>
    eni(slot, {}, { phase: 'opening', eniId: null, unasked: true, arriving, ...more });
  const enis = [
    inLine(0, 2),
    inLine(1, 4),
    inLine(2, 3, { queued: 1 }),
    inLine(3, 1, { phase: 'leaving' }),
    eni(4, {}),
  ];
  t.equal(totalsOf(view(enis), policy, 0).unasked, 2);
  t.equal(totalsOf(view(enis.slice(2)), policy, 0).unasked, undefined);
  const slots = (callOff: number) =>
    plan(enis, { count: 0, callOff, keep: 0, young: new Set() }).map(({ slot, drain }) => [slot, drain]);
  t.same(slots(1), []);
  t.same(slots(3), [[0, true]]);
  t.same(slots(4), [[1, true]]);
  t.same(slots(6), [
    [1, true],
    [0, true],
  ]);
  // What is called off is not counted upon for the low mark.
  const both = [inLine(0, 4), eni(1, { idle: 3 }), eni(2, { idle: 2, bound: 1 })];
  const low = (callOff: number) => plan(both, { count: 1, callOff, keep: 3, young: new Set() });
  t.match(low(0), [{ slot: 1, drain: true }]);
  t.match(low(4), [
    { slot: 0, drain: true },
    { slot: 1, drain: false },
  ]);
});

t.test('pool: whole ENIs go first, then secondary addresses, and never more than is too much', async (t) => {
  t.same(shedPlan([eni(0, { idle: 2 }), eni(1, { idle: 3, bound: 1 })], 2), [{ slot: 0, drain: true, count: 2 }]);
  t.same(shedPlan([eni(0, { idle: 4 }), eni(1, { idle: 3, bound: 1 })], 2), [{ slot: 0, drain: false, count: 2 }]);
  t.same(shedPlan([eni(0, { idle: 1 }), eni(1, { idle: 4, bound: 1 })], 3), [
    { slot: 0, drain: true, count: 1 },
    { slot: 1, drain: false, count: 2 },
  ]);
  t.same(
    shedPlan([eni(0, { idle: 9, bound: 2 }), eni(1, { idle: 9, bound: 1 })], 3),
    [{ slot: 1, drain: false, count: 3 }],
    'the least used ENI empties first',
  );
  t.same(shedPlan([eni(0, { idle: 3 })], 0), []);
  t.same(shedPlan([eni(0, { idle: 3 })], -1), []);
});

t.test('pool: an idle primary address that cannot go does not stand in the way of others that can', async (t) => {
  const stays = eni(0, { idle: 1, bound: 2 }, { sheddable: 0 });
  t.same(shedPlan([stays, eni(1, { idle: 3, bound: 1 })], 1), [{ slot: 1, drain: false, count: 1 }]);
  t.same(shedPlan([stays], 1), []);
});

t.test('pool: nothing is taken from an ENI that is busy, foreign, resting its addresses or not ready', async (t) => {
  const busy: [string, Partial<Counts>, Partial<EniSummary>][] = [
    ['foreign', { idle: 2 }, { ours: false }],
    ['asked for more', { idle: 2 }, { arriving: 1 }],
    ['waited for', { idle: 2 }, { queued: 1 }],
    ['giving back already', { idle: 2, leaving: 1 }, {}],
    ['backing off', { idle: 2 }, { phase: 'holding' }],
    ['opening', { idle: 2 }, { phase: 'opening' }],
  ];
  for (const [why, counts, more] of busy) t.same(shedPlan([eni(0, counts, more)], 9), [], why);
  for (const state of ['offered', 'bound', 'cooling', 'reserved', 'invalid'] as const)
    t.notOk(
      shedPlan([eni(0, { idle: 2, [state]: 1 })], 9).some((move) => move.drain),
      `${state}: the ENI stays`,
    );
});

t.test('pool: when addresses go anyway, an unused ENI goes whole if the low mark holds on the others', async (t) => {
  const two = [eni(0, { idle: 3 }), eni(1, { idle: 3 })];
  t.same(shedPlan(two, 1, 3), [{ slot: 1, drain: true, count: 3 }], 'rather than to leave five on two of them');
  t.same(shedPlan(two, 1, 4), [{ slot: 1, drain: false, count: 1 }], 'the others alone would be too few');
  t.same(
    shedPlan([...two, eni(2, { cooling: 1 })], 1, 4),
    [{ slot: 1, drain: true, count: 3 }],
    'cooling ones count toward the mark',
  );
  t.same(
    shedPlan([eni(0, { idle: 6 })], 1, 0),
    [{ slot: 0, drain: false, count: 1 }],
    'the last one gains nothing by it',
  );
  t.same(shedPlan(two, 0, 0), [], 'and never without need');
  t.same(
    shedPlan([eni(0, { idle: 2 }), eni(1, { idle: 4 }), eni(2, { idle: 3, bound: 1 })], 3, 4),
    [
      { slot: 0, drain: true, count: 2 },
      { slot: 1, drain: false, count: 1 },
    ],
    'as far as the mark lets it',
  );
});

t.test('pool: an ENI that is new stays, and what is on it waits with it', async (t) => {
  t.same(shedPlan([eni(0, { idle: 3 })], 3, 0, [0]), []);
  t.same(shedPlan([eni(0, { idle: 3 }), eni(1, { idle: 4, bound: 1 })], 4, 0, [0]), [
    { slot: 1, drain: false, count: 1 },
  ]);
  t.same(
    shedPlan([eni(0, { idle: 5 })], 2, 5, [0]),
    [{ slot: 0, drain: false, count: 2 }],
    'the part that is too much goes',
  );
  const seen = totalsOf(
    { ...view([eni(0, { idle: 3 }), eni(1, { idle: 4, bound: 1 })]), young: new Set([0, 1]) },
    policy,
    0,
  );
  t.equal(seen.young, 3, 'only unused ones could go');
});

t.test('pool: an ENI that was said to be full has no room for a while', async (t) => {
  const full = { ...policy, maxEnis: 1, holds: { ...noHolds, enis: { 0: 5 } } };
  t.equal(totalsOf(view([eni(0, { bound: 2 })]), full, 0).room, 0);
  t.equal(totalsOf(view([eni(0, { bound: 2 })]), full, 5).room, 4);
});

t.test(
  'quota: of our own ENIs those with the fewest pods are too many, and one that others put here makes none so',
  (t) => {
    const enis = [eni(0, { bound: 3 }), eni(1, { bound: 1 }), eni(2, { bound: 2 }, { ours: false })];
    t.strictSame([...surplusSlots(enis, 1)], [1]);
    t.strictSame([...surplusSlots(enis, 2)], []);
    const beginning = [eni(0, { bound: 3 }, { phase: 'opening' }), eni(1, { bound: 1 })];
    t.strictSame([...surplusSlots(beginning, 1)], [1], 'nobody is in the place of one that is not set up yet');
    const asked = [eni(0, { bound: 3 }), eni(1, {}, { phase: 'opening', eniId: null })];
    t.strictSame([...surplusSlots(asked, 1)], [], 'one that does not exist yet takes none');
    t.end();
  },
);
