/**
 * The few calls of libc that namespaces need and Node lacks, through koffi.
 *
 * setns(2) and unshare(2) change the calling thread alone, which here is the one that runs JavaScript: file access through libuv's
 * pool goes on in the old namespace. Whoever calls these keeps to one synchronous stretch (netns.ts).
 */
import koffi from 'koffi';
import { ipBytes } from '../../core/ip.ts';

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

const recvfromCall = libc.func(
  'long recvfrom(int fd, _Out_ uint8_t *buffer, size_t size, int flags, _Out_ uint8_t *from, _Inout_ uint32_t *fromSize)',
);
const sendtoCall = libc.func(
  'long sendto(int fd, const uint8_t *bytes, size_t size, int flags, const uint8_t *to, uint32_t toSize)',
);
const ioctlCall = libc.func('int ioctl(int fd, unsigned long request, _Out_ int64_t *argument)');

const CLONE_NEWNET = 0x40000000;
const MNT_DETACH = 2;
export const MS_BIND = 0x1000;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;
const AF_PACKET = 17;
const SOCK_RAW_CLOEXEC_NONBLOCK = 3 | 0o2000000 | 0o4000;
const ETH_P_ALL_BIG_ENDIAN = 0x0300;
const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;
const SIOCGSTAMPNS = 0x8907;
const MSG_DONTWAIT = 0x40;
const EAGAIN = 11;
const SOCKADDR_LL_BYTES = 20;
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

/**
 * A UDP socket of the namespace this thread is in, bound to `port` on every address of the family, or on one. The caller owns the descriptor.
 */
export function udpSocket(family: 4 | 6, port: number, address: string | null = null): number {
  const fd = checked(socketCall(family === 4 ? AF_INET : AF_INET6, SOCK_DGRAM_CLOEXEC_NONBLOCK, 0), 'socket');
  // Else the IPv6 socket would want the port of both families.
  if (family === 6)
    checked(setsockoptCall(fd, IPPROTO_IPV6, IPV6_V6ONLY, Int32Array.of(1), 4), 'setsockopt(IPV6_V6ONLY)');
  const place = new Uint8Array(family === 4 ? 16 : 28);
  const view = new DataView(place.buffer);
  view.setUint16(0, family === 4 ? AF_INET : AF_INET6, true);
  view.setUint16(2, port);
  if (address !== null) place.set(ipBytes(address), family === 4 ? 4 : 8);
  checked(bindCall(fd, place, place.length), `bind(port ${port})`);
  return fd;
}

/** Sends a whole frame out of a device of the namespace that the packet socket was made in. */
export function sendFrame(fd: number, linkIndex: number, bytes: Uint8Array): void {
  const to = new Uint8Array(SOCKADDR_LL_BYTES);
  const view = new DataView(to.buffer);
  view.setUint16(0, AF_PACKET, true);
  view.setInt32(4, linkIndex, true);
  checked(Number(sendtoCall(fd, bytes, bytes.length, 0, to, to.length)), 'sendto(AF_PACKET)');
}

/** What a packet socket read. */
export type CapturedFrame = {
  readonly bytes: Buffer;
  readonly linkIndex: number;
  readonly outgoing: boolean;
  /** When the kernel saw it, on one clock for all namespaces. */
  readonly atNs: bigint;
};

/**
 * A socket that sees every frame of every device of the namespace this thread is in, both ways. The caller owns the descriptor.
 * Source: packet(7).
 */
export function packetSocket(receiveBytes: number): number {
  const fd = checked(socketCall(AF_PACKET, SOCK_RAW_CLOEXEC_NONBLOCK, ETH_P_ALL_BIG_ENDIAN), 'socket(AF_PACKET)');
  ioctlCall(fd, SIOCGSTAMPNS, new BigInt64Array(2)); // the first time it asks for stamps and has none to tell
  setsockoptCall(fd, SOL_SOCKET, SO_RCVBUFFORCE, Int32Array.of(receiveBytes), 4); // without the right to, it keeps what it has
  return fd;
}

const frame = Buffer.alloc(65_536);
const sender = new Uint8Array(SOCKADDR_LL_BYTES);
const PACKET_OUTGOING = 4;

/** The next frame that waits, or null. */
export function readFrame(fd: number): CapturedFrame | null {
  const size = recvfromCall(fd, frame, frame.length, MSG_DONTWAIT, sender, [SOCKADDR_LL_BYTES]);
  if (Number(size) < 0) {
    if (koffi.errno() === EAGAIN) return null;
    throw new SystemCallError('recvfrom', koffi.errno());
  }
  const stamp = new BigInt64Array(2);
  ioctlCall(fd, SIOCGSTAMPNS, stamp);
  const view = new DataView(sender.buffer);
  return {
    bytes: Buffer.from(frame.subarray(0, Number(size))),
    linkIndex: view.getInt32(4, true),
    outgoing: view.getUint8(10) === PACKET_OUTGOING,
    atNs: (stamp[0] ?? 0n) * 1_000_000_000n + (stamp[1] ?? 0n),
  };
}
