/**
 * What the garbage collector's witnesses have said so far, kept apart from its own memory: a lease is condemned while all of them call it
 * gone, from the first look that did. A look in which one of them speaks for it clears it, and so does a list that suspects it no more; one
 * that does not answer changes nothing. What is released was gone for the grace, at two looks at least.
 */
import type { GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';
import { type SecondLook, verdictOn } from '../core/garbage.ts';
import type { Report } from './violation.ts';

type Collector = Pick<GarbageCollectorContext, 'suspects' | 'condemned' | 'doomed' | 'graceMs' | 'nodeName'>;

export class Verdicts {
  readonly #report: Report;
  /** null: nothing was seen of the collector yet, which may know more. */
  #goneSinceMs: ReadonlyMap<string, number> | null = null;

  constructor(report: Report) {
    this.#report = report;
  }

  /** The second looks have come in. */
  judged(
    { suspects, condemned, doomed, graceMs, nodeName }: Collector,
    looks: readonly SecondLook[],
    atMs: number,
  ): void {
    const isNew = this.#goneSinceMs === null;
    const known = this.#goneSinceMs ?? new Map(Object.entries(condemned).map(([one, { sinceMs }]) => [one, sinceMs]));
    const gone = new Map<string, number>();
    this.#goneSinceMs = gone;
    for (const suspect of suspects) {
      const { sandbox } = suspect;
      const look = looks.find((one) => one.sandbox === sandbox);
      if (look === undefined) continue;
      const sinceMs = known.get(sandbox);
      const verdict = verdictOn(suspect, look, nodeName);
      if (verdict.gone) gone.set(sandbox, sinceMs ?? atMs);
      else if (verdict.unknown && sinceMs !== undefined) gone.set(sandbox, sinceMs);
    }
    if (isNew) return;
    for (const [sandbox, { sinceMs }] of Object.entries(condemned)) {
      const rightMs = gone.get(sandbox);
      if (rightMs === undefined) this.#report('gc', `${sandbox} stays condemned, and a witness has spoken for it`);
      else if (sinceMs < rightMs)
        this.#report('gc', `${sandbox} counts as gone since ${sinceMs}, and was called so first at ${rightMs}`);
    }
    for (const { sandbox } of doomed) {
      const sinceMs = gone.get(sandbox) ?? atMs;
      if (!known.has(sandbox) || atMs - sinceMs < graceMs)
        this.#report(
          'gc',
          `${sandbox} is to be released ${atMs - sinceMs} ms after it was called gone, of ${graceMs} ms`,
        );
    }
  }

  /** A list that suspects nobody. */
  cleared(): void {
    this.#goneSinceMs = new Map();
  }

  /** A release that went well: whoever comes under that name is somebody else. */
  released(sandbox: string): void {
    this.#goneSinceMs = new Map([...(this.#goneSinceMs ?? [])].filter(([one]) => one !== sandbox));
  }
}
