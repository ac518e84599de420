/**
 * Where pods of this node get their addresses from.
 *
 * `ENIMultiIP`: addresses of ENIs that pods share. `VPC`: the node's pod CIDR, without the cloud (VPCIP): there is one place that has all the addresses it
 * will ever have, so that no water mark, cap or tag counts. `ENIOnly`: each pod has an ENI of its own (VPCENI), and water marks count free ENIs. Source: Terway, `-daemon-mode`.
 */
import type { KeyName } from './config-keys.ts';
import { defaultPlacementSettings } from './placement-settings.ts';
import type { Settings } from './settings.ts';

export const DAEMON_MODES = ['ENIMultiIP', 'VPC', 'ENIOnly'] as const;
export type DaemonMode = (typeof DAEMON_MODES)[number];

/** Keys that say nothing in mode VPC: there are no ENIs to open, to fill or to choose. */
export const WITHOUT_ENIS = [
  'min_pool_size',
  'max_pool_size',
  'min_eni',
  'max_eni',
  'eni_cap_ratio',
  'eni_cap_shift',
  'eni_min_age',
  'eni_tags',
  'eni_tag_filter',
  'eni_tag_block_list',
  'eni_selection_policy',
  'ip_warm_up_size',
  'adaptive_pool',
  'idle_ip_reclaim_after',
  'idle_ip_reclaim_interval',
  'idle_ip_reclaim_batch_size',
  'idle_ip_reclaim_jitter_factor',
  'quota_hold',
  'hold_down',
  'vswitches',
  'vswitch_selection_policy',
  'security_group',
  'security_groups',
] as const satisfies readonly KeyName[];

/** Whether the key says anything in this mode. */
export function saysNothing(mode: DaemonMode, key: KeyName): boolean {
  return mode === 'VPC' && (WITHOUT_ENIS as readonly KeyName[]).includes(key);
}

export function settingsIn(mode: DaemonMode, settings: Settings): Settings {
  if (mode !== 'VPC') return settings;
  const { eniPolicy, vSwitchPolicy } = settings;
  return {
    ...settings,
    ...defaultPlacementSettings,
    eniPolicy,
    vSwitchPolicy,
    eniTagFilter: {},
    eniTagBlockList: [],
    minIdle: 0,
    maxIdle: Number.MAX_SAFE_INTEGER,
    maxEnis: null,
    vSwitchIds: null,
    securityGroupIds: null,
  };
}
