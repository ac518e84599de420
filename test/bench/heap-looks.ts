/** Looks at the heap of a daemon that was started with `heapArgs`, each after a forced collection. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export type HeapLook = {
  readonly heapUsed: number;
  readonly rss: number;
  readonly external: number;
  /** Timers, sockets and requests that keep the process alive. */
  readonly resources: number;
  /** Bytes used, by space of V8. */
  readonly spaces: Readonly<Record<string, number>>;
};

const PATIENCE_MS = 60_000;

/**
 * Compiled code stays: V8 would drop that of functions which several collections have not seen called, 3 MB of what only a start needs, at
 * whichever look comes then, and with it hide as much growth.
 */
export const heapArgs: readonly string[] = [
  ...['--expose-gc', '--no-flush-bytecode'],
  '--import',
  fileURLToPath(new URL('heap-on-signal.mjs', import.meta.url)),
];

/** `directory`: the one that the daemon runs in. `snapshotInto`: a folder for a snapshot, which takes a while; null: none is wanted. */
export async function heapLook(pid: number, directory: string, snapshotInto: string | null = null): Promise<HeapLook> {
  const path = join(directory, 'heap');
  const wanted = join(directory, 'heap-snapshots');
  if (snapshotInto === null) rmSync(wanted, { force: true });
  else writeFileSync(wanted, snapshotInto);
  const lines = (): string[] => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
  const before = lines().length;
  process.kill(pid, 'SIGUSR2');
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; await sleep(20)) {
    const last = lines();
    if (last.length > before) return JSON.parse(last.at(-1) ?? '') as HeapLook;
  }
  throw new Error(`process ${pid} never told of its heap`);
}
