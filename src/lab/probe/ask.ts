/**
 * One question to an echo socket from a socket of its own: a new source port, so that no connection that the kernel tracks already decides
 * where it goes. Through services this matters, since their rules are asked for new connections only.
 */
import { createSocket } from 'node:dgram';
import { familyOf } from '../../core/ip.ts';
import { udpSocket } from '../netns/libc.ts';
import type { Netns } from '../netns/netns.ts';
import { decode, encode } from './echo-message.ts';
import { ECHO_PORT, type ProbeResult } from './echo-socket.ts';

export type Question = {
  readonly address: string;
  /** ECHO_PORT if not told. */
  readonly port?: number;
  readonly timeoutMs: number;
  /** Packets sent at most, spread over the time. */
  readonly attempts?: number;
  /** Told in the packet, so that whoever watches it pass knows it. */
  readonly id?: number;
  /** Length of what the probe's packet carries, if it is to be longer than it has to. */
  readonly bytes?: number;
};

/** Never rejects for what the network does. */
export async function ask(netns: Netns, question: Question): Promise<ProbeResult> {
  const { address, port = ECHO_PORT, timeoutMs, attempts = 3, id = 1, bytes = 0 } = question;
  const family = familyOf(address);
  const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
  const timers: NodeJS.Timeout[] = [];
  try {
    const fd = netns.run(() => udpSocket(family, 0));
    await new Promise<void>((resolve) => socket.bind({ fd }, resolve));
    return await new Promise<ProbeResult>((resolve) => {
      let trouble = `no answer within ${timeoutMs} ms`;
      const sentAt = performance.now();
      socket.on('error', () => {}); // what ICMP brings only means "no answer"
      socket.on('message', (bytes, remote) => {
        const message = decode(bytes);
        if (message === null || !('answer' in message) || message.answer !== id) return;
        const { seen: sourceSeen, place } = message;
        resolve({ reached: true, sourceSeen, answeredBy: remote.address, rttMs: performance.now() - sentAt, place });
      });
      const send = () =>
        socket.send(encode({ probe: id }).padEnd(bytes), port, address, (error) => {
          if (error) trouble = error.message;
        });
      for (let attempt = 1; attempt < attempts; attempt += 1)
        timers.push(setTimeout(send, (attempt * timeoutMs) / attempts));
      timers.push(setTimeout(() => resolve({ reached: false, why: trouble }), timeoutMs));
      send();
    });
  } finally {
    for (const timer of timers) clearTimeout(timer);
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}
