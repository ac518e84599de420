/**
 * Port Kernel over rtnetlink and /proc/sys, for the daemon.
 *
 * Waiting for a device polls the list of links: a list of 200 takes about 2 ms, and an ENI appears seconds after its attach. Nothing
 * here can wait on a descriptor of ours without a thread, so the multicast socket of `watch` is read by a timer too (one recv, some
 * microseconds, when nothing has come). All work between
 * two awaits is synchronous, so two ENIs that settle at once cannot pick one table.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EnactorError } from '../../core/errors.ts';
import type { Family } from '../../core/ip.ts';
import type { SandboxKey } from '../../core/sandbox.ts';
import type { EniDevice, EniDeviceWanted, HostKept, HostWanted, Kernel } from '../../ports/kernel.ts';
import { ChangeSocket } from '../netlink/change-socket.ts';
import { forgetConnections } from '../netlink/connections.ts';
import { FilterAlarm } from '../netlink/filter-alarm.ts';
import { installTable } from '../netlink/filter-table.ts';
import type { Libc } from '../netlink/libc.ts';
import { Netlink } from '../netlink/netlink.ts';
import type { BaseChain } from '../netlink/nft-table.ts';
import type { Route } from '../netlink/route.ts';
import { deleteRoute } from '../netlink/wire/route.ts';
import { deleteRule } from '../netlink/wire/rule.ts';
import { mayBeDrift } from './drift-signs.ts';
import { type EniKind, eniLinkIn, findEniLink, onlyEniLink, prepareEniLink } from './eni-device.ts';
import { hostSettings } from './host-drift.ts';
import { GONE, isHostVeth } from './host-veth.ts';
import { HostView } from './host-view.ts';
import { keepHost } from './keep-host.ts';
import { type Masquerade, NodeFilter } from './node-filter.ts';
import { hostPrefix } from './pod-plan.ts';
import { pickRouteTable, ROUTE_TABLE_BASE } from './route-table.ts';
import type { SandboxDevice } from './sandbox-device.ts';
import { ensureSysctls } from './sysctl.ts';

export type HostKernelOptions = {
  /** Which devices may be ENIs; the lab adds `veth`. */
  readonly eniKinds?: readonly EniKind[];
  /** Also forwards IPv6. */
  readonly ipv6?: boolean;
  /** Whether what comes in by the primary interface is answered by it (reply-paths.ts); true if absent. */
  readonly replyPaths?: boolean;
  /** Whether pods are kept from the metadata service. */
  readonly blockPodMetadata?: boolean;
  readonly pollMs?: number;
  /** A device of the MAC that cannot be set up is tried again for this long: udev renames it while we look. */
  readonly retryMs?: number;
  /** How often what has changed is asked for while somebody watches. */
  readonly watchMs?: number;
};

const FAMILIES: readonly Family[] = [4, 6];

export class HostKernel implements Kernel {
  readonly #libc: Libc;
  readonly #kinds: readonly EniKind[];
  readonly #ipv6: boolean;
  readonly #filter: NodeFilter;
  readonly #pollMs: number;
  readonly #retryMs: number;
  readonly #watchMs: number;
  /** What the devices of a sandbox are called. */
  readonly #devices = new Map<SandboxKey, SandboxDevice>();
  #servesOwn = false;
  /** MAC -> table, of the ENIs this process has set up. */
  readonly #tables = new Map<string, number>();

  constructor(libc: Libc, options: HostKernelOptions = {}) {
    this.#libc = libc;
    this.#kinds = options.eniKinds ?? ['device'];
    this.#ipv6 = options.ipv6 ?? false;
    this.#filter = new NodeFilter(libc, (options.replyPaths ?? true) ? (this.#ipv6 ? FAMILIES : [4]) : []);
    if (options.blockPodMetadata ?? false) this.#filter.keepFromMetadata();
    this.#pollMs = options.pollMs ?? 50;
    this.#retryMs = options.retryMs ?? 2_000;
    this.#watchMs = options.watchMs ?? 200;
  }

  /**
   * Turns forwarding on and leaves the rest of the host as it is: reverse-path filters are set per device of ours, and `all`
   * stays (host-drift.ts).
   */
  async prepareHost(): Promise<void> {
    ensureSysctls(hostSettings(this.#ipv6));
    this.#prepareFilter();
  }

  /** Kinds of chains that this kernel does not take (node-filter.ts); null where it cannot be asked. */
  lackingChains(): readonly BaseChain['type'][] | null {
    return this.#filter.lacking;
  }

  /** So that the first pod has them too. What fails here the keeper meets again, and tells. */
  #prepareFilter(): void {
    const host = new Netlink(this.#libc);
    try {
      for (const { filter, requests, settings = [] } of this.#filter.fixes(
        new HostView(host),
        new Set(this.#tables.keys()),
      )) {
        ensureSysctls(settings);
        if (filter !== undefined) installTable(this.#libc, filter);
        host.apply(requests, ['EEXIST', ...GONE]);
      }
    } catch {
      // See above.
    } finally {
      host.close();
    }
  }

  async setUpEni(wanted: EniDeviceWanted, signal: AbortSignal): Promise<EniDevice> {
    const host = new Netlink(this.#libc);
    try {
      for (let failingSinceMs: number | null = null; ; ) {
        if (signal.aborted) throw aborted(wanted.mac);
        try {
          const device = this.#setUpNow(host, wanted);
          if (device !== null) return device;
          failingSinceMs = null;
        } catch (error) {
          failingSinceMs ??= performance.now();
          if (performance.now() - failingSinceMs >= this.#retryMs) throw deviceError(wanted.mac, error);
        }
        await sleep(this.#pollMs, undefined, { signal }).catch(() => {}); // the loop's head tells why
      }
    } finally {
      host.close();
    }
  }

  /** null while no such device exists. */
  #setUpNow(host: Netlink, wanted: EniDeviceWanted): EniDevice | null {
    const link = onlyEniLink(host, wanted.mac, this.#kinds);
    if (link === null) return null;
    const mac = wanted.mac.toLowerCase();
    const routeTable = pickRouteTable({
      linkIndex: link.index,
      previous: this.#tables.get(mac) ?? wanted.routeTable,
      routes: FAMILIES.flatMap((family) => host.routes(family)).filter((route) => !leadsToPod(host, route)),
      rules: FAMILIES.flatMap((family) => host.rules(family)),
      promised: new Set([...this.#tables].filter(([other]) => other !== mac).map(([, table]) => table)),
    });
    if (routeTable === null) throw new Error('no routing table is free');
    prepareEniLink(host, link, wanted, routeTable);
    this.#tables.set(mac, routeTable);
    return { ifindex: link.index, name: link.name, routeTable };
  }

  async tearDownEni(device: Pick<EniDevice, 'routeTable'> & { readonly mac: string }): Promise<void> {
    if (device.routeTable < ROUTE_TABLE_BASE)
      throw deviceError(device.mac, `table ${device.routeTable} is not an ENI's`);
    const host = new Netlink(this.#libc);
    try {
      for (const family of FAMILIES) {
        const rules = host.rules(family).filter(({ table }) => table === device.routeTable);
        const routes = host.routes(family, device.routeTable);
        host.apply([...rules.map((rule) => deleteRule(rule)), ...routes.map(deleteRoute)], GONE);
      }
      this.#tables.delete(device.mac.toLowerCase());
    } catch (error) {
      throw deviceError(device.mac, error);
    } finally {
      host.close();
    }
  }

  /** From the next look on: which pods bear the node's address, and where. */
  masquerade(all: readonly Masquerade[]): void {
    this.#filter.masquerade(all);
  }

  /** From the next look on: services that pods use, or that lead to pods, bear the node's address on their way. */
  masqueradeServices(): void {
    this.#filter.masqueradeServices();
  }

  /** At once, for pods that have an ENI of their own where others share theirs. What fails is tried again with the next look at the host. */
  serveOwnEnis(): void {
    if (this.#servesOwn) return;
    this.#servesOwn = true;
    this.#filter.serveOwnEnis();
    this.#prepareFilter();
  }

  /** Waits until a device of this MAC is on the host, and leaves it as it is. Rejects with AbortError. */
  async whenPlugged(mac: string, signal: AbortSignal): Promise<Pick<EniDevice, 'ifindex' | 'name'>> {
    const host = new Netlink(this.#libc);
    try {
      for (;;) {
        if (signal.aborted) throw aborted(mac);
        const link = findEniLink(host, mac, this.#kinds);
        if (link !== null) return { ifindex: link.index, name: link.name };
        await sleep(this.#pollMs, undefined, { signal }).catch(() => {}); // the loop's head tells why
      }
    } finally {
      host.close();
    }
  }

  /** Those of the MACs that no device on the host has. Throws EnactorError `device`. */
  missingDevices(macs: readonly string[]): string[] {
    try {
      const host = new Netlink(this.#libc);
      try {
        const links = macs.length === 0 ? [] : host.links();
        return macs.filter((mac) => eniLinkIn(links, mac, this.#kinds) === null);
      } finally {
        host.close();
      }
    } catch (error) {
      throw hostError(error);
    }
  }

  async keep(wanted: HostWanted): Promise<HostKept> {
    if (wanted.pods.some(({ sandbox }) => sandbox.ownEni === true)) this.serveOwnEnis();
    try {
      const host = new Netlink(this.#libc);
      try {
        const parts = { libc: this.#libc, kinds: this.#kinds, filter: this.#filter, ipv6: this.#ipv6 };
        return keepHost(host, wanted, parts, this.#devices);
      } finally {
        host.close();
      }
    } catch (error) {
      throw hostError(error);
    }
  }

  watch(onChange: () => void): () => void {
    const socket = this.#changeSocket();
    const alarm = this.#filterAlarm();
    const timer = setInterval(() => {
      try {
        const { changes, overrun } = socket.read();
        const macs = new Set(this.#tables.keys());
        const broken = alarm?.broke(this.#filter.table) === true;
        if (overrun || broken || changes.some((change) => mayBeDrift(change, macs))) onChange();
      } catch {
        onChange(); // what cannot be heard has to be looked at
      }
    }, this.#watchMs).unref();
    return () => {
      clearInterval(timer);
      socket.close();
      alarm?.close();
    };
  }

  async forgetConnections(ips: readonly string[]): Promise<number> {
    try {
      return forgetConnections(this.#libc, ips);
    } catch (error) {
      throw hostError(error);
    }
  }

  /** null where there is nothing to hear: the sweeps look all the same. */
  #filterAlarm(): FilterAlarm | null {
    try {
      return new FilterAlarm(this.#libc);
    } catch {
      return null;
    }
  }

  #changeSocket(): ChangeSocket {
    try {
      return new ChangeSocket(this.#libc);
    } catch (error) {
      throw hostError(error);
    }
  }
}

/** Terway's v1.0.10 has its pods' routes in the ENI's table beside the default one: they make it nobody else's. */
function leadsToPod(host: Netlink, { destination, linkIndex, table }: Route): boolean {
  if (table < ROUTE_TABLE_BASE || destination === null || linkIndex === null) return false;
  return destination.prefix === hostPrefix(destination.ip).prefix && isHostVeth(host.linkByIndex(linkIndex));
}

function hostError(error: unknown): EnactorError {
  if (error instanceof EnactorError) return error;
  return new EnactorError('device', `the host's network: ${error instanceof Error ? error.message : error}`, error);
}

function aborted(mac: string): Error {
  return Object.assign(new Error(`waiting for ENI ${mac} was aborted`), { name: 'AbortError' });
}

function deviceError(mac: string, error: unknown): EnactorError {
  if (error instanceof EnactorError) return error;
  return new EnactorError('device', `ENI ${mac}: ${error instanceof Error ? error.message : error}`, error);
}
