/**
 * What the host lacks of a pod that the plugin has made, and what is left of one that is no more.
 *
 * A right route of whatever origin is right (Felix makes its own). Where the pod's device is gone nothing is made: rules without it would
 * lead nowhere, and only a new sandbox gives the pod its network back. Source: design, "Who owns what"; cases/field P21.
 */
import { familyOf } from '../../core/ip.ts';
import { podKey, type SandboxKey, sandboxKey } from '../../core/sandbox.ts';
import type { PodKept, SandboxLeft } from '../../ports/kernel.ts';
import type { Link } from '../netlink/link.ts';
import { type Route, SCOPE_LINK, TABLE_MAIN } from '../netlink/route.ts';
import type { NewRule, Rule } from '../netlink/rule.ts';
import { deleteLink, setLink } from '../netlink/wire/link.ts';
import { deleteRoute, replaceRoute } from '../netlink/wire/route.ts';
import { addRule, deleteRule, ruleText } from '../netlink/wire/rule.ts';
import type { Fix } from './fix.ts';
import { GONE, isHostVeth } from './host-veth.ts';
import type { HostView } from './host-view.ts';
import { hostSysctls } from './pod-network.ts';
import { FROM_POD_PRIORITY, hostPrefix, podRules, TO_POD_PRIORITY } from './pod-plan.ts';
import { deletable, isPodRule, ourPodRules } from './pod-rules.ts';
import { ALIAS_MARK, DIRECT_GROUP, type SandboxDevice, sandboxDevice } from './sandbox-device.ts';
import { differing } from './sysctl.ts';
import { isTerwaySlave, terwayVethOf } from './terway-pod.ts';

export type PodFound = { readonly fixes: readonly Fix[]; readonly whole: boolean; readonly begun?: boolean };

/** Host ends by MAC. Every device of ours has its own. */
export function vethsByMac(view: HostView): ReadonlyMap<string, Link> {
  return new Map(view.links.flatMap((link) => (link.kind === 'veth' && link.mac !== null ? [[link.mac, link]] : [])));
}

export function podFixes(
  view: HostView,
  veths: ReadonlyMap<string, Link>,
  pod: PodKept,
  device: SandboxDevice,
  thorough: boolean,
): PodFound {
  const name = podKey(pod.sandbox.pod);
  const link = veths.get(device.hostMac) ?? terwayVeth(view, device, pod.ips);
  if (link === null) {
    if (pod.standing !== 'seen') return { fixes: [], whole: false };
    const detail = `the device ${device.hostNames[0]} is gone, and with it the pod's own: only a new sandbox helps`;
    return { fixes: [{ kind: 'podDevice', object: name, pod: name, detail, requests: [] }], whole: false };
  }
  const fixes: Fix[] = [];
  if (!link.up)
    fixes.push({
      kind: 'podDown',
      object: link.name,
      pod: name,
      detail: null,
      requests: [setLink(link.index, { up: true })],
    });
  if (thorough) {
    const dual = pod.ips.some((ip) => familyOf(ip) === 6);
    for (const setting of differing(hostSysctls(link.name, dual)))
      fixes.push({
        kind: 'podSetting',
        object: setting.path,
        pod: name,
        detail: null,
        requests: [],
        settings: [setting],
      });
  }
  // The traffic of a pod on the network itself is not the host's to lead.
  const routeTable = link.group === DIRECT_GROUP ? TABLE_MAIN : pod.routeTable;
  for (const ip of pod.ips) fixes.push(...routeFixes(view, ip, link, name), ...ruleFixes(view, ip, routeTable, name));
  // On one that Terway's plugin made, by its MAC not ours, none of ours is at work: what the forms of its older versions lack beside ours is made.
  const made = link.alias === device.alias || link.mac !== device.hostMac;
  if (pod.standing === 'young') return { fixes: [], whole: fixes.length === 0, begun: fixes.length > 0 && made };
  return { fixes, whole: fixes.length === 0 };
}

function terwayVeth(view: HostView, device: SandboxDevice, ips: readonly string[]): Link | null {
  return terwayVethOf(device, ips, view.links, (ip) => view.routesTo(ip));
}

function routeFixes(view: HostView, ip: string, link: Link, pod: string): Fix[] {
  const route = view.routeTo(ip);
  if (route?.linkIndex === link.index) return [];
  const { prefix } = hostPrefix(ip);
  const object = `${ip}/${prefix} dev ${link.name}`;
  const elsewhere = route === null ? null : view.link(route.linkIndex);
  // A route that somebody sends elsewhere on purpose is not ours to judge; one to another pod's device is a leftover.
  if (route !== null && !isHostVeth(elsewhere) && !isTerwaySlave(elsewhere)) {
    const detail = `a route to it leads to ${elsewhere?.name ?? 'no device'}`;
    return [{ kind: 'podRoute', object, pod, detail, requests: [] }];
  }
  const wanted = {
    family: familyOf(ip),
    destination: hostPrefix(ip),
    table: TABLE_MAIN,
    scope: SCOPE_LINK,
    linkIndex: link.index,
  };
  const detail = elsewhere === null ? null : `led to ${elsewhere.name}`;
  return [{ kind: 'podRoute', object, pod, detail, requests: [replaceRoute(wanted)] }];
}

function ruleFixes(view: HostView, ip: string, routeTable: number, pod: string): Fix[] {
  const there = view.rulesOf(ip).filter(isPodRule);
  const wanted = podRules(ip, routeTable);
  const about = (rule: NewRule) => ({ kind: 'podRule', object: ruleText(rule), pod }) as const;
  // One of our priorities that leads elsewhere comes first or last by chance: it goes.
  const wrong = deletable(
    there.filter((rule) => !wanted.some((each) => isSame(rule, each))),
    view.rulesOf(ip),
  );
  const missing = wanted.filter((each) => !there.some((rule) => isSame(rule, each)));
  return [
    ...wrong.map(
      (rule): Fix => ({
        ...about(rule),
        detail: `led to table ${rule.table}`,
        requests: [deleteRule(rule)],
        tolerated: GONE,
      }),
    ),
    ...missing.map((rule): Fix => ({ ...about(rule), detail: null, requests: [addRule(rule)], tolerated: ['EEXIST'] })),
  ];
}

function isSame(rule: Rule, wanted: NewRule): boolean {
  return rule.priority === wanted.priority && rule.table === wanted.table;
}

/**
 * A sandbox that was given back: its device and what leads to it. What another sandbox has taken over stays; of an address that is in `held`
 * again the rules are its new holder's, whose plugin may have made them a moment ago.
 */
export function leftoverFixes(
  view: HostView,
  veths: ReadonlyMap<string, Link>,
  left: SandboxLeft,
  held: ReadonlySet<string>,
): Fix[] {
  const device = sandboxDevice(left.sandbox);
  // Of an address that somebody has again the route is that one's.
  const free = left.ips.filter((ip) => !held.has(ip));
  const link = veths.get(device.hostMac) ?? terwayVeth(view, device, free);
  const ips = new Set([...left.ips, ...(link === null ? [] : view.addressesBehind(link))]);
  const pod = podKey(left.sandbox.pod);
  const rules = [...ips]
    .filter((ip) => {
      if (held.has(ip)) return false;
      const route = view.routeTo(ip);
      return route === null || (link !== null && route.linkIndex === link.index);
    })
    .flatMap((ip) => oursOf(view, ip));
  if (link === null && rules.length === 0) return [];
  const requests = [
    ...rules.map((rule) => deleteRule(rule)),
    ...(link === null ? [] : [deleteLink(link)]), // takes its routes along
  ];
  const object = sandboxKey(left.sandbox);
  return [{ kind: 'leftover', object, pod, detail: link?.name ?? null, requests, tolerated: GONE }];
}

/** What may go of the rules about an address. */
function oursOf(view: HostView, ip: string): readonly Rule[] {
  const all = view.rulesOf(ip);
  return deletable(ourPodRules(all), all);
}

/** Rules of an address that nobody holds and no route leads to: the pod's namespace went without a DEL; and a route that an ipvlan pod of Terway's left. */
export function strayRuleFixes(view: HostView, freeIps: readonly string[]): Fix[] {
  const routes = freeIps.flatMap((ip) => {
    const route = view.routeTo(ip);
    return route !== null && isTerwaySlave(view.link(route.linkIndex)) ? [leftoverRoute(ip, route)] : [];
  });
  const rules = freeIps
    .filter((ip) => view.routeTo(ip) === null)
    .flatMap((ip) => oursOf(view, ip).map((rule) => leftoverRule(rule, 'nobody holds the address')));
  return [...routes, ...rules];
}

function leftoverRoute(ip: string, route: Route): Fix {
  const requests = [deleteRoute({ ...route, destination: hostPrefix(ip) })];
  const about = { kind: 'leftover', object: `route to ${ip}`, pod: null } as const;
  return { ...about, detail: 'nobody holds the address', requests, tolerated: GONE };
}

function leftoverRule(rule: Rule, detail: string): Fix {
  const requests = [deleteRule(rule)];
  return { kind: 'leftover', object: ruleText(rule), pod: null, detail, requests, tolerated: GONE };
}

/**
 * The rule pair of an address that no ENI here has any more: its pod went without a DEL, its lease was lost, and the address was taken away or its
 * ENI deleted. That such a pair is ours its shape says; that it is dead its table, which is empty or of an ENI that does not have the address.
 *
 * @param known addresses of ENIs and of leases @param tables of those ENIs
 */
export function orphanRuleFixes(view: HostView, known: ReadonlySet<string>, tables: ReadonlySet<number>): Fix[] {
  return view.ruledIps().flatMap((ip) => {
    if (known.has(ip) || view.routeTo(ip) !== null) return [];
    const pair = oursOf(view, ip);
    const [toPod, fromPod] = [TO_POD_PRIORITY, FROM_POD_PRIORITY].map((each) =>
      pair.find((rule) => rule.priority === each),
    );
    if (toPod?.table !== TABLE_MAIN || fromPod === undefined) return [];
    if (!tables.has(fromPod.table) && view.routes(familyOf(ip), fromPod.table).length > 0) return [];
    return pair.map((rule) => leftoverRule(rule, 'no ENI here has the address'));
  });
}

/**
 * Host ends that are ours by their mark and of no sandbox in `claimed`. The mark alone is a text; what proves it is the MAC that only this
 * sandbox's device has.
 */
export function unclaimedIn(view: HostView, claimed: ReadonlySet<SandboxKey>): SandboxLeft[] {
  return view.links.flatMap((link): SandboxLeft[] => {
    const sandbox = link.kind === 'veth' && link.alias?.startsWith(ALIAS_MARK) ? namedIn(link.alias) : null;
    if (sandbox === null || claimed.has(sandboxKey(sandbox)) || sandboxDevice(sandbox).hostMac !== link.mac) return [];
    return [{ sandbox, ips: view.addressesBehind(link) }];
  });
}

function namedIn(alias: string): SandboxLeft['sandbox'] | null {
  const [, namespace, name, ifName, containerId] = /^enactor:([^/ ]+)\/([^/ ]+) (\S+) (\S+)$/.exec(alias) ?? [];
  if (namespace === undefined || name === undefined || ifName === undefined || containerId === undefined) return null;
  return { containerId, ifName, pod: { namespace, name, uid: null } };
}
