/**
 * Which blocks of our code were run since the last look, by V8's own counters. A look costs a millisecond or more, so it is taken after a batch.
 * Source: Chrome DevTools protocol, Profiler.takePreciseCoverage (counters start anew with each).
 */
import { Session } from 'node:inspector';

export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  get blocks(): number {
    return this.#seen.size;
  }

  /** Blocks that were never run before. `keep` false: they stay new. */
  fresh(keep = true): number {
    let fresh = 0;
    // Answered at once: the session is of this very process.
    this.#session.post('Profiler.takePreciseCoverage', (error, told) => {
      if (error !== null) throw error;
      for (const { url, functions } of told.result) {
        if (!/\/(src|actors|statecharts)\/[^?]*\.ts/.test(url)) continue;
        for (const { ranges } of functions)
          for (const { startOffset, endOffset, count } of ranges) {
            const block = `${url}:${startOffset}:${endOffset}`;
            if (count === 0 || this.#seen.has(block)) continue;
            fresh += 1;
            if (keep) this.#seen.add(block);
          }
      }
    });
    return fresh;
  }

  close(): void {
    this.#session.disconnect();
  }
}
