/** A node in which every order is carried out at once, with pods that come and go: does the pool always find rest within its marks? */
import t from 'tap';
import type { Counts } from '../../src/core/address-book.ts';
import { type EniSummary, owned } from '../../src/core/eni-summary.ts';
import { noHolds } from '../../src/core/holds.ts';
import { type PlacementPolicy, place } from '../../src/core/placement.ts';
import { poolMove, totalsOf } from '../../src/core/pool.ts';
import { marksOf, type PoolMarks } from '../../src/core/pool-marks.ts';
import { batchOf } from '../../src/core/reclaim.ts';
import { shedPlan } from '../../src/core/shed-plan.ts';
import { Seeded } from '../../src/simulation/seeded.ts';

const SEEDS = 1_500;
const TURNS = 25;
/** Rounds of orders after which a node that is left alone has to be at rest: fill, drain, shed, and a look. */
const ROUNDS_MAX = 6;
const none: Counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };

class Node {
  enis: EniSummary[] = [];
  nextSlot = 0;
  young = new Set<number>();
  readonly policy: PlacementPolicy;
  readonly marks: PoolMarks;

  constructor(policy: PlacementPolicy, marks: PoolMarks) {
    this.policy = policy;
    this.marks = marks;
  }

  /** `primary`: whether the ENI's own address is among the idle ones. */
  put(slot: number, counts: Counts, primary: boolean, ours = true): void {
    const eni: EniSummary = {
      slot,
      phase: 'ready',
      eniId: `eni-${slot}`,
      vSwitchId: 'vsw-1',
      ours,
      limit: this.policy.ipv4PerEni,
      counts,
      sheddable: counts.idle - (primary && counts.idle > 0 ? 1 : 0),
      arriving: 0,
      queued: 0,
      heard: 0,
      lastFailure: null,
    };
    this.enis = [...this.enis.filter((one) => one.slot !== slot), eni];
  }

  at(slot: number): EniSummary {
    const eni = this.enis.find((one) => one.slot === slot);
    if (eni === undefined) throw new Error(`no ENI in slot ${slot}`);
    return eni;
  }

  change(slot: number, by: Partial<Counts>, ips = 0): void {
    const eni = this.at(slot);
    const counts = { ...eni.counts };
    for (const state of Object.keys(by) as (keyof Counts)[]) counts[state] += by[state] ?? 0;
    const hadPrimary = eni.counts.idle - eni.sheddable > 0;
    this.put(slot, counts, (hadPrimary && counts.idle > 0) || (ips === 0 && counts.idle === owned(counts)), eni.ours);
  }

  get totals() {
    return totalsOf({ enis: this.enis, waiting: 0, young: this.young, granted: 0, freed: 0 }, this.policy, 0);
  }

  get bounds() {
    const { capacity, held } = this.totals;
    return marksOf(this.marks, { capacity, held, ipv4PerEni: this.policy.ipv4PerEni, warming: false, demand: null });
  }

  /** One look of the pool and what it leads to; false when nothing was to do. */
  round(batch = 0): boolean {
    const { grow, shed } = poolMove(this.totals, this.bounds);
    if (grow > 0) return this.grow(grow);
    return shed + batch > 0 && this.shed(shed + batch);
  }

  grow(count: number): boolean {
    const { moves } = place([], count, this.enis, this.policy, 0);
    for (const move of moves) {
      if (move.type === 'grow') this.change(move.slot, { idle: move.count }, 1);
      if (move.type !== 'open') continue;
      this.put(this.nextSlot, { ...none, idle: move.ipv4Count }, true);
      this.nextSlot += 1;
    }
    return moves.length > 0;
  }

  shed(count: number): boolean {
    const moves = shedPlan(this.enis, { count, keep: this.bounds.minIdle, young: this.young });
    for (const { slot, drain, count: some } of moves) {
      const { counts, ours } = this.at(slot);
      if (!ours) throw new Error(`shed from a foreign ENI in slot ${slot}`);
      if (!drain) this.change(slot, { idle: -some }, 1);
      else if (owned(counts) !== counts.idle) throw new Error(`drained slot ${slot} in use`);
      else this.enis = this.enis.filter((eni) => eni.slot !== slot);
    }
    return moves.length > 0;
  }
}

function nodeOf(chance: Seeded): Node {
  const ipv4PerEni = chance.pick([1, 2, 3, 6, 15]);
  const maxIdle = chance.pick([0, 1, 3, 6, 12, 100]);
  const policy: PlacementPolicy = {
    maxEnis: chance.between(0, 4),
    foreignEnis: 0,
    looking: false,
    ipv4PerEni,
    eniPolicy: chance.pick(['most_ips', 'least_ips']),
    vSwitchIds: ['vsw-1'],
    vSwitch: { policy: 'random', seed: 0, nth: 0, free: {} },
    holds: noHolds,
  };
  const marks = { minIdle: chance.between(0, maxIdle), maxIdle, minEnis: chance.pick([0, 0, 1]), warmUpSize: 0 };
  const node = new Node(policy, marks);
  for (let slot = 0; slot < policy.maxEnis && chance.chance(0.5); slot += 1) {
    const bound = chance.between(0, ipv4PerEni);
    node.put(
      slot,
      { ...none, bound, idle: chance.between(bound === 0 ? 1 : 0, ipv4PerEni - bound) },
      bound === 0,
      chance.chance(0.9),
    );
    node.nextSlot = slot + 1;
  }
  return node;
}

/** A pod comes, goes, or an address has rested. */
function happen(node: Node, chance: Seeded): void {
  const withSome = (state: keyof Counts): EniSummary | undefined => node.enis.find((eni) => eni.counts[state] > 0);
  const what = chance.pick(['bind', 'bind', 'free', 'free', 'rest', 'rest'] as const);
  if (what === 'bind') {
    if (withSome('idle') === undefined) node.grow(1);
    const eni = withSome('idle');
    if (eni !== undefined) node.change(eni.slot, { idle: -1, bound: 1 });
  }
  if (what === 'free') {
    const eni = withSome('bound');
    if (eni !== undefined) node.change(eni.slot, { bound: -1, cooling: 1 });
  }
  if (what === 'rest') {
    const eni = withSome('cooling');
    if (eni !== undefined) node.change(eni.slot, { cooling: -1, idle: 1 });
  }
}

/** Until nothing is to do; null when that does not come. */
function settle(node: Node): number | null {
  for (let rounds = 0; rounds <= ROUNDS_MAX; rounds += 1) if (!node.round()) return rounds;
  return null;
}

function troublesAtRest(node: Node): string[] {
  const { minIdle, maxIdle } = node.bounds;
  const { idle, cooling, room, capacity, young } = node.totals;
  // What waits on an ENI for its age is as good as gone.
  const tooMany = idle - young - maxIdle;
  const found: string[] = [];
  if (idle + cooling < minIdle && room > 0) found.push(`${idle} idle, the low mark is ${minIdle}, there is room`);
  const sheddable = node.enis
    .filter((eni) => eni.ours && !node.young.has(eni.slot))
    .reduce((sum, e) => sum + e.sheddable, 0);
  if (tooMany > 0 && sheddable > 0) found.push(`${idle} idle, the high mark is ${maxIdle}, ${sheddable} could go`);
  const unused = node.enis.filter(
    (eni) => eni.ours && owned(eni.counts) === eni.counts.idle && !node.young.has(eni.slot),
  );
  if (tooMany > 0 && unused.some((eni) => eni.counts.idle <= tooMany)) found.push('an unused ENI could go');
  if (node.enis.length > node.policy.maxEnis) found.push(`${node.enis.length} ENIs of ${node.policy.maxEnis}`);
  for (const { counts, slot, limit } of node.enis)
    if (owned(counts) > limit) found.push(`${owned(counts)} addresses in slot ${slot}, which may have ${limit}`);
  if (node.enis.reduce((sum, eni) => sum + owned(eni.counts), 0) > capacity) found.push('more than the capacity');
  return found;
}

t.test('pool: whatever pods do, it comes to rest within its marks, and then never moves', async (t) => {
  let moved = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const chance = new Seeded(seed, 'pool');
    const node = nodeOf(chance);
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (let n = chance.between(0, 20); n > 0; n -= 1) happen(node, chance);
      node.young = new Set(node.enis.map((eni) => eni.slot).filter(() => chance.chance(0.15)));
      const rounds = settle(node);
      if (rounds === null) t.fail(`seed ${seed}, turn ${turn}: no rest after ${ROUNDS_MAX} rounds`);
      moved += rounds ?? 0;
      const troubles = troublesAtRest(node);
      if (troubles.length > 0) t.fail(`seed ${seed}, turn ${turn}: ${troubles.join('; ')}`);
      if (node.round()) t.fail(`seed ${seed}, turn ${turn}: moved at rest`);
    }
  }
  t.ok(moved > 3 * SEEDS, `${moved} rounds of orders in ${SEEDS} seeds`);
});

t.test('pool: batch after batch, reclaiming ends at the low mark, and nothing is asked for again', async (t) => {
  const rules = { afterMs: 0, intervalMs: 1, batchSize: 3, jitterFactor: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const node = nodeOf(new Seeded(seed, 'reclaim'));
    settle(node);
    for (let turn = 0; ; turn += 1) {
      if (turn > 60) t.fail(`seed ${seed}: no end of reclaiming`);
      const { idle } = node.totals;
      const batch = batchOf(idle - node.bounds.minIdle, Math.max(0, idle - node.bounds.maxIdle), rules);
      if (batch === 0 || !node.shed(batch)) break;
      if (node.totals.idle + node.totals.cooling < node.bounds.minIdle) t.fail(`seed ${seed}: below the low mark`);
      if (poolMove(node.totals, node.bounds).grow > 0) t.fail(`seed ${seed}: grown after reclaiming`);
    }
    const left = node.totals.idle - node.bounds.minIdle;
    const sheddable = node.enis.filter((eni) => eni.ours).reduce((sum, eni) => sum + eni.sheddable, 0);
    if (left > 0 && sheddable > 0) t.fail(`seed ${seed}: ${left} above the low mark, ${sheddable} could go`);
  }
  t.pass(`${SEEDS} seeds`);
});

t.test('pool: with one ENI exactly full at the mark, a pod that comes and goes leaves it as it was', async (t) => {
  const policy = { ...nodeOf(new Seeded(1, 'any')).policy, maxEnis: 3, ipv4PerEni: 6 };
  const node = new Node(policy, { minIdle: 6, maxIdle: 6, minEnis: 0, warmUpSize: 0 });
  t.equal(settle(node), 1);
  t.same(
    node.enis.map((eni) => eni.counts.idle),
    [6],
  );
  node.change(0, { idle: -1, bound: 1 });
  t.equal(settle(node), 1);
  node.change(0, { bound: -1, cooling: 1 });
  t.equal(settle(node), 0, 'a cooling address is no reason to do anything');
  node.change(0, { cooling: -1, idle: 1 });
  t.equal(settle(node), 1);
  t.same(
    node.enis.map((eni) => eni.counts.idle),
    [6],
  );
});
