/** The names of the errors the kernel answers with. Source: errno(3), asm-generic/errno-base.h and errno.h (x86-64, arm64). */
const NAMES: Readonly<Record<number, string>> = {
  1: 'EPERM',
  2: 'ENOENT',
  3: 'ESRCH',
  4: 'EINTR',
  5: 'EIO',
  6: 'ENXIO',
  9: 'EBADF',
  11: 'EAGAIN',
  12: 'ENOMEM',
  13: 'EACCES',
  14: 'EFAULT',
  16: 'EBUSY',
  17: 'EEXIST',
  19: 'ENODEV',
  20: 'ENOTDIR',
  21: 'EISDIR',
  22: 'EINVAL',
  23: 'ENFILE',
  24: 'EMFILE',
  28: 'ENOSPC',
  30: 'EROFS',
  32: 'EPIPE',
  34: 'ERANGE',
  36: 'ENAMETOOLONG',
  38: 'ENOSYS',
  40: 'ELOOP',
  75: 'EOVERFLOW',
  88: 'ENOTSOCK',
  90: 'EMSGSIZE',
  91: 'EPROTOTYPE',
  92: 'ENOPROTOOPT',
  93: 'EPROTONOSUPPORT',
  95: 'EOPNOTSUPP',
  97: 'EAFNOSUPPORT',
  98: 'EADDRINUSE',
  99: 'EADDRNOTAVAIL',
  100: 'ENETDOWN',
  101: 'ENETUNREACH',
  104: 'ECONNRESET',
  105: 'ENOBUFS',
  107: 'ENOTCONN',
  110: 'ETIMEDOUT',
  111: 'ECONNREFUSED',
  113: 'EHOSTUNREACH',
};

export const EAGAIN = 11;
export const EINTR = 4;
export const ENOBUFS = 105;
export const EPROTO = 71;

/** `errno 71` for those the table lacks. */
export function errnoName(errno: number): string {
  return NAMES[errno] ?? `errno ${errno}`;
}
