/**
 * The APIs of instances, their types, security groups and tags.
 *
 * Source: ECS API 2014-05-26, the pages of each API; the response models of the SDK.
 */
import { cloudError } from '../../vpc/errors.ts';
import type { InstanceType } from '../../vpc/instance-types.ts';
import type { InstanceView, SecurityGroupView } from '../../vpc/requests.ts';
import type { InstanceStatus } from '../../vpc/topology.ts';
import { addressSets } from './eni-apis.ts';
import { type Account, type Body, ECS_VERSION, isoSeconds, tagSet, type WireApi } from './wire-api.ts';
import type { WireParams } from './wire-params.ts';

const INSTANCE_STATUSES: readonly InstanceStatus[] = ['Pending', 'Running', 'Starting', 'Stopping', 'Stopped'];

export const describeInstanceTypes: WireApi<'DescribeInstanceTypes'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => ({
    instanceTypes: params.list('InstanceTypes', 10),
    family: params.text('InstanceTypeFamily'),
    page: params.page('token', 100),
  }),
  render: (page) => ({
    InstanceTypes: { InstanceType: page.items.map(instanceTypeBody) },
    NextToken: page.nextToken,
  }),
};

export const describeInstances: WireApi<'DescribeInstances'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    params.required('RegionId');
    return {
      instanceIds: params.jsonList('InstanceIds', 100, 'InvalidInstanceIds.Malformed'),
      vpcId: params.text('VpcId'),
      vSwitchId: params.text('VSwitchId'),
      zoneId: params.text('ZoneId'),
      status: statusOf(params),
      ips: params.jsonList('PrivateIpAddresses', 100, 'InvalidParameter'),
      tags: params.tagList(),
      page: params.page('token', 100),
    };
  },
  render: (page, account) => ({
    Instances: { Instance: page.items.map((instance) => instanceBody(instance, account)) },
    NextToken: page.nextToken,
    PageNumber: page.pageNumber,
    PageSize: page.pageSize,
    TotalCount: page.totalCount,
  }),
};

export const describeSecurityGroups: WireApi<'DescribeSecurityGroups'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    params.required('RegionId');
    const one = params.text('SecurityGroupId');
    const several = params.jsonList('SecurityGroupIds', 100, 'InvalidParameter');
    return {
      securityGroupIds: one === null ? several : [one, ...several],
      vpcId: params.text('VpcId'),
      type: params.oneOf('SecurityGroupType', ['normal', 'enterprise']),
      page: params.page('token', 100),
    };
  },
  render: (page, account) => ({
    SecurityGroups: { SecurityGroup: page.items.map(securityGroupBody) },
    RegionId: account.regionId,
    NextToken: page.nextToken,
    PageNumber: page.pageNumber,
    PageSize: page.pageSize,
    TotalCount: page.totalCount,
  }),
};

export const tagResources: WireApi<'TagResources'> = {
  version: ECS_VERSION,
  idempotent: false,
  parse: (params) => {
    if (params.text('RegionId') === null) throw cloudError('MissingParameter.RegionId');
    const resourceType = params.text('ResourceType');
    if (resourceType === null) throw cloudError('MissingParameter.ResourceType');
    const ids = params.list('ResourceId', Number.MAX_SAFE_INTEGER);
    if (ids.length === 0) throw cloudError('MissingParameter.ResourceIds');
    if (ids.length > 50) throw cloudError('NumberExceed.ResourceIds', 50);
    const tags = params.tags();
    if (Object.keys(tags).length === 0) throw cloudError('MissingParameter.Tags');
    if (Object.keys(tags).length > 20) throw cloudError('NumberExceed.Tags', 20);
    return { resourceType: resourceType.toLowerCase(), ids, tags };
  },
  render: () => ({}),
};

function statusOf(params: WireParams): InstanceStatus | null {
  const text = params.text('Status');
  const status = INSTANCE_STATUSES.find((one) => one === text) ?? null;
  if (text !== null && status === null) throw cloudError('InvalidStatus.NotFound', text);
  return status;
}

function instanceTypeBody(type: InstanceType): Body {
  return {
    InstanceTypeId: type.instanceType,
    InstanceTypeFamily: type.family,
    CpuCoreCount: type.cpuCores,
    MemorySize: type.memoryGib,
    EniQuantity: type.enis,
    EniPrivateIpAddressQuantity: type.ipv4PerEni,
    EniIpv6AddressQuantity: type.ipv6PerEni,
    EniTotalQuantity: type.enisInTotal,
    EniTrunkSupported: type.trunk,
    EriQuantity: type.rdmaEnis,
    PrimaryEniQueueNumber: type.primaryQueues,
    SecondaryEniQueueNumber: type.secondaryQueues,
    TotalEniQueueQuantity: type.totalQueues,
    MaximumQueueNumberPerEni: Math.max(type.primaryQueues, type.secondaryQueues),
    NetworkCardQuantity: 1,
    NetworkCards: { NetworkCardInfo: [{ NetworkCardIndex: 0 }] },
    InstanceBandwidthRx: type.bandwidthKbps,
    InstanceBandwidthTx: type.bandwidthKbps,
    NetworkEncryptionSupport: false,
  };
}

function instanceBody(instance: InstanceView, account: Account): Body {
  const primary = instance.enis[0];
  return {
    InstanceId: instance.instanceId,
    InstanceName: instance.name,
    HostName: instance.name,
    InstanceType: instance.instanceType,
    InstanceNetworkType: 'vpc',
    RegionId: account.regionId,
    ZoneId: instance.zoneId,
    Status: instance.status,
    CreationTime: isoSeconds(instance.createdAtMs),
    VpcAttributes: {
      VpcId: instance.vpcId,
      VSwitchId: instance.vSwitchId,
      NatIpAddress: '',
      PrivateIpAddress: { IpAddress: primary === undefined ? [] : [primary.primaryIp] },
    },
    SecurityGroupIds: { SecurityGroupId: instance.securityGroupIds },
    NetworkInterfaces: {
      NetworkInterface: instance.enis.map((eni) => ({
        NetworkInterfaceId: eni.eniId,
        MacAddress: eni.mac,
        PrimaryIpAddress: eni.primaryIp,
        Type: eni.type,
        ...addressSets(eni),
      })),
    },
    EipAddress: { AllocationId: '', IpAddress: '', InternetChargeType: '' },
    PublicIpAddress: { IpAddress: [] },
    MetadataOptions: { HttpEndpoint: 'enabled', HttpTokens: instance.httpTokens, HttpPutResponseHopLimit: 1 },
    Tags: tagSet(instance.tags),
  };
}

function securityGroupBody(group: SecurityGroupView): Body {
  return {
    SecurityGroupId: group.securityGroupId,
    SecurityGroupName: group.securityGroupId,
    SecurityGroupType: group.type,
    VpcId: group.vpcId,
    Description: '',
    EcsCount: group.addresses,
    AvailableInstanceAmount: group.addressesAvailable,
    ServiceManaged: false,
    Tags: tagSet(group.tags),
  };
}
