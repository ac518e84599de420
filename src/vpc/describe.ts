/**
 * The reading calls. Unknown ids give an empty list and no error, except where an API answers for exactly one thing.
 *
 * Source: DescribeNetworkInterfaces, DescribeInstances, DescribeInstanceTypes, DescribeSecurityGroups, DescribeVSwitches.
 */
import { type EniRecord, eniShown } from './eni-record.ts';
import { cloudError } from './errors.ts';
import type { InstanceType } from './instance-types.ts';
import { type Page, pageOf } from './paging.ts';
import type { EniView, Input, InstanceView, SecurityGroupView, VSwitchView } from './requests.ts';
import type { InstanceRecord, SecurityGroupRecord, VSwitchRecord, World } from './world.ts';

export function describeEnis(world: World, input: Input<'DescribeNetworkInterfaces'>, nowMs: number): Page<EniView> {
  const found: { order: number; view: EniView }[] = [];
  for (const eni of candidates(world, input.eniIds)) {
    const view = eniShown(eni, nowMs);
    if (view !== null && eniMatches(world, view, input)) found.push({ order: eni.order, view });
  }
  found.sort((a, b) => a.order - b.order);
  const page = pageOf(found, (one) => one.order, input.page, bounds(world, 10, 500));
  return { ...page, items: page.items.map((one) => one.view) };
}

export function describeEni(world: World, eniId: string, nowMs: number): EniView | null {
  const eni = world.enis.get(eniId);
  const view = eni === undefined ? null : eniShown(eni, nowMs);
  if (view === null && world.settings.unknownEni === 'error') throw cloudError('InvalidEniId.NotFound');
  return view;
}

export function describeInstances(world: World, input: Input<'DescribeInstances'>, nowMs: number): Page<InstanceView> {
  const found = [...world.instances.values()].filter((instance) => instanceMatches(world, instance, input));
  const page = pageOf(found, (one) => one.order, input.page, bounds(world, 10, 100));
  return { ...page, items: page.items.map((one) => instanceView(world, one, nowMs)) };
}

export function describeInstanceTypes(world: World, input: Input<'DescribeInstanceTypes'>): Page<InstanceType> {
  const found = [...world.instanceTypes.values()]
    .map((type, order) => ({ type, order }))
    .filter(({ type }) => input.instanceTypes.length === 0 || input.instanceTypes.includes(type.instanceType))
    .filter(({ type }) => input.family === null || type.family === input.family);
  const page = pageOf(found, (one) => one.order, input.page, bounds(world, 1, 100, 100));
  return { ...page, items: page.items.map((one) => one.type) };
}

export function describeSecurityGroups(world: World, input: Input<'DescribeSecurityGroups'>): Page<SecurityGroupView> {
  const found = [...world.securityGroups.values()]
    .filter((group) => input.securityGroupIds.length === 0 || input.securityGroupIds.includes(group.securityGroupId))
    .filter((group) => input.vpcId === null || group.vpcId === input.vpcId)
    .filter((group) => input.type === null || group.type === input.type);
  const page = pageOf(found, (one) => one.order, input.page, bounds(world, 1, 100));
  return { ...page, items: page.items.map((one) => securityGroupView(world, one)) };
}

export function describeVSwitches(world: World, input: Input<'DescribeVSwitches'>, nowMs: number): Page<VSwitchView> {
  const found = [...world.vSwitches.values()]
    .filter((vSwitch) => input.vSwitchId === null || vSwitch.vSwitchId === input.vSwitchId)
    .filter((vSwitch) => input.vpcId === null || vSwitch.vpcId === input.vpcId)
    .filter((vSwitch) => input.zoneId === null || vSwitch.zoneId === input.zoneId);
  const page = pageOf(found, (one) => one.order, input.page, bounds(world, 1, 50));
  const shown = (one: VSwitchRecord): VSwitchView => ({
    ...vSwitchView(world, one),
    availableAddresses: world.shownAddresses(one, nowMs),
  });
  return { ...page, items: page.items.map(shown) };
}

/** As it really is. */
export function vSwitchView(world: World, vSwitch: VSwitchRecord): VSwitchView {
  return {
    vSwitchId: vSwitch.vSwitchId,
    vpcId: vSwitch.vpcId,
    zoneId: vSwitch.zoneId,
    cidr: vSwitch.cidr,
    ipv6Cidr: vSwitch.ipv6Cidr,
    availableAddresses: world.availableAddresses(vSwitch),
  };
}

export function securityGroupView(world: World, group: SecurityGroupRecord): SecurityGroupView {
  const addresses = world.addressesInGroup(group.securityGroupId);
  return {
    securityGroupId: group.securityGroupId,
    vpcId: group.vpcId,
    type: group.type,
    addresses,
    addressesAvailable: Math.max(0, world.groupLimit(group) - addresses),
    tags: group.tags,
  };
}

export function instanceView(world: World, instance: InstanceRecord, nowMs: number): InstanceView {
  return {
    instanceId: instance.instanceId,
    name: instance.name,
    instanceType: instance.instanceType,
    regionId: world.regionId,
    zoneId: instance.zoneId,
    vpcId: instance.vpcId,
    vSwitchId: instance.vSwitchId,
    status: instance.status,
    securityGroupIds: instance.securityGroupIds,
    httpTokens: instance.httpTokens,
    ramRole: instance.ramRole,
    tags: instance.tags,
    createdAtMs: instance.createdAtMs,
    enis: world.enisOf(instance.instanceId).flatMap((eni) => eniShown(eni, nowMs) ?? []),
  };
}

function candidates(world: World, eniIds: readonly string[]): Iterable<EniRecord> {
  if (eniIds.length === 0) return world.enis.values();
  return [...new Set(eniIds)].flatMap((eniId) => world.enis.get(eniId) ?? []);
}

function eniMatches(world: World, eni: EniView, input: Input<'DescribeNetworkInterfaces'>): boolean {
  const is = (wanted: string | null, value: string | null) => wanted === null || wanted === value;
  return (
    is(input.instanceId, eni.instanceId) &&
    is(input.type, eni.type) &&
    is(input.status, eni.status) &&
    is(input.vpcId, eni.vpcId) &&
    is(input.vSwitchId, eni.vSwitchId) &&
    is(input.name, eni.name) &&
    is(input.primaryIp, eni.primaryIp) &&
    (input.securityGroupId === null || eni.securityGroupIds.includes(input.securityGroupId)) &&
    (input.ips.length === 0 || input.ips.some((ip) => eni.ipv4.includes(ip) || eni.ipv6.includes(ip))) &&
    tagsMatch(eni.tags, input.tags, world.settings.tagFilters)
  );
}

function instanceMatches(world: World, instance: InstanceRecord, input: Input<'DescribeInstances'>): boolean {
  const is = (wanted: string | null, value: string) => wanted === null || wanted === value;
  const hasIp = () =>
    world.enisOf(instance.instanceId).some((eni) => eni.ipv4.some((one) => input.ips.includes(one.ip)));
  return (
    (input.instanceIds.length === 0 || input.instanceIds.includes(instance.instanceId)) &&
    is(input.vpcId, instance.vpcId) &&
    is(input.vSwitchId, instance.vSwitchId) &&
    is(input.zoneId, instance.zoneId) &&
    is(input.status, instance.status) &&
    (input.ips.length === 0 || hasIp()) &&
    tagsMatch(instance.tags, input.tags, 'all')
  );
}

function tagsMatch(
  tags: Readonly<Record<string, string>>,
  wanted: readonly { readonly key: string; readonly value: string | null }[],
  mode: 'all' | 'any',
): boolean {
  const has = ({ key, value }: (typeof wanted)[number]): boolean =>
    Object.hasOwn(tags, key) && (value === null || tags[key] === value);
  return wanted.length === 0 || (mode === 'all' ? wanted.every(has) : wanted.some(has));
}

function bounds(world: World, min: number, max: number, byDefault = 10) {
  const top = Math.min(max, world.settings.pageMax);
  return { min, max: top, default: Math.min(byDefault, top) };
}
