/**
 * What an ENI's device lacks, and what others have put on it.
 *
 * An address of a pod on the device makes the host answer in the pod's place, and a default route over it in the main table takes the
 * node's own traffic out by the wrong ENI: guests' agents do both when a device appears (DHCP clients, cloud-init). Other routes that
 * somebody sends over the device stay. Source: cases/field P1; Terway's init switches such agents off.
 */
import type { Drift } from '../../core/drift.ts';
import { type Family, familyOf } from '../../core/ip.ts';
import type { EniKept } from '../../ports/kernel.ts';
import type { Addr } from '../netlink/addr.ts';
import type { Link } from '../netlink/link.ts';
import { type NewRoute, PROTOCOL_DHCP, PROTOCOL_RA, type Route, SCOPE_GLOBAL, TABLE_MAIN } from '../netlink/route.ts';
import { deleteAddr, ensureAddr } from '../netlink/wire/addr.ts';
import { setLink } from '../netlink/wire/link.ts';
import { deleteRoute, replaceRoute, routeText } from '../netlink/wire/route.ts';
import { eniRoutes, eniSysctls } from './eni-device.ts';
import type { Fix } from './fix.ts';
import { guestAgents, suspectsIn } from './guest-agents.ts';
import { GONE } from './host-veth.ts';
import { FAMILIES, type HostView } from './host-view.ts';
import { hostPrefix } from './pod-plan.ts';
import { differing } from './sysctl.ts';

/** `link` is the device with the ENI's MAC. In the order in which they can be carried out: a device that is down takes no routes. */
export function eniFixes(view: HostView, wanted: EniKept, link: Link | null, thorough: boolean): Fix[] {
  if (link === null) {
    const detail = `no device has the MAC ${wanted.mac}`;
    return [{ kind: 'eniDevice', object: wanted.mac, pod: null, detail, requests: [] }];
  }
  const about = (kind: Drift['kind'], object: string, detail: string | null = null) => ({
    kind,
    object,
    pod: null,
    detail,
  });
  const fixes: Fix[] = [];
  if (!link.up) fixes.push({ ...about('eniDown', link.name), requests: [setLink(link.index, { up: true })] });
  if (link.mtu !== wanted.mtu) {
    const requests = [setLink(link.index, { mtu: wanted.mtu })];
    fixes.push({ ...about('eniMtu', link.name, `was ${link.mtu}`), requests });
  }
  const settings = thorough ? differing(eniSysctls(link.name, wanted.subnet.ipv6Gateway !== null)) : [];
  for (const setting of settings)
    fixes.push({ ...about('eniSetting', setting.path), requests: [], settings: [setting] });
  const addrs = view.addrs(link);
  const own = hostPrefix(wanted.nodeIp);
  if (!addrs.some((addr) => addr.ip === own.ip && addr.prefix === own.prefix)) {
    const requests = [ensureAddr({ linkIndex: link.index, ...own })];
    fixes.push({ ...about('eniAddress', `${own.ip}/${own.prefix} dev ${link.name}`), requests });
  }
  fixes.push(...foreignFixes(view, wanted, link, addrs));
  for (const route of eniRoutes({ ...wanted, routeTable: null }, link.index, wanted.routeTable)) {
    const there = view.routes(route.family, route.table).some((each) => isSame(each, route));
    if (!there)
      fixes.push({ ...about('eniRoute', routeText({ ...route, linkIndex: 0 })), requests: [replaceRoute(route)] });
  }
  return fixes;
}

function isSame(route: Route, { destination, gateway = null, linkIndex }: NewRoute): boolean {
  return route.destination?.ip === destination?.ip && route.linkIndex === linkIndex && route.gateway === gateway;
}

function foreignFixes(view: HostView, wanted: EniKept, link: Link, addrs: readonly Addr[]): Fix[] {
  const addresses = addrs.filter((addr) => isForeign(addr, wanted));
  const routes = FAMILIES.flatMap((family) => strayRoutes(view, family, link));
  if (addresses.length + routes.length === 0) return [];
  const culprit = suspectsIn(addresses, routes, guestAgents());
  const from = { pod: null, detail: culprit, tolerated: GONE };
  return [
    // The routes first: some go with the address, and then there is nothing left to delete.
    ...routes.map((route): Fix => {
      const object = `${routeText({ ...route, linkIndex: 0 })} dev ${link.name}`;
      return { ...from, kind: 'foreignRoute', object, requests: [deleteRoute(route)] };
    }),
    ...addresses.map((addr): Fix => {
      const object = `${addr.ip}/${addr.prefix} dev ${link.name}`;
      return { ...from, kind: 'foreignAddress', object, requests: [deleteAddr(addr)] };
    }),
  ];
}

/** Of the node's family all but the node's own; of IPv6 what belongs to pods, since a device may have others for its own good. */
function isForeign(addr: Addr, { nodeIp, ips }: EniKept): boolean {
  if (addr.scope !== SCOPE_GLOBAL) return false;
  const own = hostPrefix(nodeIp);
  if (addr.ip === own.ip && addr.prefix === own.prefix) return false;
  return familyOf(addr.ip) === familyOf(nodeIp) || ips.includes(addr.ip);
}

function strayRoutes(view: HostView, family: Family, link: Link): readonly Route[] {
  const over = view.routes(family, TABLE_MAIN).filter((route) => route.linkIndex === link.index);
  return over.filter(
    ({ destination, protocol }) => destination === null || protocol === PROTOCOL_DHCP || protocol === PROTOCOL_RA,
  );
}
