import { closeSync, openSync } from 'node:fs';
import { EnactorError } from '../../core/errors.ts';
import { familyOf } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { inNamespace } from '../netlink/namespace.ts';
import { Netlink } from '../netlink/netlink.ts';
import { addAddr } from '../netlink/wire/addr.ts';
import { createVeth, deleteLink, setLink } from '../netlink/wire/link.ts';
import type { Request } from '../netlink/wire/message.ts';
import { setNeighbour } from '../netlink/wire/neighbour.ts';
import { replaceTokenBucket } from '../netlink/wire/qdisc.ts';
import { addRoute, replaceRoute } from '../netlink/wire/route.ts';
import { type ExclusivePlan, SERVICE_IF_NAME } from './exclusive-plan.ts';
import { findHostVeth, GONE, isOwned } from './host-veth.ts';
import type { PodNamespace } from './pod-namespace.ts';
import type { Attached } from './pod-network.ts';
import { hostSysctls } from './pod-network.ts';
import { HOST_VETH_PREFIX, sandboxDevice } from './sandbox-device.ts';
import { deviceSysctl, ensureSysctls, type Sysctl } from './sysctl.ts';

/** Makes, removes and verifies what the network of a pod with an ENI of its own consists of (exclusive-plan.ts). Synchronous throughout. */
export class ExclusiveNetwork {
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Makes everything or nothing: on an error the device is the host's again and what was made is removed. Throws NetlinkError or EnactorError. */
  attach(plan: ExclusivePlan, namespace: PodNamespace): Attached {
    const host = new Netlink(this.#libc);
    const { ifName } = plan.sandbox;
    try {
      for (const name of [ifName, SERVICE_IF_NAME])
        if (namespace.netlink.linkByName(name) !== null)
          throw new EnactorError('device', `${name} in ${namespace.path} exists already and is left untouched`);
      if (!namespace.isCurrent()) throw new EnactorError('device', `network namespace ${namespace.path} is gone`);
      const eni = eniOnHost(host, plan.eniMac);
      if (eni === null) throw new EnactorError('device', `the device of ENI ${plan.eniMac} is not on the host (yet)`);
      host.apply([setLink(eni.index, { up: false }), setLink(eni.index, { netnsFd: namespace.fd, name: ifName })]);
      try {
        this.#onEni(plan, namespace);
        const hostName = this.#pair(host, plan, namespace);
        if (!namespace.isCurrent()) throw new EnactorError('device', `network namespace ${namespace.path} is gone`);
        return { hostName, hostMac: plan.device.hostMac, podMac: plan.eniMac };
      } catch (error) {
        // The first cause is what the caller has to see, not what the undo met.
        try {
          this.#giveDeviceBack(host, namespace, ifName, eni.name);
        } catch {}
        const left = findHostVeth(host, plan.device);
        if (left !== null) host.execute([deleteLink(left)]);
        throw error;
      }
    } finally {
      host.close();
    }
  }

  /**
   * The device goes back to the host, under its name there if that is free; the pair goes with whatever leads to it. `eniMac` is null when nobody
   * can tell it: then a physical device of the interface's name is taken for it. Nothing there is success.
   */
  detach(sandbox: Sandbox, namespace: PodNamespace, eniMac: string | null): void {
    const link = namespace.netlink.linkByName(sandbox.ifName);
    if (link === null || link.mac === sandboxDevice(sandbox).podMac) return;
    if (eniMac === null ? link.kind !== null : link.mac !== eniMac.toLowerCase()) return;
    const host = new Netlink(this.#libc);
    try {
      this.#giveDeviceBack(host, namespace, sandbox.ifName, null);
    } finally {
      host.close();
    }
  }

  /** null when all is there, else the first object that is missing, in words. Changes nothing. */
  verify(plan: ExclusivePlan, namespace: PodNamespace): string | null {
    const host = new Netlink(this.#libc);
    try {
      return missingIn(plan, host, namespace.netlink);
    } finally {
      host.close();
    }
  }

  #onEni({ sandbox: { ifName }, mtu, onEni }: ExclusivePlan, namespace: PodNamespace): void {
    const { netlink: pod, fd } = namespace;
    const link = pod.linkByName(ifName);
    if (link === null) throw new EnactorError('device', `${ifName} vanished from the pod's namespace`);
    const dual = onEni.addrs.some(({ ip }) => familyOf(ip) === 6);
    if (dual) inNamespace(this.#libc, fd, () => ensureSysctls(podSysctls(ifName)));
    const on = { linkIndex: link.index };
    pod.apply([
      ...(link.mtu === mtu ? [] : [setLink(link.index, { mtu })]),
      setLink(link.index, { up: true }),
      ...onEni.addrs.map((addr) => addAddr({ ...addr, ...on })),
      ...onEni.routes.map((route) => addRoute({ ...route, ...on })),
      ...(onEni.queue === null ? [] : [replaceTokenBucket({ ...onEni.queue, ...on })]),
    ]);
  }

  #pair(host: Netlink, plan: ExclusivePlan, namespace: PodNamespace): string {
    const { device, mtu } = plan;
    const leftover = findHostVeth(host, device);
    if (leftover !== null) host.apply([deleteLink(leftover)], GONE);
    const name = device.hostNames.find((each) => host.linkByName(each) === null);
    if (name === undefined) throw new EnactorError('device', `devices ${device.hostNames.join(', ')} exist already`);
    const peer = { name: SERVICE_IF_NAME, mac: device.podMac, mtu };
    host.apply([createVeth({ name, mac: device.hostMac, mtu, peer, peerNetnsFd: namespace.fd })]);
    const link = host.linkByName(name);
    const inPod = namespace.netlink.linkByName(SERVICE_IF_NAME);
    if (link === null || inPod === null || !isOwned(link, device))
      throw new EnactorError('device', `${name} vanished as it was made`);
    const dual = plan.ips.some((ip) => familyOf(ip) === 6);
    ensureSysctls(hostSysctls(name, dual));
    inNamespace(this.#libc, namespace.fd, () =>
      // What the host sends comes from anywhere, and its answers need not go back by the pair.
      ensureSysctls([deviceSysctl(4, SERVICE_IF_NAME, 'rp_filter', 0), ...(dual ? podSysctls(SERVICE_IF_NAME) : [])]),
    );
    const onHost = { linkIndex: link.index };
    host.apply([
      setLink(link.index, { up: true, alias: device.alias }),
      ...plan.onHost.routes.map((route) => replaceRoute({ ...route, ...onHost })),
      ...(plan.onHost.queue === null ? [] : [replaceTokenBucket({ ...plan.onHost.queue, ...onHost })]),
    ]);
    const on = { linkIndex: inPod.index };
    namespace.netlink.apply([
      setLink(inPod.index, { up: true }),
      ...plan.onPair.addrs.map((addr) => addAddr({ ...addr, ...on })),
      ...plan.onPair.neighbours.map((neighbour) => setNeighbour({ ...neighbour, ...on })),
      ...plan.onPair.routes.map((route) => addRoute({ ...route, ...on })),
    ]);
    return name;
  }

  #giveDeviceBack(host: Netlink, { netlink: pod }: PodNamespace, ifName: string, wantedName: string | null): void {
    const link = pod.linkByName(ifName);
    if (link === null) return;
    const fd = openSync('/proc/thread-self/ns/net', 'r');
    try {
      const name = [wantedName ?? '', nameOf(link)].find((each) => each !== '' && host.linkByName(each) === null);
      const back: Request[] = [
        setLink(link.index, { up: false }),
        setLink(link.index, { netnsFd: fd, name: name ?? `${nameOf(link)}x` }),
      ];
      pod.apply(back);
    } finally {
      closeSync(fd);
    }
  }
}

/** By its MAC; a pod's host end never has it, whatever it is called. */
export function eniOnHost(host: Netlink, mac: string): Link | null {
  const wanted = mac.toLowerCase();
  return (
    host.links().find((link) => link.mac === wanted && !link.loopback && !link.name.startsWith(HOST_VETH_PREFIX)) ??
    null
  );
}

/** A name that says which ENI it is, for a device whose own name is not known any more. */
function nameOf({ mac }: Link): string {
  return `eni${(mac ?? '').replaceAll(':', '').slice(-8)}`;
}

function podSysctls(ifName: string): Sysctl[] {
  return [deviceSysctl(6, ifName, 'disable_ipv6', 0), deviceSysctl(6, ifName, 'accept_ra', 0)];
}

function missingIn(plan: ExclusivePlan, host: Netlink, pod: Netlink): string | null {
  const { ifName } = plan.sandbox;
  const eni = pod.linkByName(ifName);
  if (eni?.mac !== plan.eniMac.toLowerCase()) return `the device of ENI ${plan.eniMac} as ${ifName} in the pod`;
  if (!eni.up) return `interface ${ifName} in the pod is down`;
  const end = pod.linkByName(SERVICE_IF_NAME);
  if (end?.mac !== plan.device.podMac) return `interface ${SERVICE_IF_NAME} in the pod`;
  if (!end.up) return `interface ${SERVICE_IF_NAME} in the pod is down`;
  const link = findHostVeth(host, plan.device);
  if (link === null) return `host interface ${plan.device.hostNames[0]}`;
  if (!link.up) return `host interface ${link.name} is down`;
  const places = [
    { netlink: pod, link: eni, where: `on ${ifName}`, addrs: plan.onEni.addrs, routes: plan.onEni.routes },
    { netlink: pod, link: end, where: `on ${SERVICE_IF_NAME}`, addrs: plan.onPair.addrs, routes: plan.onPair.routes },
    { netlink: host, link, where: `dev ${link.name}`, addrs: [], routes: plan.onHost.routes },
  ];
  for (const { netlink, link: on, where, addrs, routes } of places) {
    for (const { ip } of addrs)
      if (!netlink.addrs(familyOf(ip), on.index).some((addr) => addr.ip === ip)) return `address ${ip} ${where}`;
    for (const { family, table, destination, gateway = null } of routes) {
      const there = netlink
        .routes(family, table)
        .some(
          (route) =>
            route.linkIndex === on.index &&
            route.gateway === gateway &&
            route.destination?.ip === destination?.ip &&
            route.destination?.prefix === destination?.prefix,
        );
      if (!there)
        return `route to ${destination === null ? 'everywhere' : `${destination.ip}/${destination.prefix}`} ${where}`;
    }
  }
  return null;
}
