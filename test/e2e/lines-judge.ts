/** A judge for people: a line for each thing that was looked at, with what was found where it is not so. */
import { inspect, isDeepStrictEqual } from 'node:util';
import type { Judge } from '../lab/whole-path.ts';

export function linesJudge(say: (line: string) => void): Judge & { readonly looked: number; readonly failed: number } {
  const counts = { looked: 0, failed: 0 };
  const judged = (holds: boolean, what: string, found?: unknown): void => {
    counts.looked += 1;
    if (!holds) counts.failed += 1;
    say(
      holds
        ? `  ok: ${what}`
        : `  NOT OK: ${what}${found === undefined ? '' : `\n${inspect(found, { depth: 5, maxArrayLength: 20 })}`}`,
    );
  };
  return {
    get looked() {
      return counts.looked;
    },
    get failed() {
      return counts.failed;
    },
    ok: (holds, what) => judged(holds, what),
    equal: (found, wanted, what) => judged(found === wanted, what, found),
    strictSame: (found, wanted, what) => judged(isDeepStrictEqual(found, wanted), what, found),
    match: (found, wanted, what) => judged(wanted.test(found), what, found),
    fail: (what) => judged(false, what),
  };
}
