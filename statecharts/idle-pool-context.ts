/** What the idle pool knows, and the pure parts of what it does. */
import { type Demand, demandAfter, isMoving, noDemand } from '../src/core/demand.ts';
import { type PoolMove, type PoolTotals, poolMove } from '../src/core/pool.ts';
import { isWarm, type Marks, marksOf, type PoolMarks } from '../src/core/pool-marks.ts';
import { noReclaim, type Reclaim, type ReclaimRules, reclaimAfter } from '../src/core/reclaim.ts';
import type { PoolEvent } from './messages.ts';

export type IdlePoolInput = {
  readonly marks: PoolMarks;
  /** Addresses the node may have as far as is known at the start, and those on one ENI. */
  readonly capacity: number;
  readonly ipv4PerEni: number;
  readonly adaptive: boolean;
  readonly reclaimRules: ReclaimRules;
  /** Drawn once, in [0, 1). */
  readonly seed: number;
  readonly periodMs: number;
  readonly backoffMs: number;
  readonly nowMs: number;
};

export type IdlePoolContext = IdlePoolInput & {
  readonly totals: PoolTotals | null;
  /** The marks that hold now, and why. */
  readonly bounds: Marks;
  /** The node has not had its warm-up yet. */
  readonly warming: boolean;
  readonly demand: Demand;
  readonly reclaim: Reclaim;
  readonly failures: number;
};

export function contextOf(input: IdlePoolInput): IdlePoolContext {
  const { marks, capacity, ipv4PerEni, nowMs, periodMs } = input;
  const warming = marks.warmUpSize > 0;
  return {
    ...input,
    totals: null,
    bounds: marksOf(marks, { capacity, ipv4PerEni, held: 0, warming, demand: null }),
    warming,
    demand: noDemand(nowMs, periodMs),
    reclaim: noReclaim(nowMs),
    failures: 0,
  };
}

export const moveIn = ({ totals, bounds }: IdlePoolContext): PoolMove =>
  totals === null ? { grow: 0, shed: 0 } : poolMove(totals, bounds);

/** What is known after the event: the totals it brings, and what follows from them and from the time. */
export function measured(context: IdlePoolContext, event: PoolEvent): Partial<IdlePoolContext> {
  const totals = event.type === 'poolChanged' ? event.totals : context.totals;
  const nowMs = Math.max(context.nowMs, event.atMs);
  if (totals === null) return { nowMs };
  const { marks, ipv4PerEni, adaptive, periodMs, reclaimRules, seed } = context;
  const warming = context.warming && !isWarm(marks, totals);
  const demand = demandAfter(context.demand, totals.granted, nowMs, periodMs);
  const view = { capacity: totals.capacity, ipv4PerEni, held: totals.held, warming };
  const bounds = marksOf(marks, { ...view, demand: adaptive ? demand.peak : null });
  const looked = { turns: totals.granted + totals.freed, spareIdle: totals.idle - bounds.minIdle, nowMs };
  const reclaim = reclaimAfter(context.reclaim, looked, reclaimRules, seed);
  return { totals, nowMs, warming, demand, bounds, reclaim };
}

/** When the period ends, if that may move the low mark. */
export function nextPeriodMs({ adaptive, demand }: IdlePoolContext): number | null {
  return adaptive && isMoving(demand) ? demand.periodEndMs : null;
}
