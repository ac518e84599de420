/**
 * The first look at the store: may this program read it, is it this instance's, and does it hold all that it should?
 *
 * A data directory that came with a cloned image is another node's: its leases and intents name ENIs that are not ours to touch, so all of
 * it is set aside. What records need to become what this version reads is one batch with the new version number: it is done or it is not.
 */
import { EnactorError } from '../src/core/errors.ts';
import {
  META_KEY,
  parseStoreMeta,
  READABLE_FROM,
  STORE_VERSION,
  type StoreMeta,
  versionProblem,
} from '../src/core/store-meta.ts';
import type { Log } from '../src/ports/log.ts';
import { type Store, type StoreOp, SUBLEVELS, type Sublevel } from '../src/ports/store.ts';

type Hands = { readonly store: Store; readonly log: Log };

export type Records = Readonly<Record<Sublevel, Awaited<ReturnType<Store['read']>>>>;

/** What brings the records of the version before to version `to`. */
export type Migration = { readonly to: number; readonly ops: (records: Records) => readonly StoreOp[] };

/** None yet: version 0 is that of the stores that had no record of their own. */
export const migrations: readonly Migration[] = [];

/** Throws EnactorError `store` for a store that only newer programs can read. To be asked before anything is served. */
export async function refuseNewerStore(store: Store): Promise<void> {
  const meta = await readMeta(store);
  const problem = meta === null ? null : versionProblem(meta);
  if (problem !== null) throw new EnactorError('store', problem);
}

/** Makes the store this instance's, in our version. Resolves to whether it holds all that it should. */
export async function claimStore({ store, log }: Hands, instanceId: string, steps = migrations): Promise<boolean> {
  await refuseNewerStore(store);
  let meta = await readMeta(store);
  if (meta !== null && meta.instanceId !== instanceId) {
    const why = `it is that of instance ${meta.instanceId}, this is ${instanceId}`;
    await store.setAside(why);
    log.error({ ...store.state().setAside }, 'the store is set aside');
    meta = null;
  }
  // Before there was this record there were leases without one.
  const whole = meta?.whole ?? (await store.read('leases')).length > 0;
  const version = meta?.version ?? (whole ? 0 : STORE_VERSION);
  const ops = [...(await migrationOps(store, version, steps)), ...(await outdatedEnis(store, meta))];
  const claimed: StoreMeta = {
    version: Math.max(version, STORE_VERSION),
    readableFrom: Math.max(meta?.readableFrom ?? 0, READABLE_FROM),
    instanceId,
    whole,
    remembersEnis: true,
  };
  // Written in any case: whoever waits for this has waited for all that was written before.
  await store.write([...ops, metaOp(claimed)]);
  if (version < STORE_VERSION) log.info({ from: version, to: STORE_VERSION }, 'store migrated');
  return whole;
}

/** All that it should hold is known. */
export async function markWhole(store: Store): Promise<void> {
  const meta = await readMeta(store);
  if (meta !== null && !meta.whole) await store.write([metaOp({ ...meta, whole: true })]);
}

/** What is remembered of ENIs from before a program that does not remember had the store. */
async function outdatedEnis(store: Store, meta: StoreMeta | null): Promise<readonly StoreOp[]> {
  if (meta?.remembersEnis === true) return [];
  return (await store.read('enis')).map(({ key }) => ({ type: 'del', in: 'enis', key }));
}

export async function readMeta(store: Store): Promise<StoreMeta | null> {
  const record = (await store.read('meta')).find(({ key }) => key === META_KEY);
  return record === undefined ? null : parseStoreMeta(record.value);
}

const metaOp = (value: StoreMeta): StoreOp => ({ type: 'put', in: 'meta', key: META_KEY, value });

async function migrationOps(store: Store, version: number, steps: readonly Migration[]): Promise<readonly StoreOp[]> {
  const due = steps.filter(({ to }) => to > version).sort((a, b) => a.to - b.to);
  if (due.length === 0) return [];
  const read = await Promise.all(SUBLEVELS.map(async (name) => [name, await store.read(name)] as const));
  let records = Object.fromEntries(read) as Records;
  const all: StoreOp[] = [];
  for (const { ops } of due) {
    const step = ops(records);
    all.push(...step);
    records = after(records, step);
  }
  return all;
}

/** The records as the next step finds them. */
function after(records: Records, ops: readonly StoreOp[]): Records {
  const changed = Object.fromEntries(SUBLEVELS.map((name) => [name, [...records[name]]])) as Record<
    Sublevel,
    Records[Sublevel]
  >;
  for (const op of ops) {
    const others = changed[op.in].filter(({ key }) => key !== op.key);
    changed[op.in] = op.type === 'del' ? others : [...others, { key: op.key, value: op.value }];
  }
  return changed;
}
