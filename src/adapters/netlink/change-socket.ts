import { closeSync } from 'node:fs';
import { EINTR, ENOBUFS } from './errno.ts';
import type { Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';
import { CHANGE_GROUPS, type Change, decodeChange } from './wire/change.ts';
import { decodeMessages } from './wire/message.ts';

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const NETLINK_ROUTE = 0;
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;
const RECEIVE_BYTES = 65_536;
/** Datagrams of one reading: a storm is told as one that was overrun, not followed to its end. */
const DATAGRAMS_MAX = 2_000;

/** A socket that hears these groups, as bits. Throws NetlinkError. */
export function openMulticast(libc: Libc, protocol: number, groups: number): number {
  const fd = libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol);
  if (fd < 0) throw new NetlinkError(-fd, 'open', 'netlink socket');
  const address = Buffer.alloc(12); // struct sockaddr_nl; pid 0: the kernel picks one
  address.writeUInt16LE(AF_NETLINK, 0);
  address.writeUInt32LE(groups, 8);
  const bound = libc.bind(fd, address);
  if (bound >= 0) return fd;
  closeSync(fd);
  throw new NetlinkError(-bound, 'listen', 'netlink groups');
}

export type Changes = {
  readonly changes: readonly Change[];
  /** Some are missing: only a look at everything tells what there is now. */
  readonly overrun: boolean;
};

/**
 * Hears what changes in the network of the namespace it was opened in. Never waits: it is read from time to time, and what does not fit
 * the kernel's queue meanwhile is counted as overrun (ENOBUFS). Source: netlink(7).
 */
export class ChangeSocket {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(RECEIVE_BYTES);
  #closed = false;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#fd = openMulticast(libc, NETLINK_ROUTE, CHANGE_GROUPS);
  }

  /** All that has come since the last reading. Throws NetlinkError. */
  read(): Changes {
    const changes: Change[] = [];
    let overrun = false;
    for (let datagrams = 0; datagrams < DATAGRAMS_MAX; ) {
      const size = this.#libc.recv(this.#fd, this.#buffer, MSG_DONTWAIT | MSG_TRUNC);
      if (size === -EINTR) continue;
      if (size === -ENOBUFS) {
        overrun = true;
        continue;
      }
      if (size <= 0) return { changes, overrun };
      datagrams += 1;
      if (size > RECEIVE_BYTES) overrun = true;
      else if (!overrun)
        for (const message of decodeMessages(this.#buffer.subarray(0, size))) {
          const change = message.kind === 'data' ? decodeChange(message.type, message.body) : null;
          if (change !== null) changes.push(change);
        }
    }
    return { changes, overrun: true };
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#fd);
  }
}
