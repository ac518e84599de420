/**
 * Reads a TAP stream while it arrives and counts what single assertions said, so that a run can close with one line of
 * numbers. A subtest's own line only repeats its assertions, unless it alone failed (a crash, a time-out, a wrong plan) or
 * was skipped as a whole: then it counts as one.
 * Source: TAP 14, subtests; node-tap emits a test file as a subtest of its first level.
 */
import { Parser, type Result } from 'tap-parser';

export type FileSummary = {
  readonly file: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
};

export type Failure = { readonly where: string; readonly diagnosis: unknown };
export type Skip = { readonly where: string; readonly reason: string };

export type Listener = {
  fileEnded(file: FileSummary): void;
  failure(failure: Failure): void;
  skip(skip: Skip): void;
  /** A comment of a test, or a line that is no TAP at all (the coverage summary). */
  note(text: string): void;
};

type Counts = { passed: number; failed: number; skipped: number };

const isNoise = (comment: string) => /^# (Subtest: |time=|\{ total: )/.test(comment);

/** `levels` are the counts of this parser and of all around it: each outcome is told to every one at once. */
function watch(parser: Parser, path: readonly string[], levels: readonly Counts[], listener: Listener): void {
  let child: Counts | undefined;
  parser.on('comment', (text: string) => {
    if (!isNoise(text)) listener.note(text.trimEnd());
  });
  parser.on('child', (each: Parser) => {
    child = { passed: 0, failed: 0, skipped: 0 };
    watch(each, [...path, each.name], [...levels, child], listener);
  });
  parser.on('assert', (result: Result) => {
    const inside = child;
    child = undefined;
    const where = [...path, result.name || `assertion ${result.id}`].join(' > ');
    const tally = (outcome: keyof Counts) => {
      for (const counts of inside ? [...levels, inside] : levels) counts[outcome]++;
    };
    const empty = !inside || inside.passed + inside.failed + inside.skipped === 0;
    const excuse = result.skip || result.todo;
    if (excuse && empty) {
      tally('skipped');
      listener.skip({ where, reason: typeof excuse === 'string' ? excuse : 'no reason given' });
    } else if (!excuse && !result.ok && !inside?.failed) {
      tally('failed');
      listener.failure({ where, diagnosis: result.diag });
    } else if (!excuse && result.ok && !inside) tally('passed');
    if (path.length === 0 && inside)
      listener.fileEnded({ file: result.name, seconds: (result.time ?? 0) / 1000, ...inside });
  });
}

/** A writable stream for the TAP of a whole run; `counts` grows as it is read. */
export function readTap(listener: Listener): { readonly stream: Parser; readonly counts: Readonly<Counts> } {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const stream = new Parser((results) => {
    if (results.ok || counts.failed > 0) return;
    counts.failed++;
    listener.failure({ where: 'the run as a whole', diagnosis: { failures: results.failures } });
  });
  stream.on('extra', (text: string) => listener.note(text.trimEnd()));
  watch(stream, [], [counts], listener);
  return { stream, counts };
}
