/**
 * One daemon for a node: the database's lock, then Terway's. Only who has both may touch sockets.
 *
 * In a rolling update the new daemon starts before the old one has drained, so a lock that is taken is waited for, but not long:
 * a daemon that waits for ever looks like one that works. Where a full disk keeps the database from being opened (nobody had it then),
 * Terway's lock alone has to do until there is room.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { lateStore } from '../adapters/level/late-store.ts';
import { openLevelStore, StoreLockedError, StoreNoRoomError } from '../adapters/level/level-store.ts';
import { tryFileLock } from '../adapters/locks/file-lock.ts';
import { EnactorError } from '../core/errors.ts';
import type { Store } from '../ports/store.ts';

const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 200;

export type Exclusive = {
  readonly store: Store;
  /**
   * Takes the lock anew when its file was deleted or replaced; true when it was. Throws EnactorError when somebody else has it by now.
   */
  restoreLock(): boolean;
  release(): Promise<void>;
};

/**
 * Rejects with EnactorError: `already running` when another daemon keeps a lock for five seconds, else what is wrong with a path. A disk
 * without room is no reason: the store tells it then (`state`), and `onOpen` is called once it is open.
 */
export async function exclusive(
  databasePath: string,
  lockPath: string,
  signal: AbortSignal,
  onOpen: (store: Store) => void = () => {},
): Promise<Exclusive> {
  const untilMs = performance.now() + LOCK_WAIT_MS;
  const store = await waited(untilMs, signal, async () => {
    try {
      return await openLevelStore(databasePath);
    } catch (thrown) {
      if (thrown instanceof StoreLockedError) return thrown;
      if (thrown instanceof StoreNoRoomError) return lateStore(() => openLevelStore(databasePath), thrown, onOpen);
      throw thrown;
    }
  });
  try {
    const held = `already running: another daemon holds ${lockPath}`;
    let lock = await waited(untilMs, signal, async () => tryFileLock(lockPath) ?? new EnactorError('notReady', held));
    return {
      store,
      restoreLock() {
        if (lock.stillOurs()) return false;
        const next = tryFileLock(lockPath);
        if (next === null) throw new EnactorError('notReady', held);
        lock.release();
        lock = next;
        return true;
      },
      async release() {
        await store.close();
        lock.release();
      },
    };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

/** Tries until it gets something else than a refusal; the last refusal is thrown. */
async function waited<T>(untilMs: number, signal: AbortSignal, take: () => Promise<T | EnactorError>): Promise<T> {
  for (;;) {
    const taken = await take();
    if (!(taken instanceof EnactorError)) return taken;
    if (performance.now() >= untilMs) throw taken;
    await sleep(LOCK_POLL_MS, undefined, { signal });
  }
}
