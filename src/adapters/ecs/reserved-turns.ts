/** Turns that have come, for calls that are made soon after: what they ask for may be settled meanwhile. One that nobody makes use of is lost. */
export class ReservedTurns {
  readonly #nowMs: () => number;
  readonly #keptMs: number;
  /** By call: since when, oldest first. */
  readonly #since = new Map<string, readonly number[]>();

  constructor(nowMs: () => number, keptMs: number) {
    this.#nowMs = nowMs;
    this.#keptMs = keptMs;
  }

  add(call: string): void {
    for (const known of this.#since.keys()) this.#keep(known, this.#of(known));
    this.#keep(call, [...this.#of(call), this.#nowMs()]);
  }

  /** Whether there was one; it is used up. */
  use(call: string): boolean {
    const [first, ...others] = this.#of(call);
    this.#keep(call, others);
    return first !== undefined;
  }

  #of(call: string): readonly number[] {
    const fromMs = this.#nowMs() - this.#keptMs;
    return (this.#since.get(call) ?? []).filter((atMs) => atMs > fromMs);
  }

  #keep(call: string, since: readonly number[]): void {
    if (since.length === 0) this.#since.delete(call);
    else this.#since.set(call, since);
  }
}
