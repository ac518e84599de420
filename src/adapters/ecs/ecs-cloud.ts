/**
 * Port Cloud over the real OpenAPI. What the SDK leaves to the caller is settled here: region, paging with a bound, `DeleteOnRelease`
 * (its default is not documented), and which refusals mean "already done".
 *
 * File names of deep imports do not follow the class names (`DescribeVswitchesRequest.js`, `AssignIpv6addressesRequest.js`).
 * Source: ECS API 2014-05-26; VPC API 2016-04-28.
 */
import { AssignIpv6AddressesRequest } from '@alicloud/ecs20140526/dist/models/AssignIpv6addressesRequest.js';
import { AssignIpv6AddressesResponse } from '@alicloud/ecs20140526/dist/models/AssignIpv6addressesResponse.js';
import { AssignPrivateIpAddressesRequest } from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesRequest.js';
import { AssignPrivateIpAddressesResponse } from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesResponse.js';
import { AttachNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceRequest.js';
import { AttachNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceResponse.js';
import { CreateNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceRequest.js';
import { CreateNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceResponse.js';
import { DeleteNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceRequest.js';
import { DeleteNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceResponse.js';
import { DescribeInstancesRequest } from '@alicloud/ecs20140526/dist/models/DescribeInstancesRequest.js';
import { DescribeInstancesResponse } from '@alicloud/ecs20140526/dist/models/DescribeInstancesResponse.js';
import { DescribeInstanceTypesRequest } from '@alicloud/ecs20140526/dist/models/DescribeInstanceTypesRequest.js';
import { DescribeInstanceTypesResponse } from '@alicloud/ecs20140526/dist/models/DescribeInstanceTypesResponse.js';
import { DescribeNetworkInterfacesRequest } from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesRequest.js';
import { DescribeNetworkInterfacesResponse } from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesResponse.js';
import { DescribeSecurityGroupsRequest } from '@alicloud/ecs20140526/dist/models/DescribeSecurityGroupsRequest.js';
import { DescribeSecurityGroupsResponse } from '@alicloud/ecs20140526/dist/models/DescribeSecurityGroupsResponse.js';
import { DetachNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceRequest.js';
import { DetachNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceResponse.js';
import { UnassignIpv6AddressesRequest } from '@alicloud/ecs20140526/dist/models/UnassignIpv6addressesRequest.js';
import { UnassignIpv6AddressesResponse } from '@alicloud/ecs20140526/dist/models/UnassignIpv6addressesResponse.js';
import { UnassignPrivateIpAddressesRequest } from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesRequest.js';
import { UnassignPrivateIpAddressesResponse } from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesResponse.js';
import { DescribeVSwitchesRequest } from '@alicloud/vpc20160428/dist/models/DescribeVswitchesRequest.js';
import { DescribeVSwitchesResponse } from '@alicloud/vpc20160428/dist/models/DescribeVswitchesResponse.js';
import { alreadyDone } from '../../core/cloud-errors.ts';
import type { CloudEni, InstanceLimits, VSwitch } from '../../core/eni.ts';
import { type Cloud, CloudError, type CreateEni, type EniFilter } from '../../ports/cloud.ts';
import type { Credentials } from '../../ports/credentials.ts';
import type { Instances } from '../../ports/instances.ts';
import type { SecurityGroup, SecurityGroups } from '../../ports/security-groups.ts';
import { CallTurns, type RateOverrides } from './call-turns.ts';
import { ClockSkew } from './clock-skew.ts';
import { canonical, cloudEni } from './cloud-eni.ts';
import { TURNED_API } from './in-turn.ts';
import { type OnCall, type RpcClient, rpcClient } from './rpc-client.ts';

/** Source: DescribeNetworkInterfaces, MaxResults at most 500. Terway pages alike. */
const ENI_PAGE_SIZE = 500;
/** A NextToken that never ends must not: 50,000 ENIs are more than any filter of ours can match. */
const ENI_PAGES_MAX = 100;
/** Source: DescribeNetworkInterfaces, NetworkInterfaceId.N at most 100. */
const ENI_IDS_MAX = 100;
/** Source: DescribeInstances, InstanceIds and MaxResults at most 100. */
const INSTANCE_IDS_MAX = 100;
/** Source: DescribeSecurityGroups, SecurityGroupIds and MaxResults at most 100. */
const GROUP_IDS_MAX = 100;

export type EcsOptions = {
  /** Asked once, at the first call: metadata knows it, and may not answer yet when the daemon starts. */
  readonly region: (signal: AbortSignal) => Promise<string>;
  /** `host[:port]`; null means the region's endpoint. */
  readonly ecsEndpoint: string | null;
  readonly vpcEndpoint: string | null;
  /** Which of the region's endpoints: inside the VPC (the default), or public. */
  readonly endpointType?: 'vpc' | 'public';
  readonly scheme: 'http' | 'https';
  readonly credentials: Credentials;
  /** Learns how far the cloud's clock is from ours; default: one of its own. */
  readonly skew?: ClockSkew;
  /** Bound on one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Requests per minute by API, over the built-in ones. */
  readonly rateLimits: RateOverrides;
  /** How long a minute of theirs lasts. */
  readonly minuteMs?: number;
  /** Default: of its own, with the two above. */
  readonly turns?: CallTurns;
  /** Hears of each attempt. */
  readonly onCall?: OnCall;
};

type Region = { readonly regionId: string; readonly ecs: RpcClient; readonly vpc: RpcClient };

export type EcsCloud = Cloud & SecurityGroups & Instances;

export function ecsCloud(options: EcsOptions): EcsCloud {
  const { scheme, credentials, timeoutMs, skew = new ClockSkew() } = options;
  const { rateLimits, minuteMs, onCall } = options;
  const turns = options.turns ?? new CallTurns({ rateLimits, ...(minuteMs === undefined ? {} : { minuteMs }) });
  const access = { scheme, credentials, timeoutMs, skew, turns, ...(onCall === undefined ? {} : { onCall }) };
  let known: Region | null = null;
  /** A failure to learn the region is not kept: the next call asks again. */
  async function region(signal: AbortSignal): Promise<Region> {
    if (known !== null) return known;
    const regionId = await options.region(signal);
    const place = options.endpointType === 'public' ? '' : '-vpc';
    const ecsEndpoint = options.ecsEndpoint ?? `ecs${place}.${regionId}.aliyuncs.com`;
    const vpcEndpoint = options.vpcEndpoint ?? `vpc${place}.${regionId}.aliyuncs.com`;
    known ??= {
      regionId,
      ecs: rpcClient({ ...access, endpoint: ecsEndpoint, version: '2014-05-26' }),
      vpc: rpcClient({ ...access, endpoint: vpcEndpoint, version: '2016-04-28' }),
    };
    return known;
  }
  /** All pages, or none. */
  async function pages(
    filter: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    background: boolean,
  ): Promise<CloudEni[]> {
    const action = 'DescribeNetworkInterfaces';
    const enis: CloudEni[] = [];
    const seen = new Set<string>();
    let nextToken: string | undefined;
    for (let page = 0; page < ENI_PAGES_MAX; page += 1) {
      const { regionId, ecs } = await region(signal);
      const body = await ecs.call(
        action,
        DescribeNetworkInterfacesRequest,
        DescribeNetworkInterfacesResponse,
        { regionId, maxResults: ENI_PAGE_SIZE, nextToken, ...filter },
        signal,
        background,
      );
      // Without the set an answer would read as "no ENIs", and that as "gone".
      const set = body.networkInterfaceSets?.networkInterfaceSet;
      if (set === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no NetworkInterfaceSets`, '');
      enis.push(...set.map((eni) => cloudEni(action, eni)));
      if (!body.nextToken) return enis;
      nextToken = body.nextToken;
      // A list that goes round would be read as many times over as there are pages, and its end never seen.
      if (seen.has(nextToken))
        throw new CloudError('cloud', `${action}: the pages go round: NextToken comes twice`, '');
      seen.add(nextToken);
    }
    throw new CloudError('cloud', `${action}: more than ${ENI_PAGES_MAX} pages`, '');
  }

  return {
    keptAs: 'type',
    hurry: () => turns.hurry(),
    turn: (call, who, background, signal) => turns.reserve({ api: TURNED_API[call], who, background }, signal),

    async instanceLimits(instanceType, signal): Promise<InstanceLimits> {
      const action = 'DescribeInstanceTypes';
      const { ecs } = await region(signal);
      const body = await ecs.call(
        action,
        DescribeInstanceTypesRequest,
        DescribeInstanceTypesResponse,
        { instanceTypes: [instanceType] },
        signal,
      );
      const found = body.instanceTypes?.instanceType?.find((one) => one.instanceTypeId === instanceType);
      if (found?.eniQuantity === undefined || found.eniPrivateIpAddressQuantity === undefined)
        throw new CloudError('cloud', `${action}: the cloud does not know the instance type ${instanceType}`, '');
      return {
        instanceType,
        enis: found.eniQuantity,
        ipv4PerEni: found.eniPrivateIpAddressQuantity,
        ipv6PerEni: found.eniIpv6AddressQuantity ?? 0,
      };
    },

    /** One call per vSwitch: the filter takes one id. Unknown ids are left out. */
    async vSwitches(ids, signal): Promise<VSwitch[]> {
      const action = 'DescribeVSwitches';
      const found: VSwitch[] = [];
      for (const vSwitchId of ids) {
        const { regionId, vpc } = await region(signal);
        const body = await vpc.call(
          action,
          DescribeVSwitchesRequest,
          DescribeVSwitchesResponse,
          { regionId, vSwitchId },
          signal,
        );
        const set = body.vSwitches?.vSwitch;
        if (set === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no VSwitches`, '');
        for (const one of set) {
          if (one.vSwitchId !== vSwitchId) continue;
          found.push({
            vSwitchId,
            vpcId: one.vpcId ?? '',
            zoneId: one.zoneId ?? '',
            cidr: one.cidrBlock ?? '',
            ipv6Cidr: one.ipv6CidrBlock || null,
            availableAddresses: one.availableIpAddressCount ?? 0,
          });
        }
      }
      return found;
    },

    async securityGroups(ids, signal): Promise<SecurityGroup[]> {
      const action = 'DescribeSecurityGroups';
      const found: SecurityGroup[] = [];
      for (let from = 0; from < ids.length; from += GROUP_IDS_MAX) {
        const some = ids.slice(from, from + GROUP_IDS_MAX);
        const { regionId, ecs } = await region(signal);
        const body = await ecs.call(
          action,
          DescribeSecurityGroupsRequest,
          DescribeSecurityGroupsResponse,
          // A list that is JSON by design.
          { regionId, securityGroupIds: JSON.stringify(some), maxResults: GROUP_IDS_MAX },
          signal,
        );
        const set = body.securityGroups?.securityGroup;
        if (set === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no SecurityGroups`, '');
        for (const { securityGroupId = '', securityGroupType, ecsCount, availableInstanceAmount } of set) {
          const type = securityGroupType === 'enterprise' ? 'enterprise' : 'normal';
          found.push({
            ...{ securityGroupId, type, addresses: ecsCount ?? null },
            addressesAvailable: availableInstanceAmount ?? null,
          });
        }
      }
      return found;
    },

    async instancesThere(ids, signal): Promise<ReadonlySet<string>> {
      const action = 'DescribeInstances';
      const there = new Set<string>();
      for (let from = 0; from < ids.length; from += INSTANCE_IDS_MAX) {
        const some = ids.slice(from, from + INSTANCE_IDS_MAX);
        const { regionId, ecs } = await region(signal);
        const body = await ecs.call(
          action,
          DescribeInstancesRequest,
          DescribeInstancesResponse,
          // A list that is JSON by design.
          { regionId, instanceIds: JSON.stringify(some), maxResults: INSTANCE_IDS_MAX },
          signal,
        );
        const set = body.instances?.instance;
        // Without the set an answer would read as "all of them are gone".
        if (set === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no Instances`, '');
        if (body.nextToken) throw new CloudError('cloud', `${action}: more than one page for ${some.length} ids`, '');
        for (const { instanceId } of set) if (instanceId !== undefined) there.add(instanceId);
      }
      return there;
    },

    async describeEnis(filter: EniFilter, signal) {
      const { instanceId, eniIds, tags, background = false } = filter;
      const tag = tags && Object.entries(tags).map(([key, value]) => ({ key, value }));
      const query = { ...(instanceId !== undefined && { instanceId }), ...(tag && tag.length > 0 && { tag }) };
      if (eniIds === undefined) return await pages(query, signal, background);
      // No ids asked, none found: the cloud would read an empty list as "all".
      const enis: CloudEni[] = [];
      for (let from = 0; from < eniIds.length; from += ENI_IDS_MAX) {
        const some = eniIds.slice(from, from + ENI_IDS_MAX);
        enis.push(...(await pages({ ...query, networkInterfaceId: some }, signal, background)));
      }
      return enis;
    },

    async createEni(wanted: CreateEni, signal) {
      const action = 'CreateNetworkInterface';
      const { regionId, ecs } = await region(signal);
      const body = await ecs.call(
        action,
        CreateNetworkInterfaceRequest,
        CreateNetworkInterfaceResponse,
        {
          regionId,
          vSwitchId: wanted.vSwitchId,
          securityGroupIds: [...wanted.securityGroupIds],
          description: wanted.description,
          clientToken: wanted.clientToken,
          deleteOnRelease: true,
          sourceDestCheck: false,
          instanceType: 'Secondary',
          tag: Object.entries(wanted.tags).map(([key, value]) => ({ key, value })),
          // A count of 0 is refused: left out instead.
          ...(wanted.ipv4Count > 1 && { secondaryPrivateIpAddressCount: wanted.ipv4Count - 1 }),
          ...(wanted.ipv6Count > 0 && { ipv6AddressCount: wanted.ipv6Count }),
        },
        signal,
        wanted.background,
      );
      return cloudEni(action, body);
    },

    async attachEni(eniId, instanceId, signal) {
      const action = 'AttachNetworkInterface';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId, instanceId };
      await ecs.call(action, AttachNetworkInterfaceRequest, AttachNetworkInterfaceResponse, input, signal);
    },

    async detachEni(eniId, instanceId, signal) {
      const action = 'DetachNetworkInterface';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId, instanceId };
      await unless(alreadyDone.detach, () =>
        ecs.call(action, DetachNetworkInterfaceRequest, DetachNetworkInterfaceResponse, input, signal),
      );
    },

    async deleteEni(eniId, signal) {
      const action = 'DeleteNetworkInterface';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId };
      await unless(alreadyDone.delete, () =>
        ecs.call(action, DeleteNetworkInterfaceRequest, DeleteNetworkInterfaceResponse, input, signal),
      );
    },

    async assignIpv4(eniId, count, clientToken, signal, background) {
      const action = 'AssignPrivateIpAddresses';
      const { regionId, ecs } = await region(signal);
      const body = await ecs.call(
        action,
        AssignPrivateIpAddressesRequest,
        AssignPrivateIpAddressesResponse,
        { regionId, networkInterfaceId: eniId, secondaryPrivateIpAddressCount: count, clientToken },
        signal,
        background,
      );
      const added = body.assignedPrivateIpAddressesSet?.privateIpSet?.privateIpAddress;
      if (added === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no addresses`, '');
      return added.flatMap(canonical);
    },

    unassignIpv4: unassignEach(async (eniId, ips, signal) => {
      const action = 'UnassignPrivateIpAddresses';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId, privateIpAddress: [...ips] };
      await ecs.call(action, UnassignPrivateIpAddressesRequest, UnassignPrivateIpAddressesResponse, input, signal);
    }),

    async assignIpv6(eniId, count, clientToken, signal, background) {
      const action = 'AssignIpv6Addresses';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId, ipv6AddressCount: count, clientToken };
      const body = await ecs.call(
        action,
        AssignIpv6AddressesRequest,
        AssignIpv6AddressesResponse,
        input,
        signal,
        background,
      );
      const added = body.ipv6Sets?.ipv6Address;
      if (added === undefined) throw new CloudError('cloud', `${action}: unreadable answer: no addresses`, '');
      return added.flatMap(canonical);
    },

    unassignIpv6: unassignEach(async (eniId, ips, signal) => {
      const action = 'UnassignIpv6Addresses';
      const { regionId, ecs } = await region(signal);
      const input = { regionId, networkInterfaceId: eniId, ipv6Address: [...ips] };
      await ecs.call(action, UnassignIpv6AddressesRequest, UnassignIpv6AddressesResponse, input, signal);
    }),
  };
}

/** One address that is gone already makes the cloud refuse the whole list: the others are then taken one by one. */
function unassignEach(unassign: Cloud['unassignIpv4']): Cloud['unassignIpv4'] {
  return async (eniId, ips, signal) => {
    if (ips.length === 0) return;
    try {
      await unassign(eniId, ips, signal);
    } catch (thrown) {
      if (!saysDone(alreadyDone.unassign, thrown)) throw thrown;
      if (ips.length === 1 || (thrown as CloudError).cloudCode !== 'InvalidIp.IpUnassigned') return;
      for (const ip of ips) await unless(alreadyDone.unassign, () => unassign(eniId, [ip], signal));
    }
  };
}

async function unless(done: readonly string[], call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (thrown) {
    if (!saysDone(done, thrown)) throw thrown;
  }
}

function saysDone(done: readonly string[], thrown: unknown): boolean {
  return thrown instanceof CloudError && done.includes(thrown.cloudCode);
}
