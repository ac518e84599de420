/**
 * libc through Bun's FFI, for the compiled plugin. Import it only in programs that Bun compiles.
 *
 * All that the plugin wants of the kernel goes this way, files and the daemon's socket too: opening the library costs 0.5 ms of processor time however
 * many names are asked of it, while `node:fs` costs Bun 1.4 ms to load and its `fetch` a thread.
 */
import { dlopen, read } from 'bun:ffi';
import type { UnixStreams } from '../http/unix-streams.ts';
import { CLONE_NEWNET, type Libc } from './libc.ts';

const AF_UNIX = 1;
const SOCK_STREAM_NONBLOCK_CLOEXEC = 1 | 0o4000 | 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const POLLIN = 1;
const POLLOUT = 4;
const O_CLOEXEC = 0o2000000;
const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const STATX_BASIC_STATS = 0x7ff;
/** glibc has had a function of its own only since 2.28. Source: asm/unistd_64.h, asm-generic/unistd.h. */
const STATX: Readonly<Record<string, number>> = { x64: 332, arm64: 291 };
const STATX_BYTES = 256;

/** Each answers as the kernel does: the result when it is not negative, else the negated errno. */
export interface FileCalls {
  open(path: string, flags: number, mode: number): number;
  close(fd: number): number;
  read(fd: number, into: Uint8Array): number;
  write(fd: number, bytes: Uint8Array): number;
  unlink(path: string): number;
  /** struct statx, of a path or an open file. */
  stat(of: string | number, into: Uint8Array): number;
}

export type BunLibc = Libc & UnixStreams & FileCalls;

let opened: BunLibc | null = null;

/** Once a process, however often it is asked for. */
export function openBunLibc(): BunLibc {
  opened ??= open();
  return opened;
}

function open(): BunLibc {
  const { symbols: c } = dlopen('libc.so.6', {
    setns: { args: ['i32', 'i32'], returns: 'i32' },
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    connect: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
    send: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    poll: { args: ['ptr', 'u64', 'i32'], returns: 'i32' },
    open: { args: ['ptr', 'i32', 'i32'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
    read: { args: ['i32', 'ptr', 'u64'], returns: 'i64' },
    write: { args: ['i32', 'ptr', 'u64'], returns: 'i64' },
    unlink: { args: ['ptr'], returns: 'i32' },
    syscall: { args: ['i64', 'i32', 'ptr', 'i32', 'u32', 'ptr'], returns: 'i64' },
    __errno_location: { args: [], returns: 'ptr' },
  });
  // Bun keeps no errno of its own: it is read from libc at once, before anything else can run on this thread.
  const answer = (result: number | bigint): number => {
    const value = Number(result);
    return value >= 0 ? value : -read.i32(Number(c.__errno_location()), 0);
  };
  const streamTo = (path: string): number => {
    const fd = answer(c.socket(AF_UNIX, SOCK_STREAM_NONBLOCK_CLOEXEC, 0));
    if (fd < 0) return fd;
    const family = Uint8Array.of(AF_UNIX, 0);
    const address = Buffer.concat([family, cString(path)]); // struct sockaddr_un
    const connected = answer(c.connect(fd, address, address.length));
    if (connected >= 0) return fd;
    c.close(fd);
    return connected;
  };
  return {
    setns: (netnsFd) => answer(c.setns(netnsFd, CLONE_NEWNET)),
    socket: (domain, type, protocol) => answer(c.socket(domain, type, protocol)),
    setsockopt: (fd, level, option, value) =>
      answer(c.setsockopt(fd, level, option, new Uint8Array(Int32Array.of(value).buffer), 4)),
    bind: (fd, address) => answer(c.bind(fd, address, address.length)),
    sendto: (fd, bytes, address) => answer(c.sendto(fd, bytes, bytes.length, 0, address, address.length)),
    recv: (fd, into, flags) => answer(c.recv(fd, into, into.length, flags)),
    streamTo,
    send: (fd, bytes) => answer(c.send(fd, bytes, bytes.length, MSG_NOSIGNAL)),
    receive: (fd, into) => answer(c.recv(fd, into, into.length, 0)),
    wait: (fd, to, ms) => {
      const entry = Buffer.alloc(8); // struct pollfd
      entry.writeInt32LE(fd, 0);
      entry.writeInt16LE(to === 'receive' ? POLLIN : POLLOUT, 4);
      return answer(c.poll(entry, 1, ms));
    },
    open: (path, flags, mode) => answer(c.open(cString(path), flags | O_CLOEXEC, mode)),
    close: (fd) => answer(c.close(fd)),
    read: (fd, into) => answer(c.read(fd, into, into.length)),
    write: (fd, bytes) => answer(c.write(fd, bytes, bytes.length)),
    unlink: (path) => answer(c.unlink(cString(path))),
    stat: (of, into) => {
      const number = STATX[process.arch];
      if (number === undefined || into.length < STATX_BYTES) return -ENOSYS;
      return typeof of === 'number'
        ? answer(c.syscall(number, of, cString(''), AT_EMPTY_PATH, STATX_BASIC_STATS, into))
        : answer(c.syscall(number, AT_FDCWD, cString(of), 0, STATX_BASIC_STATS, into));
    },
  };
}

const ENOSYS = 38;

const cString = (text: string): Buffer => Buffer.from(`${text}\0`, 'utf8');
