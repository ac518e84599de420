/**
 * Everything that exists in the simulated cloud, with the few primitives that the calls are written in.
 *
 * Pure: time arrives with each call, ids come from counters, chance from the injected entropy. Nothing here decides policy.
 */
import type { EniStatus } from '../core/eni.ts';
import { type Cidr, parseCidr } from '../core/ip.ts';
import { AddressSpace } from './address-space.ts';
import type { EniRecord } from './eni-record.ts';
import { cloudError } from './errors.ts';
import type { VpcEvent, VpcListener } from './events.ts';
import { INSTANCE_TYPES, type InstanceType } from './instance-types.ts';
import type { MetadataEni } from './metadata-eni.ts';
import type { Delays, Settings } from './settings.ts';
import { type Step, Timeline } from './timeline.ts';
import type { InstanceSpec, InstanceStatus, SecurityGroupSpec, VpcSpec, VSwitchSpec } from './topology.ts';

export type VSwitchRecord = VSwitchSpec & {
  readonly order: number;
  readonly space: AddressSpace;
  readonly ipv6Space: AddressSpace | null;
  /** Addresses that nobody gets: a vSwitch that runs dry at will. */
  withheld: number;
};

export type SecurityGroupRecord = SecurityGroupSpec & {
  readonly order: number;
  tags: Readonly<Record<string, string>>;
};

export type InstanceRecord = Omit<InstanceSpec, 'status' | 'tags' | 'instanceType'> & {
  instanceType: string;
  readonly order: number;
  type: InstanceType;
  readonly zoneId: string;
  readonly vpcId: string;
  readonly createdAtMs: number;
  status: InstanceStatus;
  tags: Readonly<Record<string, string>>;
  /** Detached ENIs that the metadata service still lists. */
  leftMacs: { readonly eni: MetadataEni; readonly untilMs: number }[];
  /** Metadata tokens issued before this instant are not accepted any more. */
  tokensValidFromMs: number;
};

/** The instants of one call, and what becomes of the transition that it starts. */
export type Moment = {
  readonly nowMs: number;
  /** When the caller gets the answer. */
  readonly answerMs: number;
  /** Overrides how long the state change after the answer lasts, and whether it ends in failure. */
  readonly transition: { readonly lastsMs: number | null; readonly fails: boolean } | null;
};

/** The same entropy gives the same world. */
export type VpcEntropy = {
  /** In [0, 1). Used for jitter alone. */
  readonly random: () => number;
  /** A new id, given how many of its kind there were before. */
  readonly id: (kind: 'eni' | 'mac' | 'request', count: number) => string;
};

export const COUNTING_ENTROPY: VpcEntropy = {
  random: () => 0.5,
  id: (kind, count) => {
    const hex = (count + 1).toString(16).padStart(6, '0');
    if (kind === 'mac') return `00:16:3e:${hex.slice(-6, -4)}:${hex.slice(-4, -2)}:${hex.slice(-2)}`;
    if (kind === 'eni') return `eni-lab${(count + 1).toString(36).padStart(17, '0')}`;
    return `00000000-0000-4000-8000-${(count + 1).toString(16).toUpperCase().padStart(12, '0')}`;
  },
};

export class World {
  readonly regionId: string;
  readonly ownerId: string;
  settings: Settings;
  readonly vpcs = new Map<string, VpcSpec>();
  readonly vSwitches = new Map<string, VSwitchRecord>();
  readonly securityGroups = new Map<string, SecurityGroupRecord>();
  readonly instances = new Map<string, InstanceRecord>();
  readonly enis = new Map<string, EniRecord>();
  readonly instanceTypes = new Map<string, InstanceType>(INSTANCE_TYPES.map((type) => [type.instanceType, type]));
  readonly timeline = new Timeline();
  readonly #entropy: VpcEntropy;
  readonly #listeners = new Set<VpcListener>();
  readonly #counts = new Map<string, number>();
  readonly #shown = new Map<string, { readonly atMs: number; readonly count: number }>();

  constructor(regionId: string, ownerId: string, settings: Settings, entropy: VpcEntropy) {
    this.regionId = regionId;
    this.ownerId = ownerId;
    this.settings = settings;
    this.#entropy = entropy;
  }

  subscribe(listener: VpcListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(event: VpcEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  newId(kind: 'eni' | 'mac' | 'request'): string {
    return this.#entropy.id(kind, this.count(kind));
  }

  /** 0, 1, 2, ... for each kind of thing. */
  count(kind: string): number {
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    return count;
  }

  delayMs(name: keyof Delays): number {
    const { delays, speed, jitter } = this.settings;
    const spread = jitter === 0 ? 1 : 1 + jitter * (2 * this.#entropy.random() - 1);
    return (delays[name] / speed) * spread;
  }

  plan(eni: EniRecord, step: Step, atMs: number): void {
    this.timeline.plan({ atMs, eniId: eni.eniId, epoch: eni.epoch, step });
  }

  setStatus(eni: EniRecord, status: EniStatus, atMs: number): void {
    if (atMs >= eni.statusShownFromMs) eni.shownStatus = eni.status;
    eni.status = status;
    eni.statusShownFromMs = atMs + this.delayMs('describeLagMs');
  }

  eni(eniId: string): EniRecord {
    const eni = this.enis.get(eniId);
    if (eni === undefined) throw cloudError('InvalidEniId.NotFound');
    return eni;
  }

  instance(instanceId: string): InstanceRecord {
    const instance = this.instances.get(instanceId);
    if (instance === undefined) throw cloudError('InvalidInstanceId.NotFound');
    return instance;
  }

  vSwitch(vSwitchId: string): VSwitchRecord {
    const vSwitch = this.vSwitches.get(vSwitchId);
    if (vSwitch === undefined) throw cloudError('InvalidVSwitchId.NotFound');
    return vSwitch;
  }

  /** All ENIs that take a slot of the instance, the primary first, then in the order of their making. */
  enisOf(instanceId: string): readonly EniRecord[] {
    const enis = [...this.enis.values()].filter((eni) => eni.instanceId === instanceId);
    return enis.sort((a, b) => Number(b.type === 'Primary') - Number(a.type === 'Primary') || a.order - b.order);
  }

  availableAddresses(vSwitch: VSwitchRecord): number {
    return Math.max(0, vSwitch.space.free - vSwitch.withheld);
  }

  /** What DescribeVSwitches tells: a count that may be a while old. */
  shownAddresses(vSwitch: VSwitchRecord, nowMs: number): number {
    const { freeCountMs } = this.settings.delays;
    if (freeCountMs === 0) return this.availableAddresses(vSwitch);
    const known = this.#shown.get(vSwitch.vSwitchId);
    if (known !== undefined && nowMs - known.atMs < freeCountMs / this.settings.speed) return known.count;
    const count = this.availableAddresses(vSwitch);
    this.#shown.set(vSwitch.vSwitchId, { atMs: nowMs, count });
    return count;
  }

  addressesInGroup(securityGroupId: string): number {
    let addresses = 0;
    for (const eni of this.enis.values()) {
      if (eni.securityGroupIds.includes(securityGroupId)) addresses += eni.ipv4.length;
    }
    return addresses;
  }

  groupLimit(group: SecurityGroupRecord): number {
    const { addressesInNormalGroup, addressesInEnterpriseGroup } = this.settings;
    return group.type === 'normal' ? addressesInNormalGroup : addressesInEnterpriseGroup;
  }
}

export function newVSwitch(spec: VSwitchSpec, order: number): VSwitchRecord {
  const ipv6: Cidr | null = spec.ipv6Cidr === null ? null : parseCidr(spec.ipv6Cidr);
  return {
    ...spec,
    order,
    space: new AddressSpace(parseCidr(spec.cidr)),
    ipv6Space: ipv6 === null ? null : new AddressSpace(ipv6),
    withheld: 0,
  };
}
