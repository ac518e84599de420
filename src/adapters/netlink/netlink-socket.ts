import { closeSync } from 'node:fs';
import { EINTR, ENOBUFS, EPROTO } from './errno.ts';
import type { Libc } from './libc.ts';
import { inNamespace } from './namespace.ts';
import { NetlinkError } from './netlink-error.ts';
import { decodeMessages, encodeRequest, endOfDump, isDump, type Message, type Request } from './wire/message.ts';

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const NETLINK_ROUTE = 0;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;

const RECEIVE_BYTES = 65_536; // the kernel fills at most 32 KiB of a dump per datagram
/** Acknowledgements of one batch must fit the socket's receive buffer (212,992 bytes by default, under 1 KiB each). */
export const BATCH_MAX_REQUESTS = 64;
/** A list that changes all the time is given up rather than returned with holes. */
const DUMP_MAX_TRIES = 10;
/** A dump of fewer bytes came in one piece: the kernel gives the first one nearly a page. */
const ONE_PIECE_BYTES = 3_000;
/** Readings of a list that is walked by position, until so many in a row agree: two may be wrong in one way, of others whose changes come in a beat. */
const STEADY_READINGS = 3;
const STEADY_MAX_READINGS = 8;

/** What became of one request: its data messages, and the error or null. */
export type Outcome = { readonly error: NetlinkError | null; readonly data: readonly Buffer[] };

/**
 * One netlink socket, of rtnetlink where nothing else is said, in the namespace it was opened in, whatever namespace the thread is in later.
 *
 * Calls are synchronous: the kernel has done the work and queued its answers when send returns, so nothing is waited for.
 * Not for multicast (change-socket.ts).
 */
export class NetlinkSocket {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(RECEIVE_BYTES);
  readonly #kernel = Buffer.alloc(12); // struct sockaddr_nl with pid 0
  #sequence = 0;
  #closed = false;

  constructor(libc: Libc, netnsFd: number | null = null, protocol = NETLINK_ROUTE) {
    this.#libc = libc;
    this.#kernel.writeUInt16LE(AF_NETLINK, 0);
    const open = (): number => libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol);
    this.#fd = netnsFd === null ? open() : inNamespace(libc, netnsFd, open);
    if (this.#fd < 0) throw new NetlinkError(-this.#fd, 'open', 'netlink socket');
    // Older kernels lack some of these; then errors come without text and dumps without a filter.
    for (const option of [NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK]) {
      libc.setsockopt(this.#fd, SOL_NETLINK, option, 1);
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#fd);
  }

  /**
   * Sends all requests at once; the kernel tries each in order, also after one that failed. One outcome per request.
   * When the kernel dropped an answer (ENOBUFS) the outcome of that request is not known and says so.
   */
  execute(requests: readonly Request[]): Outcome[] {
    const outcomes: Outcome[] = [];
    for (let at = 0; at < requests.length; at += BATCH_MAX_REQUESTS) {
      outcomes.push(...this.#executeBatch(requests.slice(at, at + BATCH_MAX_REQUESTS)));
    }
    return outcomes;
  }

  /** The bodies of a dump. Begun anew when the kernel says the list changed meanwhile, or dropped a part of it. */
  dump(request: Request): Buffer[] {
    if (!isDump(request)) throw new TypeError(`${request.operation} is no dump`);
    for (let tries = 0; tries < DUMP_MAX_TRIES; tries += 1) {
      const bodies = this.#dumpOnce(request);
      if (bodies !== null) return bodies;
    }
    throw new NetlinkError(
      EINTR,
      request.operation,
      request.object,
      `changed during each of ${DUMP_MAX_TRIES} readings`,
    );
  }

  /**
   * The bodies of a dump of a list that the kernel walks by position, as it does rules: what goes from its beginning between two pieces moves the
   * rest up, so that some of it is passed over, and the kernel does not call that interrupted. It is read until three readings in a row agree, or often enough,
   * and what any of them had is there: a thing that is gone is deleted again without harm, one that was overlooked would be made again, or left.
   * Source: net/core/fib_rules.c, dump_rules; measured, 45 of 765 readings of 1,500 rules were short while others changed theirs, and of
   * pairs that agreed 14 of 20,000; of three 1. Who acts on a list therefore hears from the kernel that a rule is there (EEXIST).
   */
  dumpByPosition(request: Request): Buffer[] {
    let before = this.dump(request);
    if (before.reduce((sum, body) => sum + body.length, 0) < ONE_PIECE_BYTES) return before;
    const byContent = (bodies: readonly Buffer[]) => bodies.map((body) => [body.toString('latin1'), body] as const);
    let all = new Map(byContent(before));
    let agreeing = 1;
    for (let readings = 1; readings < STEADY_MAX_READINGS; readings += 1) {
      const now = this.dump(request);
      const same = now.length === before.length && now.every((body, at) => before[at]?.equals(body) === true);
      all = new Map([...byContent(now), ...all]); // in the order of the last one
      agreeing = same ? agreeing + 1 : 1;
      if (agreeing === STEADY_READINGS) break;
      before = now;
    }
    return [...all.values()];
  }

  /**
   * One reading of a list, shown as the datagrams come: nothing is decoded or copied here, since of a list that grows with the node a caller wants a few
   * entries. `look` answers whether it has seen enough: the rest is never made then. What it is shown is used again afterwards. Unless the answer is
   * `whole` the socket is good for nothing but closing.
   */
  glance(request: Request, look: (datagram: Buffer) => 'enough' | 'more'): 'whole' | 'enough' | 'broken' {
    if (!isDump(request)) throw new TypeError(`${request.operation} is no dump`);
    this.#sequence += 1;
    this.#send(encodeRequest(request, this.#sequence), request);
    for (;;) {
      const size = this.#receiveBytes();
      if (size <= 0) return 'broken';
      const datagram = this.#buffer.subarray(0, size);
      const end = endOfDump(datagram);
      if (end === 'failed') return 'broken';
      if (look(datagram) === 'enough') return end === 'whole' ? 'whole' : 'enough';
      if (end === 'whole') return 'whole';
    }
  }

  #executeBatch(requests: readonly Request[]): Outcome[] {
    const first = this.#sequence + 1;
    this.#sequence += requests.length;
    this.#send(Buffer.concat(requests.map((request, index) => encodeRequest(request, first + index))), requests[0]);
    const silent = requests.flatMap((request, at) => (request.silent === true ? [at] : []));
    const errors = new Map<number, NetlinkError | null>(silent.map((at) => [at, null]));
    const data = requests.map((): Buffer[] => []);
    while (errors.size < requests.length) {
      const messages = this.#receive();
      if (messages === 'dropped') continue;
      if (messages === 'empty') break;
      for (const message of messages) {
        const at = message.sequence - first;
        const request = requests[at];
        if (request === undefined) continue; // an answer to an earlier batch that was given up
        if (message.kind === 'data') data[at]?.push(message.body);
        if (message.kind === 'ack') {
          const { errno, detail } = message;
          errors.set(at, errno === 0 ? null : new NetlinkError(errno, request.operation, request.object, detail));
        }
      }
    }
    return requests.map((request, at) => {
      const lost = (): NetlinkError => new NetlinkError(ENOBUFS, request.operation, request.object, 'no answer came');
      return { error: errors.has(at) ? (errors.get(at) ?? null) : lost(), data: data[at] ?? [] };
    });
  }

  #dumpOnce(request: Request): Buffer[] | null {
    this.#sequence += 1;
    this.#send(encodeRequest(request, this.#sequence), request);
    const bodies: Buffer[] = [];
    let whole = true;
    for (;;) {
      const messages = this.#receive();
      if (messages === 'dropped') {
        whole = false;
        continue;
      }
      if (messages === 'empty') return null;
      for (const message of messages) {
        if (message.sequence !== this.#sequence) continue;
        if (message.kind !== 'ack' && message.interrupted) whole = false;
        if (message.kind === 'data') bodies.push(message.body);
        else if (message.errno !== 0) throw new NetlinkError(message.errno, request.operation, request.object);
        else return whole ? bodies : null;
      }
    }
  }

  #send(bytes: Buffer, request: Request | undefined): void {
    const sent = this.#libc.sendto(this.#fd, bytes, this.#kernel);
    if (sent < 0) throw new NetlinkError(-sent, request?.operation ?? 'send', request?.object ?? '');
  }

  /** `empty`: nothing is queued; `dropped`: the kernel had no room for some answer and says so once. */
  #receive(): Message[] | 'empty' | 'dropped' {
    const size = this.#receiveBytes();
    if (size === -ENOBUFS) return 'dropped';
    return size <= 0 ? 'empty' : decodeMessages(this.#buffer.subarray(0, size));
  }

  /** The size of what is in the buffer now, or the negated errno. */
  #receiveBytes(): number {
    for (;;) {
      const size = this.#libc.recv(this.#fd, this.#buffer, MSG_DONTWAIT | MSG_TRUNC);
      if (size === -EINTR) continue;
      if (size > RECEIVE_BYTES) throw new NetlinkError(EPROTO, 'receive', 'netlink', `a datagram of ${size} bytes`);
      return size;
    }
  }
}
