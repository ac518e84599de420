/**
 * What no source tells about the real cloud, and how the simulation gets along without knowing: every seed takes one side of each, so
 * that a run over many seeds is a run over their matrix.
 *
 * `ESTIMATES` names each estimate of the facts that were collected about the cloud, and which assumption tries it and its opposite, or
 * why it cannot matter to us. A new switch of the model belongs into both.
 */
import type { Settings as CloudSettings } from '../vpc/settings.ts';
import type { Seeded } from './seeded.ts';

export type Assumption = {
  readonly name: string;
  /** What the one side, and what the other, sets over the realistic profile. */
  readonly sides: readonly [Partial<CloudSettings>, Partial<CloudSettings>];
  readonly delays: readonly [Partial<CloudSettings['delays']>, Partial<CloudSettings['delays']>];
};

const none = [{}, {}] as const;

const quick = {
  createCallMs: 300,
  attachCallMs: 200,
  detachCallMs: 200,
  deleteCallMs: 200,
  assignCallMs: 300,
  unassignCallMs: 300,
} as const;
const slow = {
  createCallMs: 3_000,
  attachCallMs: 1_500,
  detachCallMs: 1_500,
  deleteCallMs: 1_500,
  assignCallMs: 3_000,
  unassignCallMs: 3_000,
} as const;

/** Few enough that a busy node meets them, and enough that an idle one does not. */
const THROTTLED = {
  CreateNetworkInterface: 3,
  AssignPrivateIpAddresses: 5,
  UnassignPrivateIpAddresses: 5,
  DescribeNetworkInterfaces: 60,
};

export const ASSUMPTIONS: readonly Assumption[] = [
  { name: 'conflicts', sides: [{ conflicts: true }, { conflicts: false }], delays: none },
  { name: 'detachAvailable', sides: [{ detachAvailable: 'refuse' }, { detachAvailable: 'accept' }], delays: none },
  { name: 'tagFilters', sides: [{ tagFilters: 'all' }, { tagFilters: 'any' }], delays: none },
  { name: 'shortAssigns', sides: [{ shortAssigns: false }, { shortAssigns: true }], delays: none },
  { name: 'throttle', sides: [{ throttlePerMinute: {} }, { throttlePerMinute: THROTTLED }], delays: none },
  { name: 'pageMax', sides: [{ pageMax: 500 }, { pageMax: 2 }], delays: none },
  { name: 'calls', sides: none, delays: [quick, slow] },
  { name: 'describe', sides: none, delays: [{ describeCallMs: 50 }, { describeCallMs: 400 }] },
  { name: 'describeLag', sides: none, delays: [{ describeLagMs: 0 }, { describeLagMs: 1_500 }] },
  { name: 'creating', sides: none, delays: [{ creatingMs: 0 }, { creatingMs: 1_500 }] },
  { name: 'attaching', sides: none, delays: [{ attachingMs: 0 }, { attachingMs: 6_000 }] },
  { name: 'device', sides: none, delays: [{ deviceMs: 0 }, { deviceMs: 2_000 }] },
  { name: 'detaching', sides: none, delays: [{ detachingMs: 0 }, { detachingMs: 5_000 }] },
  { name: 'deleting', sides: none, delays: [{ deletingMs: 0 }, { deletingMs: 3_000 }] },
  { name: 'metadataMac', sides: none, delays: [{ metadataMacMs: 0 }, { metadataMacMs: 8_000 }] },
  { name: 'metadataAddress', sides: none, delays: [{ metadataAddressMs: 0 }, { metadataAddressMs: 5_000 }] },
  { name: 'freeCount', sides: none, delays: [{ freeCountMs: 0 }, { freeCountMs: 5_000 }] },
  { name: 'reuse', sides: [{ reuse: 'late' }, { reuse: 'soon' }], delays: none },
];

/** `tried`: names of assumptions; `not`: why neither side can make a difference to what the simulation runs. */
export type Estimate = {
  readonly about: string;
  readonly estimate: string;
} & ({ readonly tried: readonly string[] } | { readonly not: string });

export const ESTIMATES: readonly Estimate[] = [
  {
    about: 'CreateNetworkInterface, AssignPrivateIpAddresses',
    estimate: 'addresses and prefixes in one request are refused with InvalidParameter.Conflict',
    not: 'we ask for no prefixes',
  },
  {
    about: 'AssignPrivateIpAddresses',
    estimate: 'all or nothing: no shape of a partial success was found',
    tried: ['shortAssigns'],
  },
  {
    about: 'DetachNetworkInterface',
    estimate: 'an ENI that is Available is refused for its state',
    tried: ['detachAvailable'],
  },
  {
    about: 'AssignPrivateIpAddresses, CreateNetworkInterface',
    estimate:
      'which of the free addresses is given: a released one may come back within seconds, to its ENI or to another',
    tried: ['reuse'],
  },
  {
    about: 'DescribeNetworkInterfaces',
    estimate: 'filters are all asked for',
    tried: ['tagFilters'],
  },
  {
    about: 'DescribeNetworkInterfaces',
    estimate: 'of the values in one list any will do',
    not: 'a list of ids of which an ENI had to be all would never find two: no opposite can be meant',
  },
  {
    about: 'DescribeNetworkInterfaces',
    estimate: 'InstanceId is absent or empty when unattached',
    not: 'a form of the wire: the adapter takes both (test/adapters/ecs), and the port knows null alone',
  },
  {
    about: 'DescribeInstances',
    estimate: 'malformed InstanceIds are refused with InvalidInstanceIds.Malformed',
    not: 'we do not call it',
  },
  {
    about: 'DescribeNetworkInterfaceAttribute',
    estimate: 'an unknown id is an error, or an empty answer (both have been seen)',
    not: 'we do not call it; the switch unknownEni is for other clients of the lab',
  },
  {
    about: 'DescribeVSwitches',
    estimate: 'AvailableIpAddressCount lags behind by seconds',
    tried: ['freeCount'],
  },
  {
    about: 'metadata',
    estimate: 'leaves have no trailing newline',
    not: 'a form of the wire: the adapter reads the first line (test/adapters/metadata)',
  },
  { about: 'metadata', estimate: 'ipv4-prefixes and ipv6-prefixes: 404 when none', not: 'we do not read them' },
  {
    about: 'metadata',
    estimate: 'after a detach the directory of the MAC disappears late',
    tried: ['metadataMac'],
  },
  { about: 'latency', estimate: 'Create 0.3 to 1 s, Assign and Unassign alike, others 0.2 to 0.5 s', tried: ['calls'] },
  { about: 'latency', estimate: 'Create: Available at once, or Creating for 0.5 to 2 s', tried: ['creating'] },
  { about: 'latency', estimate: 'Create: hidden from Describe for 0 to 2 s', tried: ['describeLag'] },
  { about: 'latency', estimate: 'Attach until InUse: 2 to 6 s', tried: ['attaching', 'device'] },
  { about: 'latency', estimate: 'metadata shows the MAC 0.5 to 5 s after InUse', tried: ['metadataMac'] },
  { about: 'latency', estimate: 'Describe agrees 0 to 1 s after Assign and Unassign', tried: ['describeLag'] },
  { about: 'latency', estimate: 'metadata agrees 0.5 to 5 s after Assign and Unassign', tried: ['metadataAddress'] },
  { about: 'latency', estimate: 'Detach until Available: 2 to 5 s', tried: ['detaching'] },
  { about: 'latency', estimate: 'Delete until gone: 1 to 3 s', tried: ['deleting'] },
  { about: 'latency', estimate: 'EIPs: 1 to 3 s', not: 'we have none' },
  { about: 'latency', estimate: 'Describe 50 to 200 ms', tried: ['describe'] },
];

/** One side of each, and the settings that follow. */
export function drawAssumptions(
  chance: Seeded,
  base: CloudSettings,
): { readonly cloud: CloudSettings; readonly opposites: readonly string[] } {
  const opposites: string[] = [];
  let cloud = base;
  for (const { name, sides, delays } of ASSUMPTIONS) {
    const side = chance.chance(0.5) ? 1 : 0;
    if (side === 1) opposites.push(name);
    cloud = { ...cloud, ...sides[side], delays: { ...cloud.delays, ...delays[side] } };
  }
  return { cloud, opposites };
}
