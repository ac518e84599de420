/**
 * A sandbox that was deleted while the daemon could not be told: one file in `<data directory>/pending-deletes`, written by
 * the plugin (whole and synced before it exits), read, carried out and removed by the daemon when it is back.
 */
export const PENDING_DELETES_DIRECTORY = 'pending-deletes';
export const PENDING_DELETE_SUFFIX = '.json';

/** So many notes mean that nobody has read them for long; then DEL fails rather than fill the disk. */
export const PENDING_DELETES_MAX = 256;

export type PendingDelete = {
  readonly version: 1;
  readonly containerId: string;
  readonly ifName: string;
  /** The network's name in the CNI configuration. */
  readonly network: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podUid: string | null;
  /** When the plugin ran, by its clock; a lease younger than this belongs to a later sandbox. */
  readonly atMs: number;
};

/** null when the text is no note of a version we know. */
export function parsePendingDelete(text: string): PendingDelete | null {
  let value: Partial<PendingDelete> | null;
  try {
    value = JSON.parse(text) as Partial<PendingDelete> | null;
  } catch {
    return null;
  }
  if (value?.version !== 1) return null;
  const { containerId, ifName, network, podNamespace, podName, podUid, atMs } = value;
  const texts = [containerId, ifName, network, podNamespace, podName];
  if (texts.some((each) => typeof each !== 'string') || containerId === '' || typeof atMs !== 'number') return null;
  return { ...(value as PendingDelete), podUid: typeof podUid === 'string' ? podUid : null };
}
