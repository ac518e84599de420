/** The host ends of pods: finding a sandbox's own, and taking away what an earlier life of an address left. */
import { type Family, familyOf } from '../../core/ip.ts';
import type { Link } from '../netlink/link.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { RuleMatch } from '../netlink/rule.ts';
import { deleteRule } from '../netlink/wire/rule.ts';
import { FROM_POD_PRIORITY, hostPrefix, TO_POD_PRIORITY } from './pod-plan.ts';
import { HOST_VETH_PREFIX, type SandboxDevice } from './sandbox-device.ts';

/** An address has two rules; copies come from crashes. More than this many means that someone adds them as we delete. */
const RULE_COPIES_MAX = 32;

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

/** The main table's route to exactly this address. */
export function routeTo(host: Netlink, ip: string): Route | null {
  const { prefix } = hostPrefix(ip);
  const routes = host.routes(familyOf(ip), TABLE_MAIN);
  return routes.find(({ destination }) => destination?.ip === ip && destination.prefix === prefix) ?? null;
}

/** Every address the main table sends to this device. */
export function addressesBehind(host: Netlink, link: Link): string[] {
  const families: Family[] = [4, 6];
  return families
    .flatMap((family) => host.routes(family, TABLE_MAIN))
    .filter(({ linkIndex, destination }) => linkIndex === link.index && destination !== null)
    .map(({ destination }) => destination)
    .filter((destination) => destination !== null && destination.prefix === hostPrefix(destination.ip).prefix)
    .map((destination) => destination?.ip ?? '');
}

/** Deletes the rules of our two priorities for these addresses, whatever table they point to, and all copies of them. */
export function deletePodRules(host: Netlink, ips: readonly string[]): void {
  let left: RuleMatch[] = ips.flatMap((ip) => [
    { family: familyOf(ip), priority: TO_POD_PRIORITY, destination: hostPrefix(ip) },
    { family: familyOf(ip), priority: FROM_POD_PRIORITY, source: hostPrefix(ip) },
  ]);
  for (let round = 0; left.length > 0 && round < RULE_COPIES_MAX; round += 1) {
    const outcomes = host.execute(left.map(deleteRule));
    const failed = outcomes.find(({ error }) => error !== null && !GONE.includes(error.code));
    if (failed?.error) throw failed.error;
    left = left.filter((_, index) => outcomes[index]?.error === null);
  }
}

/** Answers to a delete that mean there is nothing (left) to delete. */
export const GONE: readonly string[] = ['ENOENT', 'ESRCH', 'ENODEV', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EOPNOTSUPP'];
