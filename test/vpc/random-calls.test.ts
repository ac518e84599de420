/** Any sequence of calls keeps the world consistent, and who follows the events knows as much as the truth. */
import t from 'tap';
import { CloudError } from '../../src/vpc/errors.ts';
import type { VpcEvent } from '../../src/vpc/events.ts';
import type { Truth } from '../../src/vpc/model.ts';
import { NODE_1, NODE_2, smallWorld } from './small-world.ts';

/** A small linear congruential generator: the same seed, the same calls. */
function dice(seed: number) {
  let state = seed >>> 0;
  const roll = (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
  return { roll, pick: <T>(items: readonly T[]): T | undefined => items[roll(items.length)] };
}

/** What a hypervisor that only listens knows: device -> instance, addresses of each ENI. */
class Follower {
  readonly plugged = new Map<string, string>();
  readonly ips = new Map<string, Set<string>>();

  hear(event: VpcEvent): void {
    if (event.type === 'eniCreated') this.ips.set(event.eniId, new Set());
    if (event.type === 'eniDeleted') this.ips.delete(event.eniId);
    if (event.type === 'addressAssigned') this.ips.get(event.eniId)?.add(event.ip);
    if (event.type === 'addressReleased') this.ips.get(event.eniId)?.delete(event.ip);
    if (event.type === 'attached') this.plugged.set(event.eniId, event.instanceId);
    if (event.type === 'detached') this.plugged.delete(event.eniId);
  }
}

function problems(truth: Truth, follower: Follower): string[] {
  const found: string[] = [];
  const holder = new Map<string, string>();
  for (const eni of truth.enis) {
    for (const ip of [...eni.ipv4, ...eni.ipv6]) {
      if (holder.has(ip)) found.push(`${ip} is on ${holder.get(ip)} and ${eni.eniId}`);
      holder.set(ip, eni.eniId);
    }
    if (eni.ipv4[0] !== eni.primaryIp) found.push(`${eni.eniId} lost its primary address`);
    if (eni.status === 'InUse' && eni.instanceId === null) found.push(`${eni.eniId} is InUse nowhere`);
    if (eni.status === 'Available' && eni.instanceId !== null) found.push(`${eni.eniId} is Available on an instance`);
    if (eni.plugged !== (follower.plugged.get(eni.eniId) === eni.instanceId && eni.instanceId !== null)) {
      found.push(`${eni.eniId}: the follower knows another instance`);
    }
    const heard = [...(follower.ips.get(eni.eniId) ?? [])].sort().join();
    if (eni.type === 'Secondary' && heard !== [...eni.ipv4, ...eni.ipv6].sort().join()) {
      found.push(`${eni.eniId}: the follower knows other addresses`);
    }
  }
  for (const vSwitch of truth.vSwitches) {
    const used = truth.enis.filter((eni) => eni.vSwitchId === vSwitch.vSwitchId).flatMap((eni) => eni.ipv4).length;
    if (vSwitch.availableAddresses !== 252 - used) found.push(`${vSwitch.vSwitchId} has lost count`);
  }
  for (const instance of truth.instances) {
    const enis = truth.enis.filter((eni) => eni.instanceId === instance.instanceId);
    if (enis.length > 3) found.push(`${instance.instanceId} has ${enis.length} ENIs`);
    if (enis.some((eni) => eni.ipv4.length > 6 || eni.ipv6.length > 6)) found.push(`${instance.instanceId}: too many`);
    if (new Set(enis.map((eni) => eni.deviceIndex)).size < enis.length) found.push('a device index is used twice');
  }
  return found;
}

for (const seed of [1, 2, 3, 4, 5]) {
  t.test(`model: 600 calls of seed ${seed} keep the world consistent`, async (t) => {
    const world = smallWorld({ instanceType: 'lab.small' });
    const { model } = world;
    const follower = new Follower();
    model.subscribe((event) => follower.hear(event));
    for (const eni of model.truth(0).enis) follower.plugged.set(eni.eniId, eni.instanceId ?? '');
    const { roll, pick } = dice(seed);
    const outcomes = new Map<string, number>();
    let nowMs = 0;
    for (let count = 0; count < 600; count += 1) {
      nowMs += roll(400);
      const enis = model.truth(nowMs).enis;
      const eni = pick(enis);
      const eniId = eni?.eniId ?? '';
      const instanceId = pick([NODE_1, NODE_2]) ?? NODE_1;
      const calls: (() => unknown)[] = [
        () =>
          world.create(nowMs, {
            vSwitchId: pick(['vsw-lab-1', 'vsw-lab-2']) ?? '',
            ipv4: { count: roll(6) },
            ipv6: { count: roll(3) },
          }),
        () => world.at(nowMs, 'AttachNetworkInterface', { eniId, instanceId }),
        () => world.at(nowMs, 'DetachNetworkInterface', { eniId, instanceId }),
        () => world.at(nowMs, 'DeleteNetworkInterface', { eniId }),
        () => world.at(nowMs, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 + roll(4) } }),
        () => world.at(nowMs, 'AssignIpv6Addresses', { eniId, want: { count: 1 + roll(3) } }),
        () => world.at(nowMs, 'UnassignPrivateIpAddresses', { eniId, ips: [pick(eni?.ipv4 ?? []) ?? 'none'] }),
        () => world.at(nowMs, 'UnassignIpv6Addresses', { eniId, ips: [pick(eni?.ipv6 ?? []) ?? 'none'] }),
        () => model.change({ change: 'detachEni', eniId: eni?.type === 'Primary' ? 'eni-none' : eniId }, nowMs),
        () => model.change({ change: 'deleteEni', eniId: eni?.type === 'Primary' ? 'eni-none' : eniId }, nowMs),
      ];
      let outcome = 'ok';
      try {
        pick(calls)?.();
      } catch (error) {
        if (!(error instanceof CloudError)) throw error;
        outcome = error.code;
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const found = problems(model.truth(nowMs), follower);
      if (found.length > 0) {
        t.same(found, [], `after call ${count} at ${nowMs}`);
        break;
      }
    }
    t.same(problems(model.truth(nowMs + 60_000), follower), [], 'and at rest');
    t.ok((outcomes.get('ok') ?? 0) > 100, 'many calls were carried out');
    t.ok(outcomes.size > 6, `and many ways to be refused were met: ${[...outcomes.keys()].join(', ')}`);
  });
}
