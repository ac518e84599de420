/**
 * What can be turned on the simulated cloud: how long things take, how much is allowed, and how it behaves where the real
 * one's behaviour is not known.
 *
 * No latency is published by the real service; the realistic figures are what its clients wait for.
 */
export type Delays = {
  /** From the call to its answer. */
  readonly createCallMs: number;
  readonly attachCallMs: number;
  readonly detachCallMs: number;
  readonly deleteCallMs: number;
  readonly assignCallMs: number;
  readonly unassignCallMs: number;
  readonly modifyCallMs: number;
  readonly describeCallMs: number;
  /** From the answer of Create until Available; 0: it is Available at once and Creating is never seen. */
  readonly creatingMs: number;
  /** From the answer of Attach until InUse. */
  readonly attachingMs: number;
  /** From InUse until the guest sees the device. */
  readonly deviceMs: number;
  /** From the answer of Detach until Available. The device goes when the call comes. */
  readonly detachingMs: number;
  /** From the answer of Delete until the ENI is gone. */
  readonly deletingMs: number;
  /** From any change until the Describe APIs show it. */
  readonly describeLagMs: number;
  /** From InUse (or Available, after a detach) until the metadata service lists (or drops) the MAC. */
  readonly metadataMacMs: number;
  /** From the answer of an assign or unassign until the metadata service agrees. */
  readonly metadataAddressMs: number;
  /** How old the count of a vSwitch's free addresses may be that DescribeVSwitches tells. */
  readonly freeCountMs: number;
};

export type Profile = 'realistic' | 'fast';

export const PROFILES: Readonly<Record<Profile, Delays>> = {
  realistic: {
    createCallMs: 600,
    attachCallMs: 300,
    detachCallMs: 300,
    deleteCallMs: 300,
    assignCallMs: 600,
    unassignCallMs: 600,
    modifyCallMs: 300,
    describeCallMs: 100,
    creatingMs: 0,
    attachingMs: 3_000,
    deviceMs: 0,
    detachingMs: 3_000,
    deletingMs: 2_000,
    describeLagMs: 0,
    metadataMacMs: 1_000,
    metadataAddressMs: 1_000,
    freeCountMs: 0,
  },
  fast: {
    createCallMs: 3,
    attachCallMs: 2,
    detachCallMs: 2,
    deleteCallMs: 2,
    assignCallMs: 3,
    unassignCallMs: 3,
    modifyCallMs: 2,
    describeCallMs: 1,
    creatingMs: 0,
    attachingMs: 5,
    deviceMs: 0,
    detachingMs: 5,
    deletingMs: 4,
    describeLagMs: 0,
    metadataMacMs: 2,
    metadataAddressMs: 2,
    freeCountMs: 0,
  },
};

export type Settings = {
  readonly delays: Delays;
  /** Divides every delay. */
  readonly speed: number;
  /** Spread of every delay as a fraction of it (0.3: between 0.7 and 1.3 times); drawn from the injected entropy. */
  readonly jitter: number;
  /** Calls per API and calendar minute after which Throttling.User is answered until the next minute; absent: no limit. */
  readonly throttlePerMinute: Readonly<Record<string, number>>;
  /**
   * Calls per API and second, in a token bucket of one second's worth; `*`: each API that is not named. Over it: Throttling.User.
   * `speed` shortens its seconds.
   */
  readonly throttlePerSecond: Readonly<Record<string, number>>;
  /** Concurrent assigns and unassigns on one ENI answer Operation.Conflict. */
  readonly conflicts: boolean;
  /** Detach of an ENI that is Available: refused for its state, or taken for done. No source tells which. */
  readonly detachAvailable: 'refuse' | 'accept';
  /** Several tags in one DescribeNetworkInterfaces: an ENI must have all of them, or one. Only the first is plausible. */
  readonly tagFilters: 'all' | 'any';
  /** An Assign that asks for more than the vSwitch has: refused as a whole, or answered with what there is, even with none. */
  readonly shortAssigns: boolean;
  /** An address that was released is given out again as late as possible, or before any other. */
  readonly reuse: 'late' | 'soon';
  /** DescribeNetworkInterfaceAttribute of an unknown id: both have been seen. */
  readonly unknownEni: 'error' | 'empty';
  /** Upper bound on every page of NextToken paging, to see paging with few resources. */
  readonly pageMax: number;
  /** ENIs in the region, the primaries included. */
  readonly enisInRegion: number;
  /** What an ENI that is not attached may hold beyond its primary address. Source: AssignPrivateIpAddresses, AssignIpv6Addresses. */
  readonly secondaryIpv4Unattached: number;
  readonly ipv6Unattached: number;
  readonly securityGroupsPerEni: number;
  /** Private addresses in one security group. */
  readonly addressesInNormalGroup: number;
  readonly addressesInEnterpriseGroup: number;
  /** By how much the cloud's clock is ahead of the machine's. */
  readonly clockAheadMs: number;
  /** Longest life of a metadata token, whatever was asked for. */
  readonly metadataTokenMaxSeconds: number;
};

export function defaultSettings(profile: Profile): Settings {
  return {
    delays: PROFILES[profile],
    speed: 1,
    jitter: 0,
    throttlePerMinute: {},
    throttlePerSecond: {},
    conflicts: true,
    detachAvailable: 'refuse',
    tagFilters: 'all',
    shortAssigns: false,
    reuse: 'late',
    unknownEni: 'error',
    pageMax: 500,
    enisInRegion: 5_000,
    secondaryIpv4Unattached: 49,
    ipv6Unattached: 10,
    securityGroupsPerEni: 5,
    addressesInNormalGroup: 2_000,
    addressesInEnterpriseGroup: 65_536,
    clockAheadMs: 0,
    metadataTokenMaxSeconds: 21_600,
  };
}
