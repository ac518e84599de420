/**
 * What Terway's plugins have made on the host for pods that live on under us: a host end without a mark of ours, and rules of three shapes.
 *
 * The current ones are as ours. v1.2's rule from the pod asks for the pod's device too. v1.0.10's have no priority of their own, both look up the
 * ENI's table, and that has a route to the pod. A name alone says whose a device was, not whose it is: so it counts as a sandbox's only as long as
 * a route leads one of that sandbox's addresses to it, since an address has one lease.
 * Source: Terway, plugin/driver (v1.0.10, v1.2), plugin/datapath/policy_router_linux.go; net/core/fib_rules.c, fib_default_rule_pref.
 */
import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { Link } from '../netlink/link.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { FROM_POD_PRIORITY, hostPrefix } from './pod-plan.ts';
import { ROUTE_TABLE_BASE } from './route-table.ts';
import { ALIAS_MARK, type SandboxDevice } from './sandbox-device.ts';

/** The host end that Terway's plugin made for the pod; null when there is none, or nothing leads these addresses to it. */
export function terwayVethOf(
  device: Pick<SandboxDevice, 'hostNames'>,
  ips: readonly string[],
  links: readonly Link[],
  routesTo: (ip: string) => readonly Route[],
): Link | null {
  const link = links.find((each) => isTerwayEnd(each, device));
  if (link === undefined) return null;
  return ips.some((ip) => routesTo(ip).some((route) => leads(route, ip, link))) ? link : null;
}

/** By the pod's name and the lack of our mark. Ours bear one from the first moment in which they have a route. */
export function isTerwayEnd({ kind, name, alias }: Link, { hostNames }: Pick<SandboxDevice, 'hostNames'>): boolean {
  return kind === 'veth' && name === hostNames[0] && (alias === null || !alias.startsWith(ALIAS_MARK));
}

/**
 * The host's own slave of an ENI, over which it reaches Terway's ipvlan pods: nothing else here leads to them. It outlives them, and so does a route that Terway's
 * plugin did not take away.
 */
export function isTerwaySlave(link: Pick<Link, 'name'> | null): boolean {
  return link !== null && /^ipvl_\d+$/.test(link.name);
}

/** By a route to this address alone, in the main table or one of an ENI. */
export function leads({ destination, table, linkIndex }: Route, ip: string, link: Pick<Link, 'index'>): boolean {
  if (linkIndex !== link.index || destination?.ip !== ip || destination.prefix !== hostPrefix(ip).prefix) return false;
  return isPodTable(table);
}

/** One that pods have their routes in. */
export function isPodTable(table: number): boolean {
  return table === TABLE_MAIN || table >= ROUTE_TABLE_BASE;
}

/**
 * Of these rules those that v1.2 and v1.0.10 made; the current ones are as ours (pod-rules.ts). v1.0.10's are known as a pair of one address, both
 * ways into one table: the kernel gave the second the priority before the first's, whatever rules there were besides.
 */
export function oldTerwayRules(rules: readonly Rule[]): readonly Rule[] {
  const plain = rules.filter((rule) => rule.incoming === null && isAboutOne(rule));
  const hasTwin = (rule: Rule): boolean =>
    plain.some(
      (other) =>
        other.table === rule.table &&
        (other.source === null) !== (rule.source === null) &&
        addressIn(other) === addressIn(rule) &&
        Math.abs(other.priority - rule.priority) === 1,
    );
  return rules.filter((rule) => isByDevice(rule) || (plain.includes(rule) && hasTwin(rule)));
}

/** From a pod, by its device. */
function isByDevice(rule: Rule): boolean {
  const { priority, source, incoming } = rule;
  const byPod = incoming?.startsWith(HOST_VETH_PREFIX) === true;
  return byPod && priority === FROM_POD_PRIORITY && source !== null && isAboutOne(rule);
}

/** One address and nothing else, into a table where ENIs have theirs. */
function isAboutOne({ source, destination, mark, narrower, table }: Rule): boolean {
  if (mark !== null || narrower || table < ROUTE_TABLE_BASE) return false;
  return (isOne(source) && destination === null) || (source === null && isOne(destination));
}

const addressIn = ({ source, destination }: Rule): string | null => (source ?? destination)?.ip ?? null;

const isOne = (prefix: Rule['source']): boolean => prefix !== null && prefix.prefix === hostPrefix(prefix.ip).prefix;
