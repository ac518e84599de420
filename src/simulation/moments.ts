/**
 * The awkward moments of the supervisors and of what ends: ambushes that chance alone hardly ever lays, of a stream of their own, so
 * that the other choices of a seed stay.
 *
 * Each is a state, and what makes trouble of the very call that is under way in it.
 */
import type { Decision, Deed, PlanKinds } from './deed.ts';
import type { Seeded } from './seeded.ts';

/** In an ambush of a lease: its own container. */
export const MET = 'the one that is met';

type Moment = { readonly state: string; readonly deeds: (chance: Seeded, node: number) => readonly Deed[] };

const slow = (chance: Seeded, node: number): readonly Deed[] => [
  { do: 'slowApi', node, ms: chance.pick([2_000, 20_000, 100_000]), forMs: 30_000 },
];
const broken =
  (port: 'store' | 'kernel' | 'kubernetes' | 'sandboxes') =>
  (chance: Seeded, node: number): readonly Deed[] => [{ do: 'portFault', node, port, times: chance.pick([1, 2, 4]) }];
const dies =
  (of: 'eni' | 'lease' | 'supervisor') =>
  (_: Seeded, node: number): readonly Deed[] => [{ do: 'defect', node, of, which: 0, forMs: 60_000 }];
const askedAgain = (_: Seeded, node: number): readonly Deed[] => [
  { do: 'del', node, container: MET },
  { do: 'add', node, container: MET, withinMs: 30_000, abortMs: null },
];
const drifts = (chance: Seeded, node: number): readonly Deed[] => [
  { do: 'drift', node, flaw: 'podRoute', which: chance.between(0, 9) },
];
const stray = (chance: Seeded, node: number): readonly Deed[] => [
  { do: 'outOfBand', node, change: 'strayEni', which: chance.between(0, 9) },
];

/** Of whoever the ENI is: its Create fails for a while, and pods come. */
const noneMade = (chance: Seeded, node: number): readonly Deed[] => {
  const code = chance.pick(['InternalError', 'Forbidden.RAM', 'InvalidVSwitchId.IpNotEnough'] as const);
  const refused = { effect: 'fail', code, status: null, message: null, params: {} } as const;
  const pods = Array.from({ length: chance.between(1, 5) }, () => `n${node}-m${chance.between(0, 99_999)}`);
  return [
    { do: 'callFault', fault: { ...refused, api: 'CreateNetworkInterface', times: 20 }, forMs: 20_000 },
    ...pods.map((container) => ({ do: 'add', node, container, withinMs: 10_000, abortMs: null }) as const),
  ];
};
const unplugged = (chance: Seeded, node: number): readonly Deed[] => [
  { do: 'unplug', node, which: chance.between(0, 9), forMs: chance.pick([300, 3_000, 20_000]) },
];

const WITH_FAULTS: readonly Moment[] = [
  { state: 'garbageCollector.confirming', deeds: broken('store') },
  { state: 'eni.creating.calling', deeds: noneMade },
  { state: 'eni.inUse.assigning.calling', deeds: unplugged },
  { state: 'eni.attaching.calling', deeds: (_, node) => [{ do: 'lateDevices', node, lateMs: 45_000, forMs: 20_000 }] },
  { state: 'node.recovering.calling', deeds: broken('kernel') },
  { state: 'eni.inUse.unplugged', deeds: broken('kernel') },
  {
    state: 'lease.releasing',
    deeds: (_, node) => [{ do: 'add', node, container: MET, withinMs: 30_000, abortMs: null }],
  },
  { state: 'garbageCollector.listing', deeds: slow },
  { state: 'garbageCollector.confirming', deeds: slow },
  { state: 'garbageCollector.confirming', deeds: broken('kubernetes') },
  { state: 'garbageCollector.confirming', deeds: broken('sandboxes') },
  { state: 'garbageCollector.collecting', deeds: broken('store') },
  { state: 'kernelKeeper.sweeping', deeds: drifts },
  { state: 'eni.draining.calling', deeds: broken('kernel') },
  { state: 'lease.persisting', deeds: askedAgain },
];
const WITH_DEFECTS: readonly Moment[] = [
  { state: 'cloudKeeper.listing', deeds: dies('supervisor') },
  { state: 'kernelKeeper.sweeping', deeds: dies('supervisor') },
  { state: 'garbageCollector.confirming', deeds: dies('supervisor') },
  { state: 'lease.releasing', deeds: dies('lease') },
];
const WITH_OTHERS: readonly Moment[] = [
  { state: 'cloudKeeper.resting', deeds: stray },
  { state: 'cloudKeeper.resting', deeds: stray },
  { state: 'eni.detaching.waiting', deeds: (_, node) => [{ do: 'outOfBand', node, change: 'deletingEni', which: 0 }] },
];

export function withMoments(plan: readonly Decision[], kinds: PlanKinds, chance: Seeded): readonly Decision[] {
  const all = [
    ...(kinds.faults ? WITH_FAULTS : []),
    ...(kinds.defects ? WITH_DEFECTS : []),
    ...(kinds.outOfBand ? WITH_OTHERS : []),
  ];
  const [first, ...others] = all;
  if (first === undefined) return plan;
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(0.02)) return [decision];
    const { node, atMs } = decision;
    const { state, deeds } = chance.pick([first, ...others]);
    return [decision, { do: 'ambush', node, state, nth: chance.between(1, 2), deeds: deeds(chance, node), atMs }];
  });
}
