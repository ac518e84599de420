/**
 * The C library as it is, but for what rtnetlink does rarely: dumps that the kernel calls interrupted, rules that are passed over in a dump, answers
 * for which there was no room, sockets that are silent. What is asked is done by the kernel all the same, as with the real thing.
 */
import { ENOBUFS } from '../../src/adapters/netlink/errno.ts';
import type { Libc } from '../../src/adapters/netlink/libc.ts';
import { NLM_F_DUMP_INTR } from '../../src/adapters/netlink/wire/message.ts';

const EAGAIN = 11;
const NLMSG_ERROR = 2;
const RTM_NEWRULE = 32;
const HEADER_BYTES = 16;
const NLM_F_MULTI = 2;

/** What becomes of one datagram. */
export type Fate = 'arrives' | 'interrupted' | 'overlooked' | 'dropped' | 'silence';

/** The nth that was received since `begin`; what it answers was the nth that was sent. From 0. */
export type Datagram = { readonly at: number; readonly sent: number; readonly isDump: boolean };

export type UnrulyLibc = Libc & {
  /** From now on each datagram has the fate that this says. */
  begin(fate: (datagram: Datagram) => Fate): void;
  /** Datagrams since `begin`. */
  readonly received: number;
};

export function unruly(libc: Libc): UnrulyLibc {
  let fate: (datagram: Datagram) => Fate = () => 'arrives';
  let [received, sent] = [0, -1];
  return {
    ...libc,
    get received() {
      return received;
    },
    begin(next) {
      fate = next;
      [received, sent] = [0, -1];
    },
    sendto(fd, bytes, address) {
      sent += 1;
      return libc.sendto(fd, bytes, address);
    },
    recv(fd, into, flags) {
      const size = libc.recv(fd, into, flags);
      if (size <= 0) return size;
      const bytes = Buffer.from(into.buffer, into.byteOffset, into.byteLength);
      const multi = (bytes.readUInt16LE(6) & NLM_F_MULTI) !== 0 && bytes.readUInt16LE(4) !== NLMSG_ERROR;
      const now = fate({ at: received, sent, isDump: multi });
      received += 1;
      if (now === 'dropped') return -ENOBUFS;
      if (now === 'silence') return -EAGAIN;
      if (now === 'interrupted' && multi) flag(bytes, size);
      if (now === 'overlooked' && multi) withoutRules(bytes, size);
      return size;
    },
  };
}

function* headersIn(bytes: Buffer, size: number): Generator<number> {
  for (let at = 0; at + HEADER_BYTES <= size; ) {
    yield at;
    at += Math.max(HEADER_BYTES, (bytes.readUInt32LE(at) + 3) & ~3);
  }
}

function flag(bytes: Buffer, size: number): void {
  for (const at of headersIn(bytes, size)) bytes.writeUInt16LE(bytes.readUInt16LE(at + 6) | NLM_F_DUMP_INTR, at + 6);
}

/** They become parts of a dump that nobody asked for. */
function withoutRules(bytes: Buffer, size: number): void {
  for (const at of headersIn(bytes, size))
    if (bytes.readUInt16LE(at + 4) === RTM_NEWRULE) bytes.writeUInt32LE(0, at + 8);
}
