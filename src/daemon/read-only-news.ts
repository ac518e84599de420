/** What read-only mode has kept from being done, and what it keeps from being done now: for the status, and once each for the log. */
import type { Clock } from '../ports/clock.ts';
import type { Introspection } from '../ports/introspection.ts';
import type { Log } from '../ports/log.ts';

/** Kinds of refused calls that are told of; the one refused longest ago goes first. */
const KINDS_MAX = 64;

type Refused = { readonly what: string; readonly times: number; readonly lastMs: number };

export class ReadOnlyNews {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #refused = new Map<string, Refused>();
  #would: readonly string[] = [];

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** A call that the Cloud port refused. */
  readonly refused = (what: string): void => {
    const known = this.#refused.get(what);
    if (known === undefined) this.#log.info({ what }, 'read-only mode: a call of the cloud was refused');
    this.#refused.delete(what); // so that the order is that of the last refusals
    this.#refused.set(what, { what, times: (known?.times ?? 0) + 1, lastMs: this.#clock.nowMs() });
    const [longestAgo] = this.#refused.keys();
    if (this.#refused.size > KINDS_MAX && longestAgo !== undefined) this.#refused.delete(longestAgo);
  };

  /** What the actors tell, with the refused calls added, the newest first. Outside of read-only mode nothing is added. */
  beside(introspection: Introspection): Introspection {
    return {
      ...introspection,
      report: () => {
        const report = introspection.report();
        const { readOnly } = report;
        if (readOnly === undefined) return report;
        return { ...report, readOnly: { ...readOnly, refused: [...this.#refused.values()].reverse() } };
      },
    };
  }

  /** To be called now and then: the log tells what would be done whenever that is otherwise. */
  tell(would: readonly string[]): void {
    if (would.join('\n') === this.#would.join('\n')) return;
    this.#would = would;
    this.#log.info({ would }, would.length === 0 ? 'read-only mode: nothing would be done' : 'read-only mode');
  }
}
