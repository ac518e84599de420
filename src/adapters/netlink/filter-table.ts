import type { Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import type { BaseChain, NftTable } from './nft-table.ts';
import { NETLINK_NETFILTER } from './wire/connection.ts';
import {
  COMMENT_MAX,
  decodeNftRule,
  deleteTable,
  dumpNftRules,
  type NftRule,
  replaceTable,
  tryChains,
} from './wire/nftables.ts';

/** Puts the table in the place of what was there, at once or not at all. Throws NetlinkError; EOPNOTSUPP and the like: the kernel has no nf_tables. */
export function installTable(libc: Libc, table: NftTable): void {
  transact(libc, (socket) => socket.execute(replaceTable(table)));
}

/** Nothing there is success. Throws NetlinkError. */
export function removeTable(libc: Libc, name: string): void {
  transact(libc, (socket) => socket.execute(deleteTable(name)), ['ENOENT']);
}

/** Whether each chain has its rules, in number and by their comment. A table that is not there is not whole. Throws NetlinkError. */
export function isWhole(libc: Libc, table: NftTable): boolean {
  const socket = new NetlinkSocket(libc, null, NETLINK_NETFILTER);
  try {
    return isWholeBy(socket, table);
  } finally {
    socket.close();
  }
}

/** `socket`: of NETLINK_NETFILTER. */
export function isWholeBy(socket: NetlinkSocket, table: NftTable): boolean {
  const rules = rulesOf(socket, table.name);
  const has = (chain: string) =>
    rules.filter((rule) => rule.chain === chain && rule.comment === table.comment.slice(0, COMMENT_MAX)).length;
  const wanted = table.chains.reduce((sum, chain) => sum + chain.rules.length, 0);
  return rules.length === wanted && table.chains.every((chain) => has(chain.name) === chain.rules.length);
}

/** One of each kind that ours are of. */
const KINDS: readonly Omit<BaseChain, 'rules'>[] = [
  { name: 'tried-1', type: 'filter', hook: 'prerouting', priority: -150 },
  { name: 'tried-2', type: 'nat', hook: 'postrouting', priority: 100 },
  { name: 'tried-3', type: 'route', hook: 'output', priority: -150 },
];
/** The kernel's words for what it does not know. */
const UNKNOWN: readonly string[] = ['ENOENT', 'EOPNOTSUPP', 'EPROTONOSUPPORT', 'EAFNOSUPPORT', 'EINVAL'];

/** Kinds of chains that this kernel does not take in family `inet`; all of them where it has no nf_tables. Changes nothing. Throws NetlinkError. */
export function lackingChains(libc: Libc): BaseChain['type'][] {
  const all = KINDS.map(({ type }) => type);
  const isUnknown = (error: unknown): boolean => error instanceof NetlinkError && UNKNOWN.includes(error.code);
  try {
    const [, table, ...chains] = tried(libc);
    if (table?.error) throw table.error;
    const failed = chains.find(({ error }) => error !== null && !isUnknown(error));
    if (failed?.error) throw failed.error;
    return all.filter((_, at) => chains[at]?.error !== null);
  } catch (error) {
    if (isUnknown(error)) return all;
    throw error;
  }
}

function tried(libc: Libc): ReturnType<NetlinkSocket['execute']> {
  const socket = new NetlinkSocket(libc, null, NETLINK_NETFILTER);
  try {
    return socket.execute(tryChains(KINDS));
  } finally {
    socket.close();
  }
}

function rulesOf(socket: NetlinkSocket, table: string): NftRule[] {
  try {
    const all = socket.dump(dumpNftRules(table)).map(decodeNftRule);
    return all.filter((rule) => rule !== null).filter((rule) => rule.table === table);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
    throw error;
  }
}

function transact(
  libc: Libc,
  work: (socket: NetlinkSocket) => ReturnType<NetlinkSocket['execute']>,
  tolerated: readonly string[] = [],
): void {
  const socket = new NetlinkSocket(libc, null, NETLINK_NETFILTER);
  try {
    const failed = work(socket).find(({ error }) => error !== null && !tolerated.includes(error.code));
    if (failed?.error) throw failed.error;
  } finally {
    socket.close();
  }
}
