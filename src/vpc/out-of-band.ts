/**
 * Changes that no call of ours made: an operator at the console, another controller, the cloud itself. They take effect at
 * once, whatever the state; Describe and the metadata service learn of them with their usual lag.
 */
import type { EniStatus } from '../core/eni.ts';
import { addIp, removeIp } from './eni-addresses.ts';
import { becomeAvailable, becomeInUse, bindToInstance, makeEni, vanish } from './eni-lifecycle.ts';
import type { EniRecord } from './eni-record.ts';
import { cloudError } from './errors.ts';
import { checkGroups, pickAddresses } from './pick-addresses.ts';
import type { Want } from './requests.ts';
import type { Step } from './timeline.ts';
import type { InstanceStatus } from './topology.ts';
import type { World } from './world.ts';

export type Change =
  | { readonly change: 'assign'; readonly eniId: string; readonly family: 4 | 6; readonly want: Want }
  | { readonly change: 'unassign'; readonly eniId: string; readonly ips: readonly string[] }
  /** Makes an ENI that is not ours, attached when `instanceId` is given. */
  | {
      readonly change: 'createEni';
      readonly vSwitchId: string;
      readonly securityGroupIds: readonly string[];
      readonly instanceId: string | null;
      readonly secondaries: number;
      readonly ipv6: number;
      readonly tags: Readonly<Record<string, string>>;
      readonly serviceManaged: boolean;
    }
  | { readonly change: 'attachEni'; readonly eniId: string; readonly instanceId: string }
  | { readonly change: 'detachEni'; readonly eniId: string }
  | { readonly change: 'deleteEni'; readonly eniId: string }
  /**
   * Pins a status; whatever was to happen no longer does. After `forMs` a passing status ends as it always does (Attaching in
   * InUse, Deleting in nothing); null, or a resting status: it stays.
   */
  | {
      readonly change: 'setEniStatus';
      readonly eniId: string;
      readonly status: EniStatus;
      readonly forMs: number | null;
    }
  /** So many addresses of the vSwitch are nobody's to take; 0 gives all back. */
  | { readonly change: 'withhold'; readonly vSwitchId: string; readonly addresses: number }
  /** Of any ENI, the primary one too: as one changes an instance's groups. */
  | { readonly change: 'setSecurityGroups'; readonly eniId: string; readonly securityGroupIds: readonly string[] }
  | { readonly change: 'setInstanceStatus'; readonly instanceId: string; readonly status: InstanceStatus }
  /** As after a stop, ModifyInstanceSpec and a start, whatever is attached. */
  | { readonly change: 'resizeInstance'; readonly instanceId: string; readonly instanceType: string }
  /** The instance is released: its ENIs with DeleteOnRelease go with it, the others become Available. */
  | { readonly change: 'releaseInstance'; readonly instanceId: string }
  | { readonly change: 'forgetMetadataTokens'; readonly instanceId: string };

/** Makes the change and names what it made or touched. Throws CloudError when what it names does not exist or has no room. */
export function changeOutOfBand(world: World, change: Change, nowMs: number): readonly string[] {
  const moment = { nowMs, answerMs: nowMs };
  switch (change.change) {
    case 'assign': {
      const eni = world.eni(change.eniId);
      const ips = pickAddresses(world, world.vSwitch(eni.vSwitchId), change.family, change.want, []);
      for (const ip of ips) addIp(world, eni, ip, moment);
      return ips;
    }
    case 'setSecurityGroups': {
      const eni = world.eni(change.eniId);
      const { securityGroupIds } = change;
      checkGroups(world, eni.vpcId, securityGroupIds);
      eni.securityGroupIds = securityGroupIds;
      world.emit({ type: 'securityGroupsChanged', atMs: nowMs, eniId: eni.eniId, securityGroupIds });
      return [eni.eniId];
    }
    case 'unassign': {
      const eni = world.eni(change.eniId);
      for (const ip of change.ips) {
        if (!secondaryIps(eni).includes(ip)) throw cloudError('InvalidIp.IpUnassigned', ip);
      }
      for (const ip of change.ips) removeIp(world, eni, ip, moment);
      return change.ips;
    }
    case 'createEni':
      return [createForeign(world, change, nowMs)];
    case 'attachEni': {
      const eni = world.eni(change.eniId);
      world.instance(change.instanceId);
      if (eni.instanceId !== null) becomeAvailable(world, eni, nowMs);
      bindToInstance(world, eni, change.instanceId);
      becomeInUse(world, eni, nowMs);
      return [eni.eniId];
    }
    case 'detachEni': {
      const eni = world.eni(change.eniId);
      eni.epoch += 1;
      becomeAvailable(world, eni, nowMs);
      return [eni.eniId];
    }
    case 'deleteEni':
      vanish(world, world.eni(change.eniId), nowMs);
      return [change.eniId];
    case 'setEniStatus': {
      const eni = world.eni(change.eniId);
      eni.epoch += 1;
      world.setStatus(eni, change.status, nowMs);
      const step = endOf(change.status, eni.instanceId !== null);
      if (change.forMs !== null && step !== null) world.plan(eni, step, nowMs + change.forMs);
      return [eni.eniId];
    }
    case 'withhold':
      world.vSwitch(change.vSwitchId).withheld = change.addresses;
      return [change.vSwitchId];
    case 'setInstanceStatus':
      world.instance(change.instanceId).status = change.status;
      return [change.instanceId];
    case 'resizeInstance': {
      const { instanceId, instanceType } = change;
      const type = world.instanceTypes.get(instanceType);
      if (type === undefined) throw cloudError('InvalidParameter', 'instanceType');
      Object.assign(world.instance(instanceId), { instanceType, type });
      return [instanceId];
    }
    case 'releaseInstance': {
      world.instance(change.instanceId);
      const enis = world.enisOf(change.instanceId);
      for (const eni of enis) {
        if (eni.deleteOnRelease) vanish(world, eni, nowMs);
        else becomeAvailable(world, eni, nowMs);
      }
      world.instances.delete(change.instanceId);
      return enis.map((eni) => eni.eniId);
    }
    case 'forgetMetadataTokens':
      world.instance(change.instanceId).tokensValidFromMs = nowMs + 1;
      return [change.instanceId];
  }
}

function createForeign(world: World, change: Change & { change: 'createEni' }, nowMs: number): string {
  if (change.instanceId !== null) world.instance(change.instanceId);
  const eni = makeEni(
    world,
    {
      type: 'Secondary',
      vSwitchId: change.vSwitchId,
      securityGroupIds: change.securityGroupIds,
      primaryIp: null,
      ipv4: { count: change.secondaries },
      ipv6: { count: change.ipv6 },
      name: '',
      description: '',
      deleteOnRelease: false,
      sourceDestCheck: false,
      trafficMode: 'Standard',
      queueNumber: null,
      tags: change.tags,
    },
    { nowMs, answerMs: nowMs },
  );
  eni.serviceManaged = change.serviceManaged;
  if (change.instanceId !== null) {
    bindToInstance(world, eni, change.instanceId);
    becomeInUse(world, eni, nowMs);
  }
  return eni.eniId;
}

/** How a passing status ends; null for a resting one. */
function endOf(status: EniStatus, attached: boolean): Step | null {
  if (status === 'Creating') return 'created';
  if (status === 'Attaching') return attached ? 'attached' : 'created';
  if (status === 'Detaching') return 'detached';
  return status === 'Deleting' ? 'deleted' : null;
}

function secondaryIps(eni: EniRecord): readonly string[] {
  return [...eni.ipv4.slice(1), ...eni.ipv6].map((one) => one.ip);
}
