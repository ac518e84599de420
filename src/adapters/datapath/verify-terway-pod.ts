/**
 * Compares a pod that Terway's plugin connected with what it needs, and names the first object that is missing; and tells what such a pod has.
 *
 * Looked for is what carries its packets, whoever made it: address, default route and gateway's neighbour in the pod, the host end, a rule and a route
 * that lead to it, and a rule that leads what it sends to its ENI's table. Each of its versions made these (terway-pod.ts), and the kernel keeper
 * mends them in the current form. Not looked at: its limits of bandwidth, which Terway's daemon alone knew, and MTU and settings of the devices.
 * Source: Terway, plugin/driver (v1.0.10, v1.2), plugin/datapath/policy_router_linux.go; CNI SPEC 1.1, CHECK.
 */
import { familyOf } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { Netlink } from '../netlink/netlink.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { findHostVeth } from './host-veth.ts';
import { hostPrefix, type PodPlan } from './pod-plan.ts';
import { ourPodRules } from './pod-rules.ts';
import { sandboxDevice } from './sandbox-device.ts';
import { isTerwayEnd, leads, terwayVethOf } from './terway-pod.ts';
import { missingInPod } from './verify-pod.ts';

/** The host end that Terway's plugin made; null: it did not make this pod, or is not what leads to it. */
export function terwayHostEnd({ device, ips }: Pick<PodPlan, 'device' | 'ips'>, host: Netlink): Link | null {
  if (findHostVeth(host, device) !== null) return null;
  return terwayVethOf(device, ips, host.links(), (ip) => host.routes(familyOf(ip)));
}

export function firstMissingOfTerway(plan: PodPlan, hostLink: Link, host: Netlink, pod: Netlink): string | null {
  const { ifName } = plan.sandbox;
  const podLink = pod.linkByName(ifName);
  if (podLink === null) return `interface ${ifName} in the pod`;
  if (!podLink.up) return `interface ${ifName} in the pod is down`;
  if (podLink.peerIndex !== hostLink.index) return `host interface of ${ifName}: ${hostLink.name} is another one's`;
  if (!hostLink.up) return `host interface ${hostLink.name} is down`;
  const made = { ...plan, device: { ...plan.device, hostMac: hostLink.mac ?? '' } };
  for (const ip of plan.ips) {
    const missing = missingInPod(made, pod, podLink, ip) ?? missingOnHost(plan, host, hostLink, ip);
    if (missing !== null) return missing;
  }
  return null;
}

/** Of a pod with an ENI of its own: what leads from the host to it. */
export function firstMissingOfTerwayPair(ips: readonly string[], hostLink: Link, host: Netlink): string | null {
  if (!hostLink.up) return `host interface ${hostLink.name} is down`;
  const isLed = (ip: string): boolean => host.routes(familyOf(ip)).some((route) => leads(route, ip, hostLink));
  const unled = ips.find((ip) => !isLed(ip));
  return unled === undefined ? null : `host route ${unled}/${hostPrefix(unled).prefix} dev ${hostLink.name}`;
}

function missingOnHost({ routeTable }: PodPlan, host: Netlink, link: Link, ip: string): string | null {
  const { prefix } = hostPrefix(ip);
  const routes = host.routes(familyOf(ip)).filter((route) => leads(route, ip, link));
  if (routes.length === 0) return `host route ${ip}/${prefix} dev ${link.name}`;
  if (routeTable === TABLE_MAIN) return null;
  const rules = ourPodRules(host.rulesAbout([ip]));
  if (!rules.some((rule) => rule.destination !== null && isIn(rule, routes)))
    return `host rule to ${ip}/${prefix} that leads to ${link.name}`;
  const from = rules.some((rule) => rule.source !== null && rule.table === routeTable && isFor(rule, link));
  return from ? null : `host rule from ${ip}/${prefix} lookup ${routeTable}`;
}

const isIn = ({ table }: Rule, routes: readonly Route[]): boolean => routes.some((route) => route.table === table);

/** v1.2's asks for the pod's device. */
const isFor = ({ incoming }: Rule, { name }: Link): boolean => incoming === null || incoming === name;

/**
 * What the namespace has on the interface, if that, or the pair beside it that a pod with an ENI of its own has, ends in a device that Terway's plugin made for
 * the pod. Throws NetlinkError.
 */
export function terwayAddressesIn(libc: Libc, sandbox: Sandbox, pod: Netlink): readonly string[] {
  const link = pod.linkByName(sandbox.ifName);
  if (link === null) return [];
  const peers = pod
    .links()
    .flatMap(({ kind, peerIndex }) => (kind === 'veth' && peerIndex !== null ? [peerIndex] : []));
  const host = new Netlink(libc);
  try {
    const device = sandboxDevice(sandbox);
    const isEnd = (end: Link | null): boolean => end !== null && isTerwayEnd(end, device);
    if (!peers.some((index) => isEnd(host.linkByIndex(index)))) return [];
    const ips = ([4, 6] as const).flatMap((family) => pod.addrs(family, link.index)).map(({ ip }) => ip);
    return ips.filter((ip) => !LINK_LOCAL.test(ip)).slice(0, IPS_MAX);
  } finally {
    host.close();
  }
}

const LINK_LOCAL = /^fe[89ab]/i;
/** More than one of each family no pod of Terway's has on an interface. */
const IPS_MAX = 16;
