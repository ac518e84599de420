/** Settings of placement and of the idle pool. Durations are real milliseconds, as in `Settings`. */
import { builtInBlockList, type TagRules } from './managed-enis.ts';
import type { ReclaimRules } from './reclaim.ts';
import type { VSwitchPolicy } from './vswitch-choice.ts';

/** most_ips: the fullest ENI first, so that others empty. least_ips: the emptiest first, so that pods share the ENIs' bandwidth. */
export const eniPolicies = ['most_ips', 'least_ips'] as const;
export type EniPolicy = (typeof eniPolicies)[number];

export type PlacementSettings = TagRules & {
  /** Terway's formula for ENIs: int(what the type allows * ratio) + shift, the primary one included. */
  readonly eniCapRatio: number;
  readonly eniCapShift: number;
  readonly eniPolicy: EniPolicy;
  readonly vSwitchPolicy: VSwitchPolicy;
  /** Over 0: the low water mark is what so many ENIs hold, in place of `minIdle`. */
  readonly minEnis: number;
  /** The node is filled to so many addresses once after start, as far as the high water mark lets it; 0: not at all. */
  readonly warmUpSize: number;
  readonly reclaim: ReclaimRules;
  /** The low water mark follows recent demand, between the configured one and the high one. */
  readonly adaptivePool: boolean;
  /** An ENI that we made is kept at least this long after it came into use. */
  readonly minEniAgeMs: number;
  /** After the cloud said that the instance, or an ENI, has all it may have: how long no more is asked for there. */
  readonly quotaHoldMs: number;
  /** A pod that got nothing in time comes again within this: until then an address that arrives for it is not too many. */
  readonly returnMs: number;
};

/** Source: Terway's defaults, where the key is Terway's. */
export const defaultPlacementSettings: PlacementSettings = {
  eniTagFilter: {},
  eniTagBlockList: builtInBlockList,
  eniCapRatio: 1,
  eniCapShift: 0,
  eniPolicy: 'most_ips',
  vSwitchPolicy: 'random',
  minEnis: 0,
  warmUpSize: 0,
  reclaim: { afterMs: null, intervalMs: 600_000, batchSize: 5, jitterFactor: 0.1 },
  adaptivePool: false,
  minEniAgeMs: 60_000,
  quotaHoldMs: 60_000,
  // Source: kubelet syncs a pod that failed after 10 to 15 s, and its runtime makes a new sandbox first.
  returnMs: 30_000,
};
