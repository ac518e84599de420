/**
 * Chooses the addresses of a create or assign: all of them or an error, and nothing is taken yet.
 *
 * Source: CreateNetworkInterface, AssignPrivateIpAddresses, AssignIpv6Addresses: error codes.
 */
import { canonicalIp, familyOf } from '../core/ip.ts';
import type { Family } from './eni-record.ts';
import { cloudError } from './errors.ts';
import type { Want } from './requests.ts';
import type { VSwitchRecord, World } from './world.ts';

export function pickAddresses(
  world: World,
  vSwitch: VSwitchRecord,
  family: Family,
  want: Want,
  but: readonly string[],
): readonly string[] {
  const space = family === 4 ? vSwitch.space : vSwitch.ipv6Space;
  const count = 'count' in want ? want.count : want.ips.length;
  if (count === 0) return [];
  if (space === null) throw cloudError('InvalidVSwitch.Ipv6NotTurnOn', vSwitch.vSwitchId);
  const picked = new Set(but);
  if ('ips' in want) {
    for (const text of want.ips) {
      const ip = canonicalIp(text);
      if (ip === null || familyOf(ip) !== family) throw cloudError('InvalidIp.Address', text);
      if (picked.has(ip)) throw cloudError('InvalidIp.IpRepeated', ip);
      if (!space.usable(ip)) throw cloudError('InvalidVSwitchId.IpInvalid', ip, vSwitch.vSwitchId);
      if (space.holder(ip) !== null) throw cloudError('InvalidIp.IpAssigned', ip);
      picked.add(ip);
    }
  }
  const available = family === 4 ? world.availableAddresses(vSwitch) : space.free;
  if (available < count + but.length) throw cloudError('InvalidVSwitchId.IpNotEnough', vSwitch.vSwitchId);
  while (picked.size < count + but.length) {
    const ip = space.next(picked, world.settings.reuse);
    if (ip === null) throw cloudError('InvalidVSwitchId.IpNotEnough', vSwitch.vSwitchId);
    picked.add(ip);
  }
  return [...picked].slice(but.length);
}

/** Refuses what would put more private addresses into a security group than it takes. */
export function checkGroupRoom(world: World, securityGroupIds: readonly string[], more: number): void {
  for (const id of securityGroupIds) {
    const group = world.securityGroups.get(id);
    if (group !== undefined && world.addressesInGroup(id) + more > world.groupLimit(group)) {
      throw cloudError('SecurityGroupInstanceLimitExceed');
    }
  }
}

/** Refuses groups that do not exist, are of another VPC, of mixed kinds or too many. */
export function checkGroups(world: World, vpcId: string, securityGroupIds: readonly string[]): void {
  const max = world.settings.securityGroupsPerEni;
  if (securityGroupIds.length > max) throw cloudError('JoinedGroupLimitExceed', max);
  const kinds = new Set<string>();
  for (const id of securityGroupIds) {
    const group = world.securityGroups.get(id);
    if (group === undefined) throw cloudError('InvalidSecurityGroupId.NotFound', id);
    if (group.vpcId !== vpcId) throw cloudError('InvalidSecurityGroupId.NotVpc', id);
    kinds.add(group.type);
  }
  if (kinds.size > 1) throw cloudError('InvalidOperation.MultiGroupType');
}
