/**
 * Port Store with a disk that can crash: what is synced stays, what is not may be lost.
 *
 * Batches reach the disk in the order of their writing, each whole or not at all. A crash keeps as many of the pending ones as
 * `crash` is told; LevelDB's log gives the same promise. Held to the contract suite of the real store (test/contracts/store.ts).
 */
import { EnactorError } from '../core/errors.ts';
import { type Store, type StoreOp, type StoreState, type Sublevel, soundStore } from '../ports/store.ts';
import type { Life } from './life.ts';

type Encoded = { readonly type: 'put' | 'del'; readonly in: Sublevel; readonly key: string; readonly text: string };

/** Half a record. */
export const UNREADABLE = '{"half":';

export class CrashDisk {
  readonly #synced = new Map<Sublevel, Map<string, string>>();
  #pending: (readonly Encoded[])[] = [];

  get pending(): number {
    return this.#pending.length;
  }

  /** What a crash now would leave, at least: JSON texts by key. */
  synced(sublevel: Sublevel): ReadonlyMap<string, string> {
    const found = this.#synced.get(sublevel) ?? new Map<string, string>();
    this.#synced.set(sublevel, found);
    return found;
  }

  queue(batch: readonly Encoded[]): void {
    this.#pending.push(batch);
  }

  /** Syncs the pending batches up to this one. */
  sync(batch: readonly Encoded[]): void {
    this.#apply(this.#pending.indexOf(batch) + 1);
  }

  /** A batch that the disk refused leaves everything as it was. */
  drop(batch: readonly Encoded[]): void {
    this.#pending = this.#pending.filter((one) => one !== batch);
  }

  /** One record is gone, or cannot be read any more. */
  lose(sublevel: Sublevel, key: string, how: 'gone' | 'unreadable'): void {
    const records = this.synced(sublevel) as Map<string, string>;
    if (how === 'gone') records.delete(key);
    else records.set(key, UNREADABLE);
  }

  /** All of it is put where nobody looks. */
  clear(): void {
    this.#synced.clear();
    this.#pending = [];
  }

  /** The power goes: the first `kept` pending batches made it, the others did not. */
  crash(kept: number): void {
    this.#apply(kept);
    this.#pending = [];
  }

  #apply(count: number): void {
    for (const batch of this.#pending.splice(0, count)) {
      for (const op of batch) {
        const records = this.synced(op.in) as Map<string, string>;
        if (op.type === 'put') records.set(op.key, op.text);
        else records.delete(op.key);
      }
    }
  }
}

export type StoreTap = {
  /** May end the life: then nothing is written. */
  writing(ops: readonly StoreOp[]): void;
  /** Handed over and not yet synced. */
  pending(): void;
  /** Synced; the writer does not know it yet. */
  synced(ops: readonly StoreOp[]): void;
  /** Why this read or write fails, or null. */
  failing(): string | null;
};

const noTap: StoreTap = { writing() {}, pending() {}, synced() {}, failing: () => null };

export function crashStore(options: {
  readonly disk: CrashDisk;
  readonly life: Life;
  /** Of one sync. */
  readonly delayMs?: () => number;
  readonly tap?: StoreTap;
}): Store {
  const { disk, life, delayMs = () => 0, tap = noTap } = options;
  let open = true;
  let state: StoreState = soundStore;
  let lastSyncMs = 0;
  const writes = new Set<Promise<void>>();
  const closed = (): EnactorError => new EnactorError('store', 'the database is closed');

  function write(batch: readonly Encoded[], ops: readonly StoreOp[]): Promise<void> {
    return life.promise((resolve, reject) => {
      tap.writing(ops);
      if (life.over) return;
      const failure = tap.failing();
      disk.queue(batch);
      // Syncs end in the order of their writes.
      lastSyncMs = Math.max(lastSyncMs, life.nowMs() + delayMs());
      tap.pending();
      life.after(lastSyncMs - life.nowMs(), () => {
        if (failure !== null) {
          disk.drop(batch);
          reject(new EnactorError('store', `cannot write: ${failure}`));
          return;
        }
        disk.sync(batch);
        tap.synced(ops);
        resolve();
      });
    });
  }

  return {
    read: (sublevel) =>
      life.promise((resolve, reject) => {
        if (!open) return reject(closed());
        const failure = tap.failing();
        life.after(delayMs(), () => {
          if (failure === null) resolve([...disk.synced(sublevel)].sort(byBytes).map(decoded));
          else reject(new EnactorError('store', `cannot read ${sublevel}: ${failure}`));
        });
      }),
    async write(ops) {
      if (!open) throw closed();
      if (ops.length === 0) return;
      const writing = write(ops.map(encoded), ops);
      writes.add(writing);
      try {
        await writing;
      } finally {
        writes.delete(writing);
      }
    },
    async setAside(why) {
      if (!open) throw closed();
      await Promise.allSettled(writes);
      disk.clear();
      state = { ...state, setAside: { why, path: 'nowhere: this disk is simulated' } };
    },
    state: () => state,
    async close() {
      open = false;
      await Promise.allSettled(writes);
    },
  };
}

function encoded(op: StoreOp): Encoded {
  if (op.key === '') throw new EnactorError('store', `a record in ${op.in} has no key`);
  if (op.type === 'del') return { ...op, text: '' };
  const text = JSON.stringify(op.value);
  if (text === undefined) throw new EnactorError('store', `${op.in}/${op.key} has a value that is no JSON`);
  return { type: 'put', in: op.in, key: op.key, text };
}

function decoded([key, text]: [string, string]): { key: string; value: unknown; unreadable?: string } {
  try {
    return { key, value: JSON.parse(text) };
  } catch {
    return { key, value: null, unreadable: text };
  }
}

/** LevelDB orders keys by their bytes, JavaScript strings by UTF-16 units. */
function byBytes([a]: [string, string], [b]: [string, string]): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
