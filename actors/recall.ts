/**
 * What can be served while the cloud or the metadata service is away: what the store remembers of this very boot, as far as everything
 * that can be asked here agrees.
 *
 * An address counts as free only if no call can have taken it since: its ENI is on record (actors/eni-memory.ts) and its device is here,
 * no intent is open that might take anything from that ENI, no lease has it, and the host routes it to nobody. Whose the store is tells the
 * boot: no other instance has been through it. Where a single record cannot be read, or the store began empty, nothing counts as free.
 */
import { fromPromise } from 'xstate';
import type { CloudEni } from '../src/core/eni.ts';
import type { Intent } from '../src/core/intent.ts';
import type { EniBinding } from '../src/core/lease.ts';
import { asCloudEni, parseRememberedEni, type RememberedEni } from '../src/core/remembered-eni.ts';
import { type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import { STORE_VERSION, versionProblem } from '../src/core/store-meta.ts';
import type { HostPod } from '../src/ports/host.ts';
import type { AdoptedEni } from '../statecharts/adopted-eni.ts';
import type { At } from '../statecharts/at.ts';
import type { Remembered } from '../statecharts/node.ts';
import { readMeta } from './claim-store.ts';
import { readAnswers, readIntents } from './intents.ts';
import { heldOn, readCoolDowns, readLeases, readLeftovers, readReservations } from './leases-on-disk.ts';
import type { NodePorts } from './ports.ts';
import { rebuild } from './rebuild.ts';

export type RecallHands = Pick<NodePorts, 'store' | 'host' | 'clock' | 'log'> & {
  readonly cloud: Pick<NodePorts['cloud'], 'hurry'>;
  /** Whose the metadata service says we are; null as long as it has said nothing. */
  readonly identity: () => string | null;
  readonly unreadable: Set<SandboxKey>;
  readonly booted: (bootId: string) => void;
};

/** Resolves to null when nothing of this boot is remembered. */
export function recallLogic({ cloud, store, host, clock, log, identity, unreadable, booted }: RecallHands) {
  // Nobody is served until the cloud has told.
  const nothing = () => {
    cloud.hurry?.();
    return { atMs: clock.nowMs(), value: null };
  };
  return fromPromise<At<Remembered | null>, { settings: Settings }>(async ({ input: { settings } }) => {
    const meta = await readMeta(store);
    if (meta === null || !meta.whole || meta.remembersEnis !== true) return nothing();
    if (versionProblem(meta) !== null || meta.version < STORE_VERSION) return nothing();
    if (identity() !== null && identity() !== meta.instanceId) return nothing();
    const [records, onDisk, coolUntilMs, left, reservations, intents, answers, bootId, pods, links] = await Promise.all(
      [
        store.read('enis'),
        readLeases(store),
        readCoolDowns(store, clock.nowMs() + settings.coolDownMs),
        readLeftovers(store),
        readReservations(store),
        readIntents(store, log),
        readAnswers(store),
        host.bootId(),
        host.pods(),
        host.links(),
      ],
    );
    const known = records.flatMap(({ value }) => parseRememberedEni(value) ?? []);
    const ofThisBoot = known.filter((eni) => eni.bootId === bootId && eni.instanceId === meta.instanceId);
    const [first] = ofThisBoot;
    if (first === undefined) return nothing();
    booted(bootId);
    unreadable.clear();
    for (const sandbox of onDisk.unreadable) unreadable.add(sandbox);
    const deviceOf = (eni: RememberedEni) => links.find(({ mac }) => mac === eni.mac.toLowerCase());
    const doubted = onDisk.unreadable.length + intents.unreadable.length > 0;
    const sure = doubted ? [] : ofThisBoot.filter((eni) => deviceOf(eni) !== undefined && !mayLose(eni, intents.open));
    // Given back, and the host still routes it to whoever had it.
    const leased = new Set(onDisk.leases.map(({ grant }) => grant.address.ipv4));
    const isDead = ({ sandbox }: HostPod): boolean => sandbox !== null && left.has(sandboxKey(sandbox));
    const used = new Set(
      pods.flatMap((pod) => pod.ips.filter((ip) => !leased.has(ip) && (coolUntilMs.has(ip) || isDead(pod)))),
    );
    const enis = sure.map((eni): [RememberedEni, CloudEni] => [
      eni,
      asCloudEni(eni, { ipv4: eni.ipv4.filter((ip) => !used.has(ip)), ipv6: eni.ipv6 }),
    ]);
    const recordOf = new Map(sure.map((eni) => [eni.eniId, eni]));
    const bindingOf = ({ eniId, mac }: CloudEni, routeTable: number | null): EniBinding => {
      const eni = recordOf.get(eniId) ?? first;
      const { name, ifindex } = deviceOf(eni) ?? { name: '', ifindex: 0 };
      return {
        ...{ eniId, mac, subnet: eni.subnet },
        device: { name, ifindex, routeTable: routeTable ?? eni.routeTable ?? 0, mtu: settings.mtu },
      };
    };
    const nowMs = clock.nowMs();
    const { rebuilt, heldBack } = rebuild({
      enis: enis.map(([, eni]) => eni),
      leases: onDisk.leases,
      released: coolUntilMs,
      left,
      pods,
      whole: true,
      bootId,
      nowMs,
      bindingOf,
    });
    await store.write(
      rebuilt.map((lease) => ({ type: 'put', in: 'leases', key: sandboxKey(lease.sandbox), value: lease })),
    );
    const leases = [...onDisk.leases, ...rebuilt, ...heldBack];
    const dead = onDisk.leases.filter((lease) => lease.bootId !== undefined && lease.bootId !== bootId);
    const adopted = enis.map(
      ([{ subnet, routeTable }, eni]): AdoptedEni => ({
        ...{ eni, intent: null, ours: false, subnet, coolUntilMs, routeTable },
        held: heldOn(eni, leases, reservations, nowMs),
        said: answers.get(eni.eniId) ?? [],
      }),
    );
    log.warn(
      { enis: adopted.length, doubtful: ofThisBoot.length - adopted.length, leases: leases.length },
      'the cloud is not heard yet: pods are served from what is remembered',
    );
    const most = Math.max(0, ...adopted.map(({ eni }) => eni?.ipv4.length ?? 0));
    const owned = { eniCap: adopted.length, eniPlaces: adopted.length, ipv4PerEni: most };
    const { instanceId, nodeIp } = first;
    return {
      atMs: clock.nowMs(),
      value: {
        facts: { instanceId, nodeIp, ...owned, vSwitches: [], seed: 0, securityGroupIds: [] },
        recovered: {
          ...{ leases, enis: adopted, foreignEnis: 0, unconfirmed: true },
          dead: dead.map((lease) => sandboxKey(lease.sandbox)),
        },
      },
    };
  });
}

/** A call of an earlier life may take the ENI, or addresses of it, at any time. One that brings addresses takes none. */
function mayLose({ eniId }: RememberedEni, open: readonly Intent[]): boolean {
  return open.some((intent) => intent.eniId === eniId && intent.kind !== 'assign');
}
