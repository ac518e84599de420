/**
 * When credentials are renewed. Half an hour before they end at the earliest, since a RAM role's new ones are there only then; of
 * lives that are shorter than an hour, in their second half. Spread, so that nodes that started together do not ask together.
 *
 * Source: ECS "Instance RAM roles": six hours, new credentials half an hour before the end.
 */
const RENEW_BEFORE_MS = 25 * 60_000;
const RENEW_BEFORE_SHARE = 0.4;
/** Of the time before the end, so much is chance. */
const SPREAD = 0.4;
/** A call that is signed now may be looked at a while later. */
const LAST_USE_BEFORE_MS = 10_000;
const LAST_USE_SHARE = 0.05;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** However short the life, a failing giver is not asked more often. */
const WAIT_SHARE = 0.05;

type Life = { readonly obtainedMs: number; readonly untilMs: number };

/** `fraction` in [0, 1) is chance. */
export function renewFromMs({ obtainedMs, untilMs }: Life, fraction: number): number {
  const lifeMs = Math.max(0, untilMs - obtainedMs);
  const beforeMs = Math.min(RENEW_BEFORE_MS, lifeMs * RENEW_BEFORE_SHARE) * (1 - SPREAD * fraction);
  return untilMs - beforeMs;
}

/** From here on nothing is signed with them any more. */
export function lastUseMs({ obtainedMs, untilMs }: Life): number {
  return untilMs - Math.min(LAST_USE_BEFORE_MS, Math.max(0, untilMs - obtainedMs) * LAST_USE_SHARE);
}

/** The wait after the `failures`th failure in a row. `lifeMs` of what was obtained last, null when unknown. */
export function renewalWaitMs(failures: number, lifeMs: number | null, fraction: number): number {
  const firstMs = lifeMs === null ? FIRST_WAIT_MS : Math.min(FIRST_WAIT_MS, lifeMs * WAIT_SHARE);
  const longestMs = lifeMs === null ? LONGEST_WAIT_MS : Math.min(LONGEST_WAIT_MS, lifeMs / 4);
  const wholeMs = Math.min(longestMs, firstMs * 2 ** Math.min(16, Math.max(0, failures - 1)));
  return Math.round(wholeMs * (0.5 + fraction / 2));
}
