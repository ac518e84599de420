/**
 * What one experiment with a cloud showed, beside what our simulated cloud assumes of it. The assumptions are those that no source tells
 * (`ESTIMATES` of the simulation lists them).
 */
import type { ProfileSettings } from '../vpc/cloud-profile.ts';

export type Verdict =
  | 'agrees'
  | 'differs'
  /** It could not be tried, or the answer allows no verdict. */
  | 'unknown';

export type Finding = {
  /** Short and stable, for programs: `detachAvailable`, `attaching`. */
  readonly name: string;
  /** What is assumed, as a sentence. */
  readonly assumed: string;
  readonly seen: string;
  readonly verdict: Verdict;
  /** What a simulated cloud has to be set to in order to behave as this one did; null: it has no switch for it. */
  readonly settings: ProfileSettings | null;
};

/** What the simulated cloud would have shown, and the word for both. */
export function toldApart<T>(
  name: string,
  assumed: string,
  expected: T,
  seen: T,
  settings: ProfileSettings | null,
  words: (value: T) => string = String,
): Finding {
  return { name, assumed, seen: words(seen), verdict: seen === expected ? 'agrees' : 'differs', settings };
}

export const notTried = (name: string, assumed: string, why: string): Finding => ({
  ...{ name, assumed, seen: why, verdict: 'unknown', settings: null },
});
