/** Whether a topology can be built beside what exists; all of it is checked before any of it is built. */
import { type Cidr, canonicalIp, cidrContains, parseCidr } from '../core/ip.ts';
import type { Topology } from './topology.ts';
import { newVSwitch, type World } from './world.ts';

/** Why a topology cannot be built; `field` is the path to the culprit, such as `instances[1].vSwitchId`. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError';
  readonly field: string;

  constructor(field: string, why: string) {
    super(`${field}: ${why}`);
    this.field = field;
  }
}

type Parts = Omit<Topology, 'regionId' | 'ownerId'>;

/** Throws TopologyError for the first part that does not fit. */
export function checkTopology(world: World, parts: Parts): void {
  const vpcs = merged('vpcs', 'vpcId', world.vpcs, parts.vpcs);
  const vSwitches = merged('vSwitches', 'vSwitchId', world.vSwitches, parts.vSwitches);
  const groups = merged('securityGroups', 'securityGroupId', world.securityGroups, parts.securityGroups);
  merged('instances', 'instanceId', world.instances, parts.instances);
  for (const [index, one] of parts.vpcs.entries()) {
    cidrOf(`vpcs[${index}].cidr`, one.cidr);
    if (one.ipv6Cidr !== null) cidrOf(`vpcs[${index}].ipv6Cidr`, one.ipv6Cidr);
  }
  for (const [index, one] of parts.vSwitches.entries()) {
    const field = `vSwitches[${index}]`;
    const vpc = known(`${field}.vpcId`, vpcs, one.vpcId);
    const siblings = [...vSwitches.values()].filter((other) => other.vpcId === one.vpcId && other !== one);
    const others = (family: 'cidr' | 'ipv6Cidr') => siblings.flatMap((other) => other[family] ?? []);
    fits(`${field}.cidr`, one.cidr, vpc.cidr, others('cidr'));
    if (one.ipv6Cidr !== null) fits(`${field}.ipv6Cidr`, one.ipv6Cidr, vpc.ipv6Cidr, others('ipv6Cidr'));
  }
  for (const [index, one] of parts.securityGroups.entries()) {
    known(`securityGroups[${index}].vpcId`, vpcs, one.vpcId);
  }
  const types = new Set([...world.instanceTypes.keys(), ...parts.instanceTypes.map((one) => one.instanceType)]);
  const firsts = new Map<string, string[]>();
  for (const [index, one] of parts.instances.entries()) {
    const field = `instances[${index}]`;
    if (!types.has(one.instanceType))
      throw new TopologyError(`${field}.instanceType`, `${one.instanceType} is not known`);
    const vSwitch = known(`${field}.vSwitchId`, vSwitches, one.vSwitchId);
    if (one.securityGroupIds.length === 0) throw new TopologyError(`${field}.securityGroupIds`, 'is empty');
    for (const id of one.securityGroupIds) {
      const group = known(`${field}.securityGroupIds`, groups, id);
      if (group.vpcId !== vSwitch.vpcId)
        throw new TopologyError(`${field}.securityGroupIds`, `${id} is of another VPC`);
    }
    const taken = firsts.get(one.vSwitchId) ?? [];
    firsts.set(one.vSwitchId, [...taken, roomFor(world, `${field}.primaryIp`, one.primaryIp, vSwitch, taken)]);
  }
}

function merged<K extends string, T extends Readonly<Record<K, string>>>(
  field: string,
  key: K,
  existing: ReadonlyMap<string, T>,
  parts: readonly T[],
): ReadonlyMap<string, T> {
  const all = new Map(existing);
  for (const [index, part] of parts.entries()) {
    const id = part[key];
    if (all.has(id)) throw new TopologyError(`${field}[${index}].${key}`, `${id} exists already`);
    all.set(id, part);
  }
  return all;
}

function known<T>(field: string, all: ReadonlyMap<string, T>, id: string): T {
  const found = all.get(id);
  if (found === undefined) throw new TopologyError(field, `${id} is not known`);
  return found;
}

function cidrOf(field: string, text: string): Cidr {
  try {
    return parseCidr(text);
  } catch {
    throw new TopologyError(field, `${text} is not a prefix`);
  }
}

function fits(field: string, text: string, within: string | null, others: readonly string[]): void {
  const cidr = cidrOf(field, text);
  const outer = within === null ? null : parseCidr(within);
  if (outer === null || !cidrContains(outer, cidr.network) || cidr.prefix < outer.prefix) {
    throw new TopologyError(field, `${text} is not within the VPC's ${within ?? 'prefixes'}`);
  }
  const tooLong = cidr.family === 4 ? 29 : 120;
  if (cidr.prefix > tooLong) throw new TopologyError(field, `${text} is smaller than /${tooLong}`);
  const clash = others.find((other) => {
    const one = parseCidr(other);
    return cidrContains(one, cidr.network) || cidrContains(cidr, one.network);
  });
  if (clash !== undefined) throw new TopologyError(field, `${text} overlaps ${clash}`);
}

/** The address wanted for a primary ENI, or a mark that one more is needed. */
function roomFor(
  world: World,
  field: string,
  wanted: string | null,
  vSwitch: Topology['vSwitches'][number],
  taken: readonly string[],
): string {
  const record = world.vSwitches.get(vSwitch.vSwitchId) ?? newVSwitch(vSwitch, 0);
  if (world.availableAddresses(record) <= taken.length) {
    throw new TopologyError(field, `${vSwitch.vSwitchId} has no address left`);
  }
  if (wanted === null) return '';
  const ip = canonicalIp(wanted) ?? wanted;
  const usable = canonicalIp(wanted) !== null && record.space.usable(ip);
  if (!usable) throw new TopologyError(field, `${wanted} is not a usable address of ${vSwitch.vSwitchId}`);
  if (record.space.holder(ip) !== null || taken.includes(ip)) throw new TopologyError(field, `${ip} is taken`);
  return ip;
}
