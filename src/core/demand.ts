/**
 * Recent demand, for a low water mark that follows it: the most addresses given out in one period, fading as periods go by. Pure.
 *
 * Only periods that are over count, so that a burst does not make the pool grow while it lasts.
 */

/** What is left of the peak after another period: a quarter goes, so that a peak is half forgotten in two and a half. */
const FADING = 0.75;

export type Demand = {
  readonly periodEndMs: number;
  /** Addresses given out so far, at the start of the period and when last heard of. */
  readonly atStart: number;
  readonly now: number;
  readonly peak: number;
};

export const noDemand = (nowMs: number, periodMs: number): Demand => ({
  periodEndMs: nowMs + periodMs,
  atStart: 0,
  now: 0,
  peak: 0,
});

/** @param granted addresses given out so far, those of this very moment included */
export function demandAfter(demand: Demand, granted: number, nowMs: number, periodMs: number): Demand {
  if (nowMs < demand.periodEndMs) return { ...demand, now: granted };
  const over = 1 + Math.floor((nowMs - demand.periodEndMs) / periodMs);
  const peak = Math.max(demand.now - demand.atStart, demand.peak * FADING) * FADING ** (over - 1);
  return { periodEndMs: demand.periodEndMs + over * periodMs, atStart: demand.now, now: granted, peak };
}

/** Whether the end of the period may change the mark. */
export const isMoving = ({ atStart, now, peak }: Demand): boolean => now > atStart || Math.round(peak) > 0;
