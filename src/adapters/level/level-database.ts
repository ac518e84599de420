/**
 * One LevelDB, opened: what level-store.ts stands on. It tells damage (which no waiting mends) from what may pass (a full disk).
 *
 * LevelDB opens *empty* when CURRENT is missing, and reads a table only when asked, so both are looked at here: a database that opens
 * has been read through.
 * Source: LevelDB doc/impl.md, "Recovery"; google/leveldb issues 75, 79, 160, 333.
 */
import { statSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import { EnactorError } from '../../core/errors.ts';
import type { Sublevel } from '../../ports/store.ts';

/** Another process holds the database. */
export class StoreLockedError extends EnactorError {}

/** The files are not what LevelDB wrote: waiting does not help. */
export class StoreDamagedError extends EnactorError {}

/** The disk is full or read-only: nothing is wrong with the files, and it may pass. */
export class StoreNoRoomError extends EnactorError {}

export type RawOp = {
  readonly type: 'put' | 'del';
  readonly in: Sublevel;
  readonly key: string;
  readonly value: string;
};

export type Database = {
  readonly batch: (ops: readonly RawOp[], sync: boolean) => Promise<void>;
  /** Key and text, in the order of the keys' bytes. */
  readonly entries: (sublevel: Sublevel) => Promise<[string, string][]>;
  /** Whether what is written can be found again: false once somebody has deleted or replaced the directory. */
  readonly isThere: () => boolean;
  readonly close: () => Promise<void>;
};

type Db = Level<string, string>;

/**
 * Opens, or creates with mode 0700, the database at `path`. Rejects with StoreLockedError, StoreDamagedError, or EnactorError `store`
 * naming the path for anything else. A damaged database is not repaired here.
 */
export async function openDatabase(path: string): Promise<Database> {
  await ownDirectory(path);
  await mustHaveCurrent(path);
  const db: Db = new Level(path, { keyEncoding: 'utf8', valueEncoding: 'utf8' });
  try {
    await db.open();
  } catch (thrown) {
    if (causeCode(thrown) === 'LEVEL_LOCKED')
      throw new StoreLockedError('store', `already running: another process holds the database ${path}`, thrown);
    throw failure(`cannot open the database ${path}`, thrown);
  }
  const opened = lockOf(path);
  const sublevels = new Map<Sublevel, ReturnType<typeof sublevelOf>>();
  const sublevel = (name: Sublevel) => {
    const known = sublevels.get(name) ?? sublevelOf(db, name);
    sublevels.set(name, known);
    return known;
  };
  return {
    async batch(ops, sync) {
      try {
        await db.batch<string, string>(
          ops.map((op) => ({ ...op, sublevel: sublevel(op.in) })),
          { sync },
        );
      } catch (thrown) {
        throw failure(`cannot write to ${path}`, thrown);
      }
    },
    async entries(name) {
      try {
        return await sublevel(name).iterator().all();
      } catch (thrown) {
        throw failure(`cannot read ${name} from ${path}`, thrown);
      }
    },
    isThere: () => opened !== null && lockOf(path) === opened,
    close: () => db.close(),
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
    if (NO_ROOM.test(causeText(thrown))) throw failure(`cannot use ${path} as database directory`, thrown);
    const what = ['EEXIST', 'ENOTDIR'].includes(causeCode(thrown)) ? 'is not a directory' : causeText(thrown);
    throw new EnactorError('store', `cannot use ${path} as database directory: ${what}`, thrown);
  }
}

/** The file that every opening of the directory shares, and none replaces; null when there is none. In the kernel's cache, so not waited for. */
function lockOf(path: string): string | null {
  const found = statSync(join(path, 'LOCK'), { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** Without it LevelDB would begin anew among the files of the old. */
async function mustHaveCurrent(path: string): Promise<void> {
  const names = await readdir(path);
  if (names.includes('CURRENT') || !names.some((name) => /^MANIFEST-|\.(ldb|sst|log)$/.test(name))) return;
  throw new StoreDamagedError('store', `the database ${path} is damaged: CURRENT is missing`);
}

/** A file that is missing, or empty (which cannot be mapped): no LevelDB error says that these are damage. */
const LOST_FILE = /(MANIFEST-\d+|CURRENT|\.ldb|\.sst|\.log): (No such file|Invalid argument)/;

/** Words of strerror(3), which are all that LevelDB passes on, and codes of Node. */
const NO_ROOM = /No space left on device|Disk quota exceeded|Read-only file system|ENOSPC|EDQUOT|EROFS/;

function failure(what: string, thrown: unknown): EnactorError {
  const detail = `${what}: ${causeText(thrown)}`;
  if (causeCode(thrown) === 'LEVEL_CORRUPTION' || LOST_FILE.test(detail))
    return new StoreDamagedError('store', detail, thrown);
  if (NO_ROOM.test(detail)) return new StoreNoRoomError('store', detail, thrown);
  return new EnactorError('store', detail, thrown);
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
