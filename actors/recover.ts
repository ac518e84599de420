/**
 * Recovering: the store's leases and what the cloud has attached here become the first books of the ENI actors, and what an earlier
 * life was about to do to them, their first deeds.
 *
 * The store is the truth about who holds what, the cloud about what exists. A lease that cannot be read costs the node no service:
 * every address that it may name is held back, for as long as the record is there and until the next start after that.
 * What the host says of its pods is asked too, whether or not the store seems whole (rebuild.ts): a record that is lost must not make an
 * address free. Leases of an earlier boot are dead, since no sandbox outlives the boot. What answers of the last seconds said counts more
 * than what Describe shows (core/late-describe.ts).
 * ENIs of ours that are attached to nothing are finished off, unless an open intent says that they were on their way here. A Create whose
 * ENI is not found is made once more with its own token: only that tells for sure.
 */
import { fromPromise } from 'xstate';
import { addressKey, halvesOf } from '../src/core/address.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import { EnactorError } from '../src/core/errors.ts';
import { type CreateIntent, type EniIntent, hasAny, type Intent, isSettled } from '../src/core/intent.ts';
import { LATE_PERIODS } from '../src/core/late-describe.ts';
import type { EniBinding } from '../src/core/lease.ts';
import { isManaged, passesTagRules, takesPlace } from '../src/core/managed-enis.ts';
import { podKey, type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { AdoptedEni } from '../statecharts/adopted-eni.ts';
import type { At } from '../statecharts/at.ts';
import type { Recovered, RecoverInput } from '../statecharts/node.ts';
import { claimStore, markWhole } from './claim-store.ts';
import type { EniMemory } from './eni-memory.ts';
import { subnetOf } from './identify.ts';
import { inherit } from './inherit.ts';
import { type Intents, readAnswers, readIntents } from './intents.ts';
import { heldOn, readCoolDowns, readLeases, readLeftovers, readReservations } from './leases-on-disk.ts';
import { look, lookOnceMore } from './look.ts';
import type { NodePorts } from './ports.ts';
import { rebuild } from './rebuild.ts';
import { isOurs, REQUEST_TAG } from './tags.ts';
import type { Told } from './told.ts';

export type RecoverHands = NodePorts & {
  readonly intents: Intents;
  readonly memory: EniMemory;
  /** Filled with the sandboxes whose lease cannot be read. */
  readonly unreadable: Set<SandboxKey>;
  readonly told: Told;
  /** Told the boot that this is. */
  readonly booted: (bootId: string) => void;
};

export function recoverLogic(hands: RecoverHands) {
  const { store, cloud, host, clock, log, intents, memory, unreadable, booted, told: cloudTold } = hands;
  return fromPromise<At<Recovered>, RecoverInput>(async ({ input, signal }) => {
    const { facts, settings } = input;
    const whole = await claimStore(hands, facts.instanceId);
    const [
      onDisk,
      coolUntilMs,
      left,
      ownReservations,
      { open, unreadable: lostIntents },
      answers,
      bootId,
      hostPods,
      links,
    ] = await Promise.all([
      readLeases(store),
      readCoolDowns(store, clock.nowMs() + settings.coolDownMs),
      readLeftovers(store),
      readReservations(store),
      readIntents(store, log),
      readAnswers(store),
      host.bootId(),
      host.pods(),
      host.links(),
    ]);
    booted(bootId);
    // The host knows what a record that cannot be read was about.
    const named = new Set(hostPods.flatMap(({ sandbox }) => (sandbox === null ? [] : [sandboxKey(sandbox)])));
    const broken = onDisk.unreadable.filter((sandbox) => !named.has(sandbox));
    for (const sandbox of broken)
      log.error(
        { sandbox },
        'the lease of a sandbox cannot be read: addresses it may have are held back until it is deleted',
      );
    intents.adopt(open, answers);
    const told = { open, answers, whole: whole && lostIntents.length === 0 };
    const { askedMs, attached, tagged, byId } = await (input.seen === null
      ? look(hands, told, facts, settings, signal)
      : lookOnceMore(hands, told, input.seen, signal));
    // What was made a moment ago may not be shown yet, and must not count as gone.
    for (const { kind, eniId, atMs } of open) {
      const seen = [...attached, ...tagged, ...byId].some((eni) => eni.eniId === eniId);
      if (kind === 'attach' && !seen && askedMs - atMs < LATE_PERIODS * settings.describePeriodMs)
        throw new EnactorError('cloud', `${eniId}, which was to be attached, is not shown yet`);
    }
    const leased = (eni: CloudEni): boolean => onDisk.leases.some((lease) => lease.grant.eni.eniId === eni.eniId);
    const managed = attached.filter((eni) => isManaged(eni, settings, leased(eni)));
    const onLeases = onDisk.leases.flatMap(({ grant }) => halvesOf(grant.address));
    const devices = new Set(links.map(({ mac }) => mac));
    const witnessed = { whole, enis: managed, pods: hostPods, devices, nowMs: clock.nowMs() };
    const taken = new Set([...onLeases, ...coolUntilMs.keys(), ...ownReservations.keys()]);
    const inherited = await inherit(hands, { ...witnessed, taken }, signal);
    const { pods } = inherited;
    const reservations = new Map([
      ...ownReservations,
      ...inherited.reservations.map((one) => [addressKey(one.address), one] as const),
    ]);
    const foreign = attached.filter((eni) => takesPlace(eni) && !managed.includes(eni));
    for (const { eniId, tags } of managed)
      if (!passesTagRules(tags, settings)) log.warn({ eni: eniId }, 'an ENI with leases is managed against its tags');
    const loose = [...new Map([...tagged, ...byId].map((eni) => [eni.eniId, eni])).values()];
    // The listings are of different moments: one that was let go, or came, between them is here in one and not in the other.
    const leftovers = loose.filter(
      (eni) =>
        (eni.instanceId === null || eni.instanceId === facts.instanceId) &&
        isOurs(eni.tags, facts.instanceId, settings.clusterId) &&
        !attached.some((other) => other.eniId === eni.eniId),
    );
    const { creates, ofEni, going, known: settled } = continued(open, [...managed, ...leftovers]);
    const others = [...new Set([...managed, ...leftovers, ...creates].map((one) => one.vSwitchId))].filter(
      (id) => !facts.vSwitches.some((vSwitch) => vSwitch.vSwitchId === id),
    );
    const known = others.length === 0 ? [] : await cloud.vSwitches(others, signal);
    const subnets = new Map([
      ...facts.vSwitches.map((vSwitch) => [vSwitch.vSwitchId, vSwitch.subnet] as const),
      ...known.map((vSwitch) => [vSwitch.vSwitchId, subnetOf(vSwitch)] as const),
    ]);
    const subnetIn = (vSwitchId: string, of: string): Subnet => {
      const subnet = subnets.get(vSwitchId) ?? facts.vSwitches[0]?.subnet;
      if (subnet === undefined) throw new EnactorError('cloud', `vSwitch ${vSwitchId} of ${of} is unknown`);
      return subnet;
    };
    const bindingOf = (eni: CloudEni, routeTable: number | null): EniBinding => {
      const link = links.find(({ mac }) => mac === eni.mac.toLowerCase());
      const device = { name: link?.name ?? '', ifindex: link?.ifindex ?? 0, routeTable: routeTable ?? 0 };
      const subnet = subnetIn(eni.vSwitchId, eni.eniId);
      return { eniId: eni.eniId, mac: eni.mac, subnet, device: { ...device, mtu: settings.mtu } };
    };
    const { rebuilt, heldBack } = rebuild({
      enis: managed,
      leases: onDisk.leases,
      released: coolUntilMs,
      left,
      pods,
      reserved: new Set([...reservations.values()].flatMap(({ address }) => halvesOf(address))),
      whole,
      bootId,
      nowMs: clock.nowMs(),
      isAway: (eni) => isOurs(eni.tags, facts.instanceId, settings.clusterId) && !devices.has(eni.mac.toLowerCase()),
      bindingOf,
    });
    await store.write([
      ...rebuilt.map((lease) => ({ type: 'put', in: 'leases', key: sandboxKey(lease.sandbox), value: lease }) as const),
      ...inherited.reservations.map(
        (one) => ({ type: 'put', in: 'reservations', key: addressKey(one.address), value: one }) as const,
      ),
    ]);
    // Also one that the host names may not be had again, as when its ENI is gone: its record goes with its sandbox.
    const again = new Set(rebuilt.map(({ sandbox }) => sandboxKey(sandbox)));
    unreadable.clear();
    for (const sandbox of onDisk.unreadable) if (!again.has(sandbox)) unreadable.add(sandbox);
    if (!whole && heldBack.length === 0) await markWhole(store);
    for (const { sandbox, grant } of rebuilt)
      log.warn(
        { pod: podKey(sandbox.pod), ip: grant.address.ipv4 },
        'a lease that was lost is had again from the host',
      );
    if (heldBack.length > 0) {
      const ips = heldBack.map(({ grant }) => grant.address.ipv4);
      log.error({ ips, storeWhole: whole }, 'addresses are held back: it cannot be told yet whether a pod uses them');
    }
    const leases = [...onDisk.leases, ...rebuilt, ...heldBack];
    const dead = onDisk.leases.filter((lease) => lease.bootId !== undefined && lease.bootId !== bootId);
    if (dead.length > 0) log.warn({ leases: dead.length }, 'leases of an earlier boot: their sandboxes are gone');
    const adopt = (eni: CloudEni): AdoptedEni => {
      const here = leases.filter((lease) => lease.grant.eni.eniId === eni.eniId);
      const held = heldOn(eni, leases, reservations, clock.nowMs());
      const [unknown] = broken;
      if (unknown !== undefined && eni.instanceId !== null)
        for (const ip of eni.ipv4) {
          // One that was freed last is nobody's: the lease of an address takes its cool-down from the store.
          if (!held.has(ip) && !coolUntilMs.has(ip)) held.set(ip, { sandbox: unknown, pod: UNKNOWN_POD });
        }
      const inLeases = new Set(here.map((lease) => lease.grant.address.ipv6));
      const mayBeNamed = eni.ipv6.filter((ip) => !inLeases.has(ip) && !coolUntilMs.has(ip));
      // The lease of a pod that has the ENI for itself names no table of the ENI's.
      const tables = here
        .filter(({ sandbox }) => sandbox.ownEni !== true)
        .map(({ grant }) => grant.eni.device.routeTable);
      const routeTable = tables.find((table) => table > 0) ?? null;
      const subnet = subnetIn(eni.vSwitchId, eni.eniId);
      const intent = ofEni.get(eni.eniId) ?? null;
      const known = {
        held,
        coolUntilMs,
        said: answers.get(eni.eniId) ?? [],
        heldBack: unknown === undefined ? [] : mayBeNamed,
      };
      return {
        eni,
        intent,
        going: going.get(eni.eniId) ?? [],
        ours: isOurs(eni.tags, facts.instanceId, settings.clusterId),
        subnet,
        ...known,
        routeTable,
      };
    };
    const repeat = (intent: CreateIntent): AdoptedEni => {
      const subnet = subnetIn(intent.vSwitchId, `Create ${intent.clientToken}`);
      return { eni: null, intent, ours: true, subnet, held: new Map(), coolUntilMs, routeTable: null };
    };
    const enis = [...[...managed, ...leftovers].map(adopt), ...creates.map(repeat)];
    for (const lease of onDisk.leases) {
      const { address, eni } = lease.grant;
      const there = managed.find((one) => one.eniId === eni.eniId);
      const gone = halvesOf(address).find((ip) => ![...(there?.ipv4 ?? []), ...(there?.ipv6 ?? [])].includes(ip));
      if (gone !== undefined)
        log.error(
          { pod: podKey(lease.sandbox.pod), ip: gone, eni: eni.eniId },
          'a leased address is gone in the cloud',
        );
    }
    await memory.begin();
    await store.write(cloudTold.toKeep(facts.instanceId), { synced: false });
    for (const intent of settled) intents.close(intent);
    for (const { kind, eniId, id, atMs } of open)
      log.info({ intent: id, kind, eni: eniId, atMs }, 'an intent of an earlier life was open');
    log.info(
      { leases: leases.length, enis: managed.length, foreign: foreign.length, leftovers: leftovers.length },
      'recovered',
    );
    const deadKeys = dead.map((lease) => sandboxKey(lease.sandbox));
    return { atMs: clock.nowMs(), value: { leases, dead: deadKeys, enis, foreignEnis: foreign.length } };
  });
}

/** Who holds an address that a record we cannot read may name. */
const UNKNOWN_POD = 'unknown: a lease record cannot be read';

/**
 * What of the open intents has to go on: Creates of which nothing was found, and what was under way on ENIs that are there; and those
 * that nothing has to be done about any more. An ENI that was made is known from now on by its tags.
 */
function continued(open: readonly Intent[], enis: readonly CloudEni[]) {
  const creates: CreateIntent[] = [];
  const known: Intent[] = [];
  const ofEni = new Map<string, Intent>();
  const going = new Map<string, readonly string[]>();
  for (const intent of open) {
    const eni =
      enis.find(({ eniId, tags }) =>
        intent.kind === 'create' ? tags[REQUEST_TAG] === intent.clientToken : eniId === intent.eniId,
      ) ?? null;
    // Its own intent tells more of an ENI than the Create that made it.
    if (eni !== null && intent.kind === 'unassign') going.set(eni.eniId, intent.ips);
    else if (eni !== null && (intent.kind !== 'create' || !ofEni.has(eni.eniId))) ofEni.set(eni.eniId, intent);
    if (intent.kind === 'create' && eni === null) creates.push(intent);
    if (intent.kind === 'create' ? eni !== null : isKnown(intent, eni)) known.push(intent);
  }
  return { creates, ofEni, going, known };
}

/** Addresses that were to be taken may be taken yet: that intent stays until they are. */
function isKnown(intent: EniIntent, eni: CloudEni | null): boolean {
  if (intent.kind === 'unassign' && hasAny(eni, intent.ips)) return false;
  return isSettled(intent, eni);
}
