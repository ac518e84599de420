/**
 * What the store remembers of the cloud that no restart need ask again: the limits of the instance's type and the prefixes of its vSwitches.
 *
 * A thousand daemons that are updated together would spend minutes of the account's calls on them (bench fleet). Neither changes: a
 * resized instance has another type, and a vSwitch keeps its prefix, but may be given one of IPv6 where it had none. What a type may have has
 * been raised by the cloud before, so that this is asked anew in some days.
 */
import type { InstanceLimits, VSwitch } from './eni.ts';

/** With the addresses left in it as far as is known: what is remembered tells nothing of them. */
export type KnownVSwitch = Omit<VSwitch, 'availableAddresses'> & { readonly availableAddresses: number | null };

export type RememberedCloud = {
  readonly version: typeof REMEMBERED_CLOUD_VERSION;
  readonly instanceId: string;
  /** What the limits are of (Cloud.keptAs): one and the same type allows otherwise where each pod has an ENI. */
  readonly of: string;
  readonly atMs: number;
  readonly limits: InstanceLimits;
  readonly vSwitches: readonly Omit<VSwitch, 'availableAddresses'>[];
};

export const REMEMBERED_CLOUD_KEY = 'cloud';
export const REMEMBERED_CLOUD_VERSION = 1;

const KEPT_MS = 3 * 24 * 3_600_000;

/** null for what is old, another instance's, or cannot be read. */
export function parseRememberedCloud(
  value: unknown,
  { instanceId, of }: Pick<RememberedCloud, 'instanceId' | 'of'>,
  nowMs: number,
): RememberedCloud | null {
  const record = value as Partial<RememberedCloud> | null;
  if (typeof record !== 'object' || record?.version !== REMEMBERED_CLOUD_VERSION) return null;
  const { atMs, limits, vSwitches } = record;
  if (
    record.instanceId !== instanceId ||
    record.of !== of ||
    typeof atMs !== 'number' ||
    !(Math.abs(nowMs - atMs) < KEPT_MS)
  )
    return null;
  if (!isLimits(limits) || !Array.isArray(vSwitches) || !vSwitches.every(isVSwitch)) return null;
  return record as RememberedCloud;
}

const isLimits = (value: unknown): boolean => {
  const { instanceType, enis, ipv4PerEni, ipv6PerEni } = (value ?? {}) as Partial<InstanceLimits>;
  return typeof instanceType === 'string' && [enis, ipv4PerEni, ipv6PerEni].every(Number.isInteger);
};

const isVSwitch = (value: unknown): boolean => {
  const { vSwitchId, vpcId, zoneId, cidr, ipv6Cidr } = (value ?? {}) as Partial<VSwitch>;
  const texts = [vSwitchId, vpcId, zoneId, cidr].every((text) => typeof text === 'string' && text !== '');
  return texts && (ipv6Cidr === null || typeof ipv6Cidr === 'string');
};
