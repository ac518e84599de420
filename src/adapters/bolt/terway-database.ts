/**
 * Terway's resource database, a bbolt file of one bucket. bbolt holds a lock on the file for as long as somebody has it open, whatever the lock of
 * the daemon says: what is locked is not read, since it may change under our hands.
 * Source: Terway, daemon/builder.go and pkg/storage; go.etcd.io/bbolt, db.go (flock).
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import koffi from 'koffi';
import { EnactorError } from '../../core/errors.ts';
import type { RecordBefore } from '../../core/handover.ts';
import { parseTerwayRecord, type TerwayRecord } from '../../core/terway-record.ts';
import { BoltError, readBucket } from './bolt-reader.ts';

export const TERWAY_DATABASE = '/var/lib/cni/terway/ResRelation.db';
export const TERWAY_BUCKET = 'relation';

const LOCK_SH = 1;
const LOCK_NB = 4;

export type TerwayRecords = {
  readonly records: readonly TerwayRecord[];
  /** What is wrong with the others: one that cannot be read hides none of the rest. */
  readonly unreadable: readonly string[];
};

/** null when there is no such file. Throws EnactorError `store` that names it. */
export function readTerwayDatabase(path: string): TerwayRecords | null {
  const read = readTerwayTexts(path);
  return read === null
    ? null
    : { records: [...read.texts.values()].map(({ record }) => record), unreadable: read.unreadable };
}

/** As they are written, too, by their keys. As `readTerwayDatabase`. */
export function readTerwayTexts(
  path: string,
): { readonly texts: ReadonlyMap<string, RecordBefore>; readonly unreadable: readonly string[] } | null {
  const file = unlocked(path);
  if (file === null) return null;
  const texts = new Map<string, RecordBefore>();
  const unreadable: string[] = [];
  for (const [key, value] of bucketOf(path, file)) {
    const text = value.toString();
    try {
      texts.set(key, { record: parseTerwayRecord(key, text), text });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      unreadable.push(error.message);
    }
  }
  return { texts, unreadable };
}

function unlocked(path: string): Buffer | null {
  const flock = koffi.load('libc.so.6').func('int flock(int fd, int operation)');
  let fd: number | null = null;
  try {
    fd = openSync(path, 'r');
    if (flock(fd, LOCK_SH | LOCK_NB) !== 0) throw new EnactorError('store', `${path}: somebody has it open`);
    return readFileSync(fd);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (thrown instanceof EnactorError) throw thrown;
    throw new EnactorError('store', `${path}: ${(thrown as Error).message}`, thrown);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function bucketOf(path: string, file: Buffer): ReadonlyMap<string, Buffer> {
  try {
    const bucket = readBucket(file, TERWAY_BUCKET);
    if (bucket !== null) return bucket;
  } catch (error) {
    if (error instanceof BoltError) throw new EnactorError('store', `${path}: ${error.message}`, error);
    throw error;
  }
  throw new EnactorError('store', `${path}: it has no bucket “${TERWAY_BUCKET}”: is it Terway’s resource database?`);
}
