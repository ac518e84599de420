/**
 * nf_tables: one table, its base chains and their rules, over NETLINK_NETFILTER. Only the expressions that our chains are made of.
 *
 * All of a change travels between two framing messages and takes effect at once, or not at all. Numbers are in network byte order, but
 * what a register holds (a mark, a connection's state) is in the host's.
 * Source: linux/netfilter/nf_tables.h, nfnetlink.h; libnftnl (udata: how `nft list` finds a rule's comment).
 */
import { type Cidr, ipBytes } from '../../../core/ip.ts';
import type { BaseChain, NftExpression, NftTable } from '../nft-table.ts';
import { attribute, attributes, be32Attribute, textAttribute, textOf } from './attribute.ts';
import { CREATE, DUMP, type Request } from './message.ts';

const SUBSYSTEM = 10;
const BATCH_BEGIN = 0x10;
const BATCH_END = 0x11;
const [NEW_TABLE, DEL_TABLE, NEW_CHAIN, NEW_RULE, GET_RULE] = [0, 2, 3, 6, 7].map(
  (type) => (SUBSYSTEM << 8) | type,
) as [number, number, number, number, number];
const APPEND = 0x800;
const NESTED = 0x8000;
const FAMILY_INET = 1; // both IPv4 and IPv6
const HEADER_BYTES = 4;

/** A table's name is attribute 1 of a table, a chain and a rule alike. */
const TABLE_NAME = 1;
const CHAIN_NAME = 3;
const CHAIN_HOOK = 4;
const CHAIN_TYPE = 7;
const HOOK_NUMBER = 1;
const HOOK_PRIORITY = 2;
const RULE_CHAIN = 2;
const RULE_EXPRESSIONS = 4;
const RULE_USERDATA = 7;
const LIST_ELEMENT = 1;
const EXPRESSION_NAME = 1;
const EXPRESSION_DATA = 2;
const COMMENT = 0;
const TRIED_TABLE = 'enactor-tried';
/** Of a rule; more is refused by `nft list`. */
export const COMMENT_MAX = 127;

const HOOKS: Readonly<Record<BaseChain['hook'], number>> = {
  prerouting: 0,
  input: 1,
  forward: 2,
  output: 3,
  postrouting: 4,
};

/** In the order of the batch that puts `table` in the place of what was there. */
export function replaceTable(table: NftTable): Request[] {
  const name = textAttribute(TABLE_NAME, table.name);
  const request = (type: number, flags: number, parts: readonly Buffer[], object: string): Request => ({
    type,
    flags,
    body: Buffer.concat([header(FAMILY_INET), ...parts]),
    operation: 'replace filter table',
    object,
  });
  return batch([
    // Made first, so that deleting it does not fail where there is none.
    request(NEW_TABLE, CREATE, [name], table.name),
    request(DEL_TABLE, 0, [name], table.name),
    request(NEW_TABLE, CREATE, [name], table.name),
    ...table.chains.flatMap((chain) => [
      request(NEW_CHAIN, CREATE, [name, ...chainParts(chain)], `${table.name} ${chain.name}`),
      ...chain.rules.map((rule) => {
        const parts = [name, textAttribute(RULE_CHAIN, chain.name), expressions(rule), comment(table.comment)];
        return request(NEW_RULE, CREATE | APPEND, parts, `${table.name} ${chain.name}`);
      }),
    ]),
  ]);
}

/** ENOENT when there is none. */
export function deleteTable(name: string): Request[] {
  const body = Buffer.concat([header(FAMILY_INET), textAttribute(TABLE_NAME, name)]);
  return batch([{ type: DEL_TABLE, flags: 0, body, operation: 'delete filter table', object: name }]);
}

/**
 * A table and chains in it, put to the kernel and never finished: without its end a batch is looked at, answered and dropped. All in one, since whoever
 * asks waits 10 to 15 ms for each batch that is dropped. The outcomes after the first two are the chains'.
 * Source: nf_tables, nfnetlink_rcv_batch, which goes on after a request that failed; what `nft --check` does.
 */
export function tryChains(chains: readonly Omit<BaseChain, 'rules'>[]): Request[] {
  const name = textAttribute(TABLE_NAME, TRIED_TABLE);
  const request = (type: number, parts: readonly Buffer[], object: string): Request => {
    const body = Buffer.concat([header(FAMILY_INET), ...parts]);
    return { type, flags: CREATE, body, operation: 'try filter chains', object };
  };
  const tried = batch([
    request(NEW_TABLE, [name], TRIED_TABLE),
    ...chains.map((chain) =>
      request(NEW_CHAIN, [name, ...chainParts({ ...chain, rules: [] })], `${chain.type} ${chain.hook}`),
    ),
  ]);
  return tried.slice(0, -1);
}

/** Some kernels list the rules of all tables: each says whose it is. */
export function dumpNftRules(table: string): Request {
  const body = Buffer.concat([header(FAMILY_INET), textAttribute(TABLE_NAME, table)]);
  return { type: GET_RULE, flags: DUMP, dump: true, body, operation: 'list filter rules', object: table };
}

export type NftRule = { readonly table: string; readonly chain: string; readonly comment: string };

export function decodeNftRule(body: Buffer): NftRule | null {
  if (body.readUInt8(0) !== FAMILY_INET) return null;
  const found = attributes(body, HEADER_BYTES);
  return {
    table: textOf(found.get(TABLE_NAME)) ?? '',
    chain: textOf(found.get(RULE_CHAIN)) ?? '',
    comment: commentIn(found.get(RULE_USERDATA)),
  };
}

const REGISTER = 1;
const META = {
  destination: 1,
  key: 2,
  source: 3,
  MARK: 3,
  IIFNAME: 6,
  OIFNAME: 7,
  NFPROTO: 15,
  L4PROTO: 16,
  IIFGROUP: 21,
  OIFGROUP: 22,
} as const;
const CT = { destination: 1, key: 2, source: 4, STATE: 0, STATUS: 2, MARK: 3 } as const;
const NEW_CONNECTION = 8;
const DST_NAT = 0x20; // IPS_DST_NAT
const [EQUAL, NOT_EQUAL] = [0, 1];
const NAME_BYTES = 16;

/** The device a packet has come by; with a trailing `*` any whose name begins so. */
export function comesBy(device: string): NftExpression[] {
  return [load('meta', META.IIFNAME), compare(EQUAL, nameBytes(device))];
}

/** The device a packet leaves by; with a trailing `*` any whose name begins so. */
export function leavesBy(device: string): NftExpression[] {
  return [load('meta', META.OIFNAME), compare(EQUAL, nameBytes(device))];
}

/** The device a packet has come by is of this group. */
export function comesByGroup(group: number): NftExpression[] {
  return [load('meta', META.IIFGROUP), compare(EQUAL, word(group))];
}

/** The device a packet leaves by is of this group. */
export function leavesByGroup(group: number): NftExpression[] {
  return [load('meta', META.OIFGROUP), compare(EQUAL, word(group))];
}

/** It does not leave by a device that is called so. */
export function leavesNotBy(device: string): NftExpression[] {
  return [load('meta', META.OIFNAME), compare(NOT_EQUAL, nameBytes(device))];
}

function nameBytes(device: string): Buffer {
  const prefix = device.endsWith('*');
  const name = Buffer.alloc(prefix ? device.length - 1 : NAME_BYTES);
  name.write(prefix ? device.slice(0, -1) : device);
  return name;
}

/** Where an address is in a packet's header, and the number that its family has there. */
const AT = {
  4: { protocol: 2, source: 12, destination: 16 },
  6: { protocol: 10, source: 8, destination: 24 },
} as const;
const NETWORK_HEADER = 1;

export function comesFrom(cidr: Cidr): NftExpression[] {
  const { protocol, source } = AT[cidr.family];
  return [load('meta', META.NFPROTO), compare(EQUAL, Buffer.from([protocol])), ...within(cidr, source, EQUAL)];
}

export function goesTo(cidr: Cidr): NftExpression[] {
  const { protocol, destination } = AT[cidr.family];
  return [load('meta', META.NFPROTO), compare(EQUAL, Buffer.from([protocol])), ...within(cidr, destination, EQUAL)];
}

/** Of the family that `comesFrom` asked for. */
export function goesOutOf(cidr: Cidr): NftExpression[] {
  return within(cidr, AT[cidr.family].destination, NOT_EQUAL);
}

/** From now on the packet, and its connection, bears the address of the device it leaves by. */
export function masquerade(): NftExpression[] {
  return [{ name: 'masq', data: Buffer.alloc(0) }];
}

function within({ network, prefix }: Cidr, offset: number, operator: number): NftExpression[] {
  const bytes = Buffer.from(ipBytes(network));
  const mask = bytes.map((_, index) => (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * index))) & 0xff);
  return [
    payload(NETWORK_HEADER, offset, bytes.length),
    masked(Buffer.from(mask), Buffer.alloc(bytes.length)),
    compare(operator, bytes),
  ];
}

/** The packet is the first of a connection. */
export function beginsConnection(): NftExpression[] {
  return [load('ct', CT.STATE), bits(NEW_CONNECTION, 0), compare(NOT_EQUAL, word(0))];
}

/** Its connection's destination is another than whoever began it named. */
export function destinationRewritten(): NftExpression[] {
  return [load('ct', CT.STATUS), bits(DST_NAT, 0), compare(NOT_EQUAL, word(0))];
}

export function packetHas(mark: number): NftExpression[] {
  return [load('meta', META.MARK), bits(mark, 0), compare(EQUAL, word(mark))];
}

export function packetLacks(mark: number): NftExpression[] {
  return [load('meta', META.MARK), bits(mark, 0), compare(EQUAL, word(0))];
}

export function connectionHas(mark: number): NftExpression[] {
  return [load('ct', CT.MARK), bits(mark, 0), compare(EQUAL, word(mark))];
}

/** Sets these bits and leaves the others. */
export function markConnection(mark: number): NftExpression[] {
  return [load('ct', CT.MARK), bits(~mark, mark), store('ct', CT.MARK)];
}

/** Sets these bits and leaves the others. */
export function markPacket(mark: number): NftExpression[] {
  return [load('meta', META.MARK), bits(~mark, mark), store('meta', META.MARK)];
}

/** Clears these bits and leaves the others. */
export function unmarkPacket(mark: number): NftExpression[] {
  return [load('meta', META.MARK), bits(~mark, 0), store('meta', META.MARK)];
}

const ICMP_PROTOCOL = { 4: 1, 6: 58 } as const;
const TRANSPORT_HEADER = 2;

/** An ICMP message of this type, which is its first byte. */
export function isIcmp(family: 4 | 6, type: number): NftExpression[] {
  return [
    load('meta', META.L4PROTO),
    compare(EQUAL, Buffer.from([ICMP_PROTOCOL[family]])),
    payload(TRANSPORT_HEADER, 0, 1),
    compare(EQUAL, Buffer.from([type])),
  ];
}

const VERDICT = { register: 0, data: 2, code: 1, DROP: 0 } as const;

/** The packet ends here. */
export function drop(): NftExpression[] {
  const verdict = attribute(VERDICT.data | NESTED, be32Attribute(VERDICT.code, VERDICT.DROP));
  return [
    {
      name: 'immediate',
      data: Buffer.concat([be32Attribute(1, VERDICT.register), attribute(2 | NESTED, verdict)]),
    },
  ];
}

function payload(base: number, offset: number, bytes: number): NftExpression {
  const data = [REGISTER, base, offset, bytes].map((number, index) => be32Attribute(index + 1, number));
  return { name: 'payload', data: Buffer.concat(data) };
}

function load(name: 'meta' | 'ct', key: number): NftExpression {
  return { name, data: Buffer.concat([be32Attribute(2, key), be32Attribute(1, REGISTER)]) };
}

function store(name: 'meta' | 'ct', key: number): NftExpression {
  const { key: keyType, source } = name === 'meta' ? META : CT;
  return { name, data: Buffer.concat([be32Attribute(keyType, key), be32Attribute(source, REGISTER)]) };
}

/** register = (register & mask) ^ xor */
function bits(mask: number, xor: number): NftExpression {
  return masked(word(mask), word(xor));
}

function masked(mask: Buffer, xor: Buffer): NftExpression {
  const data = Buffer.concat([
    be32Attribute(1, REGISTER),
    be32Attribute(2, REGISTER),
    be32Attribute(3, mask.length),
    value(4, mask),
    value(5, xor),
  ]);
  return { name: 'bitwise', data };
}

function compare(operator: number, bytes: Buffer): NftExpression {
  return {
    name: 'cmp',
    data: Buffer.concat([be32Attribute(1, REGISTER), be32Attribute(2, operator), value(3, bytes)]),
  };
}

function value(type: number, bytes: Buffer): Buffer {
  return attribute(type | NESTED, attribute(1, bytes));
}

function word(bitsOf: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(bitsOf >>> 0, 0);
  return out;
}

function chainParts(chain: BaseChain): Buffer[] {
  const hook = Buffer.concat([
    be32Attribute(HOOK_NUMBER, HOOKS[chain.hook]),
    be32Attribute(HOOK_PRIORITY, chain.priority),
  ]);
  return [
    textAttribute(CHAIN_NAME, chain.name),
    attribute(CHAIN_HOOK | NESTED, hook),
    textAttribute(CHAIN_TYPE, chain.type),
  ];
}

function expressions(rule: readonly NftExpression[]): Buffer {
  const list = rule.map(({ name, data }) =>
    attribute(
      LIST_ELEMENT | NESTED,
      Buffer.concat([textAttribute(EXPRESSION_NAME, name), attribute(EXPRESSION_DATA | NESTED, data)]),
    ),
  );
  return attribute(RULE_EXPRESSIONS | NESTED, Buffer.concat(list));
}

function comment(text: string): Buffer {
  const bytes = Buffer.from(`${text.slice(0, COMMENT_MAX)}\0`);
  return attribute(RULE_USERDATA, Buffer.concat([Buffer.from([COMMENT, bytes.length]), bytes]));
}

function commentIn(userdata: Buffer | undefined): string {
  if (userdata === undefined || userdata.length < 2 || userdata[0] !== COMMENT) return '';
  return textOf(userdata.subarray(2, 2 + (userdata[1] ?? 0))) ?? '';
}

function batch(requests: readonly Request[]): Request[] {
  const frame = (type: number): Request => {
    const body = header(0, SUBSYSTEM);
    return { type, flags: 0, body, silent: true, operation: 'frame', object: 'filter table' };
  };
  return [frame(BATCH_BEGIN), ...requests, frame(BATCH_END)];
}

/** struct nfgenmsg: family, version, resource. */
function header(family: number, resource = 0): Buffer {
  return Buffer.from([family, 0, resource >> 8, resource & 0xff]);
}
