/** A token bucket that holds what leaves a device back to a rate. Source: tc-tbf(8). */
export type TokenBucket = {
  readonly linkIndex: number;
  /** Bytes per second, over 0. */
  readonly rate: number;
  /** Bytes that may leave at once. */
  readonly burst: number;
  /** Bytes that wait at most; what comes beyond is dropped. */
  readonly limit: number;
};

/** The queueing discipline at a device's root. */
export type Qdisc = {
  readonly linkIndex: number;
  readonly kind: string;
  /** Bytes per second of a `tbf`; null of every other kind. */
  readonly rate: number | null;
};
