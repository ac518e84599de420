/**
 * Assigning and unassigning: both families alike.
 *
 * The change is made when the call comes; Describe and the metadata service learn of it after the answer. While a call is
 * under way, another one on the same ENI conflicts.
 * Source: AssignPrivateIpAddresses, UnassignPrivateIpAddresses, AssignIpv6Addresses, UnassignIpv6Addresses.
 */
import { canonicalIp } from '../core/ip.ts';
import { type EniRecord, type Family, held, primaryIp } from './eni-record.ts';
import { cloudError } from './errors.ts';
import { checkGroupRoom, pickAddresses } from './pick-addresses.ts';
import type { Want } from './requests.ts';
import type { Moment, World } from './world.ts';

export function assignAddresses(
  world: World,
  input: { readonly eniId: string; readonly want: Want },
  family: Family,
  moment: Moment,
): { readonly eniId: string; readonly ips: readonly string[] } {
  const eni = changeable(world, input.eniId, moment);
  const vSwitch = world.vSwitch(eni.vSwitchId);
  const want =
    world.settings.shortAssigns && family === 4 ? atMost(input.want, world.availableAddresses(vSwitch)) : input.want;
  const count = 'count' in want ? want.count : want.ips.length;
  if (family === 6 && vSwitch.ipv6Space === null) throw cloudError('InvalidVSwitch.Ipv6NotTurnOn', eni.vSwitchId);
  checkQuota(world, eni, family, count);
  if (family === 4) checkGroupRoom(world, eni.securityGroupIds, count);
  const ips = pickAddresses(world, vSwitch, family, want, []);
  eni.busyUntilMs = moment.answerMs;
  for (const ip of ips) addIp(world, eni, ip, moment);
  return { eniId: eni.eniId, ips };
}

/** Chosen addresses are given or refused, never fewer. */
function atMost(want: Want, available: number): Want {
  return 'count' in want ? { count: Math.min(want.count, available) } : want;
}

export function unassignAddresses(
  world: World,
  input: { readonly eniId: string; readonly ips: readonly string[] },
  family: Family,
  moment: Moment,
): null {
  const eni = changeable(world, input.eniId, moment);
  const ips = input.ips.map((text) => canonicalIp(text) ?? text);
  for (const [index, ip] of ips.entries()) {
    if (ips.indexOf(ip) !== index) throw cloudError('InvalidIp.IpRepeated', ip);
    const there = held(eni, family).some((one) => one.ip === ip);
    if (!there || ip === primaryIp(eni)) throw cloudError('InvalidIp.IpUnassigned', ip);
  }
  eni.busyUntilMs = moment.answerMs;
  for (const ip of ips) removeIp(world, eni, ip, moment);
  return null;
}

/** Puts an address that is free onto an ENI and tells who listens. */
export function addIp(world: World, eni: EniRecord, ip: string, moment: Pick<Moment, 'nowMs' | 'answerMs'>): void {
  const family = ip.includes(':') ? 6 : 4;
  const vSwitch = world.vSwitch(eni.vSwitchId);
  (family === 4 ? vSwitch.space : vSwitch.ipv6Space)?.take(ip, eni.eniId);
  held(eni, family).push({
    ip,
    shownFromMs: moment.answerMs + world.delayMs('describeLagMs'),
    metadataFromMs: moment.answerMs + world.delayMs('metadataAddressMs'),
  });
  world.emit({ type: 'addressAssigned', atMs: moment.nowMs, ...change(eni, ip) });
}

/** Takes an address off an ENI, gives it back to the vSwitch and tells who listens. */
export function removeIp(world: World, eni: EniRecord, ip: string, moment: Pick<Moment, 'nowMs' | 'answerMs'>): void {
  const family = ip.includes(':') ? 6 : 4;
  const ips = held(eni, family);
  const index = ips.findIndex((one) => one.ip === ip);
  if (index < 0) return;
  ips.splice(index, 1);
  const vSwitch = world.vSwitch(eni.vSwitchId);
  (family === 4 ? vSwitch.space : vSwitch.ipv6Space)?.release(ip);
  eni.left = eni.left.filter((one) => Math.max(one.shownUntilMs, one.metadataUntilMs) > moment.nowMs);
  eni.left.push({
    ip,
    shownUntilMs: moment.answerMs + world.delayMs('describeLagMs'),
    metadataUntilMs: moment.answerMs + world.delayMs('metadataAddressMs'),
  });
  world.emit({ type: 'addressReleased', atMs: moment.nowMs, ...change(eni, ip) });
}

function change(eni: EniRecord, ip: string) {
  return { eniId: eni.eniId, mac: eni.mac, instanceId: eni.instanceId, vSwitchId: eni.vSwitchId, ip };
}

function changeable(world: World, eniId: string, moment: Moment): EniRecord {
  const eni = world.eni(eniId);
  if (eni.serviceManaged) throw cloudError('InvalidOperation.EniServiceManaged');
  if (eni.status !== 'Available' && eni.status !== 'InUse') {
    throw cloudError('InvalidOperation.InvalidEniState', 'Available/InUse', eni.status);
  }
  if (eni.type === 'Primary' && eni.instanceId !== null) {
    const { status } = world.instance(eni.instanceId);
    if (status !== 'Running' && status !== 'Stopped') throw cloudError('InvalidOperation.InvalidEcsState');
  }
  if (world.settings.conflicts && moment.nowMs < eni.busyUntilMs) throw cloudError('Operation.Conflict');
  return eni;
}

function checkQuota(world: World, eni: EniRecord, family: Family, more: number): void {
  const total = held(eni, family).length + more;
  if (eni.instanceId === null) {
    const { secondaryIpv4Unattached, ipv6Unattached } = world.settings;
    if (family === 4 && total > 1 + secondaryIpv4Unattached) throw cloudError('MaxEniPrivateIpsCountExceeded');
    if (family === 6 && total > ipv6Unattached) throw cloudError('MaxEniIpv6IpsCountExceeded');
    return;
  }
  checkTypeQuota(world, eni.instanceId, family, total);
}

/** Refuses `total` addresses on one ENI of the instance when its type allows fewer. */
export function checkTypeQuota(world: World, instanceId: string, family: Family, total: number): void {
  const { type } = world.instance(instanceId);
  if (family === 4 && total > type.ipv4PerEni) throw cloudError('InvalidOperation.Ipv4CountExceeded');
  if (family === 6 && total > 0 && type.ipv6PerEni === 0) throw cloudError('InvalidOperation.Ipv6NotSupport');
  if (family === 6 && total > type.ipv6PerEni) throw cloudError('InvalidOperation.Ipv6CountExceeded');
}
