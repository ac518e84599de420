/**
 * One life of a daemon's process, from its start to its crash. Everything it touches the world with goes through its life; once that
 * is over nothing of it reaches the world, and nothing of the world reaches it: its promises stay pending, its timers are dropped.
 *
 * This is what a crash is. `actor.stop()` is not one: it runs disposers, aborts signals and lets promises settle.
 */
import type { Timer, VirtualClock, XstateClock } from './virtual-clock.ts';

export class Life {
  /** 1 for the first life of a node. */
  readonly number: number;
  readonly #clock: VirtualClock;
  #over = false;

  constructor(number: number, clock: VirtualClock) {
    this.number = number;
    this.#clock = clock;
  }

  get over(): boolean {
    return this.#over;
  }

  end(): void {
    this.#over = true;
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.#clock.after(delayMs, () => {
      if (!this.#over) fire();
    });
  }

  readonly nowMs = (): number => this.#clock.nowMs();

  /** A promise that a dead process would never see settle. */
  promise<T>(run: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over) return;
      run(
        (value) => {
          if (!this.#over) resolve(value);
        },
        (reason) => {
          if (!this.#over) reject(reason);
        },
      );
    });
  }

  /** The clock of the root actor. */
  get timers(): XstateClock {
    return {
      setTimeout: (fire, delayMs) => this.after(delayMs, fire),
      clearTimeout: (timer) => this.#clock.cancel(timer),
    };
  }
}
