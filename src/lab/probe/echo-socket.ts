/**
 * One UDP socket per place (pod, node, host) that both asks and answers: a probe is answered with the source address it was seen
 * with, which is what a path is judged by. A path that works with the wrong source address is a broken path.
 *
 * The socket is made and bound inside the namespace by libc and then adopted by Node: a socket stays in the namespace it was
 * made in, whoever uses it.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { type Family, familyOf } from '../../core/ip.ts';
import { udpSocket } from '../netns/libc.ts';
import type { Netns } from '../netns/netns.ts';
import { decode, encode } from './echo-message.ts';

/** The echo service's own port. Source: RFC 862. */
export const ECHO_PORT = 7;

export type ProbeResult =
  | {
      readonly reached: true;
      /** The source address the far end saw. */
      readonly sourceSeen: string;
      /** Where the answer came from: anything but the address that was probed is a fault of the way back. */
      readonly answeredBy: string;
      readonly rttMs: number;
      /** The name of the place that answered, where it has one: behind a service's address that may be anyone. */
      readonly place: string | null;
    }
  | { readonly reached: false; readonly why: string };

/** Where else than at every address, on its own port. */
export type EchoPlace = { readonly address?: string; readonly port?: number };

export class EchoSocket {
  readonly #sockets = new Map<Family, Socket>();
  readonly #pending = new Map<number, (answer: { seen: string; from: string; place: string | null }) => void>();
  readonly #place: string | null;
  #next = 1;

  private constructor(place: string | null) {
    this.#place = place;
  }

  /** Opens one socket a family in `netns`, which answers as `place`, at every address unless told; resolves when they answer. */
  static async open(
    netns: Netns,
    families: readonly Family[] = [4, 6],
    place: string | null = null,
    at: EchoPlace = {},
  ): Promise<EchoSocket> {
    const echo = new EchoSocket(place);
    try {
      for (const family of families) {
        const fd = netns.run(() => udpSocket(family, at.port ?? ECHO_PORT, at.address));
        await echo.#adopt(family, fd);
      }
      return echo;
    } catch (error) {
      await echo.close();
      throw error;
    }
  }

  /** Sends up to `attempts` packets to the echo socket at `address`, spread over `timeoutMs`, and tells of the first answer. */
  async probe(address: string, timeoutMs = 2_000, attempts = 3): Promise<ProbeResult> {
    const socket = this.#sockets.get(familyOf(address));
    if (socket === undefined) return { reached: false, why: 'this place speaks no such address family' };
    const ids: number[] = [];
    let trouble = `no answer within ${timeoutMs} ms`;
    try {
      return await new Promise<ProbeResult>((resolve) => {
        const timers: NodeJS.Timeout[] = [];
        const finish = (result: ProbeResult) => {
          for (const timer of timers) clearTimeout(timer);
          resolve(result);
        };
        const send = () => {
          const id = this.#next++;
          ids.push(id);
          const sentAt = performance.now();
          this.#pending.set(id, ({ seen, from, place }) =>
            finish({ reached: true, sourceSeen: seen, answeredBy: from, rttMs: performance.now() - sentAt, place }),
          );
          socket.send(encode({ probe: id }), ECHO_PORT, address, (error) => {
            if (error) trouble = error.message;
          });
        };
        for (let attempt = 1; attempt < attempts; attempt += 1) {
          timers.push(setTimeout(send, (attempt * timeoutMs) / attempts));
        }
        timers.push(setTimeout(() => finish({ reached: false, why: trouble }), timeoutMs));
        send();
      });
    } finally {
      for (const id of ids) this.#pending.delete(id);
    }
  }

  /** Idempotent. Probes under way end at their deadline. */
  async close(): Promise<void> {
    const open = [...this.#sockets.values()];
    this.#sockets.clear();
    await Promise.all(open.map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))));
  }

  async #adopt(family: Family, fd: number): Promise<void> {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    this.#sockets.set(family, socket);
    socket.on('message', (bytes, remote) => this.#receive(socket, bytes, remote));
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ fd }, () => {
        socket.off('error', reject);
        // A send that is refused (no route) is told to its own callback; what ICMP brings later only means "no answer".
        socket.on('error', () => {});
        resolve();
      });
    });
  }

  #receive(socket: Socket, bytes: Buffer, remote: RemoteInfo): void {
    const message = decode(bytes);
    if (message === null) return;
    if ('probe' in message) {
      socket.send(
        encode({ answer: message.probe, seen: remote.address, place: this.#place }),
        remote.port,
        remote.address,
        () => {},
      );
    } else {
      this.#pending.get(message.answer)?.({ ...message, from: remote.address });
    }
  }
}
