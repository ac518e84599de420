import { type Family, familyOf } from '../../core/ip.ts';
import { type Connection, concerns, type Position } from './connection.ts';
import type { Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { decodeConnection, deleteConnection, dumpConnections, NETLINK_NETFILTER } from './wire/connection.ts';

const POSITIONS: readonly Position[] = ['originalSource', 'originalDestination', 'replySource'];
/** What a kernel without connection tracking, or without its netlink side, answers. */
const ABSENT: readonly string[] = ['EPROTONOSUPPORT', 'EOPNOTSUPP', 'EINVAL', 'ENOENT'];
const ENDED: readonly string[] = ['ENOENT'];

/**
 * Ends what the connection tracking of this namespace remembers of these addresses, of whatever protocol. Answers with how many entries
 * went; 0 where nothing is tracked. Throws NetlinkError.
 */
export function forgetConnections(libc: Libc, ips: readonly string[]): number {
  if (ips.length === 0) return 0;
  const socket = openOrAbsent(libc);
  if (socket === null) return 0;
  try {
    let gone = 0;
    for (const family of [4, 6] as const) {
      const wanted = new Set(ips.filter((ip) => familyOf(ip) === family));
      if (wanted.size === 0) continue;
      const found = connectionsOf(socket, family, wanted);
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
      const listed = listOf(socket, family, position, ip);
      const ours = listed.filter((each) => concerns(each, ips));
      for (const each of ours) found.set(each.name.toString('latin1'), each);
      // A kernel that took no notice of the filter has told all there is.
      if (ours.length < listed.length) return [...found.values()];
    }
  return [...found.values()];
}

function listOf(socket: NetlinkSocket, family: Family, position: Position, ip: string): readonly Connection[] {
  try {
    return socket
      .dump(dumpConnections(family, position, ip))
      .map((body) => decodeConnection(family, body))
      .filter((each) => each !== null);
  } catch (error) {
    if (error instanceof NetlinkError && ABSENT.includes(error.code)) return [];
    throw error;
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
