/** Whether somebody whom the daemon asks now and then answers: when last, and since when not. */
import type { Clock } from '../ports/clock.ts';
import type { ReachReport } from '../ports/introspection.ts';

export class Reach {
  readonly #clock: Pick<Clock, 'nowMs'>;
  #report: ReachReport = { answeredMs: null, silent: null };

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** A refusal is an answer too. */
  answered(): void {
    this.#report = { answeredMs: this.#clock.nowMs(), silent: null };
  }

  /** @param why of this failure; since when is told of the first one */
  failed(why: string): void {
    const sinceMs = this.#report.silent?.sinceMs ?? this.#clock.nowMs();
    this.#report = { ...this.#report, silent: { sinceMs, why } };
  }

  report(): ReachReport {
    return this.#report;
  }
}
