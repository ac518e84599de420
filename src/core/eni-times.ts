/** Periods and time limits of an ENI's life, in real milliseconds. */
import type { Settings } from './settings.ts';

export type EniTimes = {
  readonly cloudPeriodMs: number;
  readonly describePeriodMs: number;
  readonly attachTimeoutMs: number;
  readonly settleTimeoutMs: number;
  readonly detachTimeoutMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
};

export function eniTimesOf(settings: Settings): EniTimes {
  const { cloudPeriodMs, describePeriodMs, attachTimeoutMs, settleTimeoutMs, detachTimeoutMs } = settings;
  const { backoffMs, backoffMaxMs } = settings;
  return {
    cloudPeriodMs,
    describePeriodMs,
    attachTimeoutMs,
    settleTimeoutMs,
    detachTimeoutMs,
    backoffMs,
    backoffMaxMs,
  };
}
