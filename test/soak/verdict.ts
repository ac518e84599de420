/** What the soak found wrong: told at once, and counted. */
import { isDeepStrictEqual } from 'node:util';
import type { Judge } from '../lab/whole-path.ts';

const SHOWN_BYTES = 2_000;

export class Verdict implements Judge {
  readonly failures: string[] = [];
  /** What was looked at. */
  checks = 0;
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  readonly fail = (what: string): void => {
    this.failures.push(what);
    this.#say(`FAILED: ${what}`);
  };

  ok(holds: boolean, what: string): void {
    this.checks += 1;
    if (!holds) this.fail(what);
  }

  equal(found: unknown, wanted: unknown, what: string): void {
    this.ok(found === wanted, `${what}: ${String(found)} in place of ${String(wanted)}`);
  }

  strictSame(found: unknown, wanted: unknown, what: string): void {
    const text = (value: unknown) =>
      JSON.stringify(value instanceof Map ? [...value] : value)?.slice(0, SHOWN_BYTES) ?? 'nothing';
    this.ok(isDeepStrictEqual(found, wanted), `${what}: ${text(found)} in place of ${text(wanted)}`);
  }

  match(found: string, wanted: RegExp, what: string): void {
    this.ok(wanted.test(found), `${what}: ${found}`);
  }
}
