/**
 * Events for people, on their way to the API server: nobody waits for them, and they never become a flood. One that waits and comes again (same
 * target, type and reason) is one with a count and the newest message; what was written lately waits before it is written again; all together are
 * held to a rate; when too many wait, the newest are dropped and counted.
 *
 * Source: client-go tools/record, EventSourceObjectSpamFilter, for why a source holds itself back.
 */
import { failureOf } from '../core/errors.ts';
import { untilEither } from '../core/until-either.ts';
import type { Clock } from '../ports/clock.ts';
import type { KubeEvent, Kubernetes } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';

/** Events that may wait. */
const WAITING_MAX = 256;
/** Between two writes of one reason for one target. */
const AGAIN_MS = 10_000;
/** All together: at once, and per second after that. */
const BURST = 20;
const PER_SECOND = 4;
const WRITE_MS = 10_000;
const SEEN_MAX = 1_024;

export type NoticesParts = {
  readonly kubernetes: Pick<Kubernetes, 'recordEvent'>;
  readonly clock: Clock;
  readonly log: Log;
};

type Waiting = { readonly event: KubeEvent; readonly times: number };

export class Notices {
  readonly #parts: NoticesParts;
  readonly #waiting = new Map<string, Waiting>();
  /** When each was last written; the least recent is forgotten. */
  readonly #written = new Map<string, number>();
  #tokens = BURST;
  #filledMs: number;
  #dropped = 0;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
    this.#filledMs = parts.clock.nowMs();
  }

  /** Returns at once. */
  tell(event: KubeEvent): void {
    const key = keyOf(event);
    const before = this.#waiting.get(key);
    if (before === undefined && this.#waiting.size >= WAITING_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.set(key, { event, times: (before?.times ?? 0) + (event.times ?? 1) });
  }

  /** Writes what is due. Called again and again; never rejects. */
  async write(signal: AbortSignal): Promise<void> {
    this.#fill();
    for (const [key, { event, times }] of [...this.#waiting]) {
      if (this.#tokens < 1 || signal.aborted) break;
      const nowMs = this.#parts.clock.nowMs();
      if (nowMs - (this.#written.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) continue;
      this.#tokens -= 1;
      this.#waiting.delete(key);
      this.#written.delete(key);
      this.#written.set(key, nowMs);
      const [oldest] = this.#written.keys();
      if (this.#written.size > SEEN_MAX && oldest !== undefined) this.#written.delete(oldest);
      try {
        await untilEither([signal, AbortSignal.timeout(WRITE_MS)], (limit) =>
          this.#parts.kubernetes.recordEvent({ ...event, times }, limit),
        );
      } catch (error) {
        // It may have been written: what is lost is a word, and the log has it.
        this.#parts.log.debug({ reason: event.reason, failure: failureOf(error) }, 'an event could not be recorded');
        break;
      }
    }
    if (this.#dropped > 0) this.#parts.log.warn({ events: this.#dropped }, 'events were dropped: too many at once');
    this.#dropped = 0;
  }

  #fill(): void {
    const nowMs = this.#parts.clock.nowMs();
    const gained = ((nowMs - this.#filledMs) / 1_000) * PER_SECOND;
    this.#tokens = Math.min(BURST, this.#tokens + Math.max(0, gained));
    this.#filledMs = nowMs;
  }
}

const keyOf = ({ target, type, reason }: KubeEvent): string => JSON.stringify([target, type, reason]);
