/**
 * The store's own record: whose it is and how it is written.
 *
 * A version is raised when records change. One that a program of the version before reads without harm (something was added) keeps
 * `readableFrom`; otherwise that is raised too, and an older program refuses the store rather than misread it. An older program that may
 * read it leaves `version` as it is.
 */
export const STORE_VERSION = 1;
export const READABLE_FROM = 1;

export const META_KEY = 'store';

export type StoreMeta = {
  readonly version: number;
  /** The oldest program that may use it, by the version it writes. */
  readonly readableFrom: number;
  readonly instanceId: string;
  /**
   * False from the moment that a store begins empty until the host and the API server have told who holds what: as long as it is, no
   * address that was there already counts as free.
   */
  readonly whole: boolean;
  /**
   * What is remembered of ENIs was written by whoever had the store last. A program that knows nothing of those records leaves this out, and
   * may have given away addresses that they name.
   */
  readonly remembersEnis?: boolean;
};

/** null for what is no such record. */
export function parseStoreMeta(value: unknown): StoreMeta | null {
  const meta = value as Partial<StoreMeta> | null;
  if (typeof meta !== 'object' || meta === null) return null;
  const { version, readableFrom, instanceId, whole } = meta;
  if (!Number.isInteger(version) || !Number.isInteger(readableFrom)) return null;
  return typeof instanceId === 'string' && typeof whole === 'boolean' ? (meta as StoreMeta) : null;
}

/** The sentence that refuses a store of a newer program; null when it may be used. */
export function versionProblem({ version, readableFrom }: Pick<StoreMeta, 'version' | 'readableFrom'>): string | null {
  if (readableFrom <= STORE_VERSION) return null;
  return (
    `the database is of version ${version}, which programs from version ${readableFrom} on can read; this one has version ` +
    `${STORE_VERSION}: start a newer enactord, or set the database aside (deploy/operation.md, "When the store is lost")`
  );
}
