import { closeSync, openSync } from 'node:fs';
import type { Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';

/** The calling thread's own namespace; /proc/self would name the main thread's. */
const OWN_NETNS = '/proc/thread-self/ns/net';

/**
 * Runs `work` inside the network namespace behind `netnsFd` and returns to the old one, whatever happens.
 *
 * `work` must be synchronous: the thread is in the other namespace until it returns, and what an `await` lets in would run
 * there too. What `work` opens (a socket, a file of /proc/sys/net) stays in that namespace afterwards.
 * Throws NetlinkError when the namespace cannot be entered. A process that cannot return is ended: every later call would
 * change the wrong host.
 */
export function inNamespace<T>(libc: Libc, netnsFd: number, work: () => T): T {
  const ownFd = openSync(OWN_NETNS, 'r');
  try {
    const entered = libc.setns(netnsFd);
    if (entered < 0) throw new NetlinkError(-entered, 'enter namespace', `fd ${netnsFd}`);
    try {
      return work();
    } finally {
      if (libc.setns(ownFd) < 0) process.abort();
    }
  } finally {
    closeSync(ownFd);
  }
}
