/**
 * Who in the guest may have configured a device: what the kernel notes about its address and routes, and which agents run.
 *
 * In a container without the host's process list only the kernel's notes are left. Source: cases/field P1; proc(5), comm is cut
 * after 15 characters; linux/rtnetlink.h, RTPROT_DHCP.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Addr } from '../netlink/addr.ts';
import { PROTOCOL_DHCP, PROTOCOL_RA, type Route } from '../netlink/route.ts';

/** comm -> its usual name. */
const AGENTS: Readonly<Record<string, string>> = {
  NetworkManager: 'NetworkManager',
  'systemd-network': 'systemd-networkd',
  dhclient: 'dhclient',
  dhcpcd: 'dhcpcd',
  udhcpc: 'udhcpc',
  'cloud-init': 'cloud-init',
  eni: 'eni.service',
  ifup: 'ifup',
};
const PROCESSES_MAX = 20_000;

/** The agents that run, as far as this process may see. Never throws. */
export function guestAgents(): readonly string[] {
  const found = new Set<string>();
  for (const pid of directory('/proc')
    .filter((name) => /^\d+$/.test(name))
    .slice(0, PROCESSES_MAX)) {
    const agent = AGENTS[commOf(pid)];
    if (agent !== undefined) found.add(agent);
  }
  return [...found].sort();
}

/** A sentence, or null when nothing can be told. */
export function suspectsIn(
  addrs: readonly Pick<Addr, 'dynamic'>[],
  routes: readonly Pick<Route, 'protocol'>[],
  running: readonly string[],
): string | null {
  const signs = [
    ...(addrs.some(({ dynamic }) => dynamic) ? ['the address has a lifetime'] : []),
    ...(routes.some(({ protocol }) => protocol === PROTOCOL_DHCP) ? ['a route says proto dhcp'] : []),
    ...(routes.some(({ protocol }) => protocol === PROTOCOL_RA) ? ['a route says proto ra'] : []),
  ];
  const kind = signs.length === 0 ? null : `a DHCP client or the like (${signs.join(', ')})`;
  if (running.length === 0) return kind;
  return `${kind ?? 'somebody'}; running here: ${running.join(', ')}`;
}

function directory(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function commOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return ''; // it has ended meanwhile, or is hidden from us
  }
}
