/**
 * The keys of the configuration that say where ENIs are opened, which are ours to use, and how many idle addresses are kept; and what
 * they become. Types and defaults are Terway's where the key is Terway's.
 */
import { z } from 'zod';
import { duration, period } from './duration-key.ts';
import { defaultPlacementSettings as defaults, eniPolicies, type PlacementSettings } from './placement-settings.ts';
import { unsaid } from './unsaid.ts';
import { vSwitchPolicies } from './vswitch-choice.ts';

const COUNT_MAX = 100_000;
const tagKey = z.string().min(1).max(128);
const tagValue = z.string().max(128);
const count = z.int().min(0).max(COUNT_MAX);

/** Terway's is a number in a string. */
const fraction = z
  .union([z.number(), z.string().regex(/^\d*\.?\d+$/, 'is not a number')])
  .transform(Number)
  .refine((value) => value >= 0 && value <= 10, 'is not between 0 and 10');

export const poolKeys = {
  eni_tag_filter: unsaid(z.record(tagKey, tagValue)),
  eni_tag_block_list: unsaid(z.array(z.strictObject({ key: tagKey, value: tagValue }))),
  min_eni: unsaid(count),
  eni_cap_ratio: unsaid(z.number().min(0).max(100)),
  eni_cap_shift: unsaid(z.int().min(-1_000).max(1_000)),
  eni_selection_policy: unsaid(z.enum(eniPolicies)),
  vswitch_selection_policy: unsaid(z.enum(vSwitchPolicies)),
  ip_warm_up_size: unsaid(count),
  idle_ip_reclaim_after: unsaid(duration),
  idle_ip_reclaim_interval: unsaid(period),
  idle_ip_reclaim_batch_size: unsaid(z.int().max(COUNT_MAX)),
  idle_ip_reclaim_jitter_factor: unsaid(fraction),
  adaptive_pool: z.boolean().default(false),
  eni_min_age: duration.optional(),
  quota_hold: duration.optional(),
};

const file = z.object(poolKeys);
export type PoolKeys = z.infer<typeof file>;

/** @param scaled divides a duration by the factor `speed`; the second argument stands in for one that is not said */
export function placementSettingsOf(
  keys: PoolKeys,
  scaled: (ms: number | undefined, otherwise: number) => number,
): PlacementSettings {
  const { reclaim } = defaults;
  const batchSize = keys.idle_ip_reclaim_batch_size ?? 0;
  const afterMs = keys.idle_ip_reclaim_after;
  return {
    eniTagFilter: keys.eni_tag_filter ?? defaults.eniTagFilter,
    eniTagBlockList: keys.eni_tag_block_list ?? defaults.eniTagBlockList,
    // Terway takes 0 for "not said".
    eniCapRatio: keys.eni_cap_ratio || defaults.eniCapRatio,
    eniCapShift: keys.eni_cap_shift ?? defaults.eniCapShift,
    eniPolicy: keys.eni_selection_policy ?? defaults.eniPolicy,
    vSwitchPolicy: keys.vswitch_selection_policy ?? defaults.vSwitchPolicy,
    minEnis: keys.min_eni ?? defaults.minEnis,
    warmUpSize: keys.ip_warm_up_size ?? defaults.warmUpSize,
    reclaim: {
      afterMs: afterMs === undefined ? null : scaled(afterMs, afterMs),
      intervalMs: scaled(keys.idle_ip_reclaim_interval, reclaim.intervalMs),
      batchSize: batchSize <= 0 ? reclaim.batchSize : batchSize,
      jitterFactor: keys.idle_ip_reclaim_jitter_factor ?? reclaim.jitterFactor,
    },
    adaptivePool: keys.adaptive_pool,
    minEniAgeMs: scaled(keys.eni_min_age, defaults.minEniAgeMs),
    quotaHoldMs: scaled(keys.quota_hold, defaults.quotaHoldMs),
    returnMs: scaled(undefined, defaults.returnMs),
  };
}
