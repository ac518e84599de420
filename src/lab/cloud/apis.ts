/** The table of all APIs that the lab's cloud answers. */
import type { ApiName } from '../../vpc/requests.ts';
import {
  assignIpv6Addresses,
  assignPrivateIpAddresses,
  attachNetworkInterface,
  createNetworkInterface,
  deleteNetworkInterface,
  describeNetworkInterfaceAttribute,
  describeNetworkInterfaces,
  detachNetworkInterface,
  modifyNetworkInterfaceAttribute,
  unassignIpv6Addresses,
  unassignPrivateIpAddresses,
} from './eni-apis.ts';
import { describeInstances, describeInstanceTypes, describeSecurityGroups, tagResources } from './instance-apis.ts';
import { describeVSwitchAttributes, describeVSwitches } from './vswitch-apis.ts';
import type { WireApi } from './wire-api.ts';

export const WIRE_APIS: { readonly [A in ApiName]: WireApi<A> } = {
  CreateNetworkInterface: createNetworkInterface,
  AttachNetworkInterface: attachNetworkInterface,
  DetachNetworkInterface: detachNetworkInterface,
  DeleteNetworkInterface: deleteNetworkInterface,
  AssignPrivateIpAddresses: assignPrivateIpAddresses,
  UnassignPrivateIpAddresses: unassignPrivateIpAddresses,
  AssignIpv6Addresses: assignIpv6Addresses,
  UnassignIpv6Addresses: unassignIpv6Addresses,
  DescribeNetworkInterfaces: describeNetworkInterfaces,
  DescribeNetworkInterfaceAttribute: describeNetworkInterfaceAttribute,
  ModifyNetworkInterfaceAttribute: modifyNetworkInterfaceAttribute,
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeInstances: describeInstances,
  DescribeSecurityGroups: describeSecurityGroups,
  TagResources: tagResources,
  DescribeVSwitches: describeVSwitches,
  DescribeVSwitchAttributes: describeVSwitchAttributes,
};

export function isApiName(name: string): name is ApiName {
  return Object.hasOwn(WIRE_APIS, name);
}
