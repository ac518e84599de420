import t from 'tap';
import type { Counts } from '../../src/core/address-book.ts';
import { type EniPhase, type EniSummary, expecting, owned, roomOf, spareOf } from '../../src/core/eni-summary.ts';
import type { Failure } from '../../src/core/errors.ts';
import {
  afterFailedCall,
  afterFailedOpening,
  afterGone,
  afterLook,
  afterOpened,
  type Holds,
  holdEnds,
  noHolds,
} from '../../src/core/holds.ts';
import { type Move, type PlacementPolicy, type Plan, place, type Waiting } from '../../src/core/placement.ts';
import { eniPolicies } from '../../src/core/placement-settings.ts';
import { vSwitchPolicies } from '../../src/core/vswitch-choice.ts';

const NOW = 10_000;
const none: Counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };

const eni = (slot: number, counts: Partial<Counts> = {}, more: Partial<EniSummary> = {}): EniSummary => ({
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

const policy = (more: Partial<PlacementPolicy> = {}): PlacementPolicy => ({
  maxEnis: 3,
  foreignEnis: 0,
  looking: false,
  ipv4PerEni: 6,
  eniPolicy: 'most_ips',
  vSwitchIds: ['vsw-1', 'vsw-2'],
  vSwitch: { policy: 'listed', seed: 0, nth: 0, free: {} },
  holds: noHolds,
  ...more,
});

const pods = (count: number, untilMs = NOW + 60_000): Waiting[] =>
  Array.from({ length: count }, (_, i) => ({ requestId: `r${i}`, pod: `default/p${i}`, sinceMs: i, untilMs }));

const held = (...ids: string[]): Holds => ({
  ...noHolds,
  vSwitches: Object.fromEntries(ids.map((id) => [id, NOW + 1_000])),
  lastFailure: { code: 'vSwitchEmpty', detail: 'IpNotEnough' },
});

const slots = (moves: readonly Move[]) => moves.map((move) => (move.type === 'assign' ? move.slot : move.type));

t.test('placement: each request goes to the best place that is left', async (t) => {
  const idle = eni(0, { idle: 1, bound: 1 });
  const arriving = eni(1, { bound: 3 }, { arriving: 1 });
  const roomy = eni(2, { bound: 5 });
  const opening = eni(3, {}, { phase: 'opening', arriving: 5, queued: 4 });
  const plan = place(pods(9), 0, [opening, roomy, arriving, idle], policy({ maxEnis: 4 }), NOW);
  // idle; spare of slot 1; then room: the fullest ENI first (slot 2: 1, slot 1: 2, slot 0: 4).
  t.same(slots(plan.moves), [0, 1, 2, 1, 1, 0, 0, 0, 0]);
  const more = place(pods(12), 0, [opening, roomy, arriving, idle], policy({ maxEnis: 4 }), NOW);
  t.same(slots(more.moves).slice(9), [3, 3], 'what is coming with the new ENI, then its room');
  t.equal(more.reasons.size, 1, 'and the last one waits, since something is under way');
});

t.test('placement: a burst opens as many ENIs as it needs, each as large as is wanted', async (t) => {
  const plan = place(pods(14), 2, [], policy(), NOW);
  t.same(
    plan.moves.map((move) => (move.type === 'open' ? [move.vSwitchId, move.ipv4Count, move.requestIds.length] : move)),
    [
      ['vsw-1', 6, 6],
      ['vsw-1', 6, 6],
      ['vsw-1', 4, 2],
    ],
  );
  const capped = place(pods(20), 5, [], policy({ maxEnis: 2 }), NOW);
  t.equal(capped.moves.length, 2);
  t.equal(capped.moves.filter((move) => move.type === 'refuse').length, 0, 'ENIs are coming: nobody is refused yet');
});

t.test('placement: phases that cannot serve get nothing', async (t) => {
  for (const phase of ['faulty', 'leaving', 'lost'] satisfies EniPhase[]) {
    const plan = place(pods(1), 1, [eni(0, { idle: 3, cooling: 2 }, { phase })], policy({ maxEnis: 1 }), NOW);
    t.notOk(
      plan.moves.some((move) => move.type === 'assign' || move.type === 'grow'),
      phase,
    );
  }
  const holding = place(pods(2), 0, [eni(0, { idle: 1 }, { phase: 'holding' })], policy({ maxEnis: 1 }), NOW);
  t.same(slots(holding.moves), [0], 'an ENI that backs off still serves what it has');
  t.equal(holding.reasons.size, 1);
});

t.test('placement: a dry vSwitch is not asked, neither by new ENIs nor by those in it', async (t) => {
  const plan = place(pods(2), 3, [eni(0, { bound: 3 })], policy({ holds: held('vsw-1') }), NOW);
  t.match(plan.moves, [{ type: 'open', vSwitchId: 'vsw-2', ipv4Count: 5 }]);
  t.equal(plan.moves.length, 1);
  t.equal(plan.againAtMs, NOW + 1_000);
  const ended = place(pods(2), 0, [eni(0, { bound: 3 })], policy({ holds: held('vsw-1') }), NOW + 1_000);
  t.same(slots(ended.moves), [0, 0]);
  const elsewhere = eni(0, { bound: 3 }, { vSwitchId: 'vsw-9' });
  t.same(
    slots(place(pods(1), 0, [elsewhere], policy({ maxEnis: 1, holds: held('vsw-9') }), NOW).moves),
    [],
    'also one that no new ENI would be opened in',
  );
});

t.test(
  'placement: with every vSwitch dry a request waits if a hold ends in time, and is refused with the cause if not',
  async (t) => {
    const dry = policy({ holds: held('vsw-1', 'vsw-2') });
    const waits = place(pods(1), 0, [], dry, NOW);
    t.same(waits.moves, []);
    t.match(waits.reasons.get('r0'), /^every vSwitch is on hold, the first until 00:00:11 UTC: IpNotEnough$/);
    const refused = place(pods(1, NOW + 500), 0, [], dry, NOW);
    t.match(refused.moves, [
      { type: 'refuse', failure: { code: 'vSwitchEmpty', detail: /^IpNotEnough; next try at 00:00:11 UTC$/ } },
    ]);
    const unnamed = place(
      pods(1, NOW + 500),
      0,
      [],
      policy({ holds: { ...held('vsw-1', 'vsw-2'), lastFailure: null } }),
      NOW,
    );
    t.match(unnamed.moves, [{ type: 'refuse', failure: { code: 'vSwitchEmpty', detail: /vsw-1, vsw-2/ } }]);
  },
);

t.test('placement: who waits is told what for, and the last cause with it', async (t) => {
  const lastFailure = { code: 'vSwitchEmpty' as const, detail: 'IpNotEnough' };
  const under = eni(0, { bound: 5, offered: 1 });
  const reason = (enis: EniSummary[], holds: Holds) =>
    place(pods(1), 0, enis, policy({ maxEnis: enis.length, holds }), NOW).reasons.get('r0');
  t.match(reason([under], noHolds), /^addresses are under way$/);
  t.match(reason([under], { ...noHolds, lastFailure }), /^addresses are under way: IpNotEnough$/);
  t.match(
    reason([under, eni(1, { bound: 2 })], held('vsw-1')),
    /^eni-1 has room in vsw-1, which is on hold until 00:00:11 UTC: IpNotEnough$/,
  );
});

t.test('placement: refused only when nothing can change by itself', async (t) => {
  const full = eni(0, { bound: 6 });
  const one = policy({ maxEnis: 1 });
  const refused = place(pods(1), 0, [full], one, NOW);
  t.match(refused.moves, [
    { type: 'refuse', failure: { code: 'noCapacity', detail: /6 held on 1 of 1 ENIs with 6 each/ } },
  ]);
  t.same(
    place(pods(1), 0, [{ ...full, phase: 'lost' }], one, NOW).moves,
    [],
    'another actor takes over from one that died',
  );
  const changing: [string, EniSummary][] = [
    ['an address is leaving', eni(0, { bound: 5, leaving: 1 })],
    ['an offer may be withdrawn', eni(0, { bound: 5, offered: 1 })],
    ['an ENI is leaving', eni(0, {}, { phase: 'leaving' })],
    ['an ENI backs off', eni(0, { bound: 6 }, { phase: 'holding' })],
    ['an ENI waits for its device', eni(0, { idle: 6 }, { phase: 'faulty' })],
    ['addresses are under way', eni(0, { bound: 4 }, { arriving: 2, queued: 2 })],
  ];
  for (const [why, summary] of changing) {
    const plan = place(pods(1), 0, [summary], one, NOW);
    t.same(plan.moves, [], why);
    t.ok(plan.reasons.get('r0'), why);
  }
  t.match(place(pods(1), 0, [], policy({ maxEnis: 0 }), NOW).moves, [
    { type: 'refuse', failure: { code: 'noCapacity' } },
  ]);
  t.match(place(pods(1), 0, [], policy({ vSwitchIds: [] }), NOW).moves, [{ type: 'refuse' }]);
  t.match(place(pods(1), 0, [], policy({ ipv4PerEni: 0 }), NOW).moves, [{ type: 'refuse' }], 'and it ends');
});

t.test('placement: a cooling address is leased only when the node cannot grow', async (t) => {
  const resting = eni(0, { bound: 4, cooling: 2 });
  const plan = (more: Partial<PlacementPolicy>, count = 1) => place(pods(count), 0, [resting], policy(more), NOW);
  t.match(plan({ maxEnis: 2 }).moves, [{ type: 'open' }]);
  t.match(plan({ maxEnis: 1 }, 3).moves, [
    { type: 'assign', slot: 0, alsoCooling: true },
    { type: 'assign', slot: 0, alsoCooling: true },
    { type: 'refuse' },
  ]);
  t.match(plan({ maxEnis: 2, holds: held('vsw-1', 'vsw-2') }).moves, [{ type: 'assign', alsoCooling: true }]);
  t.same(plan({ maxEnis: 2, holds: { ...noHolds, openUntilMs: NOW + 5 } }).moves, [], 'the next try comes in time');
  t.match(plan({ maxEnis: 2, holds: { ...noHolds, openUntilMs: NOW + 60_001 } }).moves, [{ alsoCooling: true }]);
  t.match(place(pods(1), 0, [eni(0, { idle: 1, cooling: 1 })], policy({ maxEnis: 1 }), NOW).moves, [
    { type: 'assign', alsoCooling: false },
  ]);
});

t.test(
  'placement: the pool grows where there is room, and opens no ENI for the room of one that backs off',
  async (t) => {
    t.match(place([], 8, [eni(0, { bound: 5 }), eni(1, { bound: 2 })], policy(), NOW).moves, [
      { type: 'grow', slot: 0, count: 1 },
      { type: 'grow', slot: 1, count: 4 },
      { type: 'open', ipv4Count: 3, requestIds: [] },
    ]);
    t.same(place([], 3, [eni(0, { bound: 1 }, { phase: 'holding' })], policy(), NOW).moves, []);
    const beside = place([], 3, [eni(0, { bound: 1 }, { phase: 'holding' }), eni(1, { bound: 4 })], policy(), NOW);
    t.same(beside.moves, [{ type: 'grow', slot: 1, count: 2 }], 'what another ENI has room for does not wait for it');
    t.match(place([], 3, [eni(0, { bound: 5 }, { phase: 'holding' })], policy(), NOW).moves, [
      { type: 'open', ipv4Count: 2 },
    ]);
    t.same(place([], 3, [], policy({ holds: { ...noHolds, openUntilMs: NOW + 1 } }), NOW).moves, []);
    t.same(place([], -2, [], policy(), NOW).moves, []);
  },
);

t.test('placement: least_ips turns the order of the ENIs around and opens none for it', async (t) => {
  const enis = [eni(0, { bound: 4 }), eni(1, { bound: 1 }), eni(2, { bound: 2, idle: 1 })];
  const plan = place(pods(5), 0, enis, policy({ eniPolicy: 'least_ips', maxEnis: 9 }), NOW);
  t.same(slots(plan.moves), [2, 1, 1, 2, 1], 'idle first; then what is emptiest as it fills');
  t.match(place([], 4, enis, policy({ eniPolicy: 'least_ips', maxEnis: 9 }), NOW).moves, [
    { type: 'grow', slot: 1, count: 3 },
    { type: 'grow', slot: 2, count: 1 },
  ]);
  t.same(slots(place(pods(3), 0, enis, policy({ maxEnis: 9 }), NOW).moves), [2, 0, 0], 'most_ips: what is fullest');
});

t.test('placement: a Create asks a vSwitch for no more than it is known to have, while it has any', async (t) => {
  const short = (free: Record<string, number>) =>
    place(pods(8), 0, [], policy({ vSwitch: { policy: 'listed', seed: 0, nth: 0, free } }), NOW).moves.map((move) =>
      move.type === 'open' ? [move.vSwitchId, move.ipv4Count] : move.type,
    );
  t.same(short({ 'vsw-1': 3, 'vsw-2': 100 }), [
    ['vsw-2', 6],
    ['vsw-1', 2],
  ]);
  t.same(
    short({ 'vsw-1': 3, 'vsw-2': 4 }),
    [
      ['vsw-2', 4],
      ['vsw-1', 3],
    ],
    'and no more ENIs than that is worth',
  );
  t.same(
    short({ 'vsw-1': 0, 'vsw-2': 0 }),
    [
      ['vsw-1', 6],
      ['vsw-1', 2],
    ],
    'none may be wrong: it is asked',
  );
});

t.test('placement: an ENI that was said to be full gets nothing new for a while, the instance no ENI', async (t) => {
  const full = { ...noHolds, enis: { 0: NOW + 100 } };
  const plan = place(pods(2), 0, [eni(0, { bound: 2, idle: 1 })], policy({ holds: full }), NOW);
  t.match(plan.moves, [{ type: 'assign', slot: 0 }, { type: 'open' }], 'its idle address is still served');
  t.equal(plan.againAtMs, NOW + 100);
  const quota = { ...noHolds, quotaUntilMs: NOW + 100, lastFailure: { code: 'eniQuota' as const, detail: 'too many' } };
  const waits = place(pods(1), 0, [], policy({ holds: quota }), NOW);
  t.match(waits.reasons.get('r0'), /all the ENIs it may have.*too many/);
  t.match(place(pods(1, NOW + 50), 0, [], policy({ holds: quota }), NOW).moves, [
    { type: 'refuse', failure: { code: 'eniQuota' } },
  ]);
  t.same(
    place(pods(1, NOW + 50), 0, [], policy({ holds: quota, looking: true }), NOW).moves,
    [],
    'not while one looks',
  );
  t.match(place(pods(1), 0, [], policy({ maxEnis: 0, foreignEnis: 2 }), NOW).moves, [
    { failure: { code: 'noCapacity', detail: /2 more ENIs here are not ours/ } },
  ]);
});

/** A generator of its own, so that a failure can be repeated from its seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** How soon each request is served: at once, by a call on an ENI that is there, by one that is coming, by a cooling address, or not. */
function outcomesOf(plan: Plan, enis: readonly EniSummary[]): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>();
  for (const move of plan.moves) {
    if (move.type === 'open') for (const id of move.requestIds) ranks.set(id, 3);
    if (move.type === 'refuse') ranks.set(move.requestId, 5);
    if (move.type !== 'assign') continue;
    const phase = enis.find((one) => one.slot === move.slot)?.phase;
    const onReady = phase === 'ready' || phase === 'holding';
    ranks.set(move.requestId, move.alsoCooling ? 4 : onReady ? 1 : 2);
  }
  for (const id of plan.reasons.keys()) ranks.set(id, 5);
  return ranks;
}

t.test('placement: every request is placed, refused or given a reason, and no quota is ever passed', async (t) => {
  const phases: EniPhase[] = ['opening', 'ready', 'ready', 'holding', 'faulty', 'leaving', 'lost'];
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const below = random(seed);
    const limit = 1 + below(8);
    const enis = Array.from({ length: below(5) }, (_, slot) => {
      const counts = { ...none };
      for (let n = below(limit + 1); n > 0; n -= 1) {
        const states = ['idle', 'offered', 'bound', 'cooling', 'leaving', 'invalid'] as const;
        counts[states[below(states.length)] ?? 'idle'] += 1;
      }
      const free = limit - owned(counts);
      const phase = phases[below(phases.length)] ?? 'ready';
      const vSwitchId = `vsw-${1 + below(3)}`;
      return eni(slot, counts, { limit, phase, vSwitchId, arriving: below(free + 1), queued: below(4) });
    });
    const holds: Holds = {
      ...noHolds,
      openUntilMs: NOW + below(3) * 100 - 100,
      vSwitches: { 'vsw-1': NOW + below(3) * 100 - 100, 'vsw-3': NOW + below(3) * 100 - 100 },
    };
    const waiting = pods(below(20), NOW + below(300));
    const maxEnis = enis.length + below(3);
    const free = { 'vsw-1': below(9), 'vsw-2': below(9) };
    const vSwitch = { policy: vSwitchPolicies[below(3)] ?? 'listed', seed: below(100) / 100, nth: 0, free };
    const eniPolicy = eniPolicies[below(2)] ?? 'most_ips';
    const more = { maxEnis, ipv4PerEni: limit, holds, eniPolicy, vSwitch, looking: below(4) === 0 };
    const plan = place(waiting, below(10), enis, policy(more), NOW);
    const again = [1, 2].map(() => JSON.stringify(place(waiting, 0, enis, policy(more), NOW)));
    if (again[0] !== again[1]) t.fail(`seed ${seed}: two plans for the same`);
    const seen = new Map<string, number>();
    const count = (id: string) => seen.set(id, (seen.get(id) ?? 0) + 1);
    const asked = new Map<number, number>();
    let opened = 0;
    for (const move of plan.moves) {
      if (move.type === 'assign' || move.type === 'refuse') count(move.requestId);
      if (move.type === 'grow') asked.set(move.slot, (asked.get(move.slot) ?? 0) + move.count);
      if (move.type === 'open') {
        opened += 1;
        move.requestIds.forEach(count);
        if (move.ipv4Count < 1 || move.ipv4Count > limit || move.requestIds.length > move.ipv4Count)
          t.fail(`seed ${seed}: an ENI of ${move.ipv4Count}`);
      }
    }
    for (const id of plan.reasons.keys()) count(id);
    if (waiting.some((request) => seen.get(request.requestId) !== 1) || seen.size !== waiting.length)
      t.fail(`seed ${seed}: a request without one outcome`);
    // All of them can wait equally long: an older one is never worse off than a younger one.
    const outcomes = outcomesOf(plan, enis);
    const ranks = waiting.map((request) => outcomes.get(request.requestId) ?? Number.NaN);
    if (ranks.some((rank, index) => rank < (ranks[index - 1] ?? 0))) t.fail(`seed ${seed}: overtaken, ${ranks}`);
    if (enis.length + opened > maxEnis) t.fail(`seed ${seed}: too many ENIs`);
    for (const summary of enis) {
      const told = plan.moves.filter((move) => move.type === 'assign' && move.slot === summary.slot);
      const cooling = told.filter((move) => move.type === 'assign' && move.alsoCooling).length;
      const may =
        summary.counts.idle * (summary.phase === 'opening' ? 0 : 1) + spareOf(summary) + roomOf(summary) + cooling;
      if (told.length + (asked.get(summary.slot) ?? 0) > may)
        t.fail(`seed ${seed}: more on slot ${summary.slot} than it has`);
      if (cooling > summary.counts.cooling) t.fail(`seed ${seed}: more cooling ones than there are`);
    }
  }
  t.pass('2,000 seeds');
});

t.test('eniSummary: what an ENI has been told counts before it reports', async (t) => {
  const heard = (before: EniSummary, told: Parameters<typeof expecting>[1]) => expecting(before, told);
  const assign = { type: 'assign' as const, alsoCooling: false };
  t.match(heard(eni(0, { idle: 1 }), assign), { counts: { idle: 0, offered: 1 }, queued: 0, heard: 1 });
  t.match(heard(eni(0, { cooling: 1 }), assign), { counts: { cooling: 1 }, queued: 1 });
  t.match(heard(eni(0, { cooling: 1 }), { ...assign, alsoCooling: true }), { counts: { cooling: 0, offered: 1 } });
  t.match(heard(eni(0, { idle: 2 }, { phase: 'opening' }), assign), { counts: { idle: 2 }, queued: 1 });
  t.match(heard(eni(0), { type: 'grow', count: 3 }), { arriving: 3 });
  t.match(heard(eni(0, { idle: 3 }, { sheddable: 2 }), { type: 'shed', count: 9 }), {
    counts: { idle: 1, leaving: 2 },
    sheddable: 0,
  });
  t.match(heard(eni(0, { idle: 3 }), { type: 'drain' }), { phase: 'leaving' });
});

t.test('holds: failures in a row wait longer, an empty vSwitch rests alone, success forgets', async (t) => {
  const times = { holdDownMs: 600, quotaHoldMs: 70, backoffMs: 10, backoffMaxMs: 50 };
  const on = (failed: Failure) => ({ slot: 4, vSwitchId: 'vsw-1', asked: 1, failure: failed });
  const failure = { code: 'cloud' as const, detail: 'x' };
  let holds = noHolds;
  const waits: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    holds = afterFailedOpening(holds, on(failure), NOW, times);
    waits.push(holds.openUntilMs - NOW);
  }
  t.same(waits, [10, 20, 40, 50, 50]);
  t.same(holds.vSwitches, {});
  const dry = afterFailedOpening(noHolds, on({ code: 'vSwitchEmpty', detail: 'dry' }), NOW, times);
  t.match(dry, { openUntilMs: 0, openFailures: 0, vSwitches: { 'vsw-1': NOW + 600 }, lastFailure: { detail: 'dry' } });
  t.match(afterFailedCall(noHolds, on(failure), NOW, times), {
    openUntilMs: 0,
    vSwitches: {},
    lastFailure: failure,
  });
  const quota = afterFailedCall(noHolds, on({ code: 'eniQuota', detail: 'q' }), NOW, times);
  t.match(quota, { quotaUntilMs: NOW + 70, openUntilMs: 0 });
  t.equal(afterOpened(quota).quotaUntilMs, NOW + 70, 'another ENI that comes into use says nothing about it');
  t.match(afterFailedOpening(noHolds, on({ code: 'eniQuota', detail: 'q' }), NOW, times), { openFailures: 0 });
  const full = afterFailedCall(noHolds, on({ code: 'eniFull', detail: 'f' }), NOW, times);
  t.same(full.enis, { 4: NOW + 70 });
  t.same(afterGone(full, 4).enis, {});
  const short = afterFailedOpening(noHolds, { ...on({ code: 'vSwitchEmpty', detail: 'd' }), asked: 5 }, NOW, times);
  t.match(short, { vSwitches: { 'vsw-1': NOW + 600 }, short: { 'vsw-1': 5 } });
  t.same(afterLook(short, { 'vsw-1': 3 }).vSwitches, {}, 'it has some');
  for (const free of [{}, { 'vsw-1': 0 }, { 'vsw-1': 5 }, { 'vsw-1': 200 }])
    t.match(afterLook(short, free).vSwitches, { 'vsw-1': NOW + 600 }, `${JSON.stringify(free)} ends no hold`);
  t.match(afterLook(afterLook(short, {}), { 'vsw-1': 3 }).vSwitches, { 'vsw-1': NOW + 600 }, 'one look a failure');
  t.same(holdEnds({ ...full, openUntilMs: NOW - 1, quotaUntilMs: NOW + 2 }, NOW), [NOW + 2, NOW + 70]);
  t.same(afterOpened({ ...holds, vSwitches: dry.vSwitches }), { ...noHolds, vSwitches: dry.vSwitches });
});

t.test('placement: a pod comes back to the address that is kept for it, or is told why not', async (t) => {
  const kept = { reserved: [{ pod: 'default/p0', untilMs: NOW + 9 }] };
  const there = (phase: EniPhase) => eni(1, { bound: 5, reserved: 1 }, { ...kept, phase });
  const other = eni(0, { idle: 3 });
  for (const phase of ['ready', 'holding', 'opening'] as const)
    t.same(slots(place(pods(1), 0, [other, there(phase)], policy(), NOW).moves), [1], phase);
  for (const phase of ['leaving', 'faulty', 'lost'] as const) {
    const plan = place(pods(1), 0, [other, there(phase)], policy(), NOW);
    t.same(slots(plan.moves), [0], phase);
    t.match(plan.astray.get('r0'), new RegExp(`eni-1, which is ${phase}`));
  }
  for (const slot of [0, 2]) {
    const before = eni(slot, { bound: 5, reserved: 1 }, { reserved: [{ pod: 'default/p0', untilMs: NOW + 5 }] });
    const both = [before, there('ready')].sort((one, next) => one.slot - next.slot);
    t.same(slots(place(pods(1), 0, both, policy(), NOW).moves), [1], 'of two the one it had last');
  }
  const twice = pods(2).map((request) => ({ ...request, pod: 'default/p0' }));
  t.same(slots(place(twice, 0, [other, there('ready')], policy(), NOW).moves), [1, 0], 'one address for one request');
});

t.test(
  'placement: what is kept is given out before a request is refused, the first to end first, unless the policy says no',
  async (t) => {
    const kept = (pod: string, untilMs: number) => ({ reserved: [{ pod, untilMs }] });
    const full = [
      eni(0, { bound: 5, reserved: 1 }, kept('default/x', NOW + 500)),
      eni(1, { bound: 5, reserved: 1 }, kept('default/y', NOW + 100)),
    ];
    const one = { maxEnis: 2 };
    const plan = place(pods(3), 0, full, policy(one), NOW);
    t.match(plan.moves, [
      { type: 'assign', slot: 1, alsoReserved: true },
      { type: 'assign', slot: 0, alsoReserved: true },
      { type: 'refuse', requestId: 'r2' },
    ]);
    t.same(slots(place(pods(1), 0, full, policy({ ...one, reservationsYield: false }), NOW).moves), ['refuse']);
    const busy = [...full, eni(2, { bound: 5, leaving: 1 })];
    const patient = place(pods(1, NOW + 8_000), 0, busy, policy(one), NOW);
    t.same(patient.moves, [], 'something may change yet');
    const lastMs = patient.againAtMs ?? 0;
    t.ok(lastMs > NOW && lastMs < NOW + 8_000);
    t.same(slots(place(pods(1, NOW + 8_000), 0, busy, policy(one), lastMs).moves), [1], 'but not before the deadline');
  },
);
