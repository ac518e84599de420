/**
 * The APIs of elastic network interfaces, from flattened parameters to nested bodies.
 *
 * IP prefixes are refused as in a region without them; trunk and member ENIs are not there.
 * Source: ECS API 2014-05-26, the pages of each API; the response models of the SDK.
 */
import type { EniStatus, EniType } from '../../core/eni.ts';
import { cloudError } from '../../vpc/errors.ts';
import type { EniView, Want } from '../../vpc/requests.ts';
import { type Account, type Body, ECS_VERSION, isoSeconds, tagSet, type WireApi } from './wire-api.ts';
import type { WireParams } from './wire-params.ts';

const ENI_TYPES: readonly EniType[] = ['Primary', 'Secondary', 'Trunk', 'Member'];
const ENI_STATUSES: readonly EniStatus[] = [
  'Creating',
  'Available',
  'Attaching',
  'InUse',
  'Detaching',
  'Deleting',
  'CreateFailed',
];
const PREFIXES = ['Ipv4Prefix', 'Ipv4PrefixCount', 'Ipv6Prefix', 'Ipv6PrefixCount'];
const ADDRESSES_PER_CALL = 10;
const NONE: Want = { count: 0 };
const NOTHING = (): Body => ({});

export const createNetworkInterface: WireApi<'CreateNetworkInterface'> = {
  version: ECS_VERSION,
  idempotent: true,
  parse: (params) => {
    params.required('RegionId');
    params.refuse(PREFIXES, 'InvalidOperation.RegionNotSupportIpPrefix');
    if (params.text('InstanceType') === 'Trunk') throw cloudError('UnsupportedParameter', 'InstanceType');
    params.oneOf('InstanceType', ['Secondary']);
    return {
      vSwitchId: params.required('VSwitchId'),
      securityGroupIds: groupsOf(params),
      primaryIp: params.text('PrimaryIpAddress'),
      ipv4: params.want('PrivateIpAddress', 'SecondaryPrivateIpAddressCount', ADDRESSES_PER_CALL, 49) ?? NONE,
      ipv6: params.want('Ipv6Address', 'Ipv6AddressCount', ADDRESSES_PER_CALL, 10) ?? NONE,
      name: sized(params, 'NetworkInterfaceName', 2, 128) ?? '',
      description: sized(params, 'Description', 2, 256) ?? '',
      deleteOnRelease: params.flag('DeleteOnRelease') ?? true, // the real default is not documented
      sourceDestCheck: params.flag('SourceDestCheck') ?? false,
      trafficMode: params.oneOf('NetworkInterfaceTrafficMode', ['Standard', 'HighPerformance']) ?? 'Standard',
      queueNumber: params.integer('QueueNumber', 1, 2048),
      tags: params.tags(),
    };
  },
  render: (eni, account) => {
    const { InstanceId: _, Attachment: __, CreationTime: ___, ...body } = eniBody(eni, account);
    return body;
  },
};

export const attachNetworkInterface: WireApi<'AttachNetworkInterface'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    params.refuse(['TrunkNetworkInstanceId'], 'UnsupportedParameter');
    return { ...target(params), instanceId: params.required('InstanceId') };
  },
  render: NOTHING,
};

export const detachNetworkInterface: WireApi<'DetachNetworkInterface'> = {
  ...attachNetworkInterface,
};

export const deleteNetworkInterface: WireApi<'DeleteNetworkInterface'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: target,
  render: NOTHING,
};

export const assignPrivateIpAddresses: WireApi<'AssignPrivateIpAddresses'> = {
  version: ECS_VERSION,
  idempotent: true,
  parse: (params) => {
    params.refuse(PREFIXES, 'InvalidOperation.RegionNotSupportIpPrefix');
    const { eniId } = target(params);
    const want = params.want('PrivateIpAddress', 'SecondaryPrivateIpAddressCount', ADDRESSES_PER_CALL, 49);
    if (want === null) throw cloudError('MissingParameter', 'SecondaryPrivateIpAddressCount');
    return { eniId, want };
  },
  render: ({ eniId, ips }) => ({
    AssignedPrivateIpAddressesSet: {
      NetworkInterfaceId: eniId,
      PrivateIpSet: { PrivateIpAddress: ips },
      Ipv4PrefixSet: { Ipv4Prefixes: [] },
    },
  }),
};

export const unassignPrivateIpAddresses: WireApi<'UnassignPrivateIpAddresses'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => unassigned(params, 'PrivateIpAddress'),
  render: NOTHING,
};

export const assignIpv6Addresses: WireApi<'AssignIpv6Addresses'> = {
  version: ECS_VERSION,
  idempotent: true,
  parse: (params) => {
    params.refuse(PREFIXES, 'InvalidOperation.RegionNotSupportIpPrefix');
    const { eniId } = target(params);
    const want = params.want('Ipv6Address', 'Ipv6AddressCount', ADDRESSES_PER_CALL, 10);
    if (want === null) throw cloudError('MissingParameter', 'Ipv6AddressCount');
    return { eniId, want };
  },
  render: ({ eniId, ips }) => ({
    NetworkInterfaceId: eniId,
    Ipv6Sets: { Ipv6Address: ips },
    Ipv6PrefixSets: { Ipv6Prefix: [] },
  }),
};

export const unassignIpv6Addresses: WireApi<'UnassignIpv6Addresses'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => unassigned(params, 'Ipv6Address'),
  render: NOTHING,
};

export const describeNetworkInterfaces: WireApi<'DescribeNetworkInterfaces'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    params.required('RegionId');
    return {
      eniIds: params.list('NetworkInterfaceId', 100),
      instanceId: params.text('InstanceId'),
      type: params.oneOf('Type', ENI_TYPES),
      status: params.oneOf('Status', ENI_STATUSES),
      vpcId: params.text('VpcId'),
      vSwitchId: params.text('VSwitchId'),
      securityGroupId: params.text('SecurityGroupId'),
      name: params.text('NetworkInterfaceName'),
      primaryIp: params.text('PrimaryIpAddress'),
      ips: [...params.list('PrivateIpAddress', 100), ...params.list('Ipv6Address', 100)],
      tags: params.tagList(),
      page: params.page('token', 100),
    };
  },
  render: (page, account) => ({
    NetworkInterfaceSets: { NetworkInterfaceSet: page.items.map((eni) => eniBody(eni, account)) },
    NextToken: page.nextToken,
    PageNumber: page.pageNumber,
    PageSize: page.pageSize,
    TotalCount: page.totalCount,
  }),
};

export const describeNetworkInterfaceAttribute: WireApi<'DescribeNetworkInterfaceAttribute'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: target,
  render: (eni, account) => (eni === null ? { NetworkInterfaceId: '' } : eniBody(eni, account)),
};

export const modifyNetworkInterfaceAttribute: WireApi<'ModifyNetworkInterfaceAttribute'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    const groups = params.list('SecurityGroupId', 100);
    return {
      ...target(params),
      name: sized(params, 'NetworkInterfaceName', 2, 128),
      description: sized(params, 'Description', 2, 256),
      securityGroupIds: groups.length === 0 ? null : groups,
      deleteOnRelease: params.flag('DeleteOnRelease'),
      sourceDestCheck: params.flag('SourceDestCheck'),
      queueNumber: params.integer('QueueNumber', 1, 2048),
    };
  },
  render: NOTHING,
};

/** One ENI as DescribeNetworkInterfaces writes it. */
export function eniBody(eni: EniView, account: Account): Body {
  return {
    NetworkInterfaceId: eni.eniId,
    NetworkInterfaceName: eni.name,
    Description: eni.description,
    Status: eni.status,
    Type: eni.type,
    MacAddress: eni.mac,
    VpcId: eni.vpcId,
    VSwitchId: eni.vSwitchId,
    ZoneId: eni.zoneId,
    PrivateIpAddress: eni.primaryIp,
    ...addressSets(eni),
    SecurityGroupIds: { SecurityGroupId: eni.securityGroupIds },
    Tags: tagSet(eni.tags),
    InstanceId: eni.instanceId ?? '',
    Attachment:
      eni.instanceId === null
        ? {}
        : { InstanceId: eni.instanceId, DeviceIndex: eni.deviceIndex ?? 0, NetworkCardIndex: 0 },
    AssociatedPublicIp: {},
    ResourceGroupId: '',
    CreationTime: isoSeconds(eni.createdAtMs),
    DeleteOnRelease: eni.deleteOnRelease,
    SourceDestCheck: eni.sourceDestCheck,
    NetworkInterfaceTrafficMode: eni.trafficMode,
    ...(eni.queueNumber === null ? {} : { QueueNumber: eni.queueNumber }),
    OwnerId: account.ownerId,
    ServiceID: 0,
    ServiceManaged: eni.serviceManaged,
  };
}

/** The address sets of an ENI, which DescribeInstances has too. */
export function addressSets(eni: EniView): Body {
  return {
    PrivateIpSets: {
      PrivateIpSet: eni.ipv4.map((ip) => ({ PrivateIpAddress: ip, Primary: ip === eni.primaryIp })),
    },
    Ipv6Sets: { Ipv6Set: eni.ipv6.map((ip) => ({ Ipv6Address: ip, Primary: false })) },
    Ipv4PrefixSets: { Ipv4PrefixSet: [] },
    Ipv6PrefixSets: { Ipv6PrefixSet: [] },
  };
}

function target(params: WireParams): { eniId: string } {
  params.required('RegionId');
  return { eniId: params.required('NetworkInterfaceId') };
}

function unassigned(params: WireParams, name: string): { eniId: string; ips: readonly string[] } {
  params.refuse(PREFIXES, 'InvalidOperation.RegionNotSupportIpPrefix');
  const { eniId } = target(params);
  const ips = params.list(name, 100);
  if (ips.length === 0) throw cloudError('MissingParameter', name);
  return { eniId, ips };
}

function groupsOf(params: WireParams): readonly string[] {
  const one = params.text('SecurityGroupId');
  const several = params.list('SecurityGroupIds', 100);
  if (one !== null && several.length > 0) {
    throw cloudError('InvalidParameter.Conflict', 'SecurityGroupId and SecurityGroupIds');
  }
  if (one === null && several.length === 0) throw cloudError('MissingParameter', 'SecurityGroupId');
  return one === null ? several : [one];
}

function sized(params: WireParams, name: string, min: number, max: number): string | null {
  const text = params.text(name);
  if (text !== null && (text.length < min || text.length > max)) throw cloudError('InvalidParameter', name);
  return text;
}
