/** Things that will happen to ENIs by themselves, in order of their time, then of their making. Time only comes from outside. */
export type Step = 'created' | 'createFailed' | 'attached' | 'plugged' | 'attachFailed' | 'detached' | 'deleted';

export type Due = {
  readonly atMs: number;
  readonly eniId: string;
  /** The ENI's epoch when this was planned; a later change of plans raises it and leaves this one without effect. */
  readonly epoch: number;
  readonly step: Step;
};

export class Timeline {
  #dues: Due[] = [];

  plan(due: Due): void {
    const before = this.#dues.findLastIndex((other) => other.atMs <= due.atMs);
    this.#dues.splice(before + 1, 0, due);
  }

  nextDueMs(): number | null {
    return this.#dues[0]?.atMs ?? null;
  }

  /** Takes the first thing due at or before `nowMs`. */
  take(nowMs: number): Due | null {
    const first = this.#dues[0];
    if (first === undefined || first.atMs > nowMs) return null;
    this.#dues.shift();
    return first;
  }
}
