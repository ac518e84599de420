/**
 * Which changes of the host's network may be drift. Those of a pod being made (its device, route and rules appear) are not, or every
 * ADD would be followed by a look at everything.
 */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { Link } from '../netlink/link.ts';
import { PROTOCOL_DHCP, PROTOCOL_RA, SCOPE_GLOBAL, TABLE_MAIN } from '../netlink/route.ts';
import type { Change } from '../netlink/wire/change.ts';

/** `macs`: those of the ENIs that are set up. */
export function mayBeDrift(change: Change, macs: ReadonlySet<string>): boolean {
  if (change.what === 'link') return change.gone || isEni(change.link, macs) || isDownVeth(change.link);
  if (change.gone) return true;
  if (change.what === 'addr') return change.addr.scope === SCOPE_GLOBAL;
  if (change.what === 'rule') return false;
  const { table, destination, protocol } = change.route;
  return table === TABLE_MAIN && (destination === null || protocol === PROTOCOL_DHCP || protocol === PROTOCOL_RA);
}

const isEni = ({ mac }: Link, macs: ReadonlySet<string>): boolean => mac !== null && macs.has(mac);

const isDownVeth = ({ name, up }: Link): boolean => !up && name.startsWith(HOST_VETH_PREFIX);
