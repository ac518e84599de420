/**
 * Compares the kernel with a plan and names the first object that is missing. Later plugins of a chain may add routes, change
 * the MTU or the MAC: only what the pod needs from us is looked for.
 */
import { type Family, familyOf } from '../../core/ip.ts';
import type { Bucket } from '../../core/shaping.ts';
import type { Link } from '../netlink/link.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { ruleText } from '../netlink/wire/rule.ts';
import { findHostVeth } from './host-veth.ts';
import { hostPrefix, POD_GATEWAY, type PodPlan } from './pod-plan.ts';

export function firstMissing(plan: PodPlan, host: Netlink, pod: Netlink): string | null {
  const { ifName } = plan.sandbox;
  const podLink = pod.linkByName(ifName);
  if (podLink === null) return `interface ${ifName} in the pod`;
  if (!podLink.up) return `interface ${ifName} in the pod is down`;
  const hostLink = findHostVeth(host, plan.device);
  if (hostLink === null) return `host interface ${plan.device.hostNames[0]}`;
  if (!hostLink.up) return `host interface ${hostLink.name} is down`;
  const unlimited = missingQueue(host, hostLink, plan.onHost.queue) ?? missingQueue(pod, podLink, plan.inPod.queue);
  if (unlimited !== null) return unlimited;
  for (const ip of plan.ips) {
    const missing = missingInPod(plan, pod, podLink, ip) ?? missingOnHost(plan, host, hostLink, ip);
    if (missing !== null) return missing;
  }
  return null;
}

/** Only of what was asked for: a chained plugin may have put its own there where we put nothing. */
export function missingQueue(netlink: Netlink, link: Link, queue: Bucket | null): string | null {
  if (queue === null) return null;
  const found = netlink.rootQdisc(link.index);
  return found?.rate === queue.rate ? null : `limit of ${queue.rate} bytes/s (tbf) on ${link.name}`;
}

export function missingInPod(plan: PodPlan, pod: Netlink, link: Link, ip: string): string | null {
  const family = familyOf(ip);
  const { prefix } = hostPrefix(ip);
  const gateway = POD_GATEWAY[family];
  if (!pod.addrs(family, link.index).some((addr) => addr.ip === ip)) return `address ${ip}/${prefix} on ${link.name}`;
  if (plan.defaultRoute && !hasDefaultRoute(pod, family, link, gateway))
    return `default route via ${gateway} on ${link.name}`;
  const entry = pod.neighbours(family, link.index).find((neighbour) => neighbour.ip === gateway);
  if (entry?.mac !== plan.device.hostMac) return `neighbour ${gateway} lladdr ${plan.device.hostMac} on ${link.name}`;
  return null;
}

const ANY = { source: null, destination: null, incoming: null, mark: null, narrower: false } as const;

function missingOnHost(plan: PodPlan, host: Netlink, link: Link, ip: string): string | null {
  const { prefix } = hostPrefix(ip);
  const routes = host.routes(familyOf(ip), TABLE_MAIN);
  const isOurs = ({ destination, linkIndex }: Route): boolean =>
    destination?.ip === ip && destination.prefix === prefix && linkIndex === link.index;
  if (!routes.some(isOurs)) return `host route ${ip}/${prefix} dev ${link.name}`;
  const rules = host.rules(familyOf(ip));
  const wanted = plan.onHost.rules.filter((rule) => (rule.source ?? rule.destination)?.ip === ip);
  const missing = wanted.find((rule) => !rules.some((each) => sameRule(each, { ...ANY, ...rule })));
  return missing === undefined ? null : `host rule ${ruleText(missing)}`;
}

function hasDefaultRoute(pod: Netlink, family: Family, link: Link, gateway: string): boolean {
  return pod
    .routes(family, TABLE_MAIN)
    .some((route) => route.destination === null && route.linkIndex === link.index && route.gateway === gateway);
}

function sameRule(a: Rule, b: Rule): boolean {
  const text = (prefix: Rule['source']): string => (prefix === null ? 'any' : `${prefix.ip}/${prefix.prefix}`);
  return (
    a.priority === b.priority &&
    a.table === b.table &&
    a.incoming === b.incoming &&
    a.narrower === b.narrower &&
    a.mark?.value === b.mark?.value &&
    text(a.source) === text(b.source) &&
    text(a.destination) === text(b.destination)
  );
}
