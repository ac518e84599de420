/** The model's events, numbered and kept for a while, for hypervisors that run in another process. */
import type { VpcEvent } from '../../vpc/events.ts';
import type { VpcModel } from '../../vpc/model.ts';

export type NumberedEvent = VpcEvent & { readonly seq: number };
export type EventPage = {
  readonly lastSeq: number;
  /** True when events after `since` are no longer kept: read the truth anew. */
  readonly missed: boolean;
  readonly events: readonly NumberedEvent[];
};

const EVENTS_MAX = 20_000;
const WAIT_MAX_MS = 60_000;

export class EventLog {
  #events: NumberedEvent[] = [];
  #seq = 0;
  readonly #waiting = new Set<() => void>();
  readonly #unsubscribe: () => void;

  constructor(model: VpcModel) {
    this.#unsubscribe = model.subscribe((event) => {
      this.#seq += 1;
      this.#events.push({ ...event, seq: this.#seq });
      if (this.#events.length > EVENTS_MAX) this.#events = this.#events.slice(-EVENTS_MAX / 2);
      for (const wake of this.#waiting) wake();
    });
  }

  /** Events after `since`; waits for the first one up to `waitMs`. */
  async read(since: number, waitMs: number): Promise<EventPage> {
    if (this.#seq <= since && waitMs > 0) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(waitMs, WAIT_MAX_MS));
        this.#waiting.add(wake);
      });
    }
    const oldest = this.#events[0]?.seq ?? this.#seq + 1;
    return {
      lastSeq: this.#seq,
      missed: since + 1 < oldest,
      events: this.#events.filter((event) => event.seq > since),
    };
  }

  stop(): void {
    this.#unsubscribe();
    for (const wake of this.#waiting) wake();
  }
}
