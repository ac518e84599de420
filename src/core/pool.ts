/** The arithmetic of the idle pool: what there is, and how many addresses to add or give back. Pure. */
import { type EniSummary, freeOf, isForNobody, roomOf, spareOf } from './eni-summary.ts';
import { holdEndMs, isFull, opensAtMs } from './holds.ts';
import { overQuota, surplusSlots } from './over-quota.ts';
import type { PlacementPolicy } from './placement.ts';
import type { PoolBounds } from './pool-marks.ts';
import { isUnused } from './shed-plan.ts';

export type PoolTotals = {
  readonly idle: number;
  /** Freed and resting: counts toward the low water mark, and is never given back before its rest is over. */
  readonly cooling: number;
  /** On their way out. It changes no sum, but an ENI takes the next order only when they are gone. */
  readonly leaving: number;
  /** Asked for and not here yet, beyond what requests wait for. */
  readonly spare: number;
  /** Those of the smallest ENI that waits in line to be made, and for nobody. Absent: there is none. */
  readonly unasked?: number;
  /** Requests without a place. */
  readonly waiting: number;
  /** Addresses that could still be asked for, on ENIs there are and on ENIs that could be opened. */
  readonly room: number;
  /** Room on ENIs that back off: no other ENI is opened for the pool as long as that may serve it. */
  readonly soon: number;
  /** Held by pods or promised to them. */
  readonly held: number;
  /** Idle ones on unused ENIs that have to stay for now because they are new. */
  readonly young: number;
  /** Addresses the node may have. */
  readonly capacity: number;
  /** Idle ones beyond what the instance type allows (over-quota.ts); absent: none. */
  readonly over?: number;
  /** Pods that got nothing in time and will come again: what arrives for them meanwhile is not too many. Absent: none. */
  readonly returning?: number;
  /** Addresses given out and freed since the start: they tell that something moved even if the sums are the same. */
  readonly granted: number;
  readonly freed: number;
};

export type PoolView = {
  readonly enis: readonly EniSummary[];
  /** Requests without a place. */
  readonly waiting: number;
  /** Slots whose ENI is too new to go. */
  readonly young: ReadonlySet<number>;
  readonly granted: number;
  readonly freed: number;
  readonly returning?: number;
};

/** What the idle pool looks at. Room on a vSwitch that ran dry, and new ENIs while none may be opened, do not count. */
export function totalsOf(
  { enis, waiting, young, granted, freed, returning = 0 }: PoolView,
  policy: PlacementPolicy,
  nowMs: number,
): PoolTotals {
  const sum = (of: (eni: EniSummary) => number): number => enis.reduce((total, eni) => total + of(eni), 0);
  // What a pod has for itself is in no pool.
  const usable = enis.filter((eni) => (eni.phase === 'ready' || eni.phase === 'holding') && eni.own !== true);
  const own = enis.filter((eni) => eni.own === true).length;
  const dry = (vSwitchId: string): boolean => holdEndMs(policy.holds, vSwitchId) > nowMs;
  const mayOpen = opensAtMs(policy.holds) <= nowMs && !policy.vSwitchIds.every(dry);
  const noRoom = (eni: EniSummary): boolean =>
    dry(eni.vSwitchId) || isFull(policy.holds, eni.slot, nowMs) || surplus.has(eni.slot);
  const newEnis = mayOpen ? Math.max(0, policy.maxEnis - enis.length) : 0;
  const surplus = surplusSlots(enis, policy.places ?? Number.POSITIVE_INFINITY);
  const over = [...overQuota(enis, policy.places ?? Number.POSITIVE_INFINITY).values()].reduce((a, b) => a + b, 0);
  const unasked = Math.min(...enis.filter(isForNobody).map(({ arriving }) => arriving));
  return {
    ...(over > 0 && { over }),
    ...(Number.isFinite(unasked) && { unasked }),
    ...(returning > 0 && { returning }),
    idle: usable.reduce((total, eni) => total + eni.counts.idle, 0),
    cooling: usable.reduce((total, eni) => total + eni.counts.cooling, 0),
    leaving: usable.reduce((total, eni) => total + eni.counts.leaving, 0),
    spare: sum(spareOf),
    waiting,
    room: sum((eni) => (noRoom(eni) ? 0 : roomOf(eni))) + newEnis * policy.ipv4PerEni,
    soon: sum((eni) => (eni.phase === 'holding' && !noRoom(eni) ? freeOf(eni) : 0)),
    held: sum(({ counts }) => counts.offered + counts.bound + counts.reserved),
    young: sum((eni) => (young.has(eni.slot) && isUnused(eni) ? eni.counts.idle : 0)),
    capacity: Math.max(0, policy.maxEnis - own) * policy.ipv4PerEni + own,
    granted,
    freed,
  };
}

export function sameTotals(a: PoolTotals, b: PoolTotals | null): boolean {
  if (a === b || b === null) return a === b;
  const names = Object.keys(a) as (keyof PoolTotals)[];
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** `callOff`: addresses that would be too many once they are here, some of which need not be asked for. */
export type PoolMove = { readonly grow: number; readonly shed: number; readonly callOff: number };

export const noMove: PoolMove = { grow: 0, shed: 0, callOff: 0 };

export function poolMove(totals: PoolTotals, { minIdle, maxIdle }: PoolBounds): PoolMove {
  const { returning = 0 } = totals;
  const missing = minIdle - totals.idle - totals.cooling - totals.spare;
  const surplus = Math.max(totals.idle - Math.max(maxIdle, returning), totals.over ?? 0);
  const excess = totals.idle + totals.spare - Math.max(maxIdle, returning);
  if (totals.waiting > 0) return noMove;
  return {
    grow: Math.max(0, Math.min(missing, totals.room)),
    shed: Math.max(0, surplus),
    callOff: totals.unasked !== undefined && totals.unasked <= excess ? excess : 0,
  };
}

/** Idle addresses that have to be there after some were given back. */
export const keptIn = ({ returning = 0 }: PoolTotals, { minIdle }: PoolBounds): number => Math.max(minIdle, returning);
