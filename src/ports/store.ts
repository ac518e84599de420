/**
 * The node's durable state: small JSON records by sublevel and key.
 *
 * `write` is one atomic batch, synced to disk before it resolves; concurrent writes may share one sync. A failed batch leaves
 * everything as it was. With `synced: false` it resolves before the disk has it: such a batch outlives the process, though perhaps not
 * the machine, and no synced one waits for it.
 */
export type Sublevel =
  | 'leases'
  | 'intents'
  | 'answers'
  | 'reservations'
  | 'coolDowns'
  | 'leftovers'
  | 'enis'
  | 'pods'
  | 'inputs'
  | 'meta';

export const SUBLEVELS: readonly Sublevel[] = [
  'leases',
  'intents',
  'answers',
  'reservations',
  'coolDowns',
  'leftovers',
  'enis',
  'pods',
  'inputs',
  'meta',
];

export type StoreOp =
  | { readonly type: 'put'; readonly in: Sublevel; readonly key: string; readonly value: unknown }
  | { readonly type: 'del'; readonly in: Sublevel; readonly key: string };

export type WriteOptions = { readonly synced: boolean };

export type StoreState = {
  /** What was there when this process began, or later, and could not be used: why, and where it is kept for study. */
  readonly setAside: { readonly why: string; readonly path: string } | null;
  /** Since when nothing can be written, and why; null while writing works, as far as is known. */
  readonly failing: { readonly why: string; readonly sinceMs: number } | null;
};

export interface Store {
  /** All records of a sublevel in key order. A record that is no JSON is reported under its key as `unreadable`. */
  read(sublevel: Sublevel): Promise<{ key: string; value: unknown; unreadable?: string }[]>;
  /** Rejects with EnactorError `store`. Deleting a missing key is no error. */
  write(ops: readonly StoreOp[], options?: WriteOptions): Promise<void>;
  /** Keeps all that is there aside, for people, and goes on empty. Rejects with EnactorError `store`. */
  setAside(why: string): Promise<void>;
  /** Writes all of it anew where somebody has deleted it; true when that was done since it was last asked for. Never rejects. Absent: nothing can be deleted. */
  restore?(): Promise<boolean>;
  state(): StoreState;
  /** Idempotent; waits for writes under way. */
  close(): Promise<void>;
}

export const soundStore: StoreState = { setAside: null, failing: null };
