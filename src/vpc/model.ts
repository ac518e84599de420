/**
 * The simulated cloud as one object with explicit time: no clock, no timers, no chance of its own.
 *
 * Whoever drives it (an HTTP server on real time, a simulation on a virtual clock) calls `advance` no later than `nextDueMs`;
 * every call advances by itself first. The answer of a call is computed at once, `answerMs` says when the caller gets it.
 */
import { build } from './build.ts';
import {
  describeEni,
  describeEnis,
  describeInstances,
  describeInstanceTypes,
  describeSecurityGroups,
  describeVSwitches,
  instanceView,
  securityGroupView,
  vSwitchView,
} from './describe.ts';
import { assignAddresses, unassignAddresses } from './eni-addresses.ts';
import { attachEni, createEni, deleteEni, detachEni, happen } from './eni-lifecycle.ts';
import { eniTruth } from './eni-record.ts';
import type { VpcListener } from './events.ts';
import { type MetadataView, metadataView } from './metadata-view.ts';
import { checkTags, modifyEni, tagResources } from './modify.ts';
import { type Change, changeOutOfBand } from './out-of-band.ts';
import type { ApiName, EniView, Input, InstanceView, Output, SecurityGroupView, VSwitchView } from './requests.ts';
import { type Delays, defaultSettings, type Settings } from './settings.ts';
import type { SecurityGroupSpec, Topology, VpcSpec } from './topology.ts';
import { COUNTING_ENTROPY, type Moment, type VpcEntropy, World } from './world.ts';

export type Truth = {
  readonly atMs: number;
  readonly regionId: string;
  readonly ownerId: string;
  readonly vpcs: readonly VpcSpec[];
  readonly vSwitches: readonly (VSwitchView & { readonly withheld: number })[];
  readonly securityGroups: readonly SecurityGroupView[];
  readonly instances: readonly Omit<InstanceView, 'enis'>[];
  readonly enis: readonly (EniView & { readonly plugged: boolean })[];
};

type Handlers = { readonly [A in ApiName]: (world: World, input: Input<A>, moment: Moment) => Output<A> };

const handlers: Handlers = {
  CreateNetworkInterface: (world, input, moment) => {
    checkTags(input.tags);
    return createEni(world, input, moment);
  },
  AttachNetworkInterface: attachEni,
  DetachNetworkInterface: detachEni,
  DeleteNetworkInterface: deleteEni,
  AssignPrivateIpAddresses: (world, input, moment) => assignAddresses(world, input, 4, moment),
  UnassignPrivateIpAddresses: (world, input, moment) => unassignAddresses(world, input, 4, moment),
  AssignIpv6Addresses: (world, input, moment) => assignAddresses(world, input, 6, moment),
  UnassignIpv6Addresses: (world, input, moment) => unassignAddresses(world, input, 6, moment),
  ModifyNetworkInterfaceAttribute: modifyEni,
  TagResources: tagResources,
  DescribeNetworkInterfaces: (world, input, { nowMs }) => describeEnis(world, input, nowMs),
  DescribeNetworkInterfaceAttribute: (world, input, { nowMs }) => describeEni(world, input.eniId, nowMs),
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeInstances: (world, input, { nowMs }) => describeInstances(world, input, nowMs),
  DescribeSecurityGroups: describeSecurityGroups,
  DescribeVSwitches: (world, input, { nowMs }) => describeVSwitches(world, input, nowMs),
  DescribeVSwitchAttributes: (world, input) => vSwitchView(world, world.vSwitch(input.vSwitchId)),
};

const callDelay: Readonly<Partial<Record<ApiName, keyof Delays>>> = {
  CreateNetworkInterface: 'createCallMs',
  AttachNetworkInterface: 'attachCallMs',
  DetachNetworkInterface: 'detachCallMs',
  DeleteNetworkInterface: 'deleteCallMs',
  AssignPrivateIpAddresses: 'assignCallMs',
  UnassignPrivateIpAddresses: 'unassignCallMs',
  AssignIpv6Addresses: 'assignCallMs',
  UnassignIpv6Addresses: 'unassignCallMs',
  ModifyNetworkInterfaceAttribute: 'modifyCallMs',
  TagResources: 'modifyCallMs',
};

/** Whether a call changes anything in the cloud. */
export function mutates(api: ApiName): boolean {
  return callDelay[api] !== undefined;
}

export class VpcModel {
  readonly #world: World;

  /** Throws TopologyError naming the field that cannot be built. */
  constructor(options: { topology: Topology; nowMs: number; settings?: Settings; entropy?: VpcEntropy }) {
    const { topology, nowMs, settings = defaultSettings('realistic'), entropy = COUNTING_ENTROPY } = options;
    this.#world = new World(topology.regionId, topology.ownerId, settings, entropy);
    this.build(topology, nowMs);
  }

  get regionId(): string {
    return this.#world.regionId;
  }

  get ownerId(): string {
    return this.#world.ownerId;
  }

  get settings(): Settings {
    return this.#world.settings;
  }

  /** Counts for what begins from now on; transitions under way keep their times. */
  set settings(settings: Settings) {
    this.#world.settings = settings;
  }

  /** Adds to what exists. Throws TopologyError, with nothing built, when a part does not fit. */
  build(topology: Omit<Topology, 'regionId' | 'ownerId'>, nowMs: number): void {
    this.advance(nowMs);
    build(this.#world, topology, nowMs);
  }

  /** Events from now on, in order and synchronously. What exists already is in `truth`. Answers with the way to stop. */
  subscribe(listener: VpcListener): () => void {
    return this.#world.subscribe(listener);
  }

  /** When the next transition happens by itself; null: nothing is under way. */
  nextDueMs(): number | null {
    return this.#world.timeline.nextDueMs();
  }

  /** Lets happen, in order, whatever is due at or before `nowMs`. */
  advance(nowMs: number): void {
    for (let due = this.#world.timeline.take(nowMs); due !== null; due = this.#world.timeline.take(nowMs)) {
      happen(this.#world, due);
    }
  }

  /** How long a call of this API takes now. */
  callMs(api: ApiName): number {
    return this.#world.delayMs(callDelay[api] ?? 'describeCallMs');
  }

  /** Carries a call out at `moment.nowMs`. Throws CloudError; then nothing has changed. */
  perform<A extends ApiName>(api: A, input: Input<A>, moment: Moment): Output<A> {
    this.advance(moment.nowMs);
    return handlers[api](this.#world, input, moment);
  }

  /** A change that no API call made. Throws CloudError. */
  change(change: Change, nowMs: number): readonly string[] {
    this.advance(nowMs);
    return changeOutOfBand(this.#world, change, nowMs);
  }

  /** What the metadata service of an instance knows; null: no such instance. */
  metadata(instanceId: string, nowMs: number): MetadataView | null {
    this.advance(nowMs);
    return metadataView(this.#world, instanceId, nowMs);
  }

  /** Which instance an ENI is on, for the ledger; null when unknown or not attached. */
  instanceOf(eniId: string): string | null {
    return this.#world.enis.get(eniId)?.instanceId ?? null;
  }

  /** As they were built, with what they accept. */
  securityGroups(): readonly SecurityGroupSpec[] {
    return [...this.#world.securityGroups.values()];
  }

  newRequestId(): string {
    return this.#world.newId('request');
  }

  /** What really exists at `nowMs`, no lag. */
  truth(nowMs: number): Truth {
    this.advance(nowMs);
    const world = this.#world;
    return {
      atMs: nowMs,
      regionId: world.regionId,
      ownerId: world.ownerId,
      vpcs: [...world.vpcs.values()],
      vSwitches: [...world.vSwitches.values()].map((one) => ({ ...vSwitchView(world, one), withheld: one.withheld })),
      securityGroups: [...world.securityGroups.values()].map((one) => securityGroupView(world, one)),
      instances: [...world.instances.values()].map((one) => {
        const { enis: _, ...rest } = instanceView(world, one, nowMs);
        return rest;
      }),
      enis: [...world.enis.values()].map((eni) => ({ ...eniTruth(eni), plugged: eni.plugged })),
    };
  }
}
