/**
 * What failed calls teach about growing: an empty vSwitch rests for a while, so does an ENI or an instance that has all it may have,
 * and a failed opening makes the next one wait, the longer the more failed in a row. Pure.
 * Source: Terway inhibits 10 minutes after either code of an empty vSwitch and 1 minute after EniPerInstanceLimitExceeded.
 */
import type { Failure } from './errors.ts';

export type Holds = {
  /** vSwitch -> when it may be asked again. */
  readonly vSwitches: Readonly<Record<string, number>>;
  /** vSwitch -> how many addresses a Create asked for that it had not: it may yet have fewer. */
  readonly short: Readonly<Record<string, number>>;
  /** Slot -> until when its ENI is asked for no more: the cloud said that it has all that it may have. */
  readonly enis: Readonly<Record<number, number>>;
  /** No ENI is opened before this time: after an opening that failed, and after the instance was told to have all it may. */
  readonly openUntilMs: number;
  readonly quotaUntilMs: number;
  /** Openings that failed in a row. */
  readonly openFailures: number;
  /** The last failure, until something succeeds: the cause to name when a request runs out of time. */
  readonly lastFailure: Failure | null;
};

export type HoldTimes = {
  readonly holdDownMs: number;
  readonly quotaHoldMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
};

export const noHolds: Holds = {
  vSwitches: {},
  short: {},
  enis: {},
  openUntilMs: 0,
  quotaUntilMs: 0,
  openFailures: 0,
  lastFailure: null,
};

/** When the vSwitch may be asked again; 0 when it never ran dry. */
export function holdEndMs(holds: Holds, vSwitchId: string): number {
  return holds.vSwitches[vSwitchId] ?? 0;
}

/** When ENIs may be opened again. */
export const opensAtMs = (holds: Holds): number => Math.max(holds.openUntilMs, holds.quotaUntilMs);

/** Ends of holds that are still to come. */
export function holdEnds(holds: Holds, nowMs: number): readonly number[] {
  const all = [holds.openUntilMs, holds.quotaUntilMs, ...Object.values(holds.vSwitches), ...Object.values(holds.enis)];
  return all.filter((endMs) => endMs > nowMs);
}

export function nextHoldEndMs(holds: Holds, nowMs: number): number | null {
  const ends = holdEnds(holds, nowMs);
  return ends.length === 0 ? null : Math.min(...ends);
}

export function isFull(holds: Holds, slot: number, nowMs: number): boolean {
  return (holds.enis[slot] ?? 0) > nowMs;
}

export type FailedOn = {
  readonly slot: number;
  readonly vSwitchId: string;
  /** Addresses that the call asked for. */
  readonly asked: number;
  readonly failure: Failure;
};

/** A call on this ENI failed. */
export function afterFailedCall(
  holds: Holds,
  { slot, vSwitchId, failure }: FailedOn,
  nowMs: number,
  times: HoldTimes,
): Holds {
  const after: Holds = { ...holds, lastFailure: failure };
  if (failure.code === 'vSwitchEmpty')
    return { ...after, vSwitches: { ...holds.vSwitches, [vSwitchId]: nowMs + times.holdDownMs } };
  // Somebody else has a place that we reckoned with. The ENI's own book follows the cloud before its next call.
  if (failure.code === 'eniFull' || failure.code === 'groupFull')
    return { ...after, enis: { ...holds.enis, [slot]: nowMs + times.quotaHoldMs } };
  if (failure.code === 'eniQuota') return { ...after, quotaUntilMs: nowMs + times.quotaHoldMs };
  return after;
}

/**
 * A Create is carried out whole or not at all. So a vSwitch that had too few for one is not empty: when a look says that it has some,
 * its hold ends. A look that says it had enough is old, and ends nothing.
 */
export function afterLook(holds: Holds, free: Readonly<Record<string, number>>): Holds {
  const hasSome = (id: string): boolean => (free[id] ?? 0) > 0 && (free[id] ?? 0) < (holds.short[id] ?? 0);
  const held = Object.entries(holds.vSwitches).filter(([id]) => !hasSome(id));
  return { ...holds, vSwitches: Object.fromEntries(held), short: {} };
}

/** An ENI never came into use. After an empty vSwitch the next one may be tried at once. */
export function afterFailedOpening(holds: Holds, failed: FailedOn, nowMs: number, times: HoldTimes): Holds {
  const after = afterFailedCall(holds, failed, nowMs, times);
  if (failed.failure.code === 'vSwitchEmpty' && failed.asked > 1)
    return { ...after, short: { ...holds.short, [failed.vSwitchId]: failed.asked } };
  if (failed.failure.code === 'vSwitchEmpty' || failed.failure.code === 'eniQuota') return after;
  const waitMs = Math.min(times.backoffMs * 2 ** holds.openFailures, times.backoffMaxMs);
  return { ...after, openFailures: holds.openFailures + 1, openUntilMs: nowMs + waitMs };
}

export function afterOpened(holds: Holds): Holds {
  return { ...holds, openUntilMs: 0, openFailures: 0, lastFailure: null };
}

/** An ENI is gone: a hold on its slot holds nobody. */
export function afterGone(holds: Holds, slot: number): Holds {
  const { [slot]: _, ...enis } = holds.enis;
  return { ...holds, enis };
}
