import t from 'tap';
import type { Counts } from '../../src/core/address-book.ts';
import { type EniSummary, expecting, isWholeFree, roomOf, spareOf } from '../../src/core/eni-summary.ts';
import { noHolds } from '../../src/core/holds.ts';
import { asksForOwnEni } from '../../src/core/own-eni.ts';
import { type PlacementPolicy, place, type Waiting } from '../../src/core/placement.ts';
import { totalsOf } from '../../src/core/pool.ts';
import { shedPlan } from '../../src/core/shed-plan.ts';
import { sooner } from '../../src/core/sooner.ts';

const NOW = 10_000;
const none: Counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };

/** Its primary address is idle, if any of it is. */
const eni = (slot: number, counts: Partial<Counts> = {}, more: Partial<EniSummary> = {}): EniSummary => ({
  ...{ slot, phase: 'ready', eniId: `eni-${slot}`, vSwitchId: 'vsw-1', ours: true, limit: 6 },
  ...{ counts: { ...none, ...counts }, sheddable: Math.max(0, (counts.idle ?? 0) - 1) },
  ...{ arriving: 0, queued: 0, heard: 0, lastFailure: null },
  ...more,
});

const policy = (maxEnis: number, more: Partial<PlacementPolicy> = {}): PlacementPolicy => ({
  ...{ maxEnis, foreignEnis: 0, looking: false, ipv4PerEni: 6, eniPolicy: 'most_ips', vSwitchIds: ['vsw-1'] },
  ...{ vSwitch: { policy: 'listed', seed: 0, nth: 0, free: {} }, holds: noHolds },
  ...more,
});

const waiting = (requestId: string, more: Partial<Waiting> = {}): Waiting => ({
  ...{ requestId, pod: `default/${requestId}`, sinceMs: 0, untilMs: NOW + 60_000 },
  ...more,
});
const own = (requestId: string): Waiting => waiting(requestId, { ownEni: true });
const moves = (line: readonly Waiting[], enis: readonly EniSummary[], rules: PlacementPolicy) =>
  place(line, 0, enis, rules, NOW).moves;

t.test(
  'placement: a pod that wants an ENI for itself takes one that has nothing else, before one is opened',
  async (t) => {
    t.match(moves([own('a')], [eni(0, { bound: 2, idle: 1 }), eni(1, { idle: 1 })], policy(4)), [
      { type: 'assign', requestId: 'a', slot: 1 },
    ]);
    t.match(moves([own('a')], [eni(0, { bound: 2 })], policy(4)), [
      { type: 'open', ipv4Count: 1, requestIds: ['a'], own: true },
    ]);
  },
);

t.test('placement: what the idle pool has on an ENI is left to it, until no other can be opened', async (t) => {
  t.match(moves([own('a')], [eni(0, { idle: 4 })], policy(2)), [{ type: 'open', requestIds: ['a'] }]);
  t.match(moves([own('a')], [eni(0, { idle: 4 })], policy(1)), [{ type: 'assign', requestId: 'a', slot: 0 }]);
  const others = eni(0, { idle: 4 }, { ours: false });
  t.match(moves([own('a')], [others], policy(1)), [], 'what others have assigned cannot be given back');
});

t.test('placement: beside a pod that has its ENI for itself nobody is placed', async (t) => {
  const taken = eni(0, { offered: 1 }, { own: true });
  const odd = eni(1, { bound: 1, idle: 2 }, { own: true });
  for (const one of [taken, odd]) t.strictSame([roomOf(one), spareOf(one), isWholeFree(one)], [0, 0, false]);
  t.match(moves([waiting('a')], [taken, odd], policy(3)), [{ type: 'open', requestIds: ['a'] }]);
  t.match(moves([waiting('a')], [taken, odd], policy(2)), [
    { type: 'refuse', failure: { code: 'noCapacity', detail: /0 held on 0 of 2 ENIs .* 2 more have one pod each/ } },
  ]);
  const opening = eni(0, {}, { phase: 'opening', arriving: 1, queued: 1, own: true });
  t.match(
    moves([waiting('a')], [opening], policy(2)),
    [{ type: 'open', requestIds: ['a'] }],
    'also while it is opened',
  );
});

t.test(
  'placement: one that wants an ENI for itself and one that does not share the places that are left',
  async (t) => {
    t.match(moves([waiting('a'), own('b')], [], policy(2)), [
      { type: 'open', requestIds: ['b'], own: true },
      { type: 'open', requestIds: ['a'], own: undefined },
    ]);
  },
);

t.test('placement: whoever cannot have an ENI learns what uses them, or what it waits for', async (t) => {
  const busy = [eni(0, { bound: 1 }, { own: true }), eni(1, { bound: 2, idle: 1 })];
  t.match(moves([own('a')], busy, policy(2, { foreignEnis: 1 })), [
    {
      type: 'refuse',
      failure: {
        code: 'noCapacity',
        detail:
          'no ENI can be had for this pod alone: the node has 2 of 2; 1 has one pod each; 1 is shared, with 2 addresses in use; 1 more here are not ours to use',
      },
    },
  ]);
  const soon = place([own('a')], 0, [eni(0, { bound: 1 }, { own: true }), eni(1, { cooling: 1 })], policy(2), NOW);
  t.strictSame(soon.moves, []);
  t.match(soon.reasons.get('a'), /wants an ENI of its own: eni-1 has no pod, and is not free as a whole yet/);
  const leaving = place([own('a')], 0, [eni(0, {}, { phase: 'leaving' })], policy(1), NOW);
  t.match(leaving.reasons.get('a'), /eni-0 is on its way out and holds its place/);
});

t.test('eni: what is told to give itself to a pod counts as taken at once, with all that it has', async (t) => {
  const told = { type: 'assign', pod: 'default/a', alsoCooling: false, ownEni: true } as const;
  const after = expecting(eni(0, { idle: 3 }), told);
  t.match(after, { own: true, counts: { idle: 0, offered: 1, leaving: 2 }, sheddable: 0, heard: 1 });
  t.match(expecting(eni(0, {}, { phase: 'opening', arriving: 1 }), told), { own: true, queued: 1 });
});

t.test('pool: an ENI that a pod has for itself is a place that is taken, and nothing of the pool', async (t) => {
  const enis = [eni(0, { bound: 1, idle: 2 }, { own: true }), eni(1, { bound: 1, idle: 2 })];
  const view = { enis, waiting: 0, young: new Set<number>(), granted: 0, freed: 0 };
  t.match(totalsOf(view, policy(3), NOW), { idle: 2, held: 2, capacity: 2 * 6 + 1, room: 3 + 6 });
  t.strictSame(
    shedPlan(enis, { count: 9, keep: 0, young: new Set() }).map(({ slot }) => slot),
    [1],
  );
});

t.test('a pod asks for an ENI of its own by the annotation or by the resource', async (t) => {
  const says = (text: string) => asksForOwnEni({ annotations: { 'k8s.aliyun.com/ENI': text } });
  for (const text of ['true', '1', 'yes']) t.ok(says(text), text);
  for (const text of ['', '0', 'false', 'False']) t.notOk(says(text), text);
  t.ok(asksForOwnEni({ annotations: {}, wantsEni: true }));
  t.notOk(asksForOwnEni({ annotations: { 'k8s.aliyun.com/pod-eni': 'true' } }));
});

t.test(
  'placement: an ENI that nobody uses any more is kept for the pod that waits for it, from who came later',
  async (t) => {
    const first: Waiting = { ...own('a'), sinceMs: 10 };
    const [before, after] = [waiting('b', { sinceMs: 9 }), waiting('c', { sinceMs: 11 })];
    const busy = eni(0, { bound: 6 });
    for (const free of [eni(1, { idle: 2, cooling: 1 }), eni(1, { cooling: 6 }), eni(1, { idle: 1, leaving: 1 })]) {
      const told = moves([first, after], [busy, free], policy(2)).filter(({ type }) => type !== 'refuse');
      t.strictSame(told, [], 'neither an idle address, nor one that rests, nor room');
      t.match(moves([first, before], [busy, free], policy(2)), [{ type: 'assign', requestId: 'b', slot: 1 }]);
      t.match(moves([after], [busy, free], policy(2)), [{ type: 'assign', requestId: 'c', slot: 1 }], 'nobody waits');
    }
    t.match(moves([first, after], [busy, eni(1, { cooling: 2 })], policy(2)), [
      {
        type: 'refuse',
        requestId: 'c',
        failure: { detail: /; eni-1 comes free for default\/a, which has waited longer/ },
      },
    ]);
    t.match(
      moves([first, after], [eni(0, { bound: 1, idle: 1 }), eni(1, { cooling: 2 })], policy(2)),
      [{ type: 'assign', requestId: 'c', slot: 0 }],
      'where there is another place, that is taken',
    );
    t.match(
      moves([first, after], [busy, eni(1, { cooling: 2 }), eni(2, { cooling: 1 })], policy(3)),
      [{ type: 'assign', requestId: 'c', slot: 1 }],
      'of two the one that is free the sooner is kept',
    );
    const foreign = eni(2, { cooling: 1 }, { ours: false, arriving: 1 });
    t.strictSame(
      moves([first, after], [busy, eni(1, { cooling: 2 }), foreign], policy(3)).flatMap((move) =>
        move.type === 'assign' ? [move.slot] : [],
      ),
      [2],
      'an ENI of others to which an address is on its way is not free again',
    );
    t.match(
      moves([first, after], [busy, eni(1, { cooling: 2 })], policy(3)),
      [
        { type: 'assign', requestId: 'c', slot: 1 },
        { type: 'open', requestIds: ['a'] },
      ],
      'none is kept where one can be opened',
    );
    t.strictSame(
      place([first], 4, [eni(1, { cooling: 2 })], policy(1), NOW).moves.filter(({ type }) => type === 'grow'),
      [],
      'nor does the pool grow there',
    );
  },
);

t.test('placement: who waits for a call at another ENI is not moved to one that is kept', async (t) => {
  const stranded = { ...waiting('c', { sinceMs: 11 }), slot: 0 };
  const enis = [eni(0, { bound: 4 }, { queued: 1, arriving: 1 }), eni(1, { idle: 1, cooling: 1 })];
  const first: Waiting = { ...own('a'), sinceMs: 10 };
  t.strictSame(sooner([stranded], enis, policy(2), NOW, [first]), []);
  t.strictSame(sooner([stranded], enis, policy(2), NOW, []), [{ requestId: 'c', from: 0, to: 1 }]);
});
