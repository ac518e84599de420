import { errnoName } from './errno.ts';

/**
 * What the kernel refused: `code` is the errno's name, `detail` the kernel's own sentence (NETLINK_EXT_ACK) or ''.
 * `operation` and `object` say what was asked, such as `add route` and `192.168.0.5/32 dev 7 table 254`.
 */
export class NetlinkError extends Error {
  readonly errno: number;
  readonly code: string;
  readonly operation: string;
  readonly object: string;
  readonly detail: string;

  constructor(errno: number, operation: string, object: string, detail = '') {
    const code = errnoName(errno);
    super(`${[operation, object].filter(Boolean).join(' ')}: ${code}${detail === '' ? '' : ` (${detail})`}`);
    this.name = 'NetlinkError';
    this.errno = errno;
    this.code = code;
    this.operation = operation;
    this.object = object;
    this.detail = detail;
  }
}

/** The kernel had no room for its answer: whether it did what was asked is not known. */
export const isUnknown = (error: NetlinkError | null | undefined): boolean => error?.code === 'ENOBUFS';
