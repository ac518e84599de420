/** Tries paths and judges them: a path works when the far end answered and saw the sender's own address. */
import type { Lab } from '../lab.ts';
import type { Path } from './path-plan.ts';

export type Verdict = {
  readonly worked: boolean;
  /** Empty when it worked, else the sentence that says what was seen. */
  readonly why: string;
  readonly rttMs: number | null;
};

export type PathOutcome = Path & Verdict;

export type TryOptions = { readonly timeoutMs?: number; readonly atOnce?: number };

/** Never rejects: a name that is unknown is a path that does not work. */
export async function tryPath<P extends Pick<Path, 'from' | 'to' | 'family'>>(
  lab: Lab,
  path: P,
  timeoutMs = 2_000,
): Promise<P & Verdict> {
  const bad = (why: string) => ({ ...path, worked: false, why, rttMs: null });
  try {
    const own = lab.place(path.from).ips;
    const aim = lab.place(path.to).ips;
    const result = await lab.probe(path.from, path.to, timeoutMs, path.family);
    if (!result.reached) return bad(result.why);
    const { sourceSeen, answeredBy, rttMs } = result;
    if (!own.includes(sourceSeen)) return bad(`the far end saw ${sourceSeen} in place of ${own.join(' or ')}`);
    if (!aim.includes(answeredBy)) return bad(`the answer came from ${answeredBy} in place of ${aim.join(' or ')}`);
    return { ...path, worked: true, why: '', rttMs };
  } catch (error) {
    return bad(error instanceof Error ? error.message : String(error));
  }
}

/** Outcomes in the order of the paths, `atOnce` under way at a time; `each` hears of them as they come. */
export async function tryPaths(
  lab: Lab,
  paths: readonly Path[],
  { timeoutMs, atOnce = 16 }: TryOptions = {},
  each: (outcome: PathOutcome) => void = () => {},
): Promise<PathOutcome[]> {
  const outcomes: PathOutcome[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < paths.length; index = next++) {
      const path = paths[index];
      if (path === undefined) return;
      const outcome = await tryPath(lab, path, timeoutMs);
      outcomes[index] = outcome;
      each(outcome);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return outcomes;
}
