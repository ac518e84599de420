/** This network namespace's devices by MAC. Asked of the kernel: `/sys` shows those of whoever has mounted it. */
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../adapters/netlink/netlink.ts';

/** Of two devices with one MAC (a vlan and what it stands on) the one that is no kind of software's. */
export function deviceNames(): ReadonlyMap<string, string> {
  const netlink = new Netlink(openKoffiLibc());
  try {
    const links = netlink.links().filter(({ mac, loopback }) => mac !== null && !loopback);
    const hardwareLast = links.toSorted((a, b) => Number(a.kind === null) - Number(b.kind === null));
    return new Map(hardwareLast.map(({ mac, name }) => [mac ?? '', name]));
  } finally {
    netlink.close();
  }
}
