/**
 * ctnetlink: connection tracking over NETLINK_NETFILTER. Its numbers are in network byte order where the kernel says __be32, the
 * filter's flags in the host's. Source: linux/netfilter/nfnetlink_conntrack.h; nf_conntrack_netlink.c, ctnetlink_alloc_filter.
 */
import { type Family, ipBytes, ipFromBytes } from '../../../core/ip.ts';
import type { Connection, Position } from '../connection.ts';
import { attribute, attributes, u32Attribute } from './attribute.ts';
import { afOf } from './family.ts';
import { DUMP, type Request } from './message.ts';

export const NETLINK_NETFILTER = 12;

const GET = (1 << 8) | 1; // subsystem ctnetlink
const DELETE = (1 << 8) | 2;
const NESTED = 0x8000;
const HEADER_BYTES = 4; // struct nfgenmsg: family, version, resource

const CTA_TUPLE_ORIG = 1;
const CTA_TUPLE_REPLY = 2;
const CTA_ID = 12;
const CTA_ZONE = 18;
const CTA_FILTER = 25;
const CTA_TUPLE_IP = 1;
const CTA_FILTER_ORIG_FLAGS = 1;
const CTA_FILTER_REPLY_FLAGS = 2;
const BY_SOURCE = 1;
const BY_DESTINATION = 2;

/** The attribute of an address in CTA_TUPLE_IP. */
const ADDRESS: Readonly<Record<Family, { readonly source: number; readonly destination: number }>> = {
  4: { source: 1, destination: 2 },
  6: { source: 3, destination: 4 },
};

/** Entries that have `ip` in that position. Kernels before 5.8 know no filter and list all: the caller looks again. */
export function dumpConnections(family: Family, position: Position, ip: string): Request {
  const end = position === 'originalDestination' ? 'destination' : 'source';
  const reply = position === 'replySource';
  const address = attribute(ADDRESS[family][end], ipBytes(ip));
  const tuple = attribute(
    (reply ? CTA_TUPLE_REPLY : CTA_TUPLE_ORIG) | NESTED,
    attribute(CTA_TUPLE_IP | NESTED, address),
  );
  const flags = end === 'source' ? BY_SOURCE : BY_DESTINATION;
  const filter = Buffer.concat([
    u32Attribute(CTA_FILTER_ORIG_FLAGS, reply ? 0 : flags),
    u32Attribute(CTA_FILTER_REPLY_FLAGS, reply ? flags : 0),
  ]);
  const body = Buffer.concat([header(family), tuple, attribute(CTA_FILTER | NESTED, filter)]);
  return { type: GET, flags: DUMP, dump: true, body, operation: 'list connections', object: ip };
}

/** All entries of the family. */
export function dumpAllConnections(family: Family): Request {
  const body = header(family);
  return { type: GET, flags: DUMP, dump: true, body, operation: 'list connections', object: `IPv${family}` };
}

/** ENOENT when it has ended meanwhile. */
export function deleteConnection(family: Family, { name, original }: Connection): Request {
  const body = Buffer.concat([header(family), name]);
  const object = `${original.source} to ${original.destination}`;
  return { type: DELETE, flags: 0, body, operation: 'delete connection', object };
}

/** null for what has no addresses of the family. */
export function decodeConnection(family: Family, body: Buffer): Connection | null {
  const found = attributes(body, HEADER_BYTES);
  const original = addressesIn(family, found.get(CTA_TUPLE_ORIG));
  const reply = addressesIn(family, found.get(CTA_TUPLE_REPLY));
  if (original === null || reply === null) return null;
  const repeated = [CTA_TUPLE_ORIG, CTA_ZONE, CTA_ID].flatMap((type) => {
    const payload = found.get(type);
    return payload === undefined ? [] : [attribute(type === CTA_TUPLE_ORIG ? type | NESTED : type, payload)];
  });
  return { original, reply, name: Buffer.concat(repeated) };
}

function addressesIn(family: Family, tuple: Buffer | undefined): Connection['original'] | null {
  const addresses = tuple === undefined ? undefined : attributes(tuple).get(CTA_TUPLE_IP);
  if (addresses === undefined) return null;
  const found = attributes(addresses);
  const source = found.get(ADDRESS[family].source);
  const destination = found.get(ADDRESS[family].destination);
  if (source === undefined || destination === undefined) return null;
  return { source: ipFromBytes(source), destination: ipFromBytes(destination) };
}

function header(family: Family): Buffer {
  return Buffer.from([afOf(family), 0, 0, 0]);
}
