/** libc through Bun's FFI, for the compiled plugin: opened in 0.2 ms. Import it only in programs that Bun compiles. */
import { dlopen, read } from 'bun:ffi';
import { CLONE_NEWNET, type Libc } from './libc.ts';

export function openBunLibc(): Libc {
  const { symbols: c } = dlopen('libc.so.6', {
    setns: { args: ['i32', 'i32'], returns: 'i32' },
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    __errno_location: { args: [], returns: 'ptr' },
  });
  // Bun keeps no errno of its own: it is read from libc at once, before anything else can run on this thread.
  const answer = (result: number | bigint): number => {
    const value = Number(result);
    return value >= 0 ? value : -read.i32(Number(c.__errno_location()), 0);
  };
  return {
    setns: (netnsFd) => answer(c.setns(netnsFd, CLONE_NEWNET)),
    socket: (domain, type, protocol) => answer(c.socket(domain, type, protocol)),
    setsockopt: (fd, level, option, value) =>
      answer(c.setsockopt(fd, level, option, new Uint8Array(Int32Array.of(value).buffer), 4)),
    bind: (fd, address) => answer(c.bind(fd, address, address.length)),
    sendto: (fd, bytes, address) => answer(c.sendto(fd, bytes, bytes.length, 0, address, address.length)),
    recv: (fd, into, flags) => answer(c.recv(fd, into, into.length, flags)),
  };
}
