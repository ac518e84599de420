/**
 * The few calls of libc that namespaces need and Node lacks, through koffi.
 *
 * setns(2) and unshare(2) change the calling thread alone, which here is the one that runs JavaScript: file access through libuv's
 * pool goes on in the old namespace. Whoever calls these keeps to one synchronous stretch (netns.ts).
 */
import koffi from 'koffi';

const libc = koffi.load('libc.so.6');
const setnsCall = libc.func('int setns(int fd, int type)');
const unshareCall = libc.func('int unshare(int flags)');
const mountCall = libc.func(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
);
const umountCall = libc.func('int umount2(const char *target, int flags)');
const socketCall = libc.func('int socket(int domain, int type, int protocol)');
const setsockoptCall = libc.func('int setsockopt(int fd, int level, int option, const void *value, unsigned int size)');
const bindCall = libc.func('int bind(int fd, const void *address, unsigned int size)');

const CLONE_NEWNET = 0x40000000;
const MNT_DETACH = 2;
export const MS_BIND = 0x1000;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;
const SOCK_DGRAM_CLOEXEC_NONBLOCK = 2 | 0o2000000 | 0o4000;

export class SystemCallError extends Error {
  override readonly name = 'SystemCallError';
  readonly errno: number;

  constructor(call: string, errno: number) {
    const code = Object.entries(koffi.os.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
    super(`${call}: ${code}`);
    this.errno = errno;
  }
}

function checked(result: unknown, call: string): number {
  if (typeof result === 'number' && result >= 0) return result;
  throw new SystemCallError(call, koffi.errno());
}

/** Moves this thread into the network namespace open at `fd`. */
export function setNetns(fd: number): void {
  checked(setnsCall(fd, CLONE_NEWNET), `setns(${fd})`);
}

/** Moves this thread into a new, empty network namespace. */
export function unshareNetns(): void {
  checked(unshareCall(CLONE_NEWNET), 'unshare(CLONE_NEWNET)');
}

export function mount(source: string, target: string, type: string, data: string, flags = 0): void {
  checked(mountCall(source, target, type, flags, data), `mount(${source} on ${target})`);
}

/** Lazy: the mount point is free at once, what was mounted goes when its last user does. */
export function unmount(target: string): void {
  checked(umountCall(target, MNT_DETACH), `umount(${target})`);
}

/** A UDP socket of the namespace this thread is in, bound to `port` on every address of the family. The caller owns the descriptor. */
export function udpSocket(family: 4 | 6, port: number): number {
  const fd = checked(socketCall(family === 4 ? AF_INET : AF_INET6, SOCK_DGRAM_CLOEXEC_NONBLOCK, 0), 'socket');
  // Else the IPv6 socket would want the port of both families.
  if (family === 6)
    checked(setsockoptCall(fd, IPPROTO_IPV6, IPV6_V6ONLY, Int32Array.of(1), 4), 'setsockopt(IPV6_V6ONLY)');
  const address = new Uint8Array(family === 4 ? 16 : 28);
  const view = new DataView(address.buffer);
  view.setUint16(0, family === 4 ? AF_INET : AF_INET6, true);
  view.setUint16(2, port);
  checked(bindCall(fd, address, address.length), `bind(port ${port})`);
  return fd;
}
