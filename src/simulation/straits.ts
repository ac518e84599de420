/**
 * Moments that chance meets in one seed of hundreds, since several things have to come together: each is a state, and a whole small story
 * that begins when an actor enters it. In a part of the seeds only, and of a stream of its own, so that the other choices of a seed stay.
 *
 * What each is for is a way of a chart that was hardly ever gone before: a search that fails, a device that comes back at once, a start
 * whose calls crawl, a node that is asked while the truth comes in.
 */

import type { Decision, Deed, PlanKinds } from './deed.ts';
import { MET } from './moments.ts';
import { ABOUT_NOW, ambush, refused } from './ready-deeds.ts';
import type { Seeded } from './seeded.ts';

type Strait = { readonly state: string; readonly deeds: (chance: Seeded, node: number) => readonly Deed[] };

/** Of the seeds some have any, and those many. */
const SEEDS_SHARE = 0.35;
const OFTEN = 0.15;

const crowd = (chance: Seeded, node: number, size: number, withinMs: number): readonly Deed[] =>
  Array.from({ length: size }, () => {
    const container = `n${node}-s${chance.between(0, 999_999)}`;
    return { do: 'add', node, container, withinMs, abortMs: null };
  });

/** Some of the pods that most of the plan is about, those of them that are there. */
const some = (chance: Seeded, node: number): readonly string[] =>
  Array.from({ length: 10 }, () => `n${node}-p${chance.between(1, 60)}`);

const gone = (chance: Seeded, node: number): readonly Deed[] =>
  some(chance, node).map((container) => ({ do: 'fate', node, container, fate: 'deleted' }));

const leave = (chance: Seeded, node: number): readonly Deed[] =>
  some(chance, node).map((container) => ({ do: 'del', node, container }));

const broken = (node: number, port: 'store' | 'kernel', times: number): Deed => ({
  do: 'portFault',
  node,
  port,
  times,
});

/** Its calls take longer than those who wait have patience. */
const crawls = (forMs: number): Deed => ({
  do: 'callFault',
  fault: { api: '*', times: 200, params: {}, effect: 'delay', ms: 6_000 },
  forMs,
});

const dies = (node: number, kept: number): Deed => ({
  ...{ do: 'crash', node, point: 'now', nth: 1 },
  ...{ downMs: 50, kept },
});

const WITH_FAULTS: readonly Strait[] = [
  {
    state: 'eni.creating.searchingLater',
    deeds: (chance) => [refused('DescribeNetworkInterfaces', 'InternalError', chance.between(1, 2))],
  },
  {
    state: 'cloudKeeper.listing',
    deeds: () => [refused('DescribeNetworkInterfaces', 'InternalError', 3)],
  },
  // The device comes back while the ENI waits for it, and cannot always be set up.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => {
      const glitch: Deed = {
        do: 'unplug',
        node,
        which: chance.between(0, 9),
        forMs: chance.pick([200, 450, 700, 1_300]),
      };
      const bad = ambush(node, 'eni.inUse.unplugged', [broken(node, 'kernel', chance.between(1, 2))]);
      return chance.chance(0.4) ? [bad, glitch] : [glitch];
    },
  },
  {
    state: 'eni.inUse.backingOff',
    deeds: (chance, node) => [{ do: 'unplug', node, which: chance.between(0, 9), forMs: 3_000 }],
  },
  {
    state: 'kernelKeeper.sweeping',
    deeds: (chance, node) => [
      { do: 'drift', node, flaw: chance.pick(['eniDown', 'podRule']), which: chance.between(0, 9) },
      { do: 'unplug', node, which: chance.between(0, 9), forMs: 2_000 },
    ],
  },
  // A kept address ends while others wait at its ENI.
  {
    state: 'garbageCollector.confirming',
    deeds: (chance, node) => crowd(chance, node, chance.between(4, 12), 30_000),
  },
  // What is to be released takes longer than a pass may, or cannot be.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ...gone(chance, node),
      ambush(
        ...([node, 'garbageCollector.confirming'] as const),
        [{ do: 'slowStore', node, ms: 450, forMs: 2_000 }],
        chance.between(1, 3),
      ),
    ],
  },
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ...gone(chance, node),
      ambush(node, 'garbageCollector.confirming', [broken(node, 'store', chance.pick([3, 12]))], chance.between(1, 3)),
    ],
  },
  // An operator does not wait for the end of what goes on.
  { state: 'kernelKeeper.sweeping', deeds: (_, node) => [{ do: 'lookNow', node, command: 'sync' }] },
  { state: 'kernelKeeper.gathering', deeds: (_, node) => [{ do: 'lookNow', node, command: 'sync' }] },
  {
    state: 'kernelKeeper.sweeping',
    deeds: (chance, node) => [
      broken(node, 'kernel', 2),
      { do: 'drift', node, flaw: 'podRule', which: chance.between(0, 9) },
      ambush(node, 'kernelKeeper.backingOff', [{ do: 'lookNow', node, command: 'sync' }]),
    ],
  },
  {
    state: 'garbageCollector.listing',
    deeds: (_, node) => [
      { do: 'portFault', node, port: 'kubernetes', times: 2 },
      ambush(node, 'garbageCollector.backingOff', [{ do: 'lookNow', node, command: 'gc' }]),
      ambush(node, 'garbageCollector.resting', [{ do: 'lookNow', node, command: 'gc' }]),
    ],
  },
  // What rests is promised, and the promise cannot be written.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ...crowd(chance, node, 15, 10_000),
      ambush(
        ...([node, 'lease.releasing'] as const),
        [broken(node, 'store', chance.between(1, 2)), ...crowd(chance, node, 3, 2_000)],
        chance.between(1, 4),
      ),
    ],
  },
  // Those who wait for want of ENIs may have more, all at once.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      { do: 'settings', node, changed: { maxEnis: 1 } },
      ...crowd(chance, node, chance.between(12, 30), 30_000),
      ambush(
        ...([node, 'lease.persisting'] as const),
        [{ do: 'settings', node, changed: { maxEnis: null } }],
        chance.between(2, 6),
      ),
    ],
  },
  // Nobody can be asked whether there is a place.
  {
    state: 'eni.creating.calling',
    deeds: (chance, node) => [
      refused('CreateNetworkInterface', 'EniPerInstanceLimitExceeded', 20),
      refused('DescribeNetworkInterfaces', 'InternalError', chance.between(2, 6)),
      ...crowd(chance, node, chance.between(2, 6), 30_000),
    ],
  },
  // The pool hears of all kinds of things while it backs off.
  {
    state: 'idlePool.backingOff',
    deeds: (chance, node) => [
      {
        ...{ do: 'settings', node },
        changed: chance.pick([
          { minIdle: 0, maxIdle: 0 },
          { minIdle: 4, maxIdle: 12 },
        ]),
      },
    ],
  },
  { state: 'idlePool.backingOff', deeds: leave },
  // It has some, wants more, cannot have them, and has too many then.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      refused('CreateNetworkInterface', 'Forbidden.RAM', 20),
      refused('AssignPrivateIpAddresses', 'Forbidden.RAM', 20),
      { do: 'settings', node, changed: { minIdle: 20, maxIdle: 20 } },
      ambush(
        ...([node, 'idlePool.backingOff'] as const),
        chance.pick([
          [{ do: 'settings', node, changed: { minIdle: 0, maxIdle: 0 } }],
          [{ do: 'settings', node, changed: { minIdle: 0, maxIdle: 1 } }, ...leave(chance, node)],
        ]),
      ),
    ],
  },
  {
    state: 'eni.creating.calling',
    deeds: (chance, node) => [
      refused('CreateNetworkInterface', 'Forbidden.RAM', 20),
      ...crowd(chance, node, 25, 10_000),
    ],
  },
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      refused('CreateNetworkInterface', chance.pick(['InternalError', 'Forbidden.RAM']), 20),
      ...crowd(chance, node, chance.between(6, 20), 10_000),
    ],
  },
  {
    state: 'idlePool.backingOff',
    deeds: (chance, node) => [
      refused('CreateNetworkInterface', chance.pick(['InternalError', 'Forbidden.RAM']), 20),
      ...crowd(chance, node, chance.between(2, 8), 10_000),
    ],
  },
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      {
        do: 'callFault',
        fault: {
          ...{ api: 'CreateNetworkInterface', times: 3, params: {} },
          ...{ effect: 'transition', lastsMs: chance.pick([0, 1_500]), fails: true },
        },
        forMs: 60_000,
      },
      ...crowd(chance, node, chance.between(3, 10), 30_000),
    ],
  },
];

const WITH_CRASHES: readonly Strait[] = [
  // Nothing is remembered of this boot.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [crawls(25_000), { do: 'reboot', node, downMs: 500, kept: chance.fraction() }],
  },
  // What is remembered cannot be read.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      crawls(chance.pick([10_000, 25_000])),
      ambush(node, 'node.remembering', [broken(node, 'store', 1)]),
      dies(node, chance.fraction()),
    ],
  },
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ambush(node, 'node.recovering.calling', [
        {
          do: 'callFault',
          fault: { api: 'DescribeNetworkInterfaces', times: 5, params: {}, effect: 'delay', ms: 6_000 },
          forMs: 15_000,
        },
      ]),
      ambush(node, 'node.remembering', [broken(node, 'store', 1)]),
      dies(node, chance.fraction()),
    ],
  },
  // The kernel tells the keeper no changes.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ambush(node, 'node.recovering.calling', [broken(node, 'kernel', 1)]),
      dies(node, chance.fraction()),
    ],
  },
  // Some are being served, and others come, while the truth comes in.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      ambush(node, 'node.running.degraded.looking', [
        { do: 'slowStore', node, ms: 1_000, forMs: 5_000 },
        ...crowd(chance, node, chance.between(1, 6), 60_000),
        ambush(node, 'node.running.degraded.quieting', crowd(chance, node, 2, 2_000)),
      ]),
      { do: 'away', node, who: 'both', forMs: 4_000 },
      dies(node, chance.fraction()),
    ],
  },
];

const WITH_DEFECTS: readonly Strait[] = [
  // Asked for again while whoever takes over gives it back.
  {
    state: 'lease.releasing',
    deeds: (_, node) => [
      { do: 'defect', node, of: 'lease', which: 0, forMs: 60_000 },
      { do: 'add', node, container: MET, withinMs: 30_000, abortMs: null },
      { do: 'add', node, container: MET, withinMs: 30_000, abortMs: null },
    ],
  },
  {
    state: 'lease.persisting',
    deeds: (_, node) => [{ do: 'defect', node, of: 'lease', which: 0, forMs: 60_000 }],
  },
];

const WITH_OTHERS: readonly Strait[] = [
  // Nobody hears from the host that it is gone.
  {
    state: 'eni.inUse.backingOff',
    deeds: (_, node) => [{ do: 'outOfBand', node, change: 'detachEni', which: 0 }, broken(node, 'kernel', 6)],
  },
  {
    state: 'eni.inUse.assigning.calling',
    deeds: (_, node) => [{ do: 'outOfBand', node, change: 'detachEni', which: 0 }, broken(node, 'kernel', 6)],
  },
];

/** ENIs of others are there as the daemon begins. */
const FOREIGN: Strait = {
  state: ABOUT_NOW,
  deeds: (chance, node) => [{ do: 'outOfBand', node, change: 'foreignEni', which: 0 }, dies(node, chance.fraction())],
};

/** The actor dies of hearing that an address is free, and meanwhile somebody takes its ENI away. */
const ORPHAN: Strait = {
  state: 'lease.releasing',
  deeds: (chance, node) => {
    const which = chance.between(0, 2);
    return [
      { do: 'defect', node, of: 'eni', which, forMs: 60_000 },
      { do: 'outOfBand', node, change: chance.pick(['detachEni', 'detachEni', 'deleteEni']), which },
    ];
  },
};

export function withStraits(plan: readonly Decision[], kinds: PlanKinds, chance: Seeded): readonly Decision[] {
  const { faults, crashes, defects, outOfBand } = kinds;
  const [first, ...others] = [
    ...(faults ? WITH_FAULTS : []),
    ...(crashes && faults ? WITH_CRASHES : []),
    ...(defects ? WITH_DEFECTS : []),
    ...(outOfBand && faults ? WITH_OTHERS : []),
    ...(outOfBand && crashes ? [FOREIGN] : []),
    ...(outOfBand && defects ? [ORPHAN] : []),
  ];
  if (first === undefined || !chance.chance(SEEDS_SHARE)) return plan;
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(OFTEN)) return [decision];
    const { node, atMs } = decision;
    const { state, deeds } = chance.pick([first, ...others]);
    return [decision, { do: 'ambush', node, state, nth: 1, deeds: deeds(chance, node), atMs }];
  });
}
