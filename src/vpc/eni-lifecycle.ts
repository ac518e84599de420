/**
 * An ENI's life: (Creating ->) Available | CreateFailed -> Attaching -> InUse -> Detaching -> Available -> Deleting -> gone.
 *
 * A call starts a transition, `happen` ends it when its time has come. An attach that fails goes back to Available without a
 * word, as the real one does.
 * Source: CreateNetworkInterface, AttachNetworkInterface, DetachNetworkInterface, DeleteNetworkInterface.
 */
import type { EniType } from '../core/eni.ts';
import { addIp, checkTypeQuota } from './eni-addresses.ts';
import { type EniRecord, eniTruth } from './eni-record.ts';
import { cloudError } from './errors.ts';
import { metadataEni } from './metadata-view.ts';
import { checkGroupRoom, checkGroups, pickAddresses } from './pick-addresses.ts';
import type { EniView, Input } from './requests.ts';
import type { Due } from './timeline.ts';
import type { Moment, World } from './world.ts';

export function createEni(world: World, input: Input<'CreateNetworkInterface'>, moment: Moment): EniView {
  const vSwitch = world.vSwitch(input.vSwitchId);
  checkGroups(world, vSwitch.vpcId, input.securityGroupIds);
  if (world.enis.size >= world.settings.enisInRegion) {
    throw cloudError('MaxEniCountExceeded', world.settings.enisInRegion);
  }
  const { secondaryIpv4Unattached, ipv6Unattached } = world.settings;
  if (countOf(input.ipv4) > secondaryIpv4Unattached) throw cloudError('MaxEniPrivateIpsCountExceeded');
  if (countOf(input.ipv6) > ipv6Unattached) throw cloudError('MaxEniIpv6IpsCountExceeded');
  checkGroupRoom(world, input.securityGroupIds, 1 + countOf(input.ipv4));
  const eni = makeEni(world, { ...input, type: 'Secondary' }, moment);
  const creatingMs = moment.transition?.lastsMs ?? world.delayMs('creatingMs');
  const fails = moment.transition?.fails === true;
  if (creatingMs > 0 || fails) {
    eni.status = eni.shownStatus = 'Creating';
    world.plan(eni, fails ? 'createFailed' : 'created', moment.answerMs + creatingMs);
  }
  return eniTruth(eni);
}

/** Makes an ENI with its addresses, Available; refuses when the vSwitch cannot give them. */
export function makeEni(
  world: World,
  input: Input<'CreateNetworkInterface'> & { readonly type: EniType },
  moment: Pick<Moment, 'nowMs' | 'answerMs'>,
): EniRecord {
  const vSwitch = world.vSwitch(input.vSwitchId);
  const primaryWant = input.primaryIp === null ? { count: 1 } : { ips: [input.primaryIp] };
  const primary = pickAddresses(world, vSwitch, 4, primaryWant, []);
  const secondary = pickAddresses(world, vSwitch, 4, input.ipv4, primary);
  const ipv6 = pickAddresses(world, vSwitch, 6, input.ipv6, []);
  const eni: EniRecord = {
    eniId: world.newId('eni'),
    order: world.count('order'),
    mac: world.newId('mac'),
    type: input.type,
    vpcId: vSwitch.vpcId,
    vSwitchId: vSwitch.vSwitchId,
    zoneId: vSwitch.zoneId,
    createdAtMs: moment.nowMs,
    shownFromMs: moment.answerMs + world.delayMs('describeLagMs'),
    trafficMode: input.trafficMode,
    name: input.name,
    description: input.description,
    deleteOnRelease: input.deleteOnRelease,
    sourceDestCheck: input.sourceDestCheck,
    serviceManaged: false,
    queueNumber: input.queueNumber,
    securityGroupIds: input.securityGroupIds,
    tags: input.tags,
    status: 'Available',
    shownStatus: 'Available',
    statusShownFromMs: moment.nowMs,
    instanceId: null,
    deviceIndex: null,
    plugged: false,
    macFromMs: null,
    ipv4: [],
    ipv6: [],
    left: [],
    busyUntilMs: moment.nowMs,
    epoch: 0,
  };
  world.enis.set(eni.eniId, eni);
  world.emit({ type: 'eniCreated', atMs: moment.nowMs, eniId: eni.eniId, mac: eni.mac });
  for (const ip of [...primary, ...secondary, ...ipv6]) addIp(world, eni, ip, moment);
  return eni;
}

export function attachEni(world: World, input: Input<'AttachNetworkInterface'>, moment: Moment): null {
  const eni = world.eni(input.eniId);
  const instance = world.instance(input.instanceId);
  if (eni.serviceManaged) throw cloudError('InvalidOperation.EniServiceManaged');
  if (eni.type === 'Primary') throw cloudError('InvalidOperation.InvalidEniType');
  if (eni.status !== 'Available') throw cloudError('InvalidOperation.InvalidEniState', 'Available', eni.status);
  if (instance.status !== 'Running' && instance.status !== 'Stopped') {
    throw cloudError('InvalidOperation.InvalidEcsState');
  }
  if (eni.vpcId !== instance.vpcId) throw cloudError('InvalidOperation.VpcMismatch');
  if (eni.zoneId !== instance.zoneId) throw cloudError('InvalidOperation.AvailabilityZoneMismatch');
  if (world.enisOf(instance.instanceId).length >= instance.type.enis) throw cloudError('EniPerInstanceLimitExceeded');
  checkTypeQuota(world, instance.instanceId, 4, eni.ipv4.length);
  checkTypeQuota(world, instance.instanceId, 6, eni.ipv6.length);
  bindToInstance(world, eni, instance.instanceId);
  world.setStatus(eni, 'Attaching', moment.nowMs);
  const attachingMs = moment.transition?.lastsMs ?? world.delayMs('attachingMs');
  world.plan(eni, moment.transition?.fails ? 'attachFailed' : 'attached', moment.answerMs + attachingMs);
  return null;
}

export function detachEni(world: World, input: Input<'DetachNetworkInterface'>, moment: Moment): null {
  const eni = world.eni(input.eniId);
  if (!world.instances.has(input.instanceId)) throw cloudError('InvalidEcsId.NotFound');
  if (eni.serviceManaged) throw cloudError('InvalidOperation.EniServiceManaged');
  if (eni.type === 'Primary') throw cloudError('InvalidOperation.DetachPrimaryEniNotAllowed');
  if (eni.status === 'Available' && world.settings.detachAvailable === 'accept') return null;
  if (eni.status !== 'InUse' && eni.status !== 'Detaching') {
    throw cloudError('InvalidOperation.InvalidEniState', 'InUse', eni.status);
  }
  if (eni.instanceId !== input.instanceId) throw cloudError('InvalidParameter.EniNotBelongEcs');
  const { status } = world.instance(input.instanceId);
  if (status !== 'Running' && status !== 'Stopped') throw cloudError('InvalidOperation.InvalidEcsState');
  unplug(world, eni, moment.nowMs);
  if (eni.status === 'InUse') world.setStatus(eni, 'Detaching', moment.nowMs);
  eni.epoch += 1; // a repeated detach cures one that is stuck
  const detachingMs = moment.transition?.lastsMs ?? world.delayMs('detachingMs');
  world.plan(eni, 'detached', moment.answerMs + detachingMs);
  return null;
}

export function deleteEni(world: World, input: Input<'DeleteNetworkInterface'>, moment: Moment): null {
  const eni = world.eni(input.eniId);
  if (eni.serviceManaged) throw cloudError('InvalidOperation.EniServiceManaged');
  if (eni.type === 'Primary') throw cloudError('InvalidOperation.InvalidEniType');
  if (eni.status !== 'Available' && eni.status !== 'Deleting' && eni.status !== 'CreateFailed') {
    throw cloudError('InvalidOperation.InvalidEniState', 'Available', eni.status);
  }
  if (eni.status !== 'Deleting') world.setStatus(eni, 'Deleting', moment.nowMs);
  eni.epoch += 1; // a repeated delete cures one that is stuck
  const deletingMs = moment.transition?.lastsMs ?? world.delayMs('deletingMs');
  world.plan(eni, 'deleted', moment.answerMs + deletingMs);
  return null;
}

/** Ends what a call has started. Nothing happens when the plans for this ENI have changed meanwhile. */
export function happen(world: World, due: Due): void {
  const eni = world.enis.get(due.eniId);
  if (eni === undefined || eni.epoch !== due.epoch) return;
  if (due.step === 'created') world.setStatus(eni, 'Available', due.atMs);
  if (due.step === 'createFailed') world.setStatus(eni, 'CreateFailed', due.atMs);
  if (due.step === 'attached') becomeInUse(world, eni, due.atMs);
  if (due.step === 'plugged') plug(world, eni, due.atMs);
  if (due.step === 'attachFailed' || due.step === 'detached') becomeAvailable(world, eni, due.atMs);
  if (due.step === 'deleted') vanish(world, eni, due.atMs);
}

export function bindToInstance(world: World, eni: EniRecord, instanceId: string): void {
  const used = new Set(world.enisOf(instanceId).map((other) => other.deviceIndex));
  let index = eni.type === 'Primary' ? 0 : 1;
  while (used.has(index)) index += 1;
  eni.instanceId = instanceId;
  eni.deviceIndex = index;
  eni.epoch += 1;
}

export function becomeInUse(world: World, eni: EniRecord, atMs: number): void {
  world.setStatus(eni, 'InUse', atMs);
  eni.macFromMs = atMs + world.delayMs('metadataMacMs');
  const deviceMs = world.delayMs('deviceMs');
  if (deviceMs === 0) plug(world, eni, atMs);
  else world.plan(eni, 'plugged', atMs + deviceMs);
}

export function becomeAvailable(world: World, eni: EniRecord, atMs: number): void {
  unplug(world, eni, atMs);
  const instance = eni.instanceId === null ? undefined : world.instances.get(eni.instanceId);
  if (instance !== undefined && eni.macFromMs !== null && eni.macFromMs <= atMs) {
    const untilMs = atMs + world.delayMs('metadataMacMs');
    instance.leftMacs = instance.leftMacs.filter((left) => left.untilMs > atMs && left.eni.mac !== eni.mac);
    instance.leftMacs.push({ eni: metadataEni(world, eni, atMs), untilMs });
  }
  eni.instanceId = null;
  eni.deviceIndex = null;
  eni.macFromMs = null;
  world.setStatus(eni, 'Available', atMs);
}

/** The device appears in the guest. */
export function plug(world: World, eni: EniRecord, atMs: number): void {
  if (eni.plugged || eni.instanceId === null) return;
  eni.plugged = true;
  world.emit({
    type: 'attached',
    atMs,
    eniId: eni.eniId,
    mac: eni.mac,
    instanceId: eni.instanceId,
    primary: eni.type === 'Primary',
    deviceIndex: eni.deviceIndex ?? 0,
    vpcId: eni.vpcId,
    vSwitchId: eni.vSwitchId,
    ipv4: eni.ipv4.map((one) => one.ip),
    ipv6: eni.ipv6.map((one) => one.ip),
    securityGroupIds: eni.securityGroupIds,
  });
}

export function unplug(world: World, eni: EniRecord, atMs: number): void {
  if (!eni.plugged || eni.instanceId === null) return;
  eni.plugged = false;
  world.emit({ type: 'detached', atMs, eniId: eni.eniId, mac: eni.mac, instanceId: eni.instanceId });
}

/** The ENI ceases to be; its addresses go back to the vSwitch. */
export function vanish(world: World, eni: EniRecord, atMs: number): void {
  if (eni.instanceId !== null) becomeAvailable(world, eni, atMs);
  const vSwitch = world.vSwitch(eni.vSwitchId);
  for (const { ip } of [...eni.ipv4, ...eni.ipv6]) {
    (ip.includes(':') ? vSwitch.ipv6Space : vSwitch.space)?.release(ip);
    const { eniId, mac, vSwitchId } = eni;
    world.emit({ type: 'addressReleased', atMs, eniId, mac, instanceId: null, vSwitchId, ip });
  }
  world.enis.delete(eni.eniId);
  world.emit({ type: 'eniDeleted', atMs, eniId: eni.eniId, mac: eni.mac });
}

function countOf(want: { readonly count: number } | { readonly ips: readonly string[] }): number {
  return 'count' in want ? want.count : want.ips.length;
}
