/**
 * The six calls of the C library that neither Node nor Bun offers and that rtnetlink needs.
 *
 * Each answers as the kernel does: the result when it is not negative, else the negated errno. A program picks the one that
 * fits its runtime (libc-bun.ts in the compiled plugin, libc-koffi.ts under Node), so that neither is loaded in the other.
 * All are synchronous and run on the calling thread; that is what makes `inNamespace` possible.
 */
export interface Libc {
  /** Moves the calling thread into the network namespace behind `netnsFd`. Source: setns(2). */
  setns(netnsFd: number): number;
  socket(domain: number, type: number, protocol: number): number;
  setsockopt(fd: number, level: number, option: number, value: number): number;
  bind(fd: number, address: Uint8Array): number;
  /** Bytes sent. */
  sendto(fd: number, bytes: Uint8Array, address: Uint8Array): number;
  /** Bytes received into `into`; with MSG_TRUNC the length of the datagram, even when it did not fit. */
  recv(fd: number, into: Uint8Array, flags: number): number;
}

export const CLONE_NEWNET = 0x4000_0000;
