/**
 * Which rules are a pod's, and how they are taken away so that nobody else's goes with them.
 *
 * A rule of ours is known by its shape alone. The kernel deletes the first rule that fits what a request names, and a request cannot say "and
 * asks for nothing more": so the list is read first, each rule is named with its table, and one that a stranger's comes before that would fit
 * as well stays. Of a list only what is about the addresses is decoded (cases/bugs B67: hosts have thousands of rules).
 */
import type { Netlink } from '../netlink/netlink.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { deleteRule, ruleText } from '../netlink/wire/rule.ts';
import { GONE } from './host-veth.ts';
import { FROM_POD_PRIORITY, hostPrefix, TO_POD_PRIORITY } from './pod-plan.ts';
import { ROUTE_TABLE_BASE } from './route-table.ts';

/** By its shape: one of our two priorities, about exactly one address and nothing else, whatever table it looks up. */
export function isPodRule({ priority, source, destination, incoming, mark, narrower }: Rule): boolean {
  if (incoming !== null || mark !== null || narrower) return false;
  if (priority === TO_POD_PRIORITY) return isHost(destination) && source === null;
  return priority === FROM_POD_PRIORITY && isHost(source) && destination === null;
}

/** One that we may have made: it leads to a table where ENIs have theirs, or to a pod through the main one. */
export function isOurPodRule(rule: Rule): boolean {
  const { priority, table } = rule;
  return isPodRule(rule) && (table >= ROUTE_TABLE_BASE || (priority === TO_POD_PRIORITY && table === TABLE_MAIN));
}

/** Of `wanted` those that can be deleted without harm; `all`: every rule about their addresses, in the kernel's order. */
export function deletable(wanted: readonly Rule[], all: readonly Rule[]): readonly Rule[] {
  return wanted.filter((rule) => {
    const text = ruleText(named(rule));
    const first = all.find((each) => ruleText(named(each)) === text);
    return first === undefined || isPodRule(first);
  });
}

/** Deletes our rules about these addresses, and all copies of them. Throws NetlinkError. */
export function deletePodRules(host: Netlink, ips: readonly string[]): void {
  if (ips.length === 0) return;
  const all = host.rulesAbout(ips);
  host.apply(deletable(all.filter(isOurPodRule), all).map(deleteRule), GONE);
}

const isHost = (prefix: Rule['source']): boolean => prefix !== null && prefix.prefix === hostPrefix(prefix.ip).prefix;

/** What a request to delete one of ours names: it fits one that asks for a mark as well. */
const named = ({ family, priority, table, source, destination, incoming }: Rule) => ({
  family,
  priority,
  table,
  source,
  destination,
  incoming,
});
