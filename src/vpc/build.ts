/**
 * Builds what a topology describes into a world, in one go or piece by piece. What exists already is refused by its name.
 *
 * An instance starts with its primary ENI, InUse and known to the metadata service at once.
 */
import { checkTopology } from './check-topology.ts';
import { bindToInstance, makeEni, plug } from './eni-lifecycle.ts';
import type { InstanceSpec, Topology } from './topology.ts';
import { newVSwitch, type World } from './world.ts';

export function build(world: World, topology: Omit<Topology, 'regionId' | 'ownerId'>, nowMs: number): void {
  checkTopology(world, topology);
  for (const type of topology.instanceTypes) world.instanceTypes.set(type.instanceType, type);
  for (const vpc of topology.vpcs) world.vpcs.set(vpc.vpcId, vpc);
  for (const spec of topology.vSwitches) world.vSwitches.set(spec.vSwitchId, newVSwitch(spec, world.count('order')));
  for (const spec of topology.securityGroups) {
    world.securityGroups.set(spec.securityGroupId, { ...spec, order: world.count('order'), tags: {} });
  }
  for (const spec of topology.instances) addInstance(world, spec, nowMs);
  // Chosen addresses go first, so that none of them is given to an instance that takes any.
  const chosenFirst = topology.instances.toSorted(
    (a, b) => Number(a.primaryIp === null) - Number(b.primaryIp === null),
  );
  for (const spec of chosenFirst) addPrimaryEni(world, spec, nowMs);
}

function addInstance(world: World, spec: InstanceSpec, nowMs: number): void {
  const vSwitch = world.vSwitch(spec.vSwitchId);
  const type = world.instanceTypes.get(spec.instanceType);
  if (type === undefined) throw new RangeError(`instance type ${spec.instanceType} is not known`); // checked before
  world.instances.set(spec.instanceId, {
    ...spec,
    order: world.count('order'),
    type,
    zoneId: vSwitch.zoneId,
    vpcId: vSwitch.vpcId,
    createdAtMs: nowMs,
    leftMacs: [],
    tokensValidFromMs: nowMs,
  });
}

function addPrimaryEni(world: World, spec: InstanceSpec, nowMs: number): void {
  const eni = makeEni(
    world,
    {
      type: 'Primary',
      vSwitchId: spec.vSwitchId,
      securityGroupIds: spec.securityGroupIds,
      primaryIp: spec.primaryIp,
      ipv4: { count: 0 },
      ipv6: { count: spec.primaryIpv6Count ?? 0 },
      name: '',
      description: '',
      deleteOnRelease: true,
      sourceDestCheck: false,
      trafficMode: 'Standard',
      queueNumber: world.instance(spec.instanceId).type.primaryQueues,
      tags: {},
    },
    { nowMs, answerMs: nowMs },
  );
  bindToInstance(world, eni, spec.instanceId);
  // An instance that boots finds its device in place and itself described.
  world.setStatus(eni, 'InUse', nowMs);
  plug(world, eni, nowMs);
  eni.macFromMs = nowMs;
  eni.ipv4 = eni.ipv4.map((one) => ({ ...one, shownFromMs: nowMs, metadataFromMs: nowMs }));
  eni.ipv6 = eni.ipv6.map((one) => ({ ...one, shownFromMs: nowMs, metadataFromMs: nowMs }));
}
