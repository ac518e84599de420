/**
 * Netlink messages: the 16 byte header, and what the kernel says about a request (acknowledgement, error with its text, end
 * of a dump). Source: netlink(7); linux/netlink.h.
 */
import { align, attributes, textOf } from './attribute.ts';

const HEADER_BYTES = 16;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const NLMSGERR_ATTR_MSG = 1;
const DONE_BYTES = HEADER_BYTES + 4;

const NLM_F_REQUEST = 0x1;
const NLM_F_ACK = 0x4;
export const NLM_F_DUMP_INTR = 0x10;
const NLM_F_CAPPED = 0x100;
const NLM_F_ACK_TLVS = 0x200;

export const ECHO = 0x8;
export const DUMP = 0x300;
export const REPLACE = 0x100;
export const EXCLUSIVE = 0x200;
export const CREATE = 0x400;

/** One request, with the words that an error about it will use. */
export type Request = {
  readonly type: number;
  readonly flags: number;
  readonly body: Uint8Array;
  /** For families whose request types do not tell a GET (all but rtnetlink). */
  readonly dump?: boolean;
  /** No acknowledgement is asked for, and none is waited for: what only frames others. */
  readonly silent?: boolean;
  readonly operation: string;
  readonly object: string;
};

export type Message =
  | {
      readonly kind: 'data';
      readonly sequence: number;
      readonly type: number;
      readonly interrupted: boolean;
      readonly body: Buffer;
    }
  | { readonly kind: 'ack'; readonly sequence: number; readonly errno: number; readonly detail: string }
  | { readonly kind: 'done'; readonly sequence: number; readonly errno: number; readonly interrupted: boolean };

export function encodeRequest(request: Request, sequence: number): Buffer {
  const out = Buffer.alloc(align(HEADER_BYTES + request.body.length));
  out.writeUInt32LE(HEADER_BYTES + request.body.length, 0);
  out.writeUInt16LE(request.type, 4);
  // A dump ends with NLMSG_DONE; asking for an acknowledgement too would leave one behind in the socket.
  out.writeUInt16LE(NLM_F_REQUEST | (isDump(request) || request.silent === true ? 0 : NLM_F_ACK) | request.flags, 6);
  out.writeUInt32LE(sequence, 8);
  out.set(request.body, HEADER_BYTES);
  return out;
}

/** Only GET requests read these bits as "dump"; elsewhere they are REPLACE and EXCLUSIVE. */
export function isDump(request: Request): boolean {
  return request.dump === true || ((request.type & 3) === 2 && (request.flags & DUMP) === DUMP);
}

/** Where each message of a datagram begins and ends, header included. */
export function* messageBounds(datagram: Buffer): Generator<{ readonly at: number; readonly end: number }> {
  for (let at = 0; at + HEADER_BYTES <= datagram.length; ) {
    const size = datagram.readUInt32LE(at);
    if (size < HEADER_BYTES || at + size > datagram.length) return;
    yield { at, end: at + size };
    at += align(size);
  }
}

/** What follows the header of the message that begins there. */
export const bodyAt = (datagram: Buffer, at: number, end: number): Buffer => datagram.subarray(at + HEADER_BYTES, end);

/**
 * Whether a list ends with this datagram, read off its last message, NLMSG_DONE, without a walk through those before; `failed` when the kernel
 * says so. An interrupted list is none that is whole.
 */
export function endOfDump(datagram: Buffer): 'whole' | 'failed' | null {
  if (datagram.length >= HEADER_BYTES && datagram.readUInt16LE(4) === NLMSG_ERROR) return 'failed';
  const at = datagram.length - DONE_BYTES;
  if (at < 0 || datagram.readUInt32LE(at) !== DONE_BYTES || datagram.readUInt16LE(at + 4) !== NLMSG_DONE) return null;
  const interrupted = (datagram.readUInt16LE(at + 6) & NLM_F_DUMP_INTR) !== 0;
  return interrupted || datagram.readInt32LE(at + HEADER_BYTES) !== 0 ? 'failed' : 'whole';
}

/** Splits one datagram. Bodies are copies: the receive buffer is used again. */
export function decodeMessages(datagram: Buffer): Message[] {
  const messages: Message[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= datagram.length) {
    const size = datagram.readUInt32LE(at);
    if (size < HEADER_BYTES || at + size > datagram.length) break;
    messages.push(decodeMessage(Buffer.from(datagram.subarray(at, at + size))));
    at += align(size);
  }
  return messages;
}

function decodeMessage(bytes: Buffer): Message {
  const type = bytes.readUInt16LE(4);
  const flags = bytes.readUInt16LE(6);
  const sequence = bytes.readUInt32LE(8);
  const interrupted = (flags & NLM_F_DUMP_INTR) !== 0;
  const body = bytes.subarray(HEADER_BYTES);
  if (type === NLMSG_DONE) {
    return { kind: 'done', sequence, interrupted, errno: body.length >= 4 ? -body.readInt32LE(0) : 0 };
  }
  if (type !== NLMSG_ERROR) return { kind: 'data', sequence, type, interrupted, body };
  return { kind: 'ack', sequence, errno: -body.readInt32LE(0), detail: extendedAck(body, flags) };
}

/** The kernel's sentence follows the echoed request, which is cut to its header when NLM_F_CAPPED is set. */
function extendedAck(body: Buffer, flags: number): string {
  if ((flags & NLM_F_ACK_TLVS) === 0) return '';
  const echoed = (flags & NLM_F_CAPPED) !== 0 ? HEADER_BYTES : align(body.readUInt32LE(4));
  return textOf(attributes(body, 4 + echoed).get(NLMSGERR_ATTR_MSG)) ?? '';
}
