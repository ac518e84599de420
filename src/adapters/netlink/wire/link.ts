/** RTM_*LINK. Source: rtnetlink(7); linux/if_link.h, linux/veth.h. */
import type { Link, LinkChange, NewIpvlan, VethEnd, VethPair } from '../link.ts';
import { macBytes, macFromBytes } from '../mac.ts';
import { attribute, attributes, textAttribute, textOf, u32Attribute, u32Of } from './attribute.ts';
import { CREATE, DUMP, EXCLUSIVE, type Request } from './message.ts';

const RTM_NEWLINK = 16;
const RTM_DELLINK = 17;
const RTM_GETLINK = 18;

const IFLA_ADDRESS = 1;
const IFLA_IFNAME = 3;
const IFLA_MTU = 4;
const IFLA_LINK = 5;
const IFLA_LINKINFO = 18;
const IFLA_IFALIAS = 20;
const IFLA_GROUP = 27;
const IFLA_AF_SPEC = 26;
const IFLA_NET_NS_FD = 28;
const IFLA_EXT_MASK = 29;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const VETH_INFO_PEER = 1;
const IPVLAN_MODE = 1;
const IPVLAN_MODE_L2 = 0;

const AF_INET = 2;
const IFLA_INET_CONF = 1;
/** Source: linux/ip.h, IPV4_DEVCONF_*. */
const [DEVCONF_FORWARDING, DEVCONF_RP_FILTER] = [1, 8];

const IFF_UP = 0x1;
const IFF_LOOPBACK = 0x8;
const SKIP_STATISTICS = 8; // RTEXT_FILTER_SKIP_STATS: a third less to copy and to read
const HEADER_BYTES = 16;
const ALIAS_MAX_BYTES = 255;

export function createVeth(pair: VethPair): Request {
  const peer = Buffer.concat([header(0), end(pair.peer), u32Attribute(IFLA_NET_NS_FD, pair.peerNetnsFd)]);
  const info = Buffer.concat([
    textAttribute(IFLA_INFO_KIND, 'veth'),
    attribute(IFLA_INFO_DATA, attribute(VETH_INFO_PEER, peer)),
  ]);
  return {
    type: RTM_NEWLINK,
    flags: CREATE | EXCLUSIVE,
    body: Buffer.concat([header(0), end(pair), attribute(IFLA_LINKINFO, info)]),
    operation: 'create veth',
    object: `${pair.name} (peer ${pair.peer.name})`,
  };
}

/** EOPNOTSUPP: the kernel has no ipvlan; EBUSY: the master is in use otherwise (a bridge, macvlan). */
export function createIpvlan({ name, mtu, masterIndex, netnsFd }: NewIpvlan): Request {
  const mode = Buffer.alloc(2);
  mode.writeUInt16LE(IPVLAN_MODE_L2);
  const info = Buffer.concat([
    textAttribute(IFLA_INFO_KIND, 'ipvlan'),
    attribute(IFLA_INFO_DATA, attribute(IPVLAN_MODE, mode)),
  ]);
  return {
    type: RTM_NEWLINK,
    flags: CREATE | EXCLUSIVE,
    body: Buffer.concat([
      header(0),
      textAttribute(IFLA_IFNAME, name),
      u32Attribute(IFLA_MTU, mtu),
      u32Attribute(IFLA_LINK, masterIndex),
      ...(netnsFd === null ? [] : [u32Attribute(IFLA_NET_NS_FD, netnsFd)]),
      attribute(IFLA_LINKINFO, info),
    ]),
    operation: 'create ipvlan',
    object: `${name} on device ${masterIndex}`,
  };
}

export function setLink(index: number, change: LinkChange): Request {
  const flags = change.up === true ? IFF_UP : 0;
  const parts = [header(index, flags, change.up === undefined ? 0 : IFF_UP)];
  if (change.name !== undefined) parts.push(textAttribute(IFLA_IFNAME, change.name));
  if (change.mac !== undefined) parts.push(attribute(IFLA_ADDRESS, macBytes(change.mac)));
  if (change.mtu !== undefined) parts.push(u32Attribute(IFLA_MTU, change.mtu));
  if (change.alias !== undefined) parts.push(attribute(IFLA_IFALIAS, aliasBytes(change.alias)));
  if (change.group !== undefined) parts.push(u32Attribute(IFLA_GROUP, change.group));
  if (change.ipv4 !== undefined) parts.push(attribute(IFLA_AF_SPEC, attribute(AF_INET, ipv4Conf(change.ipv4))));
  if (change.netnsFd !== undefined) parts.push(u32Attribute(IFLA_NET_NS_FD, change.netnsFd));
  return {
    type: RTM_NEWLINK,
    flags: 0,
    body: Buffer.concat(parts),
    operation: 'set link',
    object: `${index} ${Object.entries(change)
      .map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
      .join(' ')}`,
  };
}

/** Source: net/ipv4/devinet.c, inet_set_link_af. */
function ipv4Conf({ forwarding, rpFilter }: NonNullable<LinkChange['ipv4']>): Buffer {
  const settings = [u32Attribute(DEVCONF_FORWARDING, forwarding ? 1 : 0), u32Attribute(DEVCONF_RP_FILTER, rpFilter)];
  return attribute(IFLA_INET_CONF, Buffer.concat(settings));
}

export function deleteLink(link: Pick<Link, 'index' | 'name'>): Request {
  return { type: RTM_DELLINK, flags: 0, body: header(link.index), operation: 'delete link', object: link.name };
}

export function getLinkByName(name: string): Request {
  const body = Buffer.concat([
    header(0),
    textAttribute(IFLA_IFNAME, name),
    u32Attribute(IFLA_EXT_MASK, SKIP_STATISTICS),
  ]);
  return { type: RTM_GETLINK, flags: 0, body, operation: 'get link', object: name };
}

export function getLinkByIndex(index: number): Request {
  const body = Buffer.concat([header(index), u32Attribute(IFLA_EXT_MASK, SKIP_STATISTICS)]);
  return { type: RTM_GETLINK, flags: 0, body, operation: 'get link', object: `${index}` };
}

export function dumpLinks(): Request {
  const body = Buffer.concat([header(0), u32Attribute(IFLA_EXT_MASK, SKIP_STATISTICS)]);
  return { type: RTM_GETLINK, flags: DUMP, body, operation: 'list links', object: '' };
}

export function decodeLink(body: Buffer): Link {
  const flags = body.readUInt32LE(8);
  const found = attributes(body, HEADER_BYTES);
  const mac = found.get(IFLA_ADDRESS);
  const info = found.get(IFLA_LINKINFO);
  return {
    index: body.readInt32LE(4),
    name: textOf(found.get(IFLA_IFNAME)) ?? '',
    mac: mac !== undefined && mac.length === 6 ? macFromBytes(mac) : null,
    mtu: u32Of(found.get(IFLA_MTU)) ?? 0,
    up: (flags & IFF_UP) !== 0,
    loopback: (flags & IFF_LOOPBACK) !== 0,
    kind: info === undefined ? null : textOf(attributes(info).get(IFLA_INFO_KIND)),
    peerIndex: u32Of(found.get(IFLA_LINK)),
    alias: textOf(found.get(IFLA_IFALIAS)),
    group: u32Of(found.get(IFLA_GROUP)) ?? 0,
  };
}

/** struct ifinfomsg: family, type, index, flags, mask of the flags to change. */
function header(index: number, flags = 0, change = 0): Buffer {
  const out = Buffer.alloc(HEADER_BYTES);
  out.writeInt32LE(index, 4);
  out.writeUInt32LE(flags, 8);
  out.writeUInt32LE(change, 12);
  return out;
}

function end(veth: VethEnd): Buffer {
  return Buffer.concat([
    textAttribute(IFLA_IFNAME, veth.name),
    attribute(IFLA_ADDRESS, macBytes(veth.mac)),
    u32Attribute(IFLA_MTU, veth.mtu),
  ]);
}

/** The kernel takes an alias without its NUL and refuses one of 256 bytes. */
function aliasBytes(alias: string): Buffer {
  return Buffer.from(alias, 'utf8').subarray(0, ALIAS_MAX_BYTES);
}
