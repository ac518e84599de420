/** What the idle pool knows, and the pure parts of what it does. */
import { type Demand, demandAfter, isMoving, noDemand } from '../src/core/demand.ts';
import { noMove, type PoolMove, type PoolTotals, poolMove } from '../src/core/pool.ts';
import { isWarm, type Marks, marksOf } from '../src/core/pool-marks.ts';
import type { PoolSettings } from '../src/core/pool-settings.ts';
import { noReclaim, type Reclaim, reclaimAfter } from '../src/core/reclaim.ts';
import type { PoolEvent } from './messages.ts';

export type IdlePoolInput = PoolSettings & {
  /** Addresses the node may have as far as is known at the start, and those on one ENI. */
  readonly capacity: number;
  readonly ipv4PerEni: number;
  /** Drawn once, in [0, 1). */
  readonly seed: number;
  /** What is missing, or too much, is reckoned and not asked for. */
  readonly readOnly?: boolean;
  readonly nowMs: number;
};

/** The pool's own timers, by the event that each sends. */
export const TIMERS = ['periodEnded', 'reclaimDue'] as const;
/** When each is due; null: it is not set. */
export type Timers = Readonly<Record<(typeof TIMERS)[number], number | null>>;

export type IdlePoolContext = IdlePoolInput & {
  readonly totals: PoolTotals | null;
  /** The marks that hold now, and why. */
  readonly bounds: Marks;
  /** The node has not had its warm-up yet. */
  readonly warming: boolean;
  readonly demand: Demand;
  readonly reclaim: Reclaim;
  readonly armed: Timers;
  readonly failures: number;
};

export function contextOf(input: IdlePoolInput): IdlePoolContext {
  const { marks, capacity, ipv4PerEni, nowMs, periodMs, paused } = input;
  const warming = marks.warmUpSize > 0;
  return {
    ...input,
    totals: null,
    bounds: marksOf(marks, { capacity, ipv4PerEni, held: 0, warming, demand: null, paused }),
    warming,
    demand: noDemand(nowMs, periodMs),
    reclaim: noReclaim(nowMs),
    armed: { periodEnded: null, reclaimDue: null },
    failures: 0,
  };
}

export const moveIn = ({ totals, bounds }: IdlePoolContext): PoolMove =>
  totals === null ? noMove : poolMove(totals, bounds);

/** What is known after the event: the totals it brings, and what follows from them and from the time. */
export function measured(known: IdlePoolContext, event: PoolEvent): Partial<IdlePoolContext> {
  const settings = event.type === 'settings' ? event.settings : {};
  const context = { ...known, ...settings };
  const totals = event.type === 'poolChanged' ? event.totals : context.totals;
  const nowMs = Math.max(context.nowMs, event.atMs);
  if (totals === null) return { ...settings, nowMs };
  const { marks, ipv4PerEni, adaptive, periodMs, reclaimRules, seed, paused } = context;
  const warming = context.warming && !isWarm(marks, totals);
  const demand = demandAfter(context.demand, totals.granted, nowMs, periodMs);
  const view = { capacity: totals.capacity, ipv4PerEni, held: totals.held, warming, paused };
  const bounds = marksOf(marks, { ...view, demand: adaptive ? demand.peak : null });
  const looked = { turns: totals.granted + totals.freed, spareIdle: totals.idle - bounds.minIdle, nowMs };
  // What was drawn by other rules holds no more.
  const before = event.type === 'settings' ? { ...context.reclaim, dueMs: null } : context.reclaim;
  const reclaim = reclaimAfter(before, looked, reclaimRules, seed);
  return { ...settings, totals, nowMs, warming, demand, bounds, reclaim };
}

/** When the period ends, if that may move the low mark. */
export function nextPeriodMs({ adaptive, demand }: IdlePoolContext): number | null {
  return adaptive && isMoving(demand) ? demand.periodEndMs : null;
}

export const timersOf = (context: IdlePoolContext): Timers => ({
  periodEnded: nextPeriodMs(context),
  reclaimDue: context.reclaim.dueMs,
});
