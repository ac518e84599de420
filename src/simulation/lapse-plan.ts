/**
 * A witness of the garbage collector that is mistaken for one pass: from one list of pods to the next.
 *
 * Never for two passes in a row, nor soon after: what both witnesses say twice is true for all that the collector can know.
 */
import type { Lapse } from './deed.ts';

/** By then a pass has been finished that saw the truth. */
const APART_MS = 300_000;

export class LapsePlan {
  readonly #nowMs: () => number;
  #armed: Lapse | null = null;
  #now: Lapse | null = null;
  #freeFromMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  arm(of: Lapse): void {
    if (this.#nowMs() >= this.#freeFromMs) this.#armed = of;
  }

  /** Pods are listed: a pass begins. */
  listed(): void {
    this.#now = this.#armed;
    this.#armed = null;
    if (this.#now !== null) this.#freeFromMs = this.#nowMs() + APART_MS;
  }

  isOf(of: Lapse): boolean {
    return this.#now === of;
  }
}
