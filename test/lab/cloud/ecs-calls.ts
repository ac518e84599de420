/** Every API of the lab's cloud through the SDK's own request and response models. */
import assignV6Request from '@alicloud/ecs20140526/dist/models/AssignIpv6addressesRequest.js';
import assignV6Response from '@alicloud/ecs20140526/dist/models/AssignIpv6addressesResponse.js';
import assignRequest from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesRequest.js';
import assignResponse from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesResponse.js';
import attachRequest from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceRequest.js';
import attachResponse from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceResponse.js';
import createRequest from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceRequest.js';
import createResponse from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceResponse.js';
import deleteRequest from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceRequest.js';
import deleteResponse from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceResponse.js';
import instancesRequest from '@alicloud/ecs20140526/dist/models/DescribeInstancesRequest.js';
import instancesResponse from '@alicloud/ecs20140526/dist/models/DescribeInstancesResponse.js';
import typesRequest from '@alicloud/ecs20140526/dist/models/DescribeInstanceTypesRequest.js';
import typesResponse from '@alicloud/ecs20140526/dist/models/DescribeInstanceTypesResponse.js';
import attributeRequest from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfaceAttributeRequest.js';
import attributeResponse from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfaceAttributeResponse.js';
import describeRequest from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesRequest.js';
import describeResponse from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesResponse.js';
import groupsRequest from '@alicloud/ecs20140526/dist/models/DescribeSecurityGroupsRequest.js';
import groupsResponse from '@alicloud/ecs20140526/dist/models/DescribeSecurityGroupsResponse.js';
import detachRequest from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceRequest.js';
import detachResponse from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceResponse.js';
import modifyRequest from '@alicloud/ecs20140526/dist/models/ModifyNetworkInterfaceAttributeRequest.js';
import modifyResponse from '@alicloud/ecs20140526/dist/models/ModifyNetworkInterfaceAttributeResponse.js';
import tagRequest from '@alicloud/ecs20140526/dist/models/TagResourcesRequest.js';
import tagResponse from '@alicloud/ecs20140526/dist/models/TagResourcesResponse.js';
import unassignV6Request from '@alicloud/ecs20140526/dist/models/UnassignIpv6addressesRequest.js';
import unassignV6Response from '@alicloud/ecs20140526/dist/models/UnassignIpv6addressesResponse.js';
import unassignRequest from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesRequest.js';
import unassignResponse from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesResponse.js';
import vSwitchRequest from '@alicloud/vpc20160428/dist/models/DescribeVswitchAttributesRequest.js';
import vSwitchResponse from '@alicloud/vpc20160428/dist/models/DescribeVswitchAttributesResponse.js';
import vSwitchesRequest from '@alicloud/vpc20160428/dist/models/DescribeVswitchesRequest.js';
import vSwitchesResponse from '@alicloud/vpc20160428/dist/models/DescribeVswitchesResponse.js';
import { SdkClient, type SdkOptions } from './sdk-client.ts';

const VPC = { version: '2016-04-28' };
type Fields = Record<string, unknown>;

export function ecsCalls(url: string, options: SdkOptions = {}) {
  const client = new SdkClient(url, options);
  const region = { regionId: 'cn-lab' };
  return {
    client,
    create: (more: Fields = {}, how: { method?: 'GET' | 'POST'; form?: boolean } = {}) =>
      client.call(
        'CreateNetworkInterface',
        createRequest.CreateNetworkInterfaceRequest,
        createResponse.CreateNetworkInterfaceResponse,
        { ...region, vSwitchId: 'vsw-lab-1', securityGroupIds: ['sg-lab'], ...more },
        how,
      ),
    attach: (networkInterfaceId: string, instanceId: string) =>
      client.call(
        'AttachNetworkInterface',
        attachRequest.AttachNetworkInterfaceRequest,
        attachResponse.AttachNetworkInterfaceResponse,
        { ...region, networkInterfaceId, instanceId },
      ),
    detach: (networkInterfaceId: string, instanceId: string) =>
      client.call(
        'DetachNetworkInterface',
        detachRequest.DetachNetworkInterfaceRequest,
        detachResponse.DetachNetworkInterfaceResponse,
        { ...region, networkInterfaceId, instanceId },
      ),
    delete: (networkInterfaceId: string) =>
      client.call(
        'DeleteNetworkInterface',
        deleteRequest.DeleteNetworkInterfaceRequest,
        deleteResponse.DeleteNetworkInterfaceResponse,
        { ...region, networkInterfaceId },
      ),
    assign: (networkInterfaceId: string, more: Fields) =>
      client.call(
        'AssignPrivateIpAddresses',
        assignRequest.AssignPrivateIpAddressesRequest,
        assignResponse.AssignPrivateIpAddressesResponse,
        { ...region, networkInterfaceId, ...more },
      ),
    unassign: (networkInterfaceId: string, privateIpAddress: string[]) =>
      client.call(
        'UnassignPrivateIpAddresses',
        unassignRequest.UnassignPrivateIpAddressesRequest,
        unassignResponse.UnassignPrivateIpAddressesResponse,
        { ...region, networkInterfaceId, privateIpAddress },
      ),
    assignV6: (networkInterfaceId: string, more: Fields) =>
      client.call(
        'AssignIpv6Addresses',
        assignV6Request.AssignIpv6AddressesRequest,
        assignV6Response.AssignIpv6AddressesResponse,
        { ...region, networkInterfaceId, ...more },
      ),
    unassignV6: (networkInterfaceId: string, ipv6Address: string[]) =>
      client.call(
        'UnassignIpv6Addresses',
        unassignV6Request.UnassignIpv6AddressesRequest,
        unassignV6Response.UnassignIpv6AddressesResponse,
        { ...region, networkInterfaceId, ipv6Address },
      ),
    describe: (more: Fields = {}) =>
      client.call(
        'DescribeNetworkInterfaces',
        describeRequest.DescribeNetworkInterfacesRequest,
        describeResponse.DescribeNetworkInterfacesResponse,
        { ...region, ...more },
      ),
    attribute: (networkInterfaceId: string) =>
      client.call(
        'DescribeNetworkInterfaceAttribute',
        attributeRequest.DescribeNetworkInterfaceAttributeRequest,
        attributeResponse.DescribeNetworkInterfaceAttributeResponse,
        { ...region, networkInterfaceId },
      ),
    modify: (networkInterfaceId: string, more: Fields) =>
      client.call(
        'ModifyNetworkInterfaceAttribute',
        modifyRequest.ModifyNetworkInterfaceAttributeRequest,
        modifyResponse.ModifyNetworkInterfaceAttributeResponse,
        { ...region, networkInterfaceId, ...more },
      ),
    tag: (resourceId: string[], tag: { key: string; value: string }[]) =>
      client.call('TagResources', tagRequest.TagResourcesRequest, tagResponse.TagResourcesResponse, {
        ...region,
        resourceType: 'eni',
        resourceId,
        tag,
      }),
    instanceTypes: (instanceTypes: string[]) =>
      client.call(
        'DescribeInstanceTypes',
        typesRequest.DescribeInstanceTypesRequest,
        typesResponse.DescribeInstanceTypesResponse,
        { instanceTypes },
      ),
    instances: (more: Fields = {}) =>
      client.call(
        'DescribeInstances',
        instancesRequest.DescribeInstancesRequest,
        instancesResponse.DescribeInstancesResponse,
        { ...region, ...more },
      ),
    groups: (more: Fields = {}) =>
      client.call(
        'DescribeSecurityGroups',
        groupsRequest.DescribeSecurityGroupsRequest,
        groupsResponse.DescribeSecurityGroupsResponse,
        { ...region, ...more },
      ),
    vSwitches: (more: Fields = {}) =>
      client.call(
        'DescribeVSwitches',
        vSwitchesRequest.DescribeVSwitchesRequest,
        vSwitchesResponse.DescribeVSwitchesResponse,
        { ...region, ...more },
        VPC,
      ),
    vSwitch: (vSwitchId: string) =>
      client.call(
        'DescribeVSwitchAttributes',
        vSwitchRequest.DescribeVSwitchAttributesRequest,
        vSwitchResponse.DescribeVSwitchAttributesResponse,
        { ...region, vSwitchId },
        VPC,
      ),
  };
}

/** Waits until `check` holds; rejects after ten seconds. */
export async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpMs = Date.now() + 10_000;
  while (!(await check())) {
    if (Date.now() > giveUpMs) throw new Error('it did not come true within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
