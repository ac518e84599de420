/**
 * Keeps on disk what addresses our ENIs have, for a restart while the cloud is away (recall.ts).
 *
 * What is gained is written when a moment has passed since, without a sync and off the way of every request; what is about to be given
 * away is struck out with the intent, in one batch, before the call leaves. So a record may lack addresses, and never has one too many
 * through our own doing.
 */
import type { Intent } from '../src/core/intent.ts';
import { parseRememberedEni, type RememberedEni } from '../src/core/remembered-eni.ts';
import type { Log } from '../src/ports/log.ts';
import type { Store, StoreOp } from '../src/ports/store.ts';
import type { Timers } from './timers.ts';

/** ENIs change in bursts: their books are looked at once for all that happens meanwhile. */
const WRITE_DELAY_MS = 250;
/** The store refused: tried again after this. */
const RETRY_MS = 2_000;

/** The record may be on disk in whatever shape: it is written anew. */
const UNSURE = '';

export class EniMemory {
  readonly #store: Store;
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #books: () => readonly RememberedEni[] | null;
  /** By ENI, the record's text; null until what is on disk may be replaced. */
  #onDisk: Map<string, string> | null = null;
  #timer: unknown = null;
  #writing: Promise<void> | null = null;

  /** @param books the ENIs of this moment, as they are to be remembered; null when nobody can tell */
  constructor(store: Store, timers: Timers, log: Log, books: () => readonly RememberedEni[] | null) {
    this.#store = store;
    this.#timers = timers;
    this.#log = log;
    this.#books = books;
  }

  /** From now on the books are what the cloud has told. */
  async begin(): Promise<void> {
    const records = await this.#store.read('enis');
    this.#onDisk = new Map(records.map(({ key, value }) => [key, JSON.stringify(value)]));
  }

  /** Some ENI has changed. */
  touch(): void {
    if (this.#onDisk !== null) this.#arm(WRITE_DELAY_MS);
  }

  /** What goes into the batch of an intent. No record from before is on its way to the disk once this has resolved. */
  async struckOut(intent: Intent): Promise<readonly StoreOp[]> {
    if (this.#onDisk === null || intent.eniId === null || !TAKES_AWAY.includes(intent.kind)) return [];
    while (this.#writing !== null) await this.#writing;
    const { eniId } = intent;
    const text = this.#onDisk.get(eniId);
    if (text === undefined) return [];
    const known = text === UNSURE ? null : parseRememberedEni(JSON.parse(text));
    // Whether the batch succeeds its writer alone will know.
    this.#onDisk.set(eniId, UNSURE);
    if (known === null || intent.kind !== 'unassign') return [{ type: 'del', in: 'enis', key: eniId }];
    const stays = (ip: string): boolean => !intent.ips.includes(ip);
    const value = { ...known, ipv4: known.ipv4.filter(stays), ipv6: known.ipv6.filter(stays) };
    return [{ type: 'put', in: 'enis', key: eniId, value }];
  }

  /** Writes what has changed. Never rejects. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
    if (this.#timer !== null) this.#timers.clearTimeout(this.#timer);
    this.#timer = null;
    const onDisk = this.#onDisk;
    if (onDisk === null) return;
    // Between looking at the books and handing them over nothing may be awaited.
    const now = this.#books();
    if (now === null) return;
    const books = new Map(now.map((record) => [record.eniId, record]));
    const changed = [...books.values()].filter((record) => onDisk.get(record.eniId) !== JSON.stringify(record));
    const gone = [...onDisk.keys()].filter((eniId) => !books.has(eniId));
    const ops = [
      ...changed.map((value): StoreOp => ({ type: 'put', in: 'enis', key: value.eniId, value })),
      ...gone.map((key): StoreOp => ({ type: 'del', in: 'enis', key })),
    ];
    if (ops.length === 0) return;
    this.#writing = this.#write(ops, onDisk).finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #write(ops: readonly StoreOp[], onDisk: Map<string, string>): Promise<void> {
    try {
      await this.#store.write(ops, { synced: false });
      for (const op of ops) {
        if (op.type === 'put') onDisk.set(op.key, JSON.stringify(op.value));
        else onDisk.delete(op.key);
      }
    } catch (error) {
      for (const { key } of ops) onDisk.set(key, UNSURE);
      this.#log.debug({ enis: ops.length, err: String(error) }, 'what is known of ENIs cannot be written yet');
      this.#arm(RETRY_MS);
    }
  }

  #arm(delayMs: number): void {
    this.#timer ??= this.#timers.setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, delayMs);
  }
}

const TAKES_AWAY: readonly Intent['kind'][] = ['unassign', 'detach', 'delete'];
