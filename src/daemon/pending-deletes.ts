/**
 * Carries out the deletions that the plugin noted while no daemon could be told (src/core/pending-delete.ts): release, then remove the
 * note. A note is kept while its release fails, and tried again.
 */
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { failureOf } from '../core/errors.ts';
import {
  PENDING_DELETE_SUFFIX,
  PENDING_DELETES_DIRECTORY,
  type PendingDelete,
  parsePendingDelete,
} from '../core/pending-delete.ts';
import type { Allocator } from '../ports/allocator.ts';
import type { Log } from '../ports/log.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';
import { meantByDelete } from './unnamed-sandbox.ts';

export type PendingDeletesParts = {
  readonly dataDir: string;
  readonly allocator: Allocator;
  readonly sandboxes: Sandboxes;
  readonly log: Log;
};

/** One pass over the notes there are; resolves to how many were carried out. Never rejects. */
export async function carryOutPendingDeletes(parts: PendingDeletesParts, signal: AbortSignal): Promise<number> {
  const directory = join(parts.dataDir, PENDING_DELETES_DIRECTORY);
  const names = await readdir(directory).catch(() => []);
  let done = 0;
  for (const name of names.filter((each) => each.endsWith(PENDING_DELETE_SUFFIX)).sort()) {
    if (signal.aborted) break;
    if (await carryOut(parts, join(directory, name), signal)) done += 1;
  }
  return done;
}

async function carryOut(
  { allocator, sandboxes, log }: PendingDeletesParts,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const note = parsePendingDelete(await readFile(path, 'utf8'));
    if (note === null) {
      // Kept for whoever wants to know, out of the way of the count that makes DEL fail.
      await rename(path, `${path}.unreadable`);
      log.error({ path }, 'a note of a deletion cannot be read and is set aside');
      return false;
    }
    const lease = allocator.lease(note.containerId, note.ifName);
    if (lease !== null && lease.boundAtMs > note.atMs) {
      log.info({ path, pod: podOf(note) }, 'a note of a deletion is older than the lease and is dropped');
    } else {
      const { ifName } = note;
      const pod = { namespace: note.podNamespace, name: note.podName, uid: note.podUid };
      const asked = { containerId: note.containerId, ifName, pod, netns: '', ips: [] };
      const { containerId } = await meantByDelete(allocator, sandboxes, asked);
      await allocator.release({ containerId, ifName, pod, reason: 'deleted while the daemon was away' }, signal);
    }
    await rm(path, { force: true });
    return true;
  } catch (thrown) {
    const missing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    if (!missing && !signal.aborted) log.warn({ path, failure: failureOf(thrown) }, 'a noted deletion is tried again');
    return false;
  }
}

function podOf(note: PendingDelete): string {
  return `${note.podNamespace}/${note.podName}`;
}
