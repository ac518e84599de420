/**
 * `npm run bench -- --profile NAME`: the programs under Node that the bench measures write V8's processor profiles, and what they spent
 * their own time in is told, most first; of those that leave snapshots of their heap (memory), what the last one has more of than the first.
 * Figures of a profiled run are for comparing lines, not for aims.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { heapGrowth, heapParts } from './heap-growth.ts';

const SHOWN = 30;
const INTERVAL_US = 500;
const HEAP = '.heapsnapshot';

/** Arguments of Node. A program that is to leave a profile has to end by itself, not be killed. */
export function profileArgs(into: string | null): readonly string[] {
  if (into === null) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${into}`, `--cpu-prof-interval=${INTERVAL_US}`];
}

/** Of DevTools' format. Source: Chrome DevTools Protocol, Profiler.Profile. */
type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** Time spent in each function itself, most first, as text. Waiting does not count. */
export function ownTimes(profile: CpuProfile): string {
  const byNode = new Map<number, number>();
  profile.samples.forEach((id, nth) => {
    byNode.set(id, (byNode.get(id) ?? 0) + (profile.timeDeltas[nth] ?? 0));
  });
  const byPlace = new Map<string, number>();
  let all = 0;
  for (const { id, callFrame } of profile.nodes) {
    const us = byNode.get(id) ?? 0;
    const { functionName, url, lineNumber } = callFrame;
    if (us === 0 || functionName === '(idle)') continue;
    all += us;
    const file = url.split('/').at(-1) ?? '';
    const place = `${functionName || '(anonymous)'}${file === '' ? '' : ` ${file}:${lineNumber + 1}`}`;
    byPlace.set(place, (byPlace.get(place) ?? 0) + us);
  }
  return [...byPlace]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN)
    .map(
      ([place, us]) =>
        `${((100 * us) / all).toFixed(1).padStart(5)} %  ${(us / 1_000).toFixed(1).padStart(9)} ms  ${place}`,
    )
    .join('\n');
}

/** One text a profile that was left in the folder, and one of the heap. */
export function profilesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).sort();
  const times = names
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => `${name}\n${ownTimes(JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile)}`);
  const heaps = names.filter((name) => name.endsWith(HEAP));
  const [first, last] = [heaps[0], heaps.at(-1)];
  if (first === undefined || last === undefined || first === last) return times;
  const growth = heapGrowth(heapParts(join(folder, first)), heapParts(join(folder, last)));
  return [...times, `from ${first} to ${last}\n${growth}`];
}
