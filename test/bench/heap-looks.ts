/** Looks at the heap of a daemon that was started with `heapArgs`, each after a forced collection. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export type HeapLook = {
  readonly heapUsed: number;
  readonly rss: number;
  readonly external: number;
  /** Timers, sockets and requests that keep the process alive. */
  readonly resources: number;
};

const PATIENCE_MS = 20_000;

export const heapArgs: readonly string[] = [
  '--expose-gc',
  '--import',
  fileURLToPath(new URL('heap-on-signal.mjs', import.meta.url)),
];

/** `directory`: the one that the daemon runs in. */
export async function heapLook(pid: number, directory: string): Promise<HeapLook> {
  const path = join(directory, 'heap');
  const lines = (): string[] => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
  const before = lines().length;
  process.kill(pid, 'SIGUSR2');
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; await sleep(20)) {
    const last = lines();
    if (last.length > before) return JSON.parse(last.at(-1) ?? '') as HeapLook;
  }
  throw new Error(`process ${pid} never told of its heap`);
}
