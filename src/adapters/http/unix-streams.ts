/**
 * Streams of unix sockets as the C library has them, so that whoever waits for an answer needs neither a thread nor an event loop for it.
 * Each call answers as the kernel does: the result when it is not negative, else the negated errno.
 */
export interface UnixStreams {
  /** A connected socket that never waits by itself. */
  streamTo(path: string): number;
  /** Bytes sent. */
  send(fd: number, bytes: Uint8Array): number;
  /** Bytes received into `into`; 0 at the stream's end. */
  receive(fd: number, into: Uint8Array): number;
  /** Blocks the thread; 0 when the time is over. */
  wait(fd: number, to: 'send' | 'receive', ms: number): number;
  close(fd: number): number;
}
