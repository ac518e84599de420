/**
 * Gives a node’s pods back to Terway: its database is written, read again by the reader, and our store is set aside, since it will be wrong as
 * soon as Terway has bound one address. Until then nothing is changed; either daemon that runs is an obstacle.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readLeases, readReservations } from '../../actors/leases-on-disk.ts';
import { bucketFile } from '../adapters/bolt/bolt-writer.ts';
import { readTerwayDatabase, readTerwayTexts, TERWAY_BUCKET } from '../adapters/bolt/terway-database.ts';
import { hostWitness } from '../adapters/datapath/host-witness.ts';
import { openLevelStore, StoreLockedError } from '../adapters/level/level-store.ts';
import { tryFileLock } from '../adapters/locks/file-lock.ts';
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { EnactorError } from '../core/errors.ts';
import { type Handover, handover, type LeftToTell, type Refusal } from '../core/handover.ts';
import { parseRememberedEni } from '../core/remembered-eni.ts';
import type { TerwayRecord } from '../core/terway-record.ts';
import type { Store } from '../ports/store.ts';
import { placeFile } from './install/place-file.ts';

const CONFLIST = '10-enactor.conflist';

export type GiveBack = {
  readonly dataDir: string;
  readonly lockFile: string;
  readonly db: string;
  /** Where our CNI configuration is taken away, since it comes before Terway’s; null: it is left there. */
  readonly cniConfDir: string | null;
  /** Also when pods have to be left out, whose addresses Terway may then give to others. */
  readonly leaveOut: boolean;
};

export type GivenBack = {
  readonly written: readonly TerwayRecord[];
  readonly refused: readonly Refusal[];
  /** Where our store, and Terway’s old database, are kept; null: it stays where it is, there was none or it was not touched. */
  readonly store: string | null;
  readonly before: string | null;
};

/** A node without pods has nothing to give, which is well. Rejects with EnactorError: a daemon runs, there is no store, a file cannot be written. */
export async function giveBack(
  { dataDir, lockFile, db, cniConfDir, leaveOut }: GiveBack,
  nowMs: number,
): Promise<GivenBack> {
  const path = join(dataDir, 'db');
  if (!existsSync(path)) throw new EnactorError('store', `${path}: there is no store, so nothing to give back`);
  const store = await opened(path);
  const lock = tryFileLock(lockFile);
  try {
    if (lock === null) throw new EnactorError('notReady', `Terway’s daemon runs: it holds ${lockFile}`);
    const { records, refused, ours } = await told(store, recordsBefore(db), nowMs);
    // What the database tells of others it tells already, also of those that were given back before.
    if (ours === 0 && refused.length > 0 && leaveOut)
      throw new EnactorError('store', `${path} has no lease, so nothing to give back: ${db} stays as it is`);
    if (ours === 0 && refused.length === 0) {
      // Whoever comes back later has to find an empty store, else it does not look at Terway's database.
      if ((await store.read('enis')).length > 0) await store.setAside('the node is Terway’s again');
      takeAway(cniConfDir);
      return { written: [], refused, store: store.state().setAside?.path ?? null, before: null };
    }
    if (refused.length > 0 && !leaveOut) return { written: [], refused, store: null, before: null };
    const before = setAsideDatabase(db);
    placeFile(
      db,
      bucketFile(TERWAY_BUCKET, new Map([...records].map(([key, text]) => [key, Buffer.from(text)]))),
      0o600,
    );
    const written = readBack(db, records);
    await store.setAside('its leases were given back to Terway');
    takeAway(cniConfDir);
    return { written, refused, store: store.state().setAside?.path ?? null, before };
  } finally {
    lock?.release();
    await store.close();
  }
}

function takeAway(cniConfDir: string | null): void {
  if (cniConfDir !== null) rmSync(join(cniConfDir, CONFLIST), { force: true });
}

async function opened(path: string): Promise<Store> {
  try {
    return await openLevelStore(path);
  } catch (thrown) {
    if (!(thrown instanceof StoreLockedError)) throw thrown;
    throw new EnactorError('notReady', 'the daemon runs: stop it first (it would go on giving addresses)', thrown);
  }
}

async function told(
  store: Store,
  before: LeftToTell['before'],
  nowMs: number,
): Promise<Handover & { readonly ours: number }> {
  const host = hostWitness(openKoffiLibc());
  const [{ leases, unreadable }, reservations, enis, pods, slaves] = await Promise.all([
    readLeases(store),
    readReservations(store),
    store.read('enis'),
    host.pods(),
    host.behindSlaves(),
  ]);
  const remembered = enis.flatMap(({ value }) => parseRememberedEni(value) ?? []);
  const macs = new Map([
    ...remembered.map(({ eniId, mac }) => [eniId, mac] as const),
    ...leases.map(({ grant: { eni } }) => [eni.eniId, eni.mac] as const),
  ]);
  const left = { leases, reservations: [...reservations.values()], macs, onHost: [...pods, ...slaves] };
  const { records, refused } = handover({ ...left, before, nowMs });
  const broken = unreadable.map((sandbox) => ({ pod: '-', why: `the lease of sandbox ${sandbox} cannot be read` }));
  return { records, refused: [...refused, ...broken], ours: leases.length + reservations.size + unreadable.length };
}

/** Of one that cannot be read nothing; one that somebody has open is in the way later (setAsideDatabase). */
function recordsBefore(db: string): LeftToTell['before'] {
  try {
    return readTerwayTexts(db)?.texts ?? new Map();
  } catch (thrown) {
    if (thrown instanceof EnactorError) return new Map();
    throw thrown;
  }
}

function setAsideDatabase(db: string): string | null {
  // Throws when somebody has it open; that it cannot be read is no reason to keep it.
  try {
    if (readTerwayDatabase(db) === null) return null;
  } catch (thrown) {
    if (thrown instanceof EnactorError && /somebody has it open/.test(thrown.detail)) throw thrown;
  }
  const before = `${db}.before-enactor-gave-back`;
  renameSync(db, before);
  return before;
}

function readBack(db: string, records: Handover['records']): readonly TerwayRecord[] {
  const read = readTerwayDatabase(db);
  const names = new Set(read?.records.map(({ pod }) => `${pod.namespace}/${pod.name}`));
  const whole = read !== null && read.unreadable.length === 0 && names.size === records.size;
  if (!whole || ![...records.keys()].every((key) => names.has(key)))
    throw new EnactorError('store', `${db} does not read as it was written: our store stays as it is`);
  return read.records;
}
