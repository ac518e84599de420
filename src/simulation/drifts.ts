/** What others do to a node's network while the plan runs: of a stream of its own, so that the other choices of a seed stay. */
import type { Decision } from './deed.ts';
import type { Flaw } from './plugged-kernel.ts';
import type { Seeded } from './seeded.ts';

const FLAWS = ['eniDown', 'eniRoute', 'foreignAddress', 'podRoute', 'podRoute', 'podRule'] as const satisfies Flaw[];

export function withDrifts(plan: readonly Decision[], chance: Seeded): readonly Decision[] {
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(0.04)) return [decision];
    const { node, atMs } = decision;
    // An agent that comes back, or a single slip.
    const times = chance.pick([1, 1, 1, 6]);
    const flaw = chance.pick(FLAWS);
    const which = chance.between(0, 999);
    if (chance.chance(0.1)) {
      const forMs = chance.pick([300, 2_000, 9_000, 40_000]);
      return [decision, { do: 'unplug', node, which, forMs, atMs }];
    }
    return [decision, ...Array.from({ length: times }, () => ({ do: 'drift', node, flaw, which, atMs }) as const)];
  });
}
