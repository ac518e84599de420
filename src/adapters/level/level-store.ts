/**
 * Port Store on LevelDB: one synced batch at a time; writers that arrive during a sync share the next one (group commit), so that
 * forty pods at once cost a handful of syncs.
 *
 * All records but the inputs are kept in memory too, as they were acknowledged. After a failed write LevelDB's log may end in half a
 * record, behind which later ones would be lost without a word, or may hold a batch whose writer was told that it failed. So the
 * database is opened anew before the next write, and made to be what memory says first. That also mends a disk that was full, as soon as
 * there is room; one that turns out damaged is set aside and written anew from memory. So is one that somebody has deleted (`rm -rf
 * /var/lib/cni`): LevelDB writes on into files that nobody finds again, and says nothing.
 *
 * LevelDB's own lock file is the node's first exclusivity: a process that cannot take it must touch nothing else.
 * Source: classic-level README ("obtains an exclusive lock", `sync`); LevelDB doc/index.md, "Synchronous Writes", db/log_reader.cc.
 */
import { EnactorError } from '../../core/errors.ts';
import {
  type Store,
  type StoreOp,
  type StoreState,
  SUBLEVELS,
  type Sublevel,
  type WriteOptions,
} from '../../ports/store.ts';
import { systemClock } from '../clock/steady-clock.ts';
import { type Database, openDatabase, type RawOp, StoreDamagedError, StoreNoRoomError } from './level-database.ts';
import { decoded, encoded } from './record.ts';
import { setAside } from './set-aside.ts';

export { StoreLockedError, StoreNoRoomError } from './level-database.ts';

/** Opening anew is not tried more often than this: a burst of pods on a full disk would do nothing else. */
const REOPEN_PAUSE_MS = 500;

type Waiter = {
  readonly ops: readonly RawOp[];
  readonly resolve: () => void;
  readonly reject: (reason: EnactorError) => void;
};

/**
 * Opens, or creates with mode 0700, the database at `path`; a damaged one is set aside first, which `state` tells. Rejects with
 * StoreLockedError when another process has it, StoreNoRoomError when the disk is full or read-only, and with EnactorError `store` naming the path for anything else.
 */
export async function openLevelStore(path: string): Promise<Store> {
  try {
    const db = await openDatabase(path);
    return new LevelStore(path, db, await mirrorOf(db), null);
  } catch (thrown) {
    if (!(thrown instanceof StoreDamagedError)) throw thrown;
    const kept = await setAside(path, Date.now());
    const why = thrown.detail;
    return new LevelStore(path, await openedAnew(path, `${why}; it is kept as ${kept}`), new Mirror(), {
      why,
      path: kept,
    });
  }
}

/** Where there is no room for a new one, `why` there has to be one is told with that. */
async function openedAnew(path: string, why: string): Promise<Database> {
  try {
    return await openDatabase(path);
  } catch (thrown) {
    if (!(thrown instanceof StoreNoRoomError)) throw thrown;
    throw new StoreNoRoomError('store', `${thrown.detail} (${why})`, thrown);
  }
}

class Mirror {
  readonly #records = new Map<Sublevel, Map<string, string>>();

  of(name: Sublevel): Map<string, string> {
    const found = this.#records.get(name) ?? new Map<string, string>();
    this.#records.set(name, found);
    return found;
  }

  apply(ops: readonly RawOp[]): void {
    for (const op of ops) {
      if (op.in === 'inputs') continue;
      if (op.type === 'put') this.of(op.in).set(op.key, op.value);
      else this.of(op.in).delete(op.key);
    }
  }

  /** What turns `other` into this. */
  since(other: Mirror): RawOp[] {
    return MIRRORED.flatMap((name) => {
      const [wanted, found] = [this.of(name), other.of(name)];
      const put = [...wanted].filter(([key, value]) => found.get(key) !== value);
      const del = [...found.keys()].filter((key) => !wanted.has(key));
      return [
        ...put.map(([key, value]) => ({ type: 'put', in: name, key, value }) as const),
        ...del.map((key) => ({ type: 'del', in: name, key, value: '' }) as const),
      ];
    });
  }
}

const MIRRORED = SUBLEVELS.filter((name) => name !== 'inputs');

/** Reads everything there is, the inputs too: what cannot be read shows here. A database that cannot is closed again. */
async function mirrorOf(db: Database): Promise<Mirror> {
  try {
    const mirror = new Mirror();
    for (const name of SUBLEVELS) {
      const entries = await db.entries(name);
      mirror.apply(entries.map(([key, value]) => ({ type: 'put', in: name, key, value })));
    }
    return mirror;
  } catch (thrown) {
    await db.close().catch(() => {});
    throw thrown;
  }
}

class LevelStore implements Store {
  readonly #path: string;
  #db: Database;
  #mirror: Mirror;
  #setAside: StoreState['setAside'];
  #failing: StoreState['failing'] = null;
  /** Since it was last asked for. */
  #restored = false;
  #triedMs = Number.NEGATIVE_INFINITY;
  #waiting: Waiter[] = [];
  #syncing: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  readonly #unsynced = new Set<Promise<void>>();

  constructor(path: string, db: Database, mirror: Mirror, aside: StoreState['setAside']) {
    this.#path = path;
    this.#db = db;
    this.#mirror = mirror;
    this.#setAside = aside;
  }

  state(): StoreState {
    return { setAside: this.#setAside, failing: this.#failing };
  }

  async read(name: Sublevel): Promise<ReturnType<typeof decoded>[]> {
    this.#mustBeOpen();
    const entries =
      name === 'inputs' ? await this.#db.entries(name) : [...this.#mirror.of(name)].sort(([a], [b]) => byBytes(a, b));
    return entries.map(([key, text]) => decoded(key, text));
  }

  write(ops: readonly StoreOp[], { synced }: WriteOptions = { synced: true }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#mustBeOpen();
      if (ops.length === 0) return resolve();
      if (!synced) return resolve(this.#writeUnsynced(ops.map(encoded)));
      // Encoded before it is queued: a value that is no JSON fails its own writer alone.
      this.#waiting.push({ ops: ops.map(encoded), resolve, reject });
      this.#syncing ??= this.#syncAll();
    });
  }

  async setAside(why: string): Promise<void> {
    this.#mustBeOpen();
    while (this.#syncing !== null) await this.#syncing;
    // Writers wait in line meanwhile.
    const moving = this.#beginAnew(why, new Mirror());
    this.#syncing = moving.catch(() => {}).then(() => this.#syncAll());
    await moving;
  }

  async restore(): Promise<boolean> {
    // Whoever writes finds out by himself.
    const rests = this.#closing === null && this.#syncing === null && this.#failing === null;
    if (rests && !this.#db.isThere()) {
      this.#failed(this.#deleted());
      this.#syncing = this.#mendOnly();
      await this.#syncing;
    }
    const restored = this.#restored;
    this.#restored = false;
    return restored;
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#syncing;
      await Promise.allSettled(this.#unsynced);
      await this.#db.close();
    })();
    return this.#closing;
  }

  #mustBeOpen(): void {
    if (this.#closing !== null) throw new EnactorError('store', `the database ${this.#path} is closed`);
  }

  async #syncAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const sharing = this.#waiting;
      this.#waiting = [];
      const ops = sharing.flatMap((waiter) => waiter.ops);
      try {
        await this.#writeSynced(ops);
        this.#mirror.apply(ops);
        for (const { resolve } of sharing) resolve();
      } catch (thrown) {
        const refusal = this.#failed(thrown);
        for (const { reject } of sharing) reject(refusal);
      }
    }
    this.#syncing = null;
  }

  /** Written, and still there when it was. */
  async #writeSynced(ops: readonly RawOp[]): Promise<void> {
    await this.#mend();
    await this.#db.batch(ops, true);
    if (this.#db.isThere()) return;
    this.#failed(this.#deleted());
    await this.#mend();
    await this.#db.batch(ops, true);
  }

  #deleted(): EnactorError {
    return new EnactorError('store', `the database ${this.#path} was deleted while it was in use`);
  }

  /** Goes beside the line of synced writers, and waits for no disk. */
  async #writeUnsynced(ops: readonly RawOp[]): Promise<void> {
    if (this.#failing !== null) {
      // Somebody has to find out that there is room again.
      this.#syncing ??= this.#mendOnly();
      throw new EnactorError('store', this.#failing.why);
    }
    const writing = this.#db.batch(ops, false);
    this.#unsynced.add(writing);
    try {
      await writing;
      this.#mirror.apply(ops);
    } catch (thrown) {
      throw this.#failed(thrown);
    } finally {
      this.#unsynced.delete(writing);
    }
  }

  async #mendOnly(): Promise<void> {
    await this.#mend().catch((thrown) => this.#failed(thrown));
    await this.#syncAll();
  }

  #failed(thrown: unknown): EnactorError {
    const refusal = thrown instanceof EnactorError ? thrown : new EnactorError('store', String(thrown), thrown);
    this.#failing = { why: refusal.detail, sinceMs: this.#failing?.sinceMs ?? systemClock.nowMs() };
    return refusal;
  }

  /** Opens the database anew after a failure, and makes it what was acknowledged. Rejects when that does not work yet. */
  async #mend(): Promise<void> {
    if (this.#failing === null) return;
    if (performance.now() - this.#triedMs < REOPEN_PAUSE_MS) throw new EnactorError('store', this.#failing.why);
    this.#triedMs = performance.now();
    await Promise.allSettled(this.#unsynced);
    const deleted = !this.#db.isThere();
    await this.#db.close().catch(() => {});
    try {
      this.#db = await openDatabase(this.#path);
      const missing = this.#mirror.since(await mirrorOf(this.#db));
      if (missing.length > 0) await this.#db.batch(missing, true);
    } catch (thrown) {
      if (!(thrown instanceof StoreDamagedError)) throw thrown;
      await this.#beginAnew(thrown.detail, this.#mirror);
    }
    this.#failing = null;
    this.#restored ||= deleted;
  }

  async #beginAnew(why: string, mirror: Mirror): Promise<void> {
    await Promise.allSettled(this.#unsynced);
    await this.#db.close().catch(() => {});
    try {
      this.#setAside = { why, path: await setAside(this.#path, Date.now()) };
      this.#mirror = mirror;
      this.#db = await openDatabase(this.#path);
      const all = mirror.since(new Mirror());
      if (all.length > 0) await this.#db.batch(all, true);
    } catch (thrown) {
      throw this.#failed(thrown);
    }
  }
}

/** LevelDB orders keys by their bytes, JavaScript strings by UTF-16 units. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
