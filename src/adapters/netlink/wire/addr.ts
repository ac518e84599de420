/** RTM_*ADDR. Source: rtnetlink(7); linux/if_addr.h. */
import { type Family, familyOf, ipBytes, ipFromBytes } from '../../../core/ip.ts';
import type { Addr, NewAddr } from '../addr.ts';
import { attribute, attributes, u32Attribute, u32Of } from './attribute.ts';
import { afOf } from './family.ts';
import { CREATE, DUMP, EXCLUSIVE, REPLACE, type Request } from './message.ts';

const RTM_NEWADDR = 20;
const RTM_DELADDR = 21;
const RTM_GETADDR = 22;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const IFA_FLAGS = 8;
const IFA_F_NODAD = 0x02;
const IFA_F_PERMANENT = 0x80;
const HEADER_BYTES = 8;

/** EEXIST when the device has it already. */
export function addAddr(addr: NewAddr): Request {
  return write(RTM_NEWADDR, CREATE | EXCLUSIVE, addr, 'add address');
}

/** Succeeds when the device has it already. */
export function ensureAddr(addr: NewAddr): Request {
  return write(RTM_NEWADDR, CREATE | REPLACE, addr, 'set address');
}

export function deleteAddr(addr: Omit<NewAddr, 'noDad'>): Request {
  return write(RTM_DELADDR, 0, addr, 'delete address');
}

/** All devices: a filter by device is newer than the oldest kernel we meet. */
export function dumpAddrs(family: Family): Request {
  const body = Buffer.alloc(HEADER_BYTES);
  body[0] = afOf(family);
  return { type: RTM_GETADDR, flags: DUMP, body, operation: 'list addresses', object: '' };
}

export function decodeAddr(body: Buffer): Addr {
  const found = attributes(body, HEADER_BYTES);
  // On point-to-point devices IFA_ADDRESS is the far end.
  const ip = found.get(IFA_LOCAL) ?? found.get(IFA_ADDRESS);
  const flags = u32Of(found.get(IFA_FLAGS)) ?? body.readUInt8(2);
  return {
    linkIndex: body.readUInt32LE(4),
    ip: ip === undefined ? '' : ipFromBytes(ip),
    prefix: body.readUInt8(1),
    scope: body.readUInt8(3),
    dynamic: (flags & IFA_F_PERMANENT) === 0,
  };
}

function write(type: number, flags: number, addr: NewAddr, operation: string): Request {
  const family = familyOf(addr.ip);
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = afOf(family);
  header[1] = addr.prefix;
  header[3] = addr.scope ?? 0;
  header.writeUInt32LE(addr.linkIndex, 4);
  const bytes = ipBytes(addr.ip);
  const parts = [header, attribute(IFA_LOCAL, bytes), attribute(IFA_ADDRESS, bytes)];
  if (addr.noDad === true && family === 6) parts.push(u32Attribute(IFA_FLAGS, IFA_F_NODAD));
  const object = `${addr.ip}/${addr.prefix} dev ${addr.linkIndex}`;
  return { type, flags, body: Buffer.concat(parts), operation, object };
}
