/** Configurations that change while the plan runs, and nodes that are cordoned: of a stream of its own, so that the other choices of a seed stay. */
import type { Changed, Decision } from './deed.ts';
import type { Seeded } from './seeded.ts';

export function withChanges(plan: readonly Decision[], chance: Seeded): readonly Decision[] {
  const cordoned = new Set<number>();
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(0.04)) return [decision];
    const { node, atMs } = decision;
    if (chance.chance(0.35)) {
      const is = !cordoned.has(node);
      if (is) cordoned.add(node);
      else cordoned.delete(node);
      return [decision, { do: 'cordon', node, cordoned: is, atMs }];
    }
    if (chance.chance(0.3)) {
      const command = chance.pick(['gc', 'sync'] as const);
      return [decision, { do: 'lookNow', node, command, atMs }];
    }
    return [decision, { do: 'settings', node, changed: changed(chance), atMs }];
  });
}

function changed(chance: Seeded): Changed {
  const maxIdle = chance.pick([0, 1, 4, 12]);
  const marks = { minIdle: chance.between(0, maxIdle), maxIdle, minEnis: chance.pick([0, 0, 1]) };
  return chance.pick<Changed>([
    marks,
    marks,
    { ...marks, maxEnis: chance.pick([null, 1, 2]) },
    { vSwitchIds: chance.pick([null, ['vsw-lab-1', 'vsw-lab-2'], ['vsw-lab-2', 'vsw-lab-1']]) },
    { eniPolicy: chance.pick(['most_ips', 'least_ips']), adaptivePool: chance.chance(0.5) },
    { reclaim: { afterMs: chance.pick([null, 20_000]), intervalMs: 15_000, batchSize: 2, jitterFactor: 0.1 } },
    // Never longer than at first: who watches how long a state lasts goes by that.
    { cloudPeriodMs: 70_000, gcPeriodMs: 30_000, kernelPeriodMs: 20_000 },
    { eniTags: { team: chance.pick(['a', 'b']) } },
  ]);
}
