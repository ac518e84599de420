/**
 * Time as the daemon counts it: that of the machine's clock at the start, and from then on without its jumps.
 *
 * An instance whose hardware clock holds local time begins eight hours ahead and is set right a minute later. What was to rest for a
 * second by then (a vSwitch, the opening of an ENI, a freed address) would rest for eight hours, and the node serve no pod meanwhile.
 * What others compare with clocks of their own, or people read, is told in the machine's time: `aheadMs` is the difference.
 * Source: clock_settime(2): CLOCK_MONOTONIC, which performance.now() reads, is not set; clock drift is corrected in both.
 */
import type { Clock } from '../../ports/clock.ts';

export type SteadyClock = Clock & {
  /** By how many milliseconds it is ahead of the machine's clock: 0 until that one is set, but for a rounding. */
  aheadMs(): number;
};

export type Readings = { readonly wallMs: () => number; readonly sinceStartMs: () => number };

/** Whole milliseconds since the epoch; never goes back. */
export function steadyClock({ wallMs, sinceStartMs }: Readings): SteadyClock {
  const startMs = wallMs() - sinceStartMs();
  const nowMs = () => Math.floor(startMs + sinceStartMs());
  return { nowMs, aheadMs: () => nowMs() - wallMs() };
}

/** The process's own. */
export const systemClock = steadyClock({ wallMs: () => Date.now(), sinceStartMs: () => performance.now() });

/** The machine's, whenever it is set: for what is compared with clocks of others. */
export const wallClock: Clock = { nowMs: () => Date.now() };
