import t from 'tap';
import type { Counts } from '../../src/core/address-book.ts';
import type { EniPhase, EniSummary } from '../../src/core/eni-summary.ts';
import { type Holds, noHolds } from '../../src/core/holds.ts';
import { type PlacementPolicy, place } from '../../src/core/placement.ts';
import { considered } from '../../src/core/placement-view.ts';

const NOW = 1_790_000_000_000;
const none: Counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };
const request = { requestId: 'r', pod: 'default/p', sinceMs: NOW, untilMs: NOW + 60_000 };

const eni = (slot: number, counts: Partial<Counts> = {}, more: Partial<EniSummary> = {}): EniSummary => ({
  ...{ slot, phase: 'ready', eniId: `eni-${slot}`, vSwitchId: 'vsw-1', ours: true, limit: 6 },
  ...{ counts: { ...none, ...counts }, sheddable: 0, arriving: 0, queued: 0, heard: 0, lastFailure: null },
  ...more,
});

const policy = (more: Partial<PlacementPolicy> = {}): PlacementPolicy => ({
  ...{ maxEnis: 3, foreignEnis: 0, looking: false, ipv4PerEni: 6, eniPolicy: 'most_ips' },
  ...{ vSwitchIds: ['vsw-1', 'vsw-2'], vSwitch: { policy: 'listed', seed: 0, nth: 0, free: {} }, holds: noHolds },
  ...more,
});

/** A small generator: the same seed gives the same cases. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

t.test('placement view: says what place does, in 3,000 situations', async (t) => {
  const draw = chance(7);
  const phases: readonly EniPhase[] = ['opening', 'ready', 'ready', 'holding', 'faulty', 'leaving', 'lost'];
  const end = (): number => (draw(3) === 0 ? NOW + 1 + draw(90_000) : 0);
  const seen = { assign: 0, open: 0, neither: 0 };
  const wrong: unknown[] = [];
  for (let round = 0; round < 3_000; round += 1) {
    const enis = Array.from({ length: draw(4) }, (_, slot) => {
      const phase = phases[draw(phases.length)] ?? 'ready';
      const counts = { idle: draw(2), bound: draw(4), cooling: draw(2), leaving: draw(2) };
      return eni(slot, counts, {
        ...{ phase, arriving: draw(2), queued: draw(3), limit: 4 + draw(3) },
        vSwitchId: `vsw-${1 + draw(2)}`,
      });
    });
    const holds: Holds = {
      ...noHolds,
      vSwitches: { 'vsw-1': end(), 'vsw-2': end() },
      enis: { 0: end(), 1: end() },
      openUntilMs: end(),
      quotaUntilMs: end(),
    };
    const rules = policy({ maxEnis: draw(5), holds });
    const [move] = place([request], 0, enis, rules, NOW).moves;
    const view = considered(enis, rules, NOW).considered;
    const serving = view.filter(({ what, verdict }) => verdict === 'serves' && !what.startsWith('vsw-'));
    if (move?.type === 'assign' && !move.alsoCooling) {
      seen.assign += 1;
      if (!serving.some(({ what }) => what === `eni:${move.slot} (eni-${move.slot})`)) wrong.push({ move, view });
    } else if (move?.type === 'open') {
      seen.open += 1;
      if (serving.length !== 1 || serving[0]?.what !== 'a new ENI') wrong.push({ move, view });
    } else {
      seen.neither += 1;
      if (serving.length > 0) wrong.push({ move, view, enis });
    }
  }
  t.strictSame(wrong.slice(0, 2), []);
  t.ok(seen.assign > 300 && seen.open > 100 && seen.neither > 300, JSON.stringify(seen));
});

t.test('placement view: an empty vSwitch is named, with the instant of the next try', async (t) => {
  const lastFailure = { code: 'vSwitchEmpty', detail: 'InvalidVSwitchId.IpNotEnough: vsw-1' } as const;
  const holds: Holds = { ...noHolds, vSwitches: { 'vsw-1': NOW + 30_000 }, lastFailure };
  const view = considered([eni(0, { bound: 3 })], policy({ holds, vSwitchIds: ['vsw-1'] }), NOW);
  t.equal(view.nextTryMs, NOW + 30_000);
  t.strictSame(
    view.considered.map(({ what, verdict, untilMs }) => [what, verdict, untilMs]),
    [
      ['eni:0 (eni-0)', 'refuses', NOW + 30_000],
      ['a new ENI', 'refuses', NOW + 30_000],
      ['vsw-1', 'refuses', NOW + 30_000],
    ],
  );
  t.match(view.considered[0]?.why, /^has room for 3, but vsw-1 ran dry; asked again at \d\d:\d\d:\d\d UTC$/);
});

t.test('placement view: tells what is under way and will help', async (t) => {
  const enis = [
    eni(0, { bound: 5, cooling: 1 }),
    eni(1, {}, { phase: 'opening', eniId: null, arriving: 3 }),
    eni(2, {}, { phase: 'leaving' }),
  ];
  const { underWay, considered: all, nextTryMs } = considered(enis, policy({ looking: true }), NOW);
  t.strictSame(underWay, [
    '1 address rests on eni:0 (eni-0)',
    'eni:1 is being opened',
    'eni:2 (eni-2) is being given back',
    'a look at the instance and its vSwitches',
  ]);
  t.equal(nextTryMs, null);
  t.match(all[0]?.why, 'is full: 6 of 6 (5 bound, 1 cooling)');
  t.match(all[3], { what: 'a new ENI', verdict: 'refuses', why: 'the node has 3 of 3 ENIs' });
});
