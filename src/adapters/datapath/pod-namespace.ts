import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import type { Libc } from '../netlink/libc.ts';
import { Netlink } from '../netlink/netlink.ts';

/**
 * An open pod namespace. It is opened before an address is asked for, so that a namespace that cannot be used costs none, and
 * held open meanwhile: the path may come to mean another namespace, the descriptor cannot.
 */
export class PodNamespace {
  readonly path: string;
  readonly fd: number;
  readonly netlink: Netlink;

  /** Throws the system error of open(2), or NetlinkError when the path leads to no network namespace. */
  constructor(libc: Libc, path: string) {
    this.path = path;
    this.fd = openSync(path, 'r');
    try {
      this.netlink = new Netlink(libc, this.fd);
    } catch (error) {
      closeSync(this.fd);
      throw error;
    }
  }

  /** The path still leads here; false once the runtime has taken the namespace down. */
  isCurrent(): boolean {
    const here = fstatSync(this.fd);
    const there = statSync(this.path, { throwIfNoEntry: false });
    return there !== undefined && there.dev === here.dev && there.ino === here.ino;
  }

  close(): void {
    this.netlink.close();
    closeSync(this.fd);
  }
}

/** Whether the path leads to the namespace this process runs in. False when it leads nowhere. */
export function isOwnNetns(path: string): boolean {
  const own = statSync('/proc/thread-self/ns/net');
  const there = path === '' ? undefined : statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.dev === own.dev && there.ino === own.ino;
}
