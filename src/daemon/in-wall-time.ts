/**
 * What is told outside in the machine's time. The daemon's own goes on as it began when the machine's clock is set (adapters/clock), and
 * whoever reads a report reckons ages from the clock that he has.
 */
import type { Introspection } from '../ports/introspection.ts';

/** Less is a rounding, and costs nothing. */
const AHEAD_MIN_MS = 1_000;
/** An instant, in September 2001, or a duration of 31 years. */
const INSTANT_MIN_MS = 1_000_000_000_000;

/** `value` with every instant (`…Ms`, since the epoch) taken back by `aheadMs`. */
export function inWallTime<T>(value: T, aheadMs: number): T {
  if (Math.abs(aheadMs) < AHEAD_MIN_MS) return value;
  const told = (one: unknown, key = ''): unknown => {
    if (typeof one === 'number') return key.endsWith('Ms') && one >= INSTANT_MIN_MS ? one - aheadMs : one;
    if (Array.isArray(one)) return one.map((item) => told(item));
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, part]) => [name, told(part, name)]));
  };
  return told(value) as T;
}

/** As it is, but for what people read. The journal is evidence, and keeps the daemon's time; the ends of keys are the cloud's. */
export function toldInWallTime(introspection: Introspection, aheadMs: () => number): Introspection {
  return {
    ...introspection,
    report() {
      const report = introspection.report();
      const told = inWallTime(report, aheadMs());
      if (report.cloud === undefined || told.cloud === undefined) return told;
      return { ...told, cloud: { ...told.cloud, credentials: report.cloud.credentials } };
    },
    actor: (path) => inWallTime(introspection.actor(path), aheadMs()),
    why: (pod) => inWallTime(introspection.why(pod), aheadMs()),
  };
}
