/**
 * A device whose transmit counter is the count of packets that were routed to it: they go out, and its other end takes none of them,
 * since they are addressed to nobody's MAC.
 *
 * One table with a default route a sink. A rule can thus count what a reverse-path filter would drop in silence, in both families
 * and without nftables.
 */
import { readFileSync } from 'node:fs';
import type { Netlink } from '../../adapters/netlink/netlink.ts';
import { createVeth, setLink } from '../../adapters/netlink/wire/link.ts';
import { setNeighbour } from '../../adapters/netlink/wire/neighbour.ts';
import { addRoute } from '../../adapters/netlink/wire/route.ts';
import type { Netns } from '../netns/netns.ts';
import { writeSysctl } from '../netns/sysctl.ts';

const NOBODY_MAC = '02:00:00:00:00:01';
const NOBODY = ['169.254.9.9', 'fe80::9'] as const;

/** Makes the device `name` and the default routes of `table` through it. The namespace must be `netlink`'s. */
export function addCountedSink(netns: Netns, netlink: Netlink, name: string, table: number): void {
  const far = `drop-${table}`; // names have at most 15 characters
  const end = (device: string, last: number) => ({ name: device, mac: `02:00:00:00:01:0${last}`, mtu: 65_535 });
  netlink.apply([createVeth({ ...end(name, 1), peer: end(far, 2), peerNetnsFd: netns.fd })]);
  // No link-local address: the device sends nothing by itself, and so counts only what was routed to it.
  for (const device of [name, far]) netns.run(() => writeSysctl(`net/ipv6/conf/${device}/addr_gen_mode`, '1'));
  netns.run(() => writeSysctl(`net/ipv6/conf/${far}/disable_ipv6`, '1'));
  for (const device of [name, far]) netlink.apply([setLink(indexOf(netlink, device), { up: true })]);
  const linkIndex = indexOf(netlink, name);
  netlink.apply(
    NOBODY.flatMap((ip) => [
      setNeighbour({ linkIndex, ip, mac: NOBODY_MAC }),
      addRoute({ family: ip.includes(':') ? 6 : 4, destination: null, table, gateway: ip, linkIndex, onLink: true }),
    ]),
  );
}

/** Packets sent by each device of the namespace. */
export function transmitted(netns: Netns): ReadonlyMap<string, number> {
  const text = netns.run(() => readFileSync('/proc/thread-self/net/dev', 'utf8'));
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [name, figures] = line.split(':');
    // Eight columns of receive figures, then bytes and packets sent.
    const packets = figures?.trim().split(/\s+/)[9];
    if (name !== undefined && packets !== undefined) counts.set(name.trim(), Number(packets));
  }
  return counts;
}

function indexOf(netlink: Netlink, name: string): number {
  const link = netlink.linkByName(name);
  if (link === null) throw new Error(`device ${name} is not there`);
  return link.index;
}
