/**
 * The inputs journal of one life: a bounded ring in memory, and behind it the same on disk.
 *
 * Noting costs an allocation nothing: what is noted is written later, in batches that are not synced, one at a time. When the store
 * is slower than the node what does not fit is counted and left out. What earlier lives have written is read once, beside the start.
 */
import type { InspectionEvent } from 'xstate';
import {
  firstSeq,
  type Input,
  inputKey,
  type JournalPage,
  type JournalQuery,
  parseInput,
  plainInput,
} from '../src/core/input-journal.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Log } from '../src/ports/log.ts';
import type { Store } from '../src/ports/store.ts';
import type { Timers } from './timers.ts';

const WRITE_DELAY_MS = 500;
/** Inputs that wait to be written. */
const BEHIND_MAX = 2_000;
/** The ring is cut when it has grown by this share, so that noting one does not move all. */
const SLACK = 1.25;

export class Inputs {
  readonly #max: number;
  readonly #store: Store;
  readonly #timers: Timers;
  readonly #log: Log;
  #ring: Input[] = [];
  #behind: Input[] = [];
  /** Keys on disk, oldest first; null until they are known. */
  #onDisk: string[] | null = null;
  #seq: number;
  /** The number before the first of this life. */
  readonly before: number;
  #unwritten = 0;
  #timer: unknown = null;
  #writing: Promise<void> | null = null;

  /** `max`: inputs kept; 0 keeps none. */
  constructor(max: number, ports: { readonly store: Store; readonly clock: Clock; readonly log: Log }, timers: Timers) {
    this.#max = max;
    this.#store = ports.store;
    this.#log = ports.log;
    this.#timers = timers;
    this.before = firstSeq(ports.clock.nowMs());
    this.#seq = this.before;
  }

  /** Of the last one that was noted. */
  get lastSeq(): number {
    return this.#seq;
  }

  /** Takes an event that entered at `atMs`, on its way to the chart's actor of this name. */
  note(actor: string, event: Input['event'], atMs: number): void {
    if (this.#max === 0) return;
    this.#seq += 1;
    const input: Input = { seq: this.#seq, atMs, actor, event };
    this.#ring.push(input);
    if (this.#ring.length > this.#max * SLACK) this.#ring.splice(0, this.#ring.length - this.#max);
    if (this.#behind.length < BEHIND_MAX) this.#behind.push(input);
    else this.#unwritten += 1;
    this.#timer ??= this.#timers.setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, WRITE_DELAY_MS);
  }

  page({ since, limit }: JournalQuery): JournalPage {
    const kept = this.#ring.slice(-this.#max);
    const inputs = this.#max === 0 ? [] : kept.filter((input) => input.seq > since).slice(0, limit);
    return {
      inputs: inputs.map(plainInput),
      next: inputs.at(-1)?.seq ?? since,
      lastSeq: this.#seq,
      firstSeq: this.#max === 0 ? null : (kept[0]?.seq ?? null),
      unwritten: this.#unwritten,
    };
  }

  /** Writes what is behind. Never rejects; a write under way is waited for, and what came meanwhile waits for the next one. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const going = this.#behind.slice(-this.#max);
    this.#unwritten += this.#behind.length - going.length;
    this.#behind = [];
    if (going.length === 0) return;
    try {
      this.#onDisk ??= await this.#readEarlier();
      const keys = [...this.#onDisk, ...going.map(({ seq }) => inputKey(seq))];
      const over = keys.splice(0, Math.max(0, keys.length - this.#max));
      await this.#store.write(
        [
          ...over.map((key) => ({ type: 'del' as const, in: 'inputs' as const, key })),
          ...going.map((input) => ({
            type: 'put' as const,
            in: 'inputs' as const,
            key: inputKey(input.seq),
            value: plainInput(input),
          })),
        ],
        { synced: false },
      );
      this.#onDisk = keys;
    } catch (error) {
      this.#unwritten += going.length;
      this.#log.debug({ inputs: going.length, err: String(error) }, 'inputs cannot be written');
    }
  }

  /** What earlier lives left goes before what this one has. */
  async #readEarlier(): Promise<string[]> {
    const records = await this.#store.read('inputs');
    const earlier = records.flatMap(({ value }) => parseInput(value) ?? []);
    this.#ring = [...earlier, ...this.#ring].slice(-this.#max);
    return records.map(({ key }) => key);
  }
}

/** By its logic: the snapshot of a chart that died tells nothing. */
const isChart = (ref: object): boolean => (ref as { logic?: { id?: unknown } }).logic?.id !== undefined; // not in XState's type of a reference

/**
 * What one chart says to another follows from what went before; the rest enters: sent by nobody, by a timer (a chart to itself), or
 * by an invoked call.
 */
export function entersFromOutside({
  actorRef,
  sourceRef,
  event,
}: Extract<InspectionEvent, { type: '@xstate.event' }>): boolean {
  if (event.type === 'xstate.init' || event.type === 'xstate.stop' || !isChart(actorRef)) return false;
  return sourceRef === undefined || sourceRef === actorRef || !isChart(sourceRef);
}
