/**
 * Stores that are lost, whole or in one record, while pods run, and hosts that are booted: what is left then the host, the cloud and the
 * API server have to tell. Of a stream of its own, so that the other choices of a seed stay.
 */
import type { Decision, Deed } from './deed.ts';
import type { Seeded } from './seeded.ts';

/** Long enough for every call to arrive that had left: what was asked for by a life of which nothing is known, nobody can know. */
const DOWN_MS = [15_000, 60_000] as const;

export function withLosses(plan: readonly Decision[], chance: Seeded): readonly Decision[] {
  // Each costs all that a node has under way: most worlds are without.
  if (!chance.chance(0.3)) return plan;
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(0.03)) return [decision];
    const { node, atMs } = decision;
    return [decision, { ...loss(chance, node), atMs }];
  });
}

function loss(chance: Seeded, node: number): Deed {
  const which = chance.between(0, 999);
  switch (chance.pick(['store', 'lease', 'lease', 'reboot'] as const)) {
    case 'store':
      return { do: 'lose', node, what: 'store', which, downMs: chance.pick(DOWN_MS) };
    case 'lease':
      return { do: 'lose', node, what: 'lease', which, downMs: chance.pick([1, 1_000, 30_000]) };
    case 'reboot':
      return { do: 'reboot', node, downMs: chance.pick([1_000, 30_000]), kept: chance.fraction() };
  }
}
