/**
 * What bears the node's own address goes by the node's own interface: answers to whoever asked there, and what is masqueraded.
 *
 * A request to a NodePort, a hostPort or a load balancer's address comes in by the primary ENI and is rewritten to a pod. The pod's answer
 * would leave by the pod's ENI, with the node's address as its source by then, and the VPC drops what an ENI sends that is not its own. So a
 * connection that begins on the primary's device is marked, the mark is put on what its pod answers, and a rule sends what is marked by the main
 * table, as the node's own traffic goes. The client's address stays (externalTrafficPolicy Local).
 *
 * A pod that asks for a service's external address, or one that kube-proxy takes for an outsider, is masqueraded: it bears the node's address when it
 * leaves for a backend elsewhere, and would leave by the pod's ENI. kube-proxy marks it when it rewrites the destination, before the way is
 * chosen; of a connection that is the first packet alone, so that the connection is marked for the rest.
 *
 * The mark is one bit that neither kube-proxy (0x4000, 0x8000) nor Calico (0xffff0000) uses, and that of Terway's symmetric routing, as the rule's
 * priority is. Source: cases/field F3; Terway, `symmetric_routing_config`.
 */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { Family } from '../../core/ip.ts';
import type { Link } from '../netlink/link.ts';
import type { BaseChain } from '../netlink/nft-table.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { NewRule, Rule } from '../netlink/rule.ts';
import {
  beginsConnection,
  comesBy,
  comesByGroup,
  connectionHas,
  markConnection,
  markPacket,
  packetHas,
} from '../netlink/wire/nftables.ts';
import { addRule, deleteRule, ruleText } from '../netlink/wire/rule.ts';
import type { Fix } from './fix.ts';
import { GONE } from './host-veth.ts';
import { DIRECT_GROUP } from './sandbox-device.ts';
import { deviceSysctl, isStrict } from './sysctl.ts';

export const REPLY_MARK = 0x10;
/** After what leads to a pod, before what leads a pod's traffic to its ENI. */
export const REPLY_PRIORITY = 600;

const MANGLE = -150; // before destinations are rewritten
const AFTER_DSTNAT = -99;
/** Source: kube-proxy, `--iptables-masquerade-bit` 14, in its nftables form too. */
export const MASQUERADE_MARK = 0x4000;

export function replyPathChains(primary: string): BaseChain[] {
  return [
    {
      name: 'reply-paths',
      type: 'filter',
      hook: 'prerouting',
      priority: MANGLE,
      rules: [
        [...comesBy(primary), ...beginsConnection(), ...markConnection(REPLY_MARK)],
        [...comesBy(`${HOST_VETH_PREFIX}*`), ...connectionHas(REPLY_MARK), ...markPacket(REPLY_MARK)],
      ],
    },
    {
      name: 'masqueraded',
      type: 'filter',
      hook: 'prerouting',
      priority: AFTER_DSTNAT,
      rules: [
        [
          ...comesBy(`${HOST_VETH_PREFIX}*`),
          ...packetHas(MASQUERADE_MARK),
          ...markConnection(REPLY_MARK),
          ...markPacket(REPLY_MARK),
        ],
      ],
    },
  ];
}

/**
 * A pod with an ENI of its own asks a service, and the backend is a pod of this node that shares one: the backend answers the node, and with the pod's
 * address in its place again the answer would leave by the backend's ENI, with the service's address as its source. So it goes by the main table too.
 */
export function ownReplyChain(): BaseChain {
  return {
    name: 'own-replies',
    type: 'filter',
    hook: 'prerouting',
    priority: MANGLE,
    rules: [[...comesByGroup(DIRECT_GROUP), ...beginsConnection(), ...markConnection(REPLY_MARK)]],
  };
}

export function replyRule(family: Family): NewRule {
  return { family, priority: REPLY_PRIORITY, mark: { value: REPLY_MARK, mask: REPLY_MARK }, table: TABLE_MAIN };
}

/** The device of the node's own default route, ENIs of ours left out: an agent may have put one there. */
export function primaryDevice(
  routes: readonly Route[],
  links: readonly Link[],
  eniMacs: ReadonlySet<string>,
): string | null {
  const defaults = routes
    .filter(({ table, destination, linkIndex }) => table === TABLE_MAIN && destination === null && linkIndex !== null)
    .sort((a, b) => a.metric - b.metric);
  const byIndex = new Map(links.map((link) => [link.index, link]));
  const devices = defaults.flatMap(({ linkIndex }) => byIndex.get(linkIndex ?? 0) ?? []);
  return devices.find(({ mac, loopback }) => !loopback && (mac === null || !eniMacs.has(mac)))?.name ?? null;
}

/** `rules`: all that are about no address; one of them that is not ours to the bit is another's, unless it asks for our very mark. */
export function replyRuleFixes(family: Family, rules: readonly Rule[]): Fix[] {
  const wanted = replyRule(family);
  const about = rules.filter(({ priority, mark }) => priority === REPLY_PRIORITY && isOurMark(mark));
  const wrong = about.filter((rule) => !isSame(rule));
  const object = `${ruleText(wanted)} (IPv${family})`;
  const base = { kind: 'replyPath', object, pod: null } as const;
  return [
    ...wrong.map(
      (rule): Fix => ({ ...base, detail: `led to table ${rule.table}`, requests: [deleteRule(rule)], tolerated: GONE }),
    ),
    ...(about.some(isSame) ? [] : [{ ...base, detail: null, requests: [addRule(wanted)], tolerated: ['EEXIST'] }]),
  ];
}

/**
 * What comes in by the primary's device and is rewritten to a pod is looked up backwards with the pod's address as its source, and would go by the pod's ENI: a strict
 * filter drops it before the pod has it. Loose it takes what has a way back at all. Where the host's is off, or loose, it stays. Source: cases/bugs B37;
 * net/ipv4/fib_frontend.c, fib_validate_source; the AWS VPC CNI sets the same.
 */
export function primaryFixes(primary: string): Fix[] {
  if (!isStrict(primary)) return [];
  const setting = deviceSysctl(4, primary, 'rp_filter', 2);
  return [
    { kind: 'hostSetting', object: setting.path, pod: null, detail: 'set to 2', requests: [], settings: [setting] },
  ];
}

const isOurMark = (mark: Rule['mark']): boolean => mark?.value === REPLY_MARK && mark.mask === REPLY_MARK;

const isSame = ({ table, source, destination, incoming, narrower }: Rule): boolean =>
  table === TABLE_MAIN && source === null && destination === null && incoming === null && !narrower;
