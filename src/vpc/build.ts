/**
 * Builds what a topology describes into a world, in one go or piece by piece. What exists already is refused by its name.
 *
 * An instance starts with its primary ENI, InUse and known to the metadata service at once.
 */
import { becomeInUse, bindToInstance, makeEni } from './eni-lifecycle.ts';
import type { InstanceSpec, Topology } from './topology.ts';
import { newVSwitch, type World } from './world.ts';

/** Why a topology cannot be built; `field` is the path to the culprit, such as `instances[1].vSwitchId`. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError';
  readonly field: string;

  constructor(field: string, why: string) {
    super(`${field}: ${why}`);
    this.field = field;
  }
}

export function build(world: World, topology: Omit<Topology, 'regionId' | 'ownerId'>, nowMs: number): void {
  check(world, topology);
  for (const type of topology.instanceTypes) world.instanceTypes.set(type.instanceType, type);
  for (const vpc of topology.vpcs) world.vpcs.set(vpc.vpcId, vpc);
  for (const spec of topology.vSwitches) world.vSwitches.set(spec.vSwitchId, newVSwitch(spec, world.count('order')));
  for (const spec of topology.securityGroups) {
    world.securityGroups.set(spec.securityGroupId, { ...spec, order: world.count('order'), tags: {} });
  }
  for (const [index, spec] of topology.instances.entries()) addInstance(world, spec, `instances[${index}]`, nowMs);
}

function addInstance(world: World, spec: InstanceSpec, field: string, nowMs: number): void {
  const vSwitch = world.vSwitch(spec.vSwitchId);
  const type = world.instanceTypes.get(spec.instanceType);
  if (type === undefined) throw new TopologyError(`${field}.instanceType`, `${spec.instanceType} is not known`);
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
  const moment = { nowMs, answerMs: nowMs };
  const eni = makeEni(
    world,
    {
      type: 'Primary',
      vSwitchId: spec.vSwitchId,
      securityGroupIds: spec.securityGroupIds,
      primaryIp: spec.primaryIp,
      ipv4: { count: 0 },
      ipv6: { count: 0 },
      name: '',
      description: '',
      deleteOnRelease: true,
      sourceDestCheck: false,
      trafficMode: 'Standard',
      queueNumber: type.primaryQueues,
      tags: {},
    },
    moment,
  );
  bindToInstance(world, eni, spec.instanceId);
  becomeInUse(world, eni, nowMs);
  eni.macFromMs = nowMs; // an instance that boots finds itself described
  eni.ipv4 = eni.ipv4.map((one) => ({ ...one, shownFromMs: nowMs, metadataFromMs: nowMs }));
}

/** All of it is checked before any of it is built. */
function check(world: World, topology: Omit<Topology, 'regionId' | 'ownerId'>): void {
  const fresh = (field: string, known: ReadonlyMap<string, unknown>, ids: readonly string[]) => {
    for (const [index, id] of ids.entries()) {
      const where = `${field.replace('[]', `[${index}]`)}`;
      if (known.has(id)) throw new TopologyError(where, `${id} exists already`);
      if (ids.indexOf(id) !== index) throw new TopologyError(where, `${id} is given twice`);
    }
  };
  const vpcIds = topology.vpcs.map((one) => one.vpcId);
  const vSwitchIds = topology.vSwitches.map((one) => one.vSwitchId);
  const groupIds = topology.securityGroups.map((one) => one.securityGroupId);
  fresh('vpcs[].vpcId', world.vpcs, vpcIds);
  fresh('vSwitches[].vSwitchId', world.vSwitches, vSwitchIds);
  fresh('securityGroups[].securityGroupId', world.securityGroups, groupIds);
  const instanceIds = topology.instances.map((one) => one.instanceId);
  fresh('instances[].instanceId', world.instances, instanceIds);
  const known = (field: string, map: ReadonlyMap<string, unknown>, more: readonly string[], id: string) => {
    if (!map.has(id) && !more.includes(id)) throw new TopologyError(field, `${id} is not known`);
  };
  for (const [index, one] of topology.vSwitches.entries()) {
    known(`vSwitches[${index}].vpcId`, world.vpcs, vpcIds, one.vpcId);
  }
  for (const [index, one] of topology.securityGroups.entries()) {
    known(`securityGroups[${index}].vpcId`, world.vpcs, vpcIds, one.vpcId);
  }
  const typeIds = topology.instanceTypes.map((one) => one.instanceType);
  for (const [index, one] of topology.instances.entries()) {
    const field = `instances[${index}]`;
    known(`${field}.instanceType`, world.instanceTypes, typeIds, one.instanceType);
    known(`${field}.vSwitchId`, world.vSwitches, vSwitchIds, one.vSwitchId);
    if (one.securityGroupIds.length === 0) throw new TopologyError(`${field}.securityGroupIds`, 'is empty');
    for (const id of one.securityGroupIds) known(`${field}.securityGroupIds`, world.securityGroups, groupIds, id);
  }
}
