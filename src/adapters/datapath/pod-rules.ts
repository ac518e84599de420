/**
 * Which rules are a pod's, and how they are taken away so that nobody else's goes with them.
 *
 * A rule of ours is known by its shape alone. The kernel deletes the first rule that fits what a request names, and a request cannot say "and
 * asks for nothing more". So one glance at the list looks for a stranger's that would fit. Where there is none, as nearly always, ours are taken
 * until nothing fits any more: that finds also what the glance has passed over while others changed theirs. Where there is one, the list is read until
 * it stands still, each rule of ours is named with its table, and one that a stranger's comes before stays.
 * Of a list only what is about the addresses is decoded, and nothing behind our priorities is read (cases/bugs B67: hosts have thousands of rules).
 */
import { familyOf } from '../../core/ip.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { decodeRule, deleteRule, putBackRule, ruleText, takeRule } from '../netlink/wire/rule.ts';
import { GONE } from './host-veth.ts';
import { FROM_POD_PRIORITY, hostPrefix, TO_POD_PRIORITY } from './pod-plan.ts';
import { ROUTE_TABLE_BASE } from './route-table.ts';
import { oldTerwayRules } from './terway-pod.ts';

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

/** Of all rules about some addresses those that we may have made, or Terway's plugins before us. */
export function ourPodRules(all: readonly Rule[]): readonly Rule[] {
  const old = oldTerwayRules(all);
  return all.filter((rule) => isOurPodRule(rule) || old.includes(rule));
}

/** Of `wanted` those that can be deleted without harm; `all`: every rule about their addresses, in the kernel's order. */
export function deletable(wanted: readonly Rule[], all: readonly Rule[]): readonly Rule[] {
  const old = oldTerwayRules(all);
  return wanted.filter((rule) => {
    const text = ruleText(named(rule));
    const first = all.find((each) => ruleText(named(each)) === text);
    return first === undefined || isPodRule(first) || old.includes(first);
  });
}

/** So many rules of one shape are some error; they would be deleted for ever. */
const COPIES_MAX = 1_000;

/** Deletes our rules about these addresses, and all copies of them. Throws NetlinkError. */
export function deletePodRules(host: Netlink, ips: readonly string[]): void {
  if (ips.length === 0) return;
  const seen = host.rulesAtAGlance(ips, Math.max(TO_POD_PRIORITY, FROM_POD_PRIORITY))?.filter(fitsOurs);
  if (seen === undefined || !seen.every(isOurPodRule) || !takeAll(host, ips, seen)) deleteNamed(host, ips);
}

/** Whatever it asks for beside the address: what a request that names one of our shapes may delete. */
function fitsOurs({ priority, source, destination }: Rule): boolean {
  if (priority === TO_POD_PRIORITY) return isHost(destination);
  return priority === FROM_POD_PRIORITY && isHost(source);
}

/** Takes all that fits; false when a stranger's, which came after the glance or was passed over by it, was among it: that is back then. */
function takeAll(host: Netlink, ips: readonly string[], seen: readonly Rule[]): boolean {
  const counted = (shape: Shape): number => seen.filter((rule) => isOf(rule, shape)).length;
  let left = [...new Set(ips)].flatMap(shapesOf).map((shape) => ({ shape, times: counted(shape) + 1 }));
  for (let taken = 0; left.length > 0 && taken < COPIES_MAX * ips.length; ) {
    const tries = left.flatMap(({ shape, times }) => Array.from({ length: times }, () => shape));
    const outcomes = host.execute(tries.map(takeRule));
    const failed = outcomes.find(({ error }) => error !== null && !GONE.includes(error.code));
    if (failed?.error) throw failed.error;
    const rules = outcomes.flatMap(({ error, data }) => (error === null ? data : []));
    const strangers = rules.filter((body) => !isOurPodRule(decodeRule(body) ?? NO_RULE));
    host.apply(strangers.map(putBackRule), ['EEXIST']);
    if (strangers.length > 0) return false;
    taken += rules.length;
    const ended = new Set(tries.filter((_, at) => outcomes[at]?.error != null));
    left = left.filter(({ shape }) => !ended.has(shape)).map(({ shape }) => ({ shape, times: 1 }));
  }
  return true;
}

type Shape = Pick<Rule, 'family' | 'priority'> & Partial<Pick<Rule, 'source' | 'destination'>>;

function shapesOf(ip: string): readonly Shape[] {
  const family = familyOf(ip);
  return [
    { family, priority: TO_POD_PRIORITY, destination: hostPrefix(ip) },
    { family, priority: FROM_POD_PRIORITY, source: hostPrefix(ip) },
  ];
}

function isOf(rule: Rule, { priority, source, destination }: Shape): boolean {
  return (
    rule.priority === priority && (source ? rule.source?.ip === source.ip : rule.destination?.ip === destination?.ip)
  );
}

/** What no rule of ours looks like. */
const NO_RULE: Rule = {
  family: 4,
  priority: 0,
  table: 0,
  source: null,
  destination: null,
  incoming: null,
  mark: null,
  narrower: true,
};

/** Also those of Terway's plugins, which may be anywhere in the list. Throws NetlinkError. */
export function deleteNamed(host: Netlink, ips: readonly string[]): void {
  const all = host.rulesAbout(ips);
  host.apply(deletable(ourPodRules(all), all).map(deleteRule), GONE);
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
