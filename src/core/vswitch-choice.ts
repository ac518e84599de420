/**
 * In which vSwitch the next ENI is opened. Pure: chance comes in as a seed.
 *
 * How many addresses a vSwitch has left is a hint and never a verdict: the count lags by seconds, and others take from it too. So a
 * vSwitch that seems too small comes after those that seem large enough, and none is left out for it.
 */
import { fractionAt } from './chance.ts';

/**
 * random: any, with equal chances, so that the nodes of a cluster do not empty one vSwitch together. ordered: the one with the most
 * addresses left. listed: the first of the list.
 * Source: Terway's vswitch_selection_policy knows `random` (its default) and `ordered`, which sorts by addresses left, not by the
 * list; a configuration that is brought along means the same here. `listed` is ours.
 */
export const vSwitchPolicies = ['random', 'ordered', 'listed'] as const;
export type VSwitchPolicy = (typeof vSwitchPolicies)[number];

export type VSwitchChoice = {
  readonly policy: VSwitchPolicy;
  /** In [0, 1); each `nth` gets a choice of its own. */
  readonly seed: number;
  readonly nth: number;
  /** vSwitch -> addresses left as far as is known. */
  readonly free: Readonly<Record<string, number>>;
};

/** One of `ids` for an ENI of `count` addresses; undefined when there is none. */
export function chooseVSwitch(ids: readonly string[], count: number, choice: VSwitchChoice): string | undefined {
  const leftIn = (id: string): number => choice.free[id] ?? Number.POSITIVE_INFINITY;
  const byRoom = [...ids].sort((a, b) => compare(leftIn(b), leftIn(a)));
  const enough = ids.filter((id) => leftIn(id) >= count);
  if (enough.length === 0 || choice.policy === 'ordered') return byRoom[0];
  if (choice.policy === 'listed') return enough[0];
  return enough[Math.floor(fractionAt(choice.seed, choice.nth) * enough.length)];
}

/** Two unknown ones are alike: a difference of infinities would be none of -1, 0 and 1. */
const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);
