/**
 * Port Store in memory: the fake of level-store.ts, held to the same contract suite (test/contracts/store.ts). What it keeps outlives
 * `close`, as a disk does, when it is opened again over the same `disk`.
 */
import { EnactorError } from '../../core/errors.ts';
import { type Store, type StoreState, soundStore } from '../../ports/store.ts';
import { decoded, encoded } from './record.ts';

/** Sublevel -> key -> JSON text. Tests may plant text here. */
export type MemoryDisk = Map<string, Map<string, string>>;

export function memoryStore(disk: MemoryDisk = new Map()): Store {
  let open = true;
  let state: StoreState = soundStore;
  const records = (name: string) => {
    const found = disk.get(name) ?? new Map<string, string>();
    disk.set(name, found);
    return found;
  };
  const mustBeOpen = () => {
    if (!open) throw new EnactorError('store', 'the database is closed');
  };
  return {
    async read(name) {
      mustBeOpen();
      return [...records(name)].sort(byBytes).map(([key, text]) => decoded(key, text));
    },
    async write(ops) {
      mustBeOpen();
      for (const op of ops.map(encoded)) {
        if (op.type === 'put') records(op.in).set(op.key, op.value);
        else records(op.in).delete(op.key);
      }
    },
    async setAside(why) {
      mustBeOpen();
      disk.clear();
      state = { ...state, setAside: { why, path: 'nowhere: this store is in memory' } };
    },
    state: () => state,
    async close() {
      open = false;
    },
  };
}

/** LevelDB orders keys by their bytes, JavaScript strings by UTF-16 units. */
function byBytes([a]: [string, string], [b]: [string, string]): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
