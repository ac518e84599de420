import { readFileSync } from 'node:fs';
import { type Family, familyOf } from '../../core/ip.ts';
import { type Connection, concerns, type Position } from './connection.ts';
import type { Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import {
  decodeConnection,
  deleteConnection,
  dumpAllConnections,
  dumpConnections,
  NETLINK_NETFILTER,
} from './wire/connection.ts';
import type { Request } from './wire/message.ts';

const POSITIONS: readonly Position[] = ['originalSource', 'originalDestination', 'replySource'];
/** What a kernel without connection tracking, or without its netlink side, answers. */
const ABSENT: readonly string[] = ['EPROTONOSUPPORT', 'EOPNOTSUPP', 'EINVAL', 'ENOENT'];
/** Of the namespace of whoever opens it. */
const COUNT_FILE = '/proc/sys/net/netfilter/nf_conntrack_count';
/**
 * Up to so many entries, all are listed at once. To list those of one position of one address the kernel walks its whole table, 3 ms of
 * 262,144 buckets however few entries there are, and there are three positions. Measured (Linux 6.18, processor time of one address):
 * all 4 ms of 10 entries, 6 of 500, 12 of 2,000, 58 of 10,000; by position 10, 9, 11, 15. With none nothing is asked at all.
 */
const FEW = 1_000;
const ENDED: readonly string[] = ['ENOENT'];

/**
 * Ends what the connection tracking of this namespace remembers of these addresses, of whatever protocol. Answers with how many entries
 * went; 0 where nothing is tracked. Throws NetlinkError.
 */
export function forgetConnections(libc: Libc, ips: readonly string[], few = FEW): number {
  if (ips.length === 0) return 0;
  const tracked = trackedHere();
  if (tracked === 0) return 0;
  const socket = openOrAbsent(libc);
  if (socket === null) return 0;
  try {
    let gone = 0;
    for (const family of [4, 6] as const) {
      const wanted = new Set(ips.filter((ip) => familyOf(ip) === family));
      if (wanted.size === 0) continue;
      const found =
        tracked !== null && tracked <= few
          ? listOf(socket, dumpAllConnections(family), family).filter((each) => concerns(each, wanted))
          : connectionsOf(socket, family, wanted);
      const outcomes = socket.execute(found.map((each) => deleteConnection(family, each)));
      const failed = outcomes.find(({ error }) => error !== null && !ENDED.includes(error.code));
      if (failed?.error) throw failed.error;
      gone += outcomes.filter(({ error }) => error === null).length;
    }
    return gone;
  } finally {
    socket.close();
  }
}

function connectionsOf(socket: NetlinkSocket, family: Family, ips: ReadonlySet<string>): readonly Connection[] {
  const found = new Map<string, Connection>();
  for (const ip of ips)
    for (const position of POSITIONS) {
      const listed = listOf(socket, dumpConnections(family, position, ip), family);
      const ours = listed.filter((each) => concerns(each, ips));
      for (const each of ours) found.set(each.name.toString('latin1'), each);
      // A kernel that took no notice of the filter has told all there is.
      if (ours.length < listed.length) return [...found.values()];
    }
  return [...found.values()];
}

function listOf(socket: NetlinkSocket, request: Request, family: Family): readonly Connection[] {
  try {
    return socket
      .dump(request)
      .map((body) => decodeConnection(family, body))
      .filter((each) => each !== null);
  } catch (error) {
    if (error instanceof NetlinkError && ABSENT.includes(error.code)) return [];
    throw error;
  }
}

/** Entries of this namespace, both families; null where the kernel does not say (it tracks nothing, or the namespace is not root's). */
function trackedHere(): number | null {
  try {
    const count = Number(readFileSync(COUNT_FILE, 'latin1'));
    return Number.isSafeInteger(count) ? count : null;
  } catch {
    return null;
  }
}

function openOrAbsent(libc: Libc): NetlinkSocket | null {
  try {
    return new NetlinkSocket(libc, null, NETLINK_NETFILTER);
  } catch (error) {
    if (error instanceof NetlinkError && ABSENT.includes(error.code)) return null;
    throw error;
  }
}
