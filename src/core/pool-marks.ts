/**
 * The water marks that hold now, and why they are what they are. Pure.
 *
 * Source: Terway since v1.7 (daemon/config.go): max_pool_size is at most the capacity; min_eni * addresses per ENI replaces
 * min_pool_size; a low mark above the high one is lowered to it (v1.2 raised the high one).
 */

export type PoolBounds = { readonly minIdle: number; readonly maxIdle: number };

/** As configured. */
export type PoolMarks = PoolBounds & { readonly minEnis: number; readonly warmUpSize: number };

export type MarkView = {
  /** Addresses the node may have, and those on one ENI. */
  readonly capacity: number;
  readonly ipv4PerEni: number;
  /** Addresses that pods hold or were promised. */
  readonly held: number;
  /** The node has not had its warm-up yet. */
  readonly warming: boolean;
  /** Nothing is to be kept: the node is cordoned. What is there may stay up to the high mark. */
  readonly paused?: boolean;
  /** Addresses given out in one period lately; null: the mark does not follow demand. */
  readonly demand: number | null;
};

/** Within 0 and the node's capacity, and the low one not above the high one. */
export function poolBounds(minIdle: number, maxIdle: number, capacity: number): PoolBounds {
  const max = Math.min(Math.max(0, maxIdle), capacity);
  return { minIdle: Math.min(Math.max(0, minIdle), max), maxIdle: max };
}

export type Marks = PoolBounds & { readonly why: string };

export function marksOf(marks: PoolMarks, view: MarkView): Marks {
  const { capacity, ipv4PerEni, held, warming, demand, paused = false } = view;
  if (paused) return { ...poolBounds(0, marks.maxIdle, capacity), why: 'paused: the node is cordoned' };
  const wanted = [
    marks.minEnis > 0
      ? { low: marks.minEnis * ipv4PerEni, why: `min_eni: ${marks.minEnis} ENIs with ${ipv4PerEni} addresses each` }
      : { low: marks.minIdle, why: 'min_pool_size' },
    ...(demand === null
      ? []
      : [{ low: Math.round(demand), why: `adaptive_pool: about ${Math.round(demand)} addresses a period lately` }]),
    ...(warming
      ? [{ low: marks.warmUpSize - held, why: `ip_warm_up_size: not at ${marks.warmUpSize} addresses yet` }]
      : []),
  ];
  const { low, why } = wanted.reduce((most, one) => (one.low > most.low ? one : most));
  const bounds = poolBounds(low, marks.maxIdle, capacity);
  if (bounds.minIdle >= low) return { ...bounds, why };
  const limit = bounds.maxIdle < marks.maxIdle ? `the capacity of ${capacity}` : `max_pool_size, ${marks.maxIdle}`;
  return { ...bounds, why: `${why}; lowered from ${low} to ${limit}` };
}

/** The warm-up is over, for good: the node has had so many addresses, or as many idle ones as it may keep. */
export function isWarm(
  { warmUpSize, maxIdle }: PoolMarks,
  { held, idle, cooling, capacity }: { held: number; idle: number; cooling: number; capacity: number },
): boolean {
  return held + idle + cooling >= warmUpSize || idle + cooling >= poolBounds(0, maxIdle, capacity).maxIdle;
}
