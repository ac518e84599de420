/**
 * The VPC that the lab builds by itself: nodes in one vSwitch, one more machine in another, and instances small enough that a
 * handful of pods needs a second ENI.
 */
import type { InstanceType } from '../vpc/instance-types.ts';
import { defaultTopology, type InstanceSpec, type Topology } from '../vpc/topology.ts';

/** Four ENIs of four addresses: 12 pods a node. */
export const LAB_INSTANCE_TYPE: InstanceType = {
  instanceType: 'lab.dozen',
  family: 'lab',
  source: 'invented',
  cpuCores: 2,
  memoryGib: 4,
  enis: 4,
  ipv4PerEni: 4,
  ipv6PerEni: 4,
  enisInTotal: 4,
  trunk: false,
  rdmaEnis: 0,
  primaryQueues: 2,
  secondaryQueues: 2,
  totalQueues: 8,
  bandwidthKbps: 1_024_000,
};

/** The machine that is no node: a host elsewhere in the VPC. */
export const ELSEWHERE = 'elsewhere';

/** `node-1` … `node-N` and `elsewhere`; with `ipv6` each machine has an IPv6 address too. */
export function labTopology(nodes: number, instanceType = LAB_INSTANCE_TYPE.instanceType, ipv6 = false): Topology {
  const topology = defaultTopology(instanceType, nodes);
  const [vSwitch, other] = topology.vSwitches;
  const [group] = topology.securityGroups;
  if (vSwitch === undefined || other === undefined || group === undefined) {
    throw new Error('the default topology has two vSwitches and a security group');
  }
  const elsewhere: InstanceSpec = {
    instanceId: `i-lab-${ELSEWHERE}`,
    name: ELSEWHERE,
    instanceType: LAB_INSTANCE_TYPE.instanceType,
    vSwitchId: other.vSwitchId,
    securityGroupIds: [group.securityGroupId],
    primaryIp: null,
    status: 'Running',
    ramRole: null,
    httpTokens: 'optional',
    tags: {},
  };
  return {
    ...topology,
    instances: [...topology.instances, elsewhere].map((one) => ({ ...one, primaryIpv6Count: ipv6 ? 1 : 0 })),
    instanceTypes: [...topology.instanceTypes, LAB_INSTANCE_TYPE],
  };
}
