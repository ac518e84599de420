/** The keys of the configuration that say how the host is kept as it should be, and what they become. */
import { z } from 'zod';
import { duration, period } from './duration-key.ts';
import type { RepairTimes } from './repair-ledger.ts';

export type KeeperSettings = {
  /** The host is compared with what is wanted at least this often, settings below /proc/sys too. */
  readonly kernelPeriodMs: number;
  /** How long changes that the kernel tells of are gathered before one look at everything. */
  readonly kernelGatherMs: number;
  /** What was repaired once is repaired again after this wait at the earliest; each time that somebody undoes it the wait doubles. */
  readonly repairWaitMs: number;
  readonly repairWaitMaxMs: number;
  /** What a sandbox that was released left on the host goes after this time, if no DEL has taken it by then. */
  readonly leftoverGraceMs: number;
};

export const defaultKeeperSettings: KeeperSettings = {
  kernelPeriodMs: 60_000,
  kernelGatherMs: 500,
  repairWaitMs: 1_000,
  repairWaitMaxMs: 300_000,
  leftoverGraceMs: 15_000,
};

export const keeperKeys = {
  kernel_period: period.optional(),
  kernel_gather: period.optional(),
  repair_wait: period.optional(),
  repair_wait_max: period.optional(),
  leftover_grace: duration.optional(),
};

const file = z.object(keeperKeys);
export type KeeperKeys = z.infer<typeof file>;

/** @param scaled divides a duration by the factor `speed`; the second argument stands in for one that is not said */
export function keeperSettingsOf(
  keys: KeeperKeys,
  scaled: (ms: number | undefined, otherwise: number) => number,
): KeeperSettings {
  const defaults = defaultKeeperSettings;
  const repairWaitMs = scaled(keys.repair_wait, defaults.repairWaitMs);
  return {
    kernelPeriodMs: scaled(keys.kernel_period, defaults.kernelPeriodMs),
    kernelGatherMs: scaled(keys.kernel_gather, defaults.kernelGatherMs),
    repairWaitMs,
    repairWaitMaxMs: Math.max(repairWaitMs, scaled(keys.repair_wait_max, defaults.repairWaitMaxMs)),
    leftoverGraceMs: scaled(keys.leftover_grace, defaults.leftoverGraceMs),
  };
}

/** What the kernel keeper goes by. */
export type KernelKeeperSettings = {
  readonly periodMs: number;
  readonly gatherMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  readonly repairTimes: RepairTimes;
};

export function kernelKeeperSettingsOf(
  settings: KeeperSettings & { readonly backoffMs: number; readonly backoffMaxMs: number },
): KernelKeeperSettings {
  const { kernelPeriodMs, kernelGatherMs, backoffMs, backoffMaxMs } = settings;
  const { repairWaitMs, repairWaitMaxMs, leftoverGraceMs } = settings;
  const repairTimes = { repairWaitMs, repairWaitMaxMs, periodMs: kernelPeriodMs, patienceMs: leftoverGraceMs };
  return { periodMs: kernelPeriodMs, gatherMs: kernelGatherMs, backoffMs, backoffMaxMs, repairTimes };
}
