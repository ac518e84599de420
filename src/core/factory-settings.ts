/** What the factory goes by when it places requests and opens ENIs, as far as a configuration that changes may change it. */
import type { Subnet } from './eni.ts';
import { type EniTimes, eniTimesOf } from './eni-times.ts';
import type { EniPolicy } from './placement-settings.ts';
import type { Settings } from './settings.ts';
import type { VSwitchPolicy } from './vswitch-choice.ts';

export type VSwitchPlan = { readonly vSwitchId: string; readonly subnet: Subnet };

/** One where ENIs may be opened. `free`: addresses it had left when last looked at; null when that is not known. */
export type VSwitchOption = VSwitchPlan & { readonly free: number | null };

export type FactorySettings = {
  /** ENIs we may have by configuration. */
  readonly eniCap: number;
  readonly vSwitches: readonly VSwitchOption[];
  readonly eniPolicy: EniPolicy;
  readonly reservationsYield?: boolean;
  readonly vSwitchPolicy: VSwitchPolicy;
  readonly times: EniTimes;
  readonly holdDownMs: number;
  readonly quotaHoldMs: number;
  readonly returnMs: number;
  readonly minEniAgeMs: number;
  readonly waitingMax: number;
};

export function factorySettingsOf(
  settings: Settings,
  { eniCap, vSwitches }: Pick<FactorySettings, 'eniCap' | 'vSwitches'>,
): FactorySettings {
  const { eniPolicy, reservationsYield, vSwitchPolicy, holdDownMs, quotaHoldMs, minEniAgeMs, waitingMax, returnMs } =
    settings;
  const policy = { eniPolicy, reservationsYield, vSwitchPolicy };
  return {
    eniCap,
    vSwitches,
    ...policy,
    times: eniTimesOf(settings),
    holdDownMs,
    quotaHoldMs,
    returnMs,
    minEniAgeMs,
    waitingMax,
  };
}
