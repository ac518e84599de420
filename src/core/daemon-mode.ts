/**
 * Where pods of this node get their addresses from.
 *
 * `ENIMultiIP`: addresses of ENIs that pods share. `VPC`: the node's pod CIDR, without the cloud (VPCIP): there is one place that has all the addresses it
 * will ever have, so that no water mark, cap or tag counts. `ENIOnly`: each pod has an ENI of its own (VPCENI), and water marks count free ENIs. Source: Terway, `-daemon-mode`.
 */
import { defaultPlacementSettings } from './placement-settings.ts';
import type { Settings } from './settings.ts';

export const DAEMON_MODES = ['ENIMultiIP', 'VPC', 'ENIOnly'] as const;
export type DaemonMode = (typeof DAEMON_MODES)[number];

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
