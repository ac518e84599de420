/** The arithmetic of the idle pool: how many addresses to add or give back, and where. Pure. */
import { type EniSummary, roomOf, spareOf } from './eni-summary.ts';
import { holdEndMs } from './holds.ts';
import type { PlacementPolicy } from './placement.ts';

export type PoolBounds = { readonly minIdle: number; readonly maxIdle: number };

/**
 * The water marks that can be held: within 0 and the node's capacity, and the low one not above the high one.
 * Source: Terway since v1.7 lowers the low mark to the high one; v1.2 raised the high one.
 */
export function poolBounds(minIdle: number, maxIdle: number, capacity: number): PoolBounds {
  const max = Math.min(Math.max(0, maxIdle), capacity);
  return { minIdle: Math.min(Math.max(0, minIdle), max), maxIdle: max };
}

export type PoolTotals = {
  readonly idle: number;
  /** Freed and resting: counts toward the low water mark, and is never given back before its rest is over. */
  readonly cooling: number;
  /** On their way out. It changes no sum, but an ENI takes the next order only when they are gone. */
  readonly leaving: number;
  /** Asked for and not here yet, beyond what requests wait for. */
  readonly spare: number;
  /** Requests without a place. */
  readonly waiting: number;
  /** Addresses that could still be asked for, on ENIs there are and on ENIs that could be opened. */
  readonly room: number;
};

/** What the idle pool looks at. Room on a vSwitch that ran dry, and new ENIs while none may be opened, do not count. */
export function totalsOf(
  enis: readonly EniSummary[],
  waiting: number,
  policy: PlacementPolicy,
  nowMs: number,
): PoolTotals {
  const sum = (of: (eni: EniSummary) => number): number => enis.reduce((total, eni) => total + of(eni), 0);
  const usable = enis.filter((eni) => eni.phase === 'ready' || eni.phase === 'holding');
  const dry = (vSwitchId: string): boolean => holdEndMs(policy.holds, vSwitchId) > nowMs;
  const mayOpen = policy.holds.openUntilMs <= nowMs && !policy.vSwitchIds.every(dry);
  const newEnis = mayOpen ? Math.max(0, policy.maxEnis - enis.length) : 0;
  return {
    idle: usable.reduce((total, eni) => total + eni.counts.idle, 0),
    cooling: usable.reduce((total, eni) => total + eni.counts.cooling, 0),
    leaving: usable.reduce((total, eni) => total + eni.counts.leaving, 0),
    spare: sum(spareOf),
    waiting,
    room: sum((eni) => (dry(eni.vSwitchId) ? 0 : roomOf(eni))) + newEnis * policy.ipv4PerEni,
  };
}

export function sameTotals(a: PoolTotals, b: PoolTotals | null): boolean {
  return b !== null && JSON.stringify(a) === JSON.stringify(b);
}

export type PoolMove = { readonly grow: number; readonly shed: number };

export function poolMove(totals: PoolTotals, { minIdle, maxIdle }: PoolBounds): PoolMove {
  const missing = minIdle - totals.idle - totals.cooling - totals.spare;
  const surplus = totals.idle - maxIdle;
  if (totals.waiting > 0) return { grow: 0, shed: 0 };
  return { grow: Math.max(0, Math.min(missing, totals.room)), shed: Math.max(0, surplus) };
}

export type ShedMove = { readonly slot: number; readonly drain: boolean; readonly count: number };

/**
 * Where `surplus` idle addresses go from: whole ENIs first, the least filled one first, as long as the surplus covers all they have
 * (the primary address goes only with its ENI); then secondary addresses. Only ENIs at rest are told: a busy one would say no, and
 * be asked again at once.
 */
export function shedPlan(enis: readonly EniSummary[], surplus: number): readonly ShedMove[] {
  const moves: ShedMove[] = [];
  let left = surplus;
  const quiet = enis
    .filter((eni) => eni.phase === 'ready' && eni.ours)
    .filter((eni) => eni.queued === 0 && eni.arriving === 0 && eni.counts.leaving === 0)
    .sort((a, b) => a.counts.idle - b.counts.idle || b.slot - a.slot);
  for (const eni of quiet) {
    const { idle, offered, bound, cooling, reserved, leaving, invalid } = eni.counts;
    const unused = offered + bound + cooling + reserved + leaving + invalid === 0;
    if (unused && idle > 0 && idle <= left) {
      moves.push({ slot: eni.slot, drain: true, count: idle });
      left -= idle;
    }
  }
  for (const eni of quiet) {
    if (left <= 0) break;
    if (moves.some((move) => move.slot === eni.slot)) continue;
    const count = Math.min(left, eni.sheddable);
    if (count > 0) {
      moves.push({ slot: eni.slot, drain: false, count });
      left -= count;
    }
  }
  return moves;
}
