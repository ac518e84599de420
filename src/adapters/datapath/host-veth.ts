/** The host ends of pods: finding a sandbox's own, and what leads to it. */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import { type Family, familyOf } from '../../core/ip.ts';
import type { Link } from '../netlink/link.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import { hostPrefix } from './pod-plan.ts';
import type { SandboxDevice } from './sandbox-device.ts';

/** The device that belongs to this sandbox, by MAC; names only say where to look first. */
export function findHostVeth(host: Netlink, device: SandboxDevice): Link | null {
  for (const name of device.hostNames) {
    const link = host.linkByName(name);
    if (link !== null && isOwned(link, device)) return link;
  }
  return null;
}

export function isOwned(link: Link, device: SandboxDevice): boolean {
  return link.kind === 'veth' && link.mac === device.hostMac;
}

/** Whether the link looks like the host end of some pod, ours or Terway's. */
export function isHostVeth(link: Link | null): boolean {
  return link !== null && link.kind === 'veth' && link.name.startsWith(HOST_VETH_PREFIX);
}

/**
 * The main table's route to exactly this address. Asked for by the address, since the table may be long; only where a packet to it would
 * leave the main table, or find no way, the table is read.
 */
export function routeTo(host: Netlink, ip: string): Route | null {
  const { prefix } = hostPrefix(ip);
  const isIt = ({ destination }: Route): boolean => destination?.ip === ip && destination.prefix === prefix;
  const taken = host.routeTaken(ip);
  if (taken?.table === TABLE_MAIN && isIt(taken)) return taken;
  return host.routes(familyOf(ip), TABLE_MAIN).find(isIt) ?? null;
}

/** Every address of these families that the main table sends to this device. The kernel walks the table for it, however long it is. */
export function addressesBehind(host: Netlink, link: Link, families: readonly Family[] = [4, 6]): string[] {
  return families
    .flatMap((family) => host.routes(family, TABLE_MAIN, link.index))
    .map(({ destination }) => destination)
    .filter((destination) => destination !== null && destination.prefix === hostPrefix(destination.ip).prefix)
    .map((destination) => destination?.ip ?? '');
}

/** Answers to a delete that mean there is nothing (left) to delete. */
export const GONE: readonly string[] = ['ENOENT', 'ESRCH', 'ENODEV', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EOPNOTSUPP'];
