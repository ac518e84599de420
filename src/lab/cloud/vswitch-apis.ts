/**
 * The APIs of vSwitches.
 *
 * Source: VPC API 2016-04-28, DescribeVSwitches and DescribeVSwitchAttributes; the response models of the SDK.
 */
import { cloudError } from '../../vpc/errors.ts';
import type { VSwitchView } from '../../vpc/requests.ts';
import { type Account, type Body, VPC_VERSION, type WireApi } from './wire-api.ts';

export const describeVSwitches: WireApi<'DescribeVSwitches'> = {
  version: VPC_VERSION,
  idempotent: false,
  parse: (params) => {
    const vpcId = params.text('VpcId');
    if (vpcId === null && params.text('RegionId') === null) throw cloudError('MissingParameter', 'RegionId');
    return {
      vSwitchId: params.text('VSwitchId'),
      vpcId,
      zoneId: params.text('ZoneId'),
      page: params.page('number', 50),
    };
  },
  render: (page, account) => ({
    VSwitches: { VSwitch: page.items.map((vSwitch) => vSwitchBody(vSwitch, account)) },
    PageNumber: page.pageNumber,
    PageSize: page.pageSize,
    TotalCount: page.totalCount,
  }),
};

export const describeVSwitchAttributes: WireApi<'DescribeVSwitchAttributes'> = {
  version: VPC_VERSION,
  idempotent: false,
  parse: (params) => ({ vSwitchId: params.required('VSwitchId') }),
  render: (vSwitch, account) => ({ ...vSwitchBody(vSwitch, account), NetworkAclId: '' }),
};

function vSwitchBody(vSwitch: VSwitchView, account: Account): Body {
  return {
    VSwitchId: vSwitch.vSwitchId,
    VSwitchName: vSwitch.vSwitchId,
    VpcId: vSwitch.vpcId,
    ZoneId: vSwitch.zoneId,
    CidrBlock: vSwitch.cidr,
    Ipv6CidrBlock: vSwitch.ipv6Cidr ?? '',
    EnabledIpv6: vSwitch.ipv6Cidr !== null,
    AvailableIpAddressCount: vSwitch.availableAddresses,
    Status: 'Available',
    IsDefault: false,
    OwnerId: Number(account.ownerId),
    ResourceGroupId: '',
    RouteTable: { RouteTableId: `vtb-${vSwitch.vpcId}`, RouteTableType: 'System' },
    Description: '',
    ShareType: '',
    Tags: { Tag: [] },
  };
}
