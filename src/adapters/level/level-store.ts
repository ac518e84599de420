/**
 * Port Store on LevelDB: one synced batch at a time; writers that arrive during a sync share the next one (group commit), so that
 * forty pods at once cost a handful of syncs.
 *
 * LevelDB's own lock file is the node's first exclusivity: a process that cannot take it must touch nothing else.
 * Source: classic-level README ("obtains an exclusive lock", `sync`); LevelDB doc/index.md, "Synchronous Writes".
 */
import { mkdir, stat } from 'node:fs/promises';
import { Level } from 'level';
import { EnactorError } from '../../core/errors.ts';
import type { Store, StoreOp, Sublevel, WriteOptions } from '../../ports/store.ts';
import { decoded, encoded } from './record.ts';

/** Another process holds the database. */
export class StoreLockedError extends EnactorError {}

type Db = Level<string, string>;
type RawOp = { readonly type: 'put' | 'del'; readonly in: Sublevel; readonly key: string; readonly value: string };
type Waiter = {
  readonly ops: readonly RawOp[];
  readonly resolve: () => void;
  readonly reject: (reason: EnactorError) => void;
};

/**
 * Opens, or creates with mode 0700, the database at `path`. Rejects with StoreLockedError when another process has it, and with
 * EnactorError `store` naming the path for anything else. A damaged database is not repaired here.
 */
export async function openLevelStore(path: string): Promise<Store> {
  await ownDirectory(path);
  const db: Db = new Level(path, { keyEncoding: 'utf8', valueEncoding: 'utf8' });
  try {
    await db.open();
  } catch (thrown) {
    const code = causeCode(thrown);
    if (code === 'LEVEL_LOCKED')
      throw new StoreLockedError('store', `already running: another process holds the database ${path}`, thrown);
    throw new EnactorError('store', `cannot open the database ${path}: ${causeText(thrown)}`, thrown);
  }
  return levelStore(db, path);
}

function levelStore(db: Db, path: string): Store {
  const sublevels = new Map<Sublevel, ReturnType<typeof sublevelOf>>();
  const sublevel = (name: Sublevel) => {
    const known = sublevels.get(name) ?? sublevelOf(db, name);
    sublevels.set(name, known);
    return known;
  };
  let waiting: Waiter[] = [];
  let syncing: Promise<void> | null = null;
  let closing: Promise<void> | null = null;
  const unsynced = new Set<Promise<void>>();

  const batch = (ops: readonly RawOp[], sync: boolean): Promise<void> =>
    db.batch<string, string>(
      ops.map((op) => ({ ...op, sublevel: sublevel(op.in) })),
      { sync },
    );
  const failure = (thrown: unknown): EnactorError =>
    new EnactorError('store', `cannot write to ${path}: ${causeText(thrown)}`, thrown);

  /** Goes beside the line of synced writers, and waits for no disk. */
  async function writeUnsynced(ops: readonly RawOp[]): Promise<void> {
    const writing = batch(ops, false);
    unsynced.add(writing);
    try {
      await writing;
    } catch (thrown) {
      throw failure(thrown);
    } finally {
      unsynced.delete(writing);
    }
  }

  async function syncAll(): Promise<void> {
    while (waiting.length > 0) {
      const sharing = waiting;
      waiting = [];
      try {
        await batch(
          sharing.flatMap(({ ops }) => ops),
          true,
        );
        for (const { resolve } of sharing) resolve();
      } catch (thrown) {
        const refusal = failure(thrown);
        for (const { reject } of sharing) reject(refusal);
      }
    }
    syncing = null;
  }

  return {
    async read(name) {
      try {
        const entries = await sublevel(name).iterator().all();
        return entries.map(([key, text]) => decoded(key, text));
      } catch (thrown) {
        throw new EnactorError('store', `cannot read ${name} from ${path}: ${causeText(thrown)}`, thrown);
      }
    },

    write(ops: readonly StoreOp[], { synced }: WriteOptions = { synced: true }) {
      return new Promise((resolve, reject) => {
        if (closing !== null) throw new EnactorError('store', `the database ${path} is closed`);
        if (ops.length === 0) return resolve();
        if (!synced) return resolve(writeUnsynced(ops.map(encoded)));
        // Encoded before it is queued: a value that is no JSON fails its own writer alone.
        waiting.push({ ops: ops.map(encoded), resolve, reject });
        syncing ??= syncAll();
      });
    },

    close() {
      closing ??= (async () => {
        await syncing;
        await Promise.allSettled(unsynced);
        await db.close();
      })();
      return closing;
    },
  };
}

function sublevelOf(db: Db, name: Sublevel) {
  return db.sublevel<string, string>(name, { keyEncoding: 'utf8', valueEncoding: 'utf8' });
}

/** A directory of somebody else, or something that is none, is refused before LevelDB gives it a worse name. */
async function ownDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const { uid } = await stat(path);
    const own = process.geteuid?.() ?? uid;
    if (uid !== own) throw new EnactorError('store', `${path} belongs to user ${uid}, this process runs as ${own}`);
  } catch (thrown) {
    if (thrown instanceof EnactorError) throw thrown;
    const what = ['EEXIST', 'ENOTDIR'].includes(causeCode(thrown)) ? 'is not a directory' : causeText(thrown);
    throw new EnactorError('store', `cannot use ${path} as database directory: ${what}`, thrown);
  }
}

/** `level` wraps: the reason is in the cause. */
function causeText(thrown: unknown): string {
  const error = thrown as { message?: string; cause?: { message?: string } };
  return error.cause?.message ?? error.message ?? String(thrown);
}

function causeCode(thrown: unknown): string {
  const error = thrown as { code?: string; cause?: { code?: string } };
  return error.cause?.code ?? error.code ?? '';
}
