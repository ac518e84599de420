/** The cloud's description of an ENI, as our value. Create answers and Describe lists have the same fields for this. */

import type { CloudEni, EniStatus, EniType } from '../../core/eni.ts';
import { canonicalIp } from '../../core/ip.ts';
import { CloudError } from '../../ports/cloud.ts';

export type EniDescription = {
  networkInterfaceId?: string;
  macAddress?: string;
  status?: string;
  type?: string;
  vpcId?: string;
  vSwitchId?: string;
  zoneId?: string;
  privateIpAddress?: string;
  privateIpSets?: { privateIpSet?: { privateIpAddress?: string; primary?: boolean }[] };
  ipv6Sets?: { ipv6Set?: { ipv6Address?: string }[] };
  securityGroupIds?: { securityGroupId?: string[] };
  tags?: { tag?: { tagKey?: string; tagValue?: string }[] };
  instanceId?: string;
  attachment?: { instanceId?: string };
};

/** Refuses a description without id or MAC: acting on half an ENI is worse than a failed call. */
export function cloudEni(action: string, from: EniDescription): CloudEni {
  const { networkInterfaceId: eniId = '', macAddress = '' } = from;
  if (eniId === '' || macAddress === '') {
    throw new CloudError('cloud', `${action}: unreadable answer: an ENI without id or MAC`, '');
  }
  const instanceId = from.instanceId || from.attachment?.instanceId || null;
  const tags = (from.tags?.tag ?? []).map(({ tagKey = '', tagValue = '' }) => [tagKey, tagValue] as const);
  return {
    eniId,
    mac: macAddress.toLowerCase(),
    status: (from.status ?? 'Available') as EniStatus,
    type: (from.type ?? 'Secondary') as EniType,
    vpcId: from.vpcId ?? '',
    vSwitchId: from.vSwitchId ?? '',
    zoneId: from.zoneId ?? '',
    ipv4: ipv4Of(from),
    ipv6: (from.ipv6Sets?.ipv6Set ?? []).flatMap(({ ipv6Address }) => canonical(ipv6Address)),
    securityGroupIds: from.securityGroupIds?.securityGroupId ?? [],
    tags: Object.fromEntries(tags),
    instanceId,
  };
}

/** The primary address first, whatever the order of the answer; each once. */
function ipv4Of(from: EniDescription): string[] {
  const set = from.privateIpSets?.privateIpSet ?? [];
  const primary = from.privateIpAddress ?? set.find((one) => one.primary)?.privateIpAddress;
  return [...new Set([...canonical(primary), ...set.flatMap((one) => canonical(one.privateIpAddress))])];
}

/** Canonical text, so that the cloud's spelling never makes two of one address. */
export function canonical(ip: string | undefined): string[] {
  const text = canonicalIp(ip ?? '');
  return text === null ? [] : [text];
}
