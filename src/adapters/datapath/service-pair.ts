/** What goes with a device of a pod that is on the network itself: the addresses on it, and the pair for what is the host's to do (exclusive-plan.ts). */
import { EnactorError } from '../../core/errors.ts';
import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import { familyOf } from '../../core/ip.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { inNamespace } from '../netlink/namespace.ts';
import type { Netlink } from '../netlink/netlink.ts';
import type { NewRoute } from '../netlink/route.ts';
import { addAddr } from '../netlink/wire/addr.ts';
import { createVeth, deleteLink, setLink } from '../netlink/wire/link.ts';
import { setNeighbour } from '../netlink/wire/neighbour.ts';
import { replaceTokenBucket } from '../netlink/wire/qdisc.ts';
import { addRoute, replaceRoute } from '../netlink/wire/route.ts';
import { type ExclusivePlan, SERVICE_IF_NAME } from './exclusive-plan.ts';
import { findHostVeth, GONE, isOwned } from './host-veth.ts';
import type { PodNamespace } from './pod-namespace.ts';
import { hostSysctls } from './pod-network.ts';
import type { OnLink } from './pod-plan.ts';
import { DIRECT_GROUP } from './sandbox-device.ts';
import { deviceSysctl, ensureSysctls, type Sysctl } from './sysctl.ts';
import { missingQueue } from './verify-pod.ts';

/** The device of the plan's ENI on the host. Throws EnactorError where it is not, where the pod's namespace is gone, or has devices of these names already. */
export function readyForEni(
  { sandbox: { ifName }, eniMac }: ExclusivePlan,
  host: Netlink,
  namespace: PodNamespace,
): Link {
  for (const name of [ifName, SERVICE_IF_NAME])
    if (namespace.netlink.linkByName(name) !== null)
      throw new EnactorError('device', `${name} in ${namespace.path} exists already and is left untouched`);
  mustBeCurrent(namespace);
  const eni = eniOnHost(host, eniMac);
  if (eni === null) throw new EnactorError('device', `the device of ENI ${eniMac} is not on the host (yet)`);
  return eni;
}

export function mustBeCurrent(namespace: PodNamespace): void {
  if (!namespace.isCurrent()) throw new EnactorError('device', `network namespace ${namespace.path} is gone`);
}

/** Physical before all: only tests have ENIs of another kind. */
const ENI_KINDS: readonly (string | null)[] = [null, 'veth', 'dummy'];

/** By its MAC, which a bridge or whatever hangs on the device may have too; a pod's host end never has it, whatever it is called. */
export function eniOnHost(host: Netlink, mac: string): Link | null {
  const wanted = mac.toLowerCase();
  const all = host
    .links()
    .filter((link) => link.mac === wanted && !link.loopback && !link.name.startsWith(HOST_VETH_PREFIX));
  return ENI_KINDS.map((kind) => all.find((link) => link.kind === kind)).find((link) => link !== undefined) ?? null;
}

/** The pod's address, routes and limit on the device that is its `ifName`. Throws NetlinkError or EnactorError. */
export function putOnEni(
  libc: Libc,
  { sandbox: { ifName }, mtu, onEni }: ExclusivePlan,
  namespace: PodNamespace,
): void {
  const { netlink: pod, fd } = namespace;
  const link = pod.linkByName(ifName);
  if (link === null) throw new EnactorError('device', `${ifName} vanished from the pod's namespace`);
  const dual = onEni.addrs.some(({ ip }) => familyOf(ip) === 6);
  if (dual) inNamespace(libc, fd, () => ensureSysctls(podSysctls(ifName)));
  const on = { linkIndex: link.index };
  pod.apply([
    ...(link.mtu === mtu ? [] : [setLink(link.index, { mtu })]),
    setLink(link.index, { up: true }),
    ...onEni.addrs.map((addr) => addAddr({ ...addr, ...on })),
    ...onEni.routes.map((route) => addRoute({ ...route, ...on })),
    ...(onEni.queue === null ? [] : [replaceTokenBucket({ ...onEni.queue, ...on })]),
  ]);
}

/** The pair, and what leads to the host and from it. One that an earlier try left is replaced. Answers with the host end's name. Throws NetlinkError or EnactorError. */
export function makeServicePair(libc: Libc, host: Netlink, plan: ExclusivePlan, namespace: PodNamespace): string {
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
  inNamespace(libc, namespace.fd, () =>
    // What the host sends comes from anywhere, and its answers need not go back by the pair.
    ensureSysctls([deviceSysctl(4, SERVICE_IF_NAME, 'rp_filter', 0), ...(dual ? podSysctls(SERVICE_IF_NAME) : [])]),
  );
  const onHost = { linkIndex: link.index };
  host.apply([
    setLink(link.index, { up: true, alias: device.alias, group: DIRECT_GROUP }),
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

function podSysctls(ifName: string): Sysctl[] {
  return [deviceSysctl(6, ifName, 'disable_ipv6', 0), deviceSysctl(6, ifName, 'accept_ra', 0)];
}

/** `eni`: the pod's device on the network. null, or the first missing object in words. */
export function missingOnEni({ sandbox: { ifName }, onEni }: ExclusivePlan, pod: Netlink, eni: Link): string | null {
  if (!eni.up) return `interface ${ifName} in the pod is down`;
  return missingQueue(pod, eni, onEni.queue) ?? missingOn(pod, eni, `on ${ifName}`, onEni);
}

export function missingOfPair(plan: ExclusivePlan, host: Netlink, pod: Netlink): string | null {
  const end = pod.linkByName(SERVICE_IF_NAME);
  if (end?.mac !== plan.device.podMac) return `interface ${SERVICE_IF_NAME} in the pod`;
  if (!end.up) return `interface ${SERVICE_IF_NAME} in the pod is down`;
  const link = findHostVeth(host, plan.device);
  if (link === null) return `host interface ${plan.device.hostNames[0]}`;
  if (!link.up) return `host interface ${link.name} is down`;
  return (
    missingQueue(host, link, plan.onHost.queue) ??
    missingOn(pod, end, `on ${SERVICE_IF_NAME}`, plan.onPair) ??
    missingOn(host, link, `dev ${link.name}`, { addrs: [], routes: plan.onHost.routes })
  );
}

type Objects = { readonly addrs: readonly { readonly ip: string }[]; readonly routes: readonly OnLink<NewRoute>[] };

function missingOn(netlink: Netlink, on: Link, where: string, { addrs, routes }: Objects): string | null {
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
  return null;
}
