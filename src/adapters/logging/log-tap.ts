/**
 * Log lines for those who look: the last ones, and each new one as it is written. It stands between the log and its output, so that
 * nothing is seen here that was not masked there.
 */
export type LogListener = (line: string) => void;

/** Kept for whoever comes later. */
const LINES_MAX = 500;
const LINE_MAX = 4_096;

export class LogTap {
  readonly #write: (line: string) => void;
  readonly #listeners = new Set<LogListener>();
  #last: string[] = [];

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** To be given to the log. */
  readonly write = (line: string): void => {
    this.#write(line);
    const kept = line.length > LINE_MAX ? cutLine(line) : line.trimEnd();
    this.#last.push(kept);
    if (this.#last.length >= 2 * LINES_MAX) this.#last = this.#last.slice(-LINES_MAX);
    for (const listener of this.#listeners) listener(kept);
  };

  /** Oldest first; each is one JSON object. */
  last(count: number): readonly string[] {
    return this.#last.slice(-Math.min(count, LINES_MAX));
  }

  /** What it returns ends the listening. */
  listen(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** It stays JSON. */
function cutLine(line: string): string {
  return JSON.stringify({ cut: `${line.slice(0, LINE_MAX)}…` });
}
