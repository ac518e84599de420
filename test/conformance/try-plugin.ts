/** Asks every point of one plugin, each on fresh ground. */
import { Ground, NotApplicable } from './ground.ts';
import { inputPoints } from './input-points.ts';
import { laterPoints } from './later-points.ts';
import type { Point } from './point.ts';
import type { Subject } from './subject.ts';
import { verbPoints } from './verb-points.ts';

export const POINTS: readonly Point[] = [...inputPoints, ...verbPoints, ...laterPoints];

export type Verdict = {
  readonly number: number;
  readonly words: string;
  readonly outcome: 'holds' | 'fails' | 'not asked';
  /** Why it fails or was not asked; empty when it holds. */
  readonly why: string;
};

export async function tryPlugin(
  subject: Subject,
  onVerdict: (verdict: Verdict) => void = () => {},
  points: readonly Point[] = POINTS,
): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const point of points) {
    const endings: (() => unknown)[] = [];
    const ground = new Ground(subject, `s${point.number}`, { teardown: (work) => void endings.push(work) });
    const { number, words } = point;
    const verdict = await point.holds(ground).then(
      (): Verdict => ({ number, words, outcome: 'holds', why: '' }),
      (error: unknown): Verdict => {
        const why = (error instanceof Error ? error.message : String(error)).split('\n').slice(0, 6).join(' ').trim();
        return { number, words, outcome: error instanceof NotApplicable ? 'not asked' : 'fails', why };
      },
    );
    for (const end of endings.reverse()) await end();
    verdicts.push(verdict);
    onVerdict(verdict);
  }
  return verdicts;
}
