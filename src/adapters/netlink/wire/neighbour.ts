/** RTM_*NEIGH. Source: rtnetlink(7); linux/neighbour.h. */
import { type Family, familyOf, ipBytes, ipFromBytes } from '../../../core/ip.ts';
import { macBytes, macFromBytes } from '../mac.ts';
import type { Neighbour, NewNeighbour } from '../neighbour.ts';
import { attribute, attributes } from './attribute.ts';
import { afOf } from './family.ts';
import { CREATE, DUMP, REPLACE, type Request } from './message.ts';

const RTM_NEWNEIGH = 28;
const RTM_DELNEIGH = 29;
const RTM_GETNEIGH = 30;
const NDA_DST = 1;
const NDA_LLADDR = 2;
const NUD_PERMANENT = 0x80;
const NTF_PROXY = 0x08;
const HEADER_BYTES = 12;

/** A permanent entry; one that exists is replaced. */
export function setNeighbour(neighbour: NewNeighbour): Request {
  const mac = attribute(NDA_LLADDR, macBytes(neighbour.mac));
  return write(RTM_NEWNEIGH, CREATE | REPLACE, neighbour, [mac], 'set neighbour');
}

/** From now on the host answers for the address on this device, if that lets it (`proxy_ndp`). */
export function proxyNeighbour(where: Pick<NewNeighbour, 'linkIndex' | 'ip'>): Request {
  return write(RTM_NEWNEIGH, CREATE, where, [], 'answer for', NTF_PROXY);
}

export function deleteNeighbour(neighbour: Pick<NewNeighbour, 'linkIndex' | 'ip'>): Request {
  return write(RTM_DELNEIGH, 0, neighbour, [], 'delete neighbour');
}

export function dumpNeighbours(family: Family): Request {
  const body = Buffer.alloc(HEADER_BYTES);
  body[0] = afOf(family);
  return { type: RTM_GETNEIGH, flags: DUMP, body, operation: 'list neighbours', object: '' };
}

export function decodeNeighbour(body: Buffer): Neighbour {
  const found = attributes(body, HEADER_BYTES);
  const ip = found.get(NDA_DST);
  const mac = found.get(NDA_LLADDR);
  return {
    linkIndex: body.readInt32LE(4),
    ip: ip === undefined ? '' : ipFromBytes(ip),
    mac: mac !== undefined && mac.length === 6 ? macFromBytes(mac) : null,
    permanent: (body.readUInt16LE(8) & NUD_PERMANENT) !== 0,
  };
}

function write(
  type: number,
  flags: number,
  neighbour: Pick<NewNeighbour, 'linkIndex' | 'ip'>,
  more: readonly Buffer[],
  operation: string,
  ownFlags = 0,
): Request {
  const header = Buffer.alloc(HEADER_BYTES); // struct ndmsg
  header[0] = afOf(familyOf(neighbour.ip));
  header.writeInt32LE(neighbour.linkIndex, 4);
  header.writeUInt16LE(type === RTM_NEWNEIGH ? NUD_PERMANENT : 0, 8);
  header[10] = ownFlags;
  const body = Buffer.concat([header, attribute(NDA_DST, ipBytes(neighbour.ip)), ...more]);
  return { type, flags, body, operation, object: `${neighbour.ip} dev ${neighbour.linkIndex}` };
}
