/**
 * One pod measured all the time: a packet to a machine elsewhere in the VPC and its answer, again and again, each of which has to arrive, from
 * the right one and seen with the pod's own address.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EchoSocket } from '../../src/lab/probe/echo-socket.ts';

const EVERY_MS = 100;
/** A machine that is busy takes its time; a veth loses nothing by itself. */
export const PATIENCE_MS = 3_000;

export type Lost = { readonly ip: string; readonly sentMs: number; readonly why: string };

export class Heartbeat {
  readonly #ending = new AbortController();
  readonly #under = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  readonly #lost: (lost: Lost) => void;
  sent = 0;
  /** The longest time without an answer. */
  longestGapMs = 0;
  #answeredMs = performance.now();

  constructor(from: EchoSocket, ip: string, to: string, lost: (lost: Lost) => void) {
    this.#lost = lost;
    this.#loop = (async () => {
      while (!this.#ending.signal.aborted) {
        const one = this.#beat(from, ip, to).finally(() => this.#under.delete(one));
        this.#under.add(one);
        await sleep(EVERY_MS);
      }
    })();
  }

  /** Resolves when what is under way has been answered or given up: only then may the pod go. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
    await Promise.all(this.#under);
  }

  async #beat(from: EchoSocket, ip: string, to: string): Promise<void> {
    const sentMs = performance.now();
    this.sent += 1;
    // One packet: a second try would hide a loss.
    const result = await from.probe(to, PATIENCE_MS, 1);
    if (!result.reached) return this.#lost({ ip, sentMs, why: result.why });
    const nowMs = performance.now();
    this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#answeredMs);
    this.#answeredMs = nowMs;
    if (result.sourceSeen === ip && result.answeredBy === to) return;
    this.#lost({ ip, sentMs, why: `seen with ${result.sourceSeen}, answered by ${result.answeredBy}` });
  }
}
