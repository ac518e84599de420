import { EnactorError } from '../../core/errors.ts';
import { familyOf } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Bucket } from '../../core/shaping.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { inNamespace } from '../netlink/namespace.ts';
import { Netlink } from '../netlink/netlink.ts';
import { isUnknown, NetlinkError } from '../netlink/netlink-error.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import { addAddr } from '../netlink/wire/addr.ts';
import { createVeth, decodeLink, deleteLink, getLinkByName, setLink } from '../netlink/wire/link.ts';
import type { Request } from '../netlink/wire/message.ts';
import { setNeighbour } from '../netlink/wire/neighbour.ts';
import { replaceTokenBucket } from '../netlink/wire/qdisc.ts';
import { addRoute, deleteRoute, replaceRoute } from '../netlink/wire/route.ts';
import { addRule } from '../netlink/wire/rule.ts';
import { addressesBehind, findHostVeth, GONE, isHostVeth, isOwned, routeTo } from './host-veth.ts';
import { isOwnNetns, PodNamespace } from './pod-namespace.ts';
import { hostPrefix, type PodPlan } from './pod-plan.ts';
import { deleteNamed, deletePodRules } from './pod-rules.ts';
import { type SandboxDevice, sandboxDevice } from './sandbox-device.ts';
import { ALL_RP_FILTER, deviceSysctl, ensureSysctls, notStrict, readSysctl, type Sysctl } from './sysctl.ts';
import { isTerwaySlave, terwayVethOf } from './terway-pod.ts';
import { firstMissing } from './verify-pod.ts';
import { firstMissingOfTerway, terwayHostEnd } from './verify-terway-pod.ts';

export type Attached = { readonly hostName: string; readonly hostMac: string; readonly podMac: string };

/** Makes, removes and verifies what a pod's network consists of (pod-plan.ts). Synchronous throughout. */
export class PodNetwork {
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /**
   * Makes everything or nothing: on an error what was made is removed again, and only that.
   * A device an earlier try of the same sandbox left is replaced, a stale host route and stale rules of these addresses too.
   * Throws NetlinkError or EnactorError.
   */
  attach(plan: PodPlan, namespace: PodNamespace): Attached {
    const host = new Netlink(this.#libc);
    const undo: Request[] = [];
    const ruled: string[] = [];
    try {
      if (!namespace.isCurrent()) throw new EnactorError('device', `network namespace ${namespace.path} is gone`);
      const hostName = this.#freeHostName(host, plan, namespace);
      const hostLink = this.#createVeth(host, plan, hostName, namespace, undo);
      this.#prepareDevices(plan, hostName, namespace);
      deletePodRules(host, plan.ips);
      this.#addHostObjects(host, plan, hostLink, ruled);
      this.#addPodObjects(namespace.netlink, plan, hostLink.peerIndex);
      if (!namespace.isCurrent()) throw new EnactorError('device', `network namespace ${namespace.path} is gone`);
      return { hostName, hostMac: plan.device.hostMac, podMac: plan.device.podMac };
    } catch (error) {
      // The first cause is what the caller has to see, not what the undo met.
      try {
        deletePodRules(host, ruled);
      } catch {}
      host.execute(undo.reverse());
      throw error;
    } finally {
      host.close();
    }
  }

  /**
   * Removes what the sandbox has: its devices, and the rules of its addresses, those told by the caller and, of a family the caller tells none of, those
   * its device carries. What another sandbox has taken over (its route leads elsewhere) stays. Nothing there is success. Answers with the addresses
   * that nothing leads to any more.
   */
  detach(sandbox: Sandbox, ips: readonly string[]): readonly string[] {
    const device = sandboxDevice(sandbox);
    const host = new Netlink(this.#libc);
    let ours: readonly string[] = [];
    try {
      const link = this.#hostEnd(host, device, ips);
      const untold = ([4, 6] as const).filter((family) => !ips.some((ip) => familyOf(ip) === family));
      const known = new Set([...ips, ...(link === null ? [] : addressesBehind(host, link, untold))]);
      ours = [...known].filter((ip) => {
        const route = routeTo(host, ip);
        return route === null || route.linkIndex === link?.index;
      });
      if (link === null || isOwned(link, device)) deletePodRules(host, ours);
      // Of a pair that is gone already nobody knows who made it.
      if (ours.length > 0 && (link === null || !isOwned(link, device))) deleteNamed(host, ours);
      if (link !== null) host.apply([deleteLink(link)], GONE);
      else this.#deletePodEnd(sandbox, device.podMac); // of a pair neither end outlives the other
    } finally {
      host.close();
    }
    return ours;
  }

  /** Ours by its mark, wherever it is; else the one that Terway's plugin made, if that is what the addresses lead to. */
  #hostEnd(host: Netlink, device: SandboxDevice, ips: readonly string[]): Link | null {
    const byName = findHostVeth(host, device);
    if (byName !== null) return byName;
    const links = host.links();
    const routesTo = (ip: string) => host.routes(familyOf(ip));
    return links.find((each) => isOwned(each, device)) ?? terwayVethOf(device, ips, links, routesTo);
  }

  /** null when all is there, else the first object that is missing, in words. Changes nothing. */
  verify(plan: PodPlan, namespace: PodNamespace): string | null {
    const host = new Netlink(this.#libc);
    try {
      const terways = terwayHostEnd(plan, host);
      if (terways !== null) return firstMissingOfTerway(plan, terways, host, namespace.netlink);
      return firstMissing(plan, host, namespace.netlink);
    } finally {
      host.close();
    }
  }

  /** null, or what the table lacks that the pod's packets are sent to: without it they leave by the node's own way, and nobody answers. */
  missingWayOut({ ips, routeTable }: Pick<PodPlan, 'ips' | 'routeTable'>): string | null {
    if (routeTable === TABLE_MAIN) return null;
    const host = new Netlink(this.#libc);
    try {
      const leadsOut = (ip: string) =>
        host.routes(familyOf(ip), routeTable).some(({ destination }) => destination === null);
      const stuck = ips.find((ip) => !leadsOut(ip));
      return stuck === undefined ? null : `default route for ${stuck} in the ENI's table ${routeTable}`;
    } finally {
      host.close();
    }
  }

  /** Removes a leftover of this very sandbox, unless it is the work of another ADD right now; steps aside for a device of another one. */
  #freeHostName(host: Netlink, plan: PodPlan, namespace: PodNamespace): string {
    for (const name of plan.device.hostNames) {
      const link = host.linkByName(name);
      if (link === null || !isOwned(link, plan.device)) continue;
      // Both ends are made in one step: a leftover has none in the pod.
      if (namespace.netlink.linkByName(plan.sandbox.ifName) !== null) throw taken(plan.sandbox.ifName, namespace.path);
      host.apply([deleteLink(link)], GONE);
    }
    const free = plan.device.hostNames.find((name) => host.linkByName(name) === null);
    if (free === undefined)
      throw new EnactorError('device', `devices ${plan.device.hostNames.join(', ')} exist already`);
    return free;
  }

  #createVeth(host: Netlink, plan: PodPlan, name: string, namespace: PodNamespace, undo: Request[]): Link {
    const { device, mtu, sandbox } = plan;
    const peer = { name: sandbox.ifName, mac: device.podMac, mtu };
    const [created, got] = host.execute([
      createVeth({ name, mac: device.hostMac, mtu, peer, peerNetnsFd: namespace.fd }),
      getLinkByName(name),
    ]);
    if (created?.error && !isUnknown(created.error)) {
      // Of its two names one may be taken, and of the pod's the caller has words of its own.
      if (created.error.code === 'EEXIST' && namespace.netlink.linkByName(sandbox.ifName) !== null)
        throw taken(sandbox.ifName, namespace.path);
      throw created.error;
    }
    const link = got?.data[0] === undefined ? host.linkByName(name) : decodeLink(got.data[0]);
    if (link === null || !isOwned(link, device))
      throw created?.error ?? new EnactorError('device', `${name} vanished as it was made`);
    undo.push(deleteLink(link)); // takes the pod's end, its addresses and the host route along
    return link;
  }

  #prepareDevices(plan: PodPlan, hostName: string, namespace: PodNamespace): void {
    const dual = plan.ips.some((ip) => familyOf(ip) === 6);
    if (!dual) return;
    ensureSysctls(hostSysctls6(hostName));
    inNamespace(this.#libc, namespace.fd, () => ensureSysctls(podSysctls(plan.sandbox.ifName)));
  }

  /** `ruled`: the addresses that have got rules, or may have. */
  #addHostObjects(host: Netlink, plan: PodPlan, link: Link, ruled: string[]): void {
    const ipv4 = { forwarding: true, rpFilter: notStrict(readSysctl(ALL_RP_FILTER)) };
    const device = [
      setLink(link.index, { up: true, alias: plan.device.alias, ipv4 }),
      ...queues(plan.onHost.queue, link),
    ];
    const routes = plan.onHost.routes.map((route) => ({ ...route, linkIndex: link.index }));
    const rules = plan.onHost.rules;
    const all = host.execute([...device, ...routes.map(addRoute), ...rules.map(addRule)]);
    const outcomes = all.slice(device.length);
    rules.forEach((rule, index) => {
      const ip = (rule.source ?? rule.destination)?.ip;
      const error = outcomes[routes.length + index]?.error ?? null;
      if ((error === null || isUnknown(error)) && ip !== undefined) ruled.push(ip);
    });
    const notReady = all.slice(0, device.length).find(({ error }) => error !== null);
    if (notReady?.error) throw notReady.error;
    routes.forEach((route, index) => {
      const error = outcomes[index]?.error ?? null;
      if (error === null) return;
      if (error.code !== 'EEXIST' || route.destination === null) throw error;
      this.#deleteStaleRoute(host, route.destination.ip, error);
      // One that leads to no device (a blackhole) is replaced as it is: it fits the address, and only a pod's route may.
      host.apply([replaceRoute(route)]);
    });
    // Other rules of the address were deleted just now, so one that exists is this very one: the daemon's keeper was quicker.
    const failed = outcomes.slice(routes.length).find(({ error }) => error !== null && error.code !== 'EEXIST');
    if (failed?.error) throw failed.error;
  }

  /** The daemon says the address is this sandbox's, so another pod's route is a leftover; a route elsewhere is not ours to judge. */
  #deleteStaleRoute(host: Netlink, ip: string, cause: NetlinkError): void {
    const stale = routeTo(host, ip);
    if (stale === null || stale.linkIndex === null) return;
    const holder = host.linkByIndex(stale.linkIndex);
    if (!isHostVeth(holder) && !isTerwaySlave(holder)) {
      const where = holder?.name ?? `device ${stale.linkIndex}`;
      throw new EnactorError('device', `a route to ${ip} exists on ${where} already (${cause.message})`, cause);
    }
    host.apply([deleteRoute({ ...stale, destination: hostPrefix(ip) })], GONE);
  }

  /** `told`: its end's index there, of which the host's end knows. */
  #addPodObjects(pod: Netlink, plan: PodPlan, told: number | null): void {
    const index = told ?? pod.linkByName(plan.sandbox.ifName)?.index;
    if (index === undefined)
      throw new EnactorError('device', `${plan.sandbox.ifName} vanished from the pod's namespace`);
    const on = { linkIndex: index };
    pod.apply([
      setLink(index, { up: true }),
      ...queues(plan.inPod.queue, { index }),
      ...plan.inPod.addrs.map((addr) => addAddr({ ...addr, ...on })),
      ...plan.inPod.neighbours.map((neighbour) => setNeighbour({ ...neighbour, ...on })),
      ...plan.inPod.routes.map((route) => addRoute({ ...route, ...on })),
    ]);
  }

  /** For a pod's end that outlived ours (moved away by hand): it goes by its MAC, so nothing else of the name is touched. */
  #deletePodEnd(sandbox: Sandbox, podMac: string): void {
    if (sandbox.netns === '' || isOwnNetns(sandbox.netns)) return;
    let namespace: PodNamespace | null = null;
    try {
      namespace = new PodNamespace(this.#libc, sandbox.netns);
      const pod = namespace.netlink;
      const link = pod.linkByName(sandbox.ifName);
      if (link !== null && link.mac === podMac) pod.apply([deleteLink(link)], GONE);
    } catch {
      // A path that is gone or no namespace has nothing to delete.
    } finally {
      namespace?.close();
    }
  }
}

/** disable_ipv6 first: the other IPv6 settings do nothing before. The host keeps no router's advice on a pod's device. */
export function hostSysctls(device: string, dual: boolean): Sysctl[] {
  const ipv4 = [
    deviceSysctl(4, device, 'forwarding', 1),
    deviceSysctl(4, device, 'rp_filter', notStrict(readSysctl(ALL_RP_FILTER))),
  ];
  return dual ? [...ipv4, ...hostSysctls6(device)] : ipv4;
}

function hostSysctls6(device: string): Sysctl[] {
  return [
    deviceSysctl(6, device, 'disable_ipv6', 0),
    deviceSysctl(6, device, 'accept_ra', 0),
    deviceSysctl(6, device, 'forwarding', 1),
  ];
}

function podSysctls(ifName: string): Sysctl[] {
  return [deviceSysctl(6, ifName, 'disable_ipv6', 0), deviceSysctl(6, ifName, 'accept_ra', 0)];
}

function queues(queue: Bucket | null, { index: linkIndex }: Pick<Link, 'index'>): Request[] {
  return queue === null ? [] : [replaceTokenBucket({ linkIndex, ...queue })];
}

function taken(ifName: string, path: string): NetlinkError {
  const EEXIST = 17;
  return new NetlinkError(
    EEXIST,
    'create interface',
    `${ifName} in ${path}`,
    'it exists already and is left untouched',
  );
}
