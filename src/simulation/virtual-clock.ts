/**
 * Time that moves only when it is told to: one timer at a time, in the order of their due times and then of their making, and after
 * each one everything that promises still have to do.
 *
 * XState's SimulatedClock fires later timers before the promises of an earlier one have run, and cannot say what is due next.
 * `settle` waits for one turn of the event loop: Node runs that only when no microtask is left, so whatever promises lead to has
 * happened by then. It is sound as long as nothing inside uses sockets, files, worker threads or Node's own timers.
 * Source: Node.js, "The event loop": microtasks are drained between any two callbacks.
 */
export type Timer = { readonly atMs: number; readonly order: number; fire: (() => void) | null };

/** What XState asks of a clock. */
export type XstateClock = {
  setTimeout(fire: (...args: unknown[]) => void, delayMs: number): Timer;
  clearTimeout(timer: Timer): void;
};

export class VirtualClock {
  readonly #heap: Timer[] = [];
  #nowMs: number;
  #made = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  readonly nowMs = (): number => this.#nowMs;

  at(atMs: number, fire: () => void): Timer {
    this.#made += 1;
    const timer = { atMs: Math.max(this.#nowMs, atMs), order: this.#made, fire };
    this.#push(timer);
    return timer;
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.at(this.#nowMs + delayMs, fire);
  }

  /** It never fires; cancelling twice, or after it has fired, is no error. */
  cancel(timer: Timer): void {
    timer.fire = null;
  }

  /** When the next timer is due; null: nothing will ever happen by itself. */
  nextDueMs(): number | null {
    while (this.#heap[0]?.fire === null) this.#pop();
    return this.#heap[0]?.atMs ?? null;
  }

  /** Lets time jump to the next timer and fires it; false: there was none. Promises are the caller's to `settle`. */
  fireNext(): boolean {
    if (this.nextDueMs() === null) return false;
    const timer = this.#pop();
    this.#nowMs = timer.atMs;
    const { fire } = timer;
    timer.fire = null;
    fire?.();
    return true;
  }

  /** Time passes without anything being due. */
  jumpTo(nowMs: number): void {
    const dueMs = this.nextDueMs();
    if (dueMs !== null && dueMs < nowMs) throw new RangeError(`a timer is due at ${dueMs}, before ${nowMs}`);
    this.#nowMs = Math.max(this.#nowMs, nowMs);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Timer;
      if (isBefore(parent, timer)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = timer;
  }

  #pop(): Timer {
    const heap = this.#heap;
    const first = heap[0] as Timer;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= heap.length) break;
      const other = heap[below + 1];
      if (other !== undefined && isBefore(other, heap[below] as Timer)) below += 1;
      const child = heap[below] as Timer;
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Resolves when no promise can go on without a timer. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
