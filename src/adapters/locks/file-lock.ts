/**
 * An advisory lock on a file, held until the process ends, however it ends. Terway's daemon takes the same one on the same path, so
 * the two never manage one node at once.
 * Source: flock(2); Terway's /var/run/eni/terwayd.lock.
 */
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import koffi from 'koffi';
import { EnactorError } from '../../core/errors.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;
const EWOULDBLOCK = 11;

export type FileLock = {
  /** Whether the file at the path is the one that is locked: else whoever comes locks another one. */
  stillOurs(): boolean;
  release(): void;
};

/** Whether somebody holds it. A file that is not there nobody holds; none is made. Throws the system error. */
export function isLockHeld(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
  const flock = koffi.load('libc.so.6').func('int flock(int fd, int operation)');
  const fd = openSync(path, O_NOFOLLOW | O_RDONLY);
  try {
    return flock(fd, LOCK_SH | LOCK_NB) !== 0 && koffi.errno() === EWOULDBLOCK;
  } finally {
    closeSync(fd);
  }
}

/** null when somebody else holds it. The file is made if missing and never removed. Throws EnactorError naming the path. */
export function tryFileLock(path: string): FileLock | null {
  const flock = koffi.load('libc.so.6').func('int flock(int fd, int operation)');
  const fd = opened(path);
  if (flock(fd, LOCK_EX | LOCK_NB) === 0) {
    const { ino, dev } = fstatSync(fd);
    return {
      stillOurs() {
        const now = lstatSync(path, { throwIfNoEntry: false });
        return now?.ino === ino && now.dev === dev;
      },
      release: () => closeSync(fd),
    };
  }
  const errno = koffi.errno();
  closeSync(fd);
  if (errno === EWOULDBLOCK) return null;
  throw new EnactorError('invalidArgument', `cannot lock ${path}: errno ${errno}`);
}

function opened(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // A link that somebody planted there would have us make a file elsewhere.
    return openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  } catch (thrown) {
    throw new EnactorError('invalidArgument', `cannot open lock file ${path}: ${(thrown as Error).message}`, thrown);
  }
}
