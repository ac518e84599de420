// Loaded into the daemon by bench memory (--expose-gc --import): after SIGUSR2 it collects garbage and writes what is left, one line each
// time, to `heap` in its directory.
import { appendFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, rss, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  appendFileSync('heap', `${JSON.stringify({ heapUsed, rss, external, resources })}\n`);
});
