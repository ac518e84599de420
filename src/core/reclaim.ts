/**
 * When idle addresses above the low water mark are given back because nobody has wanted one for a long time. Pure.
 *
 * Any address given out or freed starts the wait anew. After it the first turn is one interval later, and each turn takes one batch.
 * Source: Terway, `pkg/eni/manager.go` calculateToDel: lastModified + after, then every interval * (1 + chance * jitter).
 */
import { fractionAt } from './chance.ts';

export type ReclaimRules = {
  /** null: never. */
  readonly afterMs: number | null;
  readonly intervalMs: number;
  readonly batchSize: number;
  /** Share of the interval that chance may add. */
  readonly jitterFactor: number;
};

export type Reclaim = {
  /** Addresses given out and freed so far. */
  readonly turns: number;
  readonly stillSinceMs: number;
  /** When the next batch goes; null when nothing is to go. */
  readonly dueMs: number | null;
  /** Intervals drawn so far. */
  readonly nth: number;
};

/** What is looked at: addresses given out and freed so far, and idle ones above the low water mark. */
export type ReclaimView = { readonly turns: number; readonly spareIdle: number; readonly nowMs: number };

export const noReclaim = (nowMs: number): Reclaim => ({ turns: 0, stillSinceMs: nowMs, dueMs: null, nth: 0 });

/** After any change of the pool. */
export function reclaimAfter(reclaim: Reclaim, view: ReclaimView, rules: ReclaimRules, seed: number): Reclaim {
  const { turns, spareIdle, nowMs } = view;
  const moved = turns !== reclaim.turns;
  const still = moved ? { ...reclaim, turns, stillSinceMs: nowMs, dueMs: null } : reclaim;
  if (rules.afterMs === null || spareIdle <= 0) return still.dueMs === null ? still : { ...still, dueMs: null };
  if (still.dueMs !== null) return still;
  return drawn(still, Math.max(nowMs, still.stillSinceMs + rules.afterMs), rules, seed);
}

/** A turn is over: the next one. */
export function reclaimedOnce(reclaim: Reclaim, nowMs: number, rules: ReclaimRules, seed: number): Reclaim {
  return drawn(reclaim, nowMs, rules, seed);
}

/** How many idle addresses go now, beyond those above the high water mark. */
export function batchOf(spareIdle: number, surplus: number, { batchSize }: ReclaimRules): number {
  return Math.max(0, Math.min(batchSize, spareIdle - surplus));
}

function drawn(reclaim: Reclaim, fromMs: number, { intervalMs, jitterFactor }: ReclaimRules, seed: number): Reclaim {
  const waitMs = intervalMs * (1 + fractionAt(seed, reclaim.nth) * jitterFactor);
  return { ...reclaim, dueMs: Math.ceil(fromMs + waitMs), nth: reclaim.nth + 1 };
}
