/**
 * One target fed for a while: what is in its corpus first, then mutations. Inputs that reach code that none before them reached join the corpus.
 *
 * A finding is an exception that is none of the target's own, an input that takes longer than `SLOW_MS`, or one after which Object.prototype
 * is not what it was.
 */
import { setImmediate as breath } from 'node:timers/promises';
import type { Coverage } from './coverage.ts';
import { mutated, type Random } from './mutate.ts';
import type { Target } from './target.ts';

/** Far from what any takes (well under a millisecond), so that a busy machine is no finding. */
const SLOW_MS = 2_000;
const BATCH = 64;
const FINDINGS_MAX = 10;
/** Longer ones are no help to whoever reads them. */
const KEPT_BYTES = 2_048;

export type Finding = { readonly target: string; readonly what: string; readonly data: Buffer };
export type Fuzzed = {
  readonly inputs: number;
  readonly findings: readonly Finding[];
  /** Those that were not in the corpus and reached something new. */
  readonly found: readonly Buffer[];
};

export async function fuzz(
  target: Target,
  corpus: readonly Buffer[],
  {
    random,
    untilMs,
    coverage,
    watch,
  }: {
    readonly random: Random;
    /** Of `performance.now()`. */
    readonly untilMs: number;
    readonly coverage: Coverage | null;
    /** Told of each input before it is read. */
    readonly watch?: (data: Buffer) => void;
  },
): Promise<Fuzzed> {
  const known = [...target.seeds, ...corpus];
  const findings: Finding[] = [];
  const found: Buffer[] = [];
  let inputs = 0;
  const read = async (data: Buffer): Promise<void> => {
    watch?.(data);
    inputs += 1;
    const what = await whatIsWrong(target, data);
    if (what !== null) findings.push({ target: target.name, what, data });
  };
  for (const data of known) await read(data);
  coverage?.fresh();
  while (performance.now() < untilMs && findings.length < FINDINGS_MAX) {
    const batch = Array.from({ length: BATCH }, () => mutated(known, random));
    for (const data of batch) await read(data);
    if (coverage !== null && coverage.fresh(false) > 0)
      for (const data of batch) {
        await read(data);
        if (coverage.fresh() === 0 || data.length > KEPT_BYTES) continue;
        known.push(data);
        found.push(data);
      }
    await breath(); // for whoever wants to end us
  }
  return { inputs, findings, found };
}

/** null when nothing is. */
export async function whatIsWrong(target: Target, data: Buffer): Promise<string | null> {
  const sinceMs = performance.now();
  const before = Object.getOwnPropertyNames(Object.prototype).length;
  let problem: string | null = null;
  try {
    await target.run(Buffer.from(data));
  } catch (thrown) {
    if (!target.expected(thrown)) problem = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
  const tookMs = performance.now() - sinceMs;
  if (problem === null && tookMs > SLOW_MS) problem = `took ${Math.round(tookMs)} ms`;
  if (Object.getOwnPropertyNames(Object.prototype).length !== before) problem = 'Object.prototype has another property';
  return problem;
}
