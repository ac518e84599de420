/** What is done at the very moment that an actor enters a state in which something is under way. */
import type { Deed, PlanKinds } from './deed.ts';
import { crash, restart } from './endings.ts';
import { fault } from './faults.ts';
import { add, any, newPod, type Pods } from './pods.ts';
import type { Seeded } from './seeded.ts';

/** States in which something is under way; those that are left within the step that entered them cannot be met. */
const MOMENTS = [
  'node.starting.calling',
  'node.recovering.calling',
  'node.running.draining',
  'eni.creating.calling',
  'eni.creating.backingOff',
  'eni.creating.searching',
  'eni.creating.searchingLater',
  'eni.attaching.calling',
  'eni.attaching.waiting',
  'eni.attaching.describing',
  'eni.attaching.backingOff',
  'eni.settling.calling',
  'eni.settling.backingOff',
  'eni.inUse.resting.comparing',
  'eni.inUse.assigning.calling',
  'eni.inUse.unassigning',
  'eni.inUse.backingOff',
  'eni.inUse.confirming',
  'eni.inUse.confirming',
  'eni.lost.waiting',
  'eni.lost.recalling',
  'eni.draining.calling',
  'eni.draining.backingOff',
  'eni.detaching.describing',
  'eni.detaching.calling',
  'eni.detaching.backingOff',
  'eni.deleting.calling',
  'eni.deleting.describing',
  'eni.deleting.backingOff',
  'eni.stuck',
  'lease.opening.allocating',
  'lease.persisting',
  'lease.persisting',
  'lease.releasing',
  'idlePool.backingOff',
] as const;

export function ambush(chance: Seeded, kinds: PlanKinds, node: number, pods: Pods): Deed {
  const state = chance.pick(MOMENTS);
  return { do: 'ambush', node, state, nth: chance.between(1, 3), deeds: surprise(chance, kinds, node, pods, state) };
}

function surprise(chance: Seeded, kinds: PlanKinds, node: number, pods: Pods, state: string): readonly Deed[] {
  const gone = (): readonly Deed[] =>
    pods.live.slice(0, chance.between(1, 8)).map((container) => ({ do: 'del', node, container }));
  const come = (): readonly Deed[] =>
    Array.from({ length: chance.between(1, 6) }, () => add(chance, node, newPod(node, pods)));
  const again = (): readonly Deed[] => (pods.live.length > 0 ? [add(chance, node, any(chance, pods.live))] : come());
  const kind = chance.fraction();
  if (kind < 0.2 && kinds.crashes)
    return [chance.chance(0.3) ? restart(chance, node) : { ...crash(chance, node), point: 'now' }];
  if (kind < 0.4 && kinds.faults) {
    if (chance.chance(0.4)) {
      const port = chance.pick(['store', 'kernel'] as const);
      return [{ do: 'portFault', node, port, times: 1 }];
    }
    return fault(chance, node, kinds.dual);
  }
  if (kind < 0.55 && kinds.defects && (state.startsWith('eni.') || state.startsWith('lease.')))
    return [
      {
        do: 'defect',
        node,
        of: state.startsWith('eni.') ? 'eni' : 'lease',
        which: 0,
        forMs: chance.pick([5_000, 60_000, 300_000]),
      },
    ];
  if (kind < 0.75 && kinds.outOfBand && state.startsWith('eni.'))
    return [
      { ...outOfBand(chance, node), change: chance.pick(['detachEni', 'detachEni', 'unassign', 'deleteEni'] as const) },
    ];
  if (kind < 0.85) return come();
  return kind < 0.93 ? gone() : again();
}

export function outOfBand(chance: Seeded, node: number): Deed & { do: 'outOfBand' } {
  const change = chance.pick(['unassign', 'assign', 'detachEni', 'deleteEni', 'foreignEni'] as const);
  return { do: 'outOfBand', node, change, which: chance.between(0, 999) };
}
