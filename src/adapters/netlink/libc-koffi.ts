/** libc through koffi, for the daemon and the tests under Node. Must stay out of the compiled plugin: koffi is a Node addon. */
import koffi from 'koffi';
import { CLONE_NEWNET, type Libc } from './libc.ts';

export function openKoffiLibc(): Libc {
  const c = koffi.load('libc.so.6');
  const setns = c.func('int setns(int fd, int nstype)');
  const socket = c.func('int socket(int domain, int type, int protocol)');
  const setsockopt = c.func('int setsockopt(int fd, int level, int option, const void *value, uint32_t size)');
  const bind = c.func('int bind(int fd, const void *address, uint32_t size)');
  const sendto = c.func('int64_t sendto(int, const void *bytes, size_t, int flags, const void *address, uint32_t)');
  const recv = c.func('int64_t recv(int fd, void *into, size_t size, int flags)');
  const answer = (result: unknown): number => {
    const value = Number(result);
    return value >= 0 ? value : -koffi.errno();
  };
  return {
    setns: (netnsFd) => answer(setns(netnsFd, CLONE_NEWNET)),
    socket: (domain, type, protocol) => answer(socket(domain, type, protocol)),
    setsockopt: (fd, level, option, value) => answer(setsockopt(fd, level, option, Int32Array.of(value), 4)),
    bind: (fd, address) => answer(bind(fd, address, address.length)),
    sendto: (fd, bytes, address) => answer(sendto(fd, bytes, bytes.length, 0, address, address.length)),
    recv: (fd, into, flags) => answer(recv(fd, into, into.length, flags)),
  };
}

/** As glibc says it of itself, `2.36`; null where the C library is another one, as musl: then openKoffiLibc() throws. */
export function glibcVersion(): string | null {
  try {
    return String(koffi.load('libc.so.6').func('const char *gnu_get_libc_version()')());
  } catch {
    return null;
  }
}
