/**
 * Follows a file's text, also where it is a mounted ConfigMap: there the file is a link through `..data`, which is swapped by one rename,
 * so that the file itself never changes.
 *
 * The directory's events only say that a look is worth while; a look now and then sees what no event told of (a mount of the single file,
 * a watch that could not be had).
 * Source: Kubernetes, pkg/volume/util/atomic_writer.go.
 */
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 5_000;
/** An editor writes in several steps, and what is half written is no configuration. */
const GATHER_MS = 100;

export type FileSight = { readonly text: string } | { readonly why: string };

/** `onSight` hears of the file whenever it is otherwise than it was last, beginning with `known`. Resolves when `end` fires. */
export async function watchFile(
  path: string,
  known: string,
  onSight: (sight: FileSight) => void,
  end: AbortSignal,
): Promise<void> {
  let last = JSON.stringify({ text: known });
  let wake: () => void = () => {};
  let watcher: FSWatcher | null = null;
  const watchDirectory = (): void => {
    try {
      watcher = watch(dirname(path), { persistent: false }, () => wake());
      watcher.on('error', () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      watcher = null; // the clock alone has to do
    }
  };
  try {
    while (!end.aborted) {
      // Before the look: what changes after it is told.
      if (watcher === null) watchDirectory();
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const sight = await look(path);
      const told = JSON.stringify(sight);
      if (told !== last) {
        last = told;
        onSight(sight);
      }
      await Promise.race([sleep(LOOK_MS, undefined, { signal: end }).catch(() => {}), woken]);
      await sleep(GATHER_MS, undefined, { signal: end }).catch(() => {});
    }
  } finally {
    (watcher as FSWatcher | null)?.close();
  }
}

async function look(path: string): Promise<FileSight> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (thrown) {
    return { why: `cannot be read: ${(thrown as NodeJS.ErrnoException).code ?? 'unknown error'}` };
  }
}
