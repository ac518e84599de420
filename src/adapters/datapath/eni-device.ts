/**
 * The ENI's device: finding it, and making it ready for pods.
 *
 * Its only global IPv4 address is the node's, as /32: the ENI's own primary address belongs to a pod like any other, and on
 * the device the kernel would answer for it. Source: Terway's policy route; cases/field P1 (a guest's DHCP client puts it there).
 */
import { EnactorError } from '../../core/errors.ts';
import { familyOf } from '../../core/ip.ts';
import type { EniDeviceWanted } from '../../ports/kernel.ts';
import type { Link } from '../netlink/link.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type NewRoute, SCOPE_GLOBAL, SCOPE_LINK } from '../netlink/route.ts';
import { deleteAddr, ensureAddr } from '../netlink/wire/addr.ts';
import { setLink } from '../netlink/wire/link.ts';
import { replaceRoute } from '../netlink/wire/route.ts';
import { GONE } from './host-veth.ts';
import { hostPrefix } from './pod-plan.ts';
import { ALL_RP_FILTER, deviceSysctl, ensureSysctls, notStrict, readSysctl, type Sysctl } from './sysctl.ts';

/** Kinds of device that may be an ENI: `device` is a physical or virtio one, the others are the kernel's names (`veth`). */
export type EniKind = 'device' | 'veth' | 'dummy';

export function findEniLink(host: Netlink, mac: string, kinds: readonly EniKind[]): Link | null {
  return eniLinkIn(host.links(), mac, kinds);
}

/** To be set up: of two that may be it neither is touched. Throws EnactorError `device` that names both. Source: cases/bugs B32. */
export function onlyEniLink(host: Netlink, mac: string, kinds: readonly EniKind[]): Link | null {
  const [link = null, ...others] = eniLinksIn(host.links(), mac, kinds);
  if (link === null || others.length === 0) return link;
  const names = [link, ...others].map(({ name }) => name).join(' and ');
  throw new EnactorError('device', `ENI ${mac}: ${names} have its MAC, and which of them it is cannot be told`);
}

export function eniLinkIn(links: readonly Link[], mac: string, kinds: readonly EniKind[]): Link | null {
  return eniLinksIn(links, mac, kinds)[0] ?? null;
}

function eniLinksIn(links: readonly Link[], mac: string, kinds: readonly EniKind[]): readonly Link[] {
  const wanted = mac.toLowerCase();
  return links.filter((link) => link.mac === wanted && !link.loopback && isKind(link, kinds));
}

function isKind(link: Link, kinds: readonly EniKind[]): boolean {
  return kinds.some((kind) => (kind === 'device' ? link.kind === null : link.kind === kind));
}

/**
 * Idempotent. The node's address comes before the others go: with the last address of a device the kernel takes all routes over it, also of pods that
 * talk by them now, as those that Terway left do (net/ipv4/fib_frontend.c, fib_disable_ip). Throws NetlinkError, or EnactorError for a setting that cannot
 * be written.
 */
export function prepareEniLink(host: Netlink, link: Link, wanted: EniDeviceWanted, routeTable: number): void {
  ensureSysctls(eniSysctls(link.name, wanted.subnet.ipv6Gateway !== null));
  host.apply([
    ...(link.mtu === wanted.mtu ? [] : [setLink(link.index, { mtu: wanted.mtu })]),
    ensureAddr({ linkIndex: link.index, ...hostPrefix(wanted.nodeIp) }),
  ]);
  removeOtherAddresses(host, link, wanted.nodeIp);
  host.apply([setLink(link.index, { up: true }), ...eniRoutes(wanted, link.index, routeTable).map(replaceRoute)]);
}

/**
 * The default route of each family through the vSwitch's gateway, which no other route makes reachable: the address is a /32. IPv6 takes no
 * word for it where the main table has the gateway behind another device, as it has when the primary ENI is in the same vSwitch and
 * has its prefix: there the table itself says so first. In the order in which the kernel takes them.
 * Source: net/ipv6/route.c, ip6_route_check_nh_onlink, ip6_route_check_nh. (Terway puts the gateway's route into the main table.)
 */
export function eniRoutes(wanted: EniDeviceWanted, linkIndex: number, table: number): NewRoute[] {
  const { gateway, ipv6Gateway } = wanted.subnet;
  const on = { linkIndex, table };
  const ipv4: NewRoute = { ...on, family: 4, destination: null, gateway, onLink: true };
  if (ipv6Gateway === null) return [ipv4];
  return [
    ipv4,
    { ...on, family: 6, destination: hostPrefix(ipv6Gateway), scope: SCOPE_LINK },
    { ...on, family: 6, destination: null, gateway: ipv6Gateway },
  ];
}

function removeOtherAddresses(host: Netlink, link: Link, nodeIp: string): void {
  const others = host
    .addrs(familyOf(nodeIp), link.index)
    .filter(
      ({ ip, prefix, scope }) => scope === SCOPE_GLOBAL && !(ip === nodeIp && prefix === hostPrefix(nodeIp).prefix),
    );
  host.apply(others.map(deleteAddr), GONE);
}

export function eniSysctls(device: string, dual: boolean): Sysctl[] {
  return [
    deviceSysctl(4, device, 'forwarding', 1),
    deviceSysctl(4, device, 'rp_filter', notStrict(readSysctl(ALL_RP_FILTER))),
    ...(dual ? ipv6Sysctls(device) : []),
  ];
}

function ipv6Sysctls(device: string): Sysctl[] {
  return [
    deviceSysctl(6, device, 'disable_ipv6', 0),
    deviceSysctl(6, device, 'accept_ra', 0),
    deviceSysctl(6, device, 'forwarding', 1),
  ];
}
