import { closeSync } from 'node:fs';
import { openMulticast } from './change-socket.ts';
import { EINTR, ENOBUFS } from './errno.ts';
import { isWholeBy } from './filter-table.ts';
import type { Libc } from './libc.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import type { NftTable } from './nft-table.ts';
import { NETLINK_NETFILTER } from './wire/connection.ts';

const NFTABLES_GROUP = 1 << 6; // NFNLGRP_NFTABLES is the seventh
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;
const READS_MAX = 2_000;

/**
 * Hears that somebody changes filter rules, whosever: kube-proxy changes its own all the time, so what has changed is not read: the one table that
 * matters is looked at instead, in the namespace this was opened in. Source: linux/netfilter/nfnetlink.h.
 */
export class FilterAlarm {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #asking: NetlinkSocket;
  readonly #buffer = Buffer.alloc(16); // MSG_TRUNC: the rest is thrown away unread
  #closed = false;

  /** Throws NetlinkError: the kernel may have no nf_tables. */
  constructor(libc: Libc) {
    this.#libc = libc;
    this.#asking = new NetlinkSocket(libc, null, NETLINK_NETFILTER);
    try {
      this.#fd = openMulticast(libc, NETLINK_NETFILTER, NFTABLES_GROUP);
    } catch (error) {
      this.#asking.close();
      throw error;
    }
  }

  /** Whether something has changed since the last time, and the table is not whole now. Throws NetlinkError. */
  broke(table: NftTable | null): boolean {
    return this.#heard() && table !== null && !isWholeBy(this.#asking, table);
  }

  /** Whether anything has come since the last time, also when some of it was lost. */
  #heard(): boolean {
    let any = false;
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const size = this.#libc.recv(this.#fd, this.#buffer, MSG_DONTWAIT | MSG_TRUNC);
      if (size === -EINTR) continue;
      if (size <= 0 && size !== -ENOBUFS) return any;
      any = true;
    }
    return any;
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#fd);
    this.#asking.close();
  }
}
