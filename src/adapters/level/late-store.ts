/**
 * Port Store over a database that cannot be opened yet, since its disk is full or read-only: nothing can be read or written, and why is
 * told, until it opens by itself. Nobody may take it for an empty one meanwhile.
 *
 * LevelDB writes when it opens (a log, a MANIFEST), so a full disk keeps even the leases from being read.
 */
import { EnactorError } from '../../core/errors.ts';
import type { Store, StoreState } from '../../ports/store.ts';
import { systemClock } from '../clock/steady-clock.ts';

const RETRY_MS = 1_000;

/** @param open what failed with `first`; tried again and again. @param onOpen called once, when it has worked */
export function lateStore(open: () => Promise<Store>, first: EnactorError, onOpen: (store: Store) => void): Store {
  let store: Store | null = null;
  let failing: StoreState['failing'] = { why: first.detail, sinceMs: systemClock.nowMs() };
  let timer: NodeJS.Timeout | null = null;
  let opening: Promise<void> | null = null;
  let closed = false;
  const later = (): void => {
    timer = setTimeout(() => {
      opening = tryAgain();
    }, RETRY_MS).unref();
  };
  const tryAgain = async (): Promise<void> => {
    try {
      store = await open();
    } catch (thrown) {
      const why = thrown instanceof EnactorError ? thrown.detail : String(thrown);
      failing = { why, sinceMs: failing?.sinceMs ?? systemClock.nowMs() };
      if (!closed) later();
      return;
    }
    if (!closed) onOpen(store);
  };
  later();
  const opened = async (): Promise<Store> => {
    if (store === null || closed) throw new EnactorError('store', failing?.why ?? first.detail);
    return store;
  };
  return {
    read: async (sublevel) => await (await opened()).read(sublevel),
    write: async (ops, options) => await (await opened()).write(ops, options),
    setAside: async (why) => await (await opened()).setAside(why),
    restore: async () => (await store?.restore?.()) ?? false,
    state: () => store?.state() ?? { setAside: null, failing },
    async close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      await opening;
      await store?.close();
    },
  };
}
