/** What the idle pool is told to keep, and how. A change of it is one whole, so that marks never belong to two configurations. */
import type { PoolMarks } from './pool-marks.ts';
import type { ReclaimRules } from './reclaim.ts';
import type { Settings } from './settings.ts';

export type PoolSettings = {
  readonly marks: PoolMarks;
  readonly adaptive: boolean;
  readonly reclaimRules: ReclaimRules;
  readonly periodMs: number;
  readonly backoffMs: number;
  /** The node is cordoned, and nothing is to be kept for it while it is. */
  readonly paused: boolean;
};

export function poolSettingsOf(settings: Settings, cordoned: boolean): PoolSettings {
  const { minIdle, maxIdle, minEnis, warmUpSize, adaptivePool, reclaim, poolPeriodMs, backoffMs } = settings;
  return {
    marks: { minIdle, maxIdle, minEnis, warmUpSize },
    adaptive: adaptivePool,
    reclaimRules: reclaim,
    periodMs: poolPeriodMs,
    backoffMs,
    paused: cordoned && settings.pausesWhenCordoned,
  };
}
