// Loaded into the daemon by bench memory (--expose-gc --import): after SIGUSR2 it collects garbage and writes what is left, one line each
// time, to `heap` in its directory. Where that has a file `heap-snapshots`, it leaves a snapshot in the folder that the file names, too.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapSpaceStatistics, writeHeapSnapshot } from 'node:v8';

let nth = 0;
process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, rss, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  const spaces = Object.fromEntries(
    getHeapSpaceStatistics().map(({ space_name, space_used_size }) => [space_name, space_used_size]),
  );
  const into = existsSync('heap-snapshots') ? readFileSync('heap-snapshots', 'utf8') : null;
  nth += 1;
  if (into !== null) writeHeapSnapshot(join(into, `look-${String(nth).padStart(3, '0')}.heapsnapshot`));
  appendFileSync('heap', `${JSON.stringify({ heapUsed, rss, external, resources, spaces })}\n`);
});
