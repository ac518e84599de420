/** What a VPC is built from, and the one the lab builds when nothing else is asked for. */
import type { InstanceType } from './instance-types.ts';

export type Topology = {
  readonly regionId: string;
  /** The account, as a decimal string. */
  readonly ownerId: string;
  readonly vpcs: readonly VpcSpec[];
  readonly vSwitches: readonly VSwitchSpec[];
  readonly securityGroups: readonly SecurityGroupSpec[];
  readonly instances: readonly InstanceSpec[];
  /** Besides, or in place of, those of the table. */
  readonly instanceTypes: readonly InstanceType[];
};

export type VpcSpec = { readonly vpcId: string; readonly cidr: string; readonly ipv6Cidr: string | null };

export type VSwitchSpec = {
  readonly vSwitchId: string;
  readonly vpcId: string;
  readonly zoneId: string;
  readonly cidr: string;
  /** null: IPv6 is not turned on. */
  readonly ipv6Cidr: string | null;
};

export type SecurityGroupSpec = {
  readonly securityGroupId: string;
  readonly vpcId: string;
  readonly type: 'normal' | 'enterprise';
  /** Groups that its members take packets from, or `any`, besides what the type allows by itself; default: none. */
  readonly accepts?: readonly string[];
};

export type InstanceStatus = 'Pending' | 'Running' | 'Starting' | 'Stopping' | 'Stopped';

export type InstanceSpec = {
  readonly instanceId: string;
  readonly name: string;
  readonly instanceType: string;
  /** Of the primary ENI. */
  readonly vSwitchId: string;
  readonly securityGroupIds: readonly string[];
  /** null: the vSwitch gives one. */
  readonly primaryIp: string | null;
  /** IPv6 addresses of the primary ENI; none if not told. */
  readonly primaryIpv6Count?: number;
  readonly status: InstanceStatus;
  /** Name of the RAM role whose credentials the metadata service hands out; null: none. */
  readonly ramRole: string | null;
  /** Whether the metadata service answers without a token. */
  readonly httpTokens: 'optional' | 'required';
  readonly tags: Readonly<Record<string, string>>;
};

/**
 * One VPC, one zone with two dual-stack vSwitches of 252 addresses, one security group, `nodes` instances in the first
 * vSwitch: `i-lab-node-1`, `i-lab-node-2`, ...
 */
export function defaultTopology(instanceType = 'ecs.g7.xlarge', nodes = 2): Topology {
  const vpcId = 'vpc-lab';
  const zoneId = 'cn-lab-a';
  return {
    regionId: 'cn-lab',
    ownerId: '1000000000000001',
    vpcs: [{ vpcId, cidr: '192.168.0.0/16', ipv6Cidr: '2001:db8:0:100::/56' }],
    vSwitches: [
      { vSwitchId: 'vsw-lab-1', vpcId, zoneId, cidr: '192.168.0.0/24', ipv6Cidr: '2001:db8:0:100::/64' },
      { vSwitchId: 'vsw-lab-2', vpcId, zoneId, cidr: '192.168.1.0/24', ipv6Cidr: '2001:db8:0:101::/64' },
    ],
    securityGroups: [{ securityGroupId: 'sg-lab', vpcId, type: 'normal' }],
    instances: Array.from({ length: nodes }, (_, index) => ({
      instanceId: `i-lab-node-${index + 1}`,
      name: `node-${index + 1}`,
      instanceType,
      vSwitchId: 'vsw-lab-1',
      securityGroupIds: ['sg-lab'],
      primaryIp: null,
      status: 'Running' as const,
      ramRole: null,
      httpTokens: 'optional' as const,
      tags: {},
    })),
    instanceTypes: [],
  };
}
