/**
 * Recovering: the store's leases and what the cloud has attached here become the first books of the ENI actors.
 *
 * The store is the truth about who holds what, the cloud about what exists. A record that cannot be read stops the recovery: its
 * address would look free. ENIs of ours that are attached to nothing are finished off.
 */
import { fromPromise } from 'xstate';
import type { Holder } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import { EnactorError } from '../src/core/errors.ts';
import { LEASE_VERSION, type Lease } from '../src/core/lease.ts';
import { isManaged, passesTagRules, takesPlace } from '../src/core/managed-enis.ts';
import { podKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import type { At } from '../statecharts/at.ts';
import type { AdoptedEni } from '../statecharts/eni-factory-context.ts';
import type { NodeFacts, Recovered } from '../statecharts/node.ts';
import { subnetOf } from './identify.ts';
import type { NodePorts } from './ports.ts';
import { isOurs, ownTags } from './tags.ts';

export function recoverLogic({ store, cloud, clock, log }: NodePorts) {
  return fromPromise<At<Recovered>, { facts: NodeFacts; settings: Settings }>(async ({ input, signal }) => {
    const { facts, settings } = input;
    const [leases, coolUntilMs, attached, tagged] = await Promise.all([
      readLeases(store),
      readCoolDowns(store),
      cloud.describeEnis({ instanceId: facts.instanceId }, signal),
      cloud.describeEnis({ tags: ownTags(settings.clusterId, facts.instanceId) }, signal),
    ]);
    const leased = (eni: CloudEni): boolean => leases.some((lease) => lease.grant.eni.eniId === eni.eniId);
    const managed = attached.filter((eni) => isManaged(eni, settings, leased(eni)));
    const foreign = attached.filter((eni) => takesPlace(eni) && !managed.includes(eni));
    for (const { eniId, tags } of managed)
      if (!passesTagRules(tags, settings)) log.warn({ eni: eniId }, 'an ENI with leases is managed against its tags');
    const leftovers = tagged.filter((eni) => eni.instanceId === null && isOurs(eni.tags, facts.instanceId));
    const others = [...new Set(managed.map((eni) => eni.vSwitchId))].filter(
      (id) => !facts.vSwitches.some((vSwitch) => vSwitch.vSwitchId === id),
    );
    const known = others.length === 0 ? [] : await cloud.vSwitches(others, signal);
    const subnets = new Map([
      ...facts.vSwitches.map((vSwitch) => [vSwitch.vSwitchId, vSwitch.subnet] as const),
      ...known.map((vSwitch) => [vSwitch.vSwitchId, subnetOf(vSwitch)] as const),
    ]);
    const adopt = (eni: CloudEni): AdoptedEni => {
      const here = leases.filter((lease) => lease.grant.eni.eniId === eni.eniId);
      const subnet = subnets.get(eni.vSwitchId) ?? facts.vSwitches[0]?.subnet;
      if (subnet === undefined) throw new EnactorError('cloud', `vSwitch ${eni.vSwitchId} of ${eni.eniId} is unknown`);
      const held = new Map(here.map((lease): [string, Holder] => [lease.grant.address.ipv4, holderOf(lease)]));
      const routeTable = here[0]?.grant.eni.device.routeTable ?? null;
      return { eni, ours: isOurs(eni.tags, facts.instanceId), subnet, held, coolUntilMs, routeTable };
    };
    const enis = [...managed, ...leftovers].map(adopt);
    for (const lease of leases) {
      const { address, eni } = lease.grant;
      if (!managed.some((one) => one.eniId === eni.eniId && one.ipv4.includes(address.ipv4))) {
        log.error(
          { pod: podKey(lease.sandbox.pod), ip: address.ipv4, eni: eni.eniId },
          'a leased address is gone in the cloud',
        );
      }
    }
    log.info(
      { leases: leases.length, enis: managed.length, foreign: foreign.length, leftovers: leftovers.length },
      'recovered',
    );
    return { atMs: clock.nowMs(), value: { leases, enis, foreignEnis: foreign.length } };
  });
}

const holderOf = (lease: Lease): Holder => ({ sandbox: sandboxKey(lease.sandbox), pod: podKey(lease.sandbox.pod) });

async function readLeases(store: NodePorts['store']): Promise<Lease[]> {
  const records = await store.read('leases');
  return records.map(({ key, value, unreadable }) => {
    const lease = value as Lease | null;
    if (unreadable !== undefined || lease?.version !== LEASE_VERSION || lease.grant?.address?.ipv4 === undefined) {
      throw new EnactorError(
        'store',
        `the lease record ${key} cannot be read: ${unreadable ?? 'unknown version or shape'}`,
      );
    }
    return lease;
  });
}

/** A cool-down that cannot be read only costs a shorter rest. */
async function readCoolDowns(store: NodePorts['store']): Promise<ReadonlyMap<string, number>> {
  const records = await store.read('coolDowns');
  return new Map(
    records.flatMap(({ key, value }): [string, number][] => (typeof value === 'number' ? [[key, value]] : [])),
  );
}
