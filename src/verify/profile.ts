/** The findings as a profile that the simulated cloud loads: what was measured, whether it agrees with the estimates or not. */
import type { CloudProfile, ProfileSettings } from '../vpc/cloud-profile.ts';
import type { Finding } from './finding.ts';

export function profileOf(findings: readonly Finding[], measured: Readonly<Record<string, string>>): CloudProfile {
  let settings: ProfileSettings = { delays: {} };
  for (const { settings: one } of findings)
    if (one !== null) settings = { ...settings, ...one, delays: { ...settings.delays, ...one.delays } };
  return { kind: 'enactor.cloud-profile/1', measured, settings };
}
