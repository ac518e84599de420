import type { Family } from '../../core/ip.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { SCOPE_GLOBAL, TABLE_MAIN } from '../netlink/route.ts';

const FAMILIES: readonly Family[] = [4, 6];

/** The node's own: those of the device of its default route, of both families. Source: Terway, "HostIP". */
export function nodeAddresses(host: Netlink): string[] {
  return FAMILIES.flatMap((family) => {
    const [route] = host
      .routes(family, TABLE_MAIN)
      .filter(({ destination, linkIndex }) => destination === null && linkIndex !== null)
      .sort((a, b) => a.metric - b.metric);
    if (route?.linkIndex == null) return [];
    const addrs = host.addrs(family, route.linkIndex).filter(({ scope }) => scope === SCOPE_GLOBAL);
    return addrs.map(({ ip }) => ip);
  });
}
