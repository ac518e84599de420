/**
 * What the metadata service of one instance knows at an instant: late about new MACs, late about addresses, late to forget.
 *
 * Source: ECS "Instance metadata items"; the lag is what clients of the real service wait for.
 */
import { addressAt, ipFromBytes, parseCidr, vSwitchGateway } from '../core/ip.ts';
import { type EniRecord, metadataIps, primaryIp } from './eni-record.ts';
import type { MetadataEni } from './metadata-eni.ts';
import type { World } from './world.ts';

export type MetadataView = {
  readonly instanceId: string;
  readonly instanceName: string;
  readonly instanceType: string;
  readonly bandwidthKbps: number;
  readonly regionId: string;
  readonly zoneId: string;
  readonly ownerId: string;
  readonly ramRole: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly httpTokens: 'optional' | 'required';
  /** Tokens issued before this instant are refused. */
  readonly tokensValidFromMs: number;
  readonly tokenMaxSeconds: number;
  /** The primary first. */
  readonly enis: readonly MetadataEni[];
};

/** null: no such instance. */
export function metadataView(world: World, instanceId: string, nowMs: number): MetadataView | null {
  const instance = world.instances.get(instanceId);
  if (instance === undefined) return null;
  const listed = world
    .enisOf(instanceId)
    .filter((eni) => eni.macFromMs !== null && nowMs >= eni.macFromMs)
    .map((eni) => metadataEni(world, eni, nowMs));
  const macs = new Set(listed.map((eni) => eni.mac));
  const left = instance.leftMacs.filter((one) => nowMs < one.untilMs && !macs.has(one.eni.mac)).map((one) => one.eni);
  return {
    instanceId,
    instanceName: instance.name,
    instanceType: instance.instanceType,
    bandwidthKbps: instance.type.bandwidthKbps,
    regionId: world.regionId,
    zoneId: instance.zoneId,
    ownerId: world.ownerId,
    ramRole: instance.ramRole,
    tags: instance.tags,
    httpTokens: instance.httpTokens,
    tokensValidFromMs: instance.tokensValidFromMs,
    tokenMaxSeconds: world.settings.metadataTokenMaxSeconds,
    enis: [...listed, ...left],
  };
}

export function metadataEni(world: World, eni: EniRecord, nowMs: number): MetadataEni {
  const vSwitch = world.vSwitch(eni.vSwitchId);
  const vpc = world.vpcs.get(eni.vpcId);
  const cidr = parseCidr(vSwitch.cidr);
  return {
    mac: eni.mac,
    eniId: eni.eniId,
    primaryIp: primaryIp(eni),
    ...metadataIps(eni, nowMs),
    vpcId: eni.vpcId,
    vpcCidr: vpc?.cidr ?? '',
    vpcIpv6Cidr: vpc?.ipv6Cidr ?? null,
    vSwitchId: eni.vSwitchId,
    vSwitchCidr: vSwitch.cidr,
    vSwitchIpv6Cidr: vSwitch.ipv6Cidr,
    netmask: netmaskOf(cidr.prefix),
    gateway: vSwitchGateway(cidr),
    ipv6Gateway: vSwitch.ipv6Cidr === null ? null : addressAt(parseCidr(vSwitch.ipv6Cidr), -9),
  };
}

function netmaskOf(prefix: number): string {
  return ipFromBytes(Uint8Array.from([0, 8, 16, 24], (bit) => 256 - 2 ** (8 - Math.min(8, Math.max(0, prefix - bit)))));
}
