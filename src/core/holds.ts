/**
 * What failed calls teach about growing: an empty vSwitch rests for a while, and a failed opening makes the next one wait, the longer
 * the more failed in a row. Pure.
 */
import type { Failure } from './errors.ts';

export type Holds = {
  /** vSwitch -> when it may be asked again. */
  readonly vSwitches: Readonly<Record<string, number>>;
  /** No ENI is opened before this time. */
  readonly openUntilMs: number;
  /** Openings that failed in a row. */
  readonly openFailures: number;
  /** The last failure, until something succeeds: the cause to name when a request runs out of time. */
  readonly lastFailure: Failure | null;
};

export type HoldTimes = {
  readonly holdDownMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
};

export const noHolds: Holds = { vSwitches: {}, openUntilMs: 0, openFailures: 0, lastFailure: null };

/** When the vSwitch may be asked again; 0 when it never ran dry. */
export function holdEndMs(holds: Holds, vSwitchId: string): number {
  return holds.vSwitches[vSwitchId] ?? 0;
}

/** A call on an ENI in this vSwitch failed. */
export function afterFailedCall(
  holds: Holds,
  failure: Failure,
  vSwitchId: string,
  nowMs: number,
  { holdDownMs }: HoldTimes,
): Holds {
  const vSwitches =
    failure.code === 'vSwitchEmpty' ? { ...holds.vSwitches, [vSwitchId]: nowMs + holdDownMs } : holds.vSwitches;
  return { ...holds, vSwitches, lastFailure: failure };
}

/** An ENI never came into use. After an empty vSwitch the next one may be tried at once. */
export function afterFailedOpening(
  holds: Holds,
  failure: Failure,
  vSwitchId: string,
  nowMs: number,
  times: HoldTimes,
): Holds {
  const after = afterFailedCall(holds, failure, vSwitchId, nowMs, times);
  if (failure.code === 'vSwitchEmpty') return after;
  const waitMs = Math.min(times.backoffMs * 2 ** holds.openFailures, times.backoffMaxMs);
  return { ...after, openFailures: holds.openFailures + 1, openUntilMs: nowMs + waitMs };
}

export function afterOpened(holds: Holds): Holds {
  return { ...holds, openUntilMs: 0, openFailures: 0, lastFailure: null };
}
