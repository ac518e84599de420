/**
 * What happens to one pod, one ENI or one host over a while, from its beginning to its end: places that no single mishap leads to, since
 * several things have to come in their order. In a part of the seeds only, and of a stream of its own, so that the other choices of a seed stay.
 *
 * Each story brings its own pods, so that what the plan does with the others does not spoil it.
 */
import type { Decision, Deed, PlanKinds } from './deed.ts';
import { ambush, attachTakes, refused } from './ready-deeds.ts';
import type { Seeded } from './seeded.ts';

type Scene = { readonly afterMs: number; readonly deed: Deed };
/** `name`: of its pods, if there are any. */
type Story = (chance: Seeded, node: number, name: string) => readonly Scene[];

const SEEDS_SHARE = 0.4;
const OFTEN = 0.06;

const add = (node: number, container: string, withinMs = 30_000): Deed => ({
  ...{ do: 'add', node, container },
  ...{ withinMs, abortMs: null },
});
/** A pod of a StatefulSet goes and is made anew, and is on no node for a while: the collector looks at what is kept for it meanwhile. */
const waitsForItsNode: Story = (chance, node, name) => {
  const goneMs = chance.between(2_000, 12_000);
  const pendingMs = goneMs + chance.between(100, 2_000);
  const backMs = pendingMs + chance.pick([2_000, 15_000, 70_000]);
  const [before, after] = [`${name}#1`, `${name}#2`];
  return [
    { afterMs: 0, deed: add(node, before) },
    { afterMs: goneMs, deed: { do: 'del', node, container: before } },
    { afterMs: pendingMs, deed: { do: 'pending', node, container: after } },
    ...(chance.chance(0.5)
      ? [{ afterMs: pendingMs + 1_000, deed: { do: 'lookNow', node, command: 'gc' } as const }]
      : []),
    { afterMs: backMs, deed: add(node, after, 110_000) },
    { afterMs: backMs + chance.between(20_000, 200_000), deed: { do: 'del', node, container: after } },
  ];
};

/** Half of what tells that a pod is there is gone, and for one pass of the collector so is the other half. */
const isMisseen: Story = (chance, node, name) => {
  const of = chance.pick(['api', 'host'] as const);
  const halfMs = chance.between(2_000, 8_000);
  const lapseMs = halfMs + chance.between(100, 3_000);
  return [
    { afterMs: 0, deed: add(node, name) },
    {
      afterMs: halfMs,
      deed: { do: 'fate', node, container: name, fate: of === 'api' ? 'sandboxLost' : 'lingers' },
    },
    { afterMs: lapseMs, deed: { do: 'lapse', node, of } },
    // The API server is there again, and its cache is not.
    ...(of === 'api' ? [{ afterMs: lapseMs, deed: { do: 'shortLists', node, times: 3 } as const }] : []),
    ...(chance.chance(0.5) ? [{ afterMs: lapseMs + 100, deed: { do: 'lookNow', node, command: 'gc' } as const }] : []),
    { afterMs: lapseMs + chance.between(100_000, 300_000), deed: { do: 'del', node, container: name } },
  ];
};

/** An ENI is made and its maker does not hear of it for longer than the cloud keeper needs to see a stray in it. */
const madeUnheard: Story = (chance, node, name) => {
  const crowd = Array.from({ length: chance.between(3, 12) }, (_, index) => `${name}-${index}`);
  const lost: Deed = {
    do: 'callFault',
    fault: {
      ...{ api: 'CreateNetworkInterface', times: 200, params: {} },
      ...{ effect: 'drop', how: chance.pick(['close', 'close', 'hang'] as const) },
    },
    forMs: chance.pick([60_000, 90_000, 150_000]),
  };
  return [
    {
      afterMs: 0,
      deed: ambush(node, 'eni.creating.calling', [
        lost,
        ambush(node, 'eni.creating.backingOff', [{ do: 'lookNow', node, command: 'sync' }]),
      ]),
    },
    ...crowd.map((container) => ({ afterMs: 10, deed: add(node, container, 110_000) })),
    ...crowd.map((container) => ({ afterMs: 240_000, deed: { do: 'del', node, container } as const })),
  ];
};

/** What a pod has left on the host cannot be removed, and others are at work there. */
const stays: Story = (chance, node, name) => {
  const pods = [1, 2, 3].map((index) => `${name}-${index}`);
  const goneMs = chance.between(3_000, 10_000);
  const forMs = chance.pick([60_000, 180_000]);
  const stirs = Array.from({ length: 6 }, (): Scene => {
    const afterMs = goneMs + chance.between(15_000, forMs);
    const which = chance.between(0, 9);
    return { afterMs, deed: { do: 'drift', node, flaw: chance.pick(['podRoute', 'eniRoute', 'eniDown']), which } };
  });
  return [
    ...pods.map((container) => ({ afterMs: 0, deed: add(node, container) })),
    ...pods.map((container) => ({ afterMs: goneMs, deed: { do: 'fate', node, container, fate: 'finished' } as const })),
    { afterMs: goneMs, deed: { do: 'stuck', node, forMs: forMs + 30_000 } },
    { afterMs: goneMs + chance.between(30_000, 60_000), deed: { do: 'lookNow', node, command: 'sync' } },
    ...stirs,
  ];
};

/** Somebody takes addresses away under pods, which go after that. */
const takenAndGone: Story = (chance, node, name) => {
  const pods = Array.from({ length: chance.between(3, 8) }, (_, index) => `${name}-${index}`);
  const takenMs = chance.between(5_000, 15_000);
  const goneMs = takenMs + chance.between(30_000, 150_000);
  const taken = [0, 1, 2, 3].map(
    (): Scene => ({
      afterMs: takenMs,
      deed: { do: 'outOfBand', node, change: 'unassign', which: chance.between(0, 999) },
    }),
  );
  // What is taken may be given to another ENI at once.
  const late = Array.from({ length: chance.between(2, 10) }, (_, index) => `${name}-9${index}`);
  return [
    ...pods.map((container) => ({ afterMs: 0, deed: add(node, container) })),
    ...taken,
    ...late.map((container) => ({ afterMs: takenMs + 50, deed: add(node, container, 110_000) })),
    ...late.map((container) => ({ afterMs: goneMs, deed: { do: 'del', node, container } as const })),
    ...pods.map((container) => ({ afterMs: goneMs, deed: { do: 'del', node, container } as const })),
  ];
};

/**
 * All places are taken, and a pod comes that wants an ENI for itself: it has the one that the others leave, although more of them come.
 */
const longsForItsOwn: Story = (chance, node, name) => {
  const others = Array.from({ length: chance.between(1, 4) }, (_, index) => shared(`${name}-${index}`));
  const late = Array.from({ length: chance.between(1, 3) }, (_, index) => shared(`${name}-9${index}`));
  const own = alone(name);
  const wantedMs = chance.between(8_000, 15_000);
  const freeMs = wantedMs + chance.between(500, 10_000);
  return [
    { afterMs: 0, deed: { do: 'settings', node, changed: { maxEnis: 1 } } },
    ...others.map((container) => ({ afterMs: 0, deed: add(node, container) })),
    { afterMs: wantedMs, deed: add(node, own, 110_000) },
    ...others.map((container) => ({ afterMs: freeMs, deed: { do: 'del', node, container } as const })),
    ...late.map((container) => ({ afterMs: freeMs + chance.between(1, 3_000), deed: add(node, container) })),
    ...[own, ...late].map((container) => ({
      afterMs: freeMs + chance.between(60_000, 150_000),
      deed: { do: 'del', node, container } as const,
    })),
    { afterMs: freeMs + 200_000, deed: { do: 'settings', node, changed: { maxEnis: null } } },
  ];
};

/** Pods have an ENI for themselves, one after the other, and that cannot be written down. */
const isNotWritten: Story = (chance, node, name) => [
  { afterMs: 0, deed: { do: 'settings', node, changed: { minIdle: 3, maxIdle: 6, maxEnis: null } } },
  ...[20_000, 60_000, 100_000].flatMap((afterMs, index): readonly Scene[] => {
    const own = alone(`${name}-${index}`);
    const fails: Deed = { do: 'portFault', node, port: 'store', times: chance.between(1, 3) };
    return [
      { afterMs, deed: chance.chance(0.5) ? fails : ambush(node, 'eni.settling.calling', [fails]) },
      { afterMs, deed: add(node, own) },
      { afterMs: afterMs + 35_000, deed: { do: 'del', node, container: own } },
    ];
  }),
];

/** A pod gives its own ENI back while what is of no use beside it is being taken away yet. */
const goesAtOnce: Story = (chance, node, name) => {
  const own = alone(name);
  const slow: Deed = {
    do: 'callFault',
    fault: {
      ...{ api: 'UnassignPrivateIpAddresses', times: 1, params: {} },
      ...{ effect: 'delay', ms: chance.pick([1_000, 4_000]) },
    },
    forMs: 5_000,
  };
  return [
    { afterMs: 0, deed: { do: 'settings', node, changed: { minIdle: 3, maxIdle: 6 } } },
    { afterMs: 20_000, deed: ambush(node, 'eni.inUse.unassigning', [slow, { do: 'del', node, container: own }]) },
    { afterMs: 20_000, deed: add(node, own) },
    { afterMs: 60_000, deed: { do: 'del', node, container: own } },
  ];
};

/** Nobody answers the node as it starts again, and those who ask it do not wait. */
const leavesInTheDark: Story = (chance, node, name) => [
  { afterMs: 0, deed: { do: 'crash', node, point: 'now', nth: 1, downMs: 50, kept: chance.fraction() } },
  { afterMs: 0, deed: { do: 'away', node, who: 'both', forMs: 40_000 } },
  ...Array.from(
    { length: 8 },
    (_, index): Scene => ({
      afterMs: chance.between(3_000, 30_000),
      deed: {
        ...{ do: 'add', node, container: shared(`${name}-${index}`) },
        ...{ withinMs: 30_000, abortMs: chance.between(0, 6) },
      },
    }),
  ),
];

/** An ENI takes long to come, and somebody takes it away again from those who have waited for it. */
const isTakenAgain: Story = (chance, node, name) => {
  const pods = Array.from({ length: chance.between(4, 12) }, (_, index) => shared(`${name}-${index}`));
  const slow = attachTakes(chance.pick([7_000, 12_000]), false);
  const taken: Deed = { do: 'outOfBand', node, change: 'detachEni', which: 0 };
  return [
    {
      afterMs: 0,
      deed: ambush(node, 'eni.attaching.calling', [slow, ambush(node, 'eni.inUse.resting.quiet', [taken])]),
    },
    ...pods.map((container) => ({ afterMs: 10, deed: add(node, container, 110_000) })),
    ...pods.map((container) => ({ afterMs: 200_000, deed: { do: 'del', node, container } as const })),
  ];
};

/** An ENI cannot be made, and while the pool waits for that it is told to be content with less than there is, or with more. */
const isContentWithLess: Story = (chance, node, name) => {
  const pods = Array.from({ length: 6 }, (_, index) => shared(`${name}-${index}`));
  const none = refused(
    'CreateNetworkInterface',
    chance.pick(['Forbidden.RAM', 'InvalidVSwitchId.IpNotEnough']),
    20,
    30_000,
  );
  const less = chance.pick([
    { minIdle: 0, maxIdle: 0 },
    { minIdle: 0, maxIdle: 0 },
    { minIdle: 0, maxIdle: 2 },
    { minIdle: 3, maxIdle: 30 },
  ]);
  const told: Deed = { do: 'settings', node, changed: less };
  // Their addresses are idle at once where nothing has to rest.
  const leave = pods.map((container): Deed => ({ do: 'del', node, container }));
  return [
    { afterMs: 0, deed: { do: 'settings', node, changed: { minIdle: 3, maxIdle: 4, maxEnis: null } } },
    ...pods.map((container) => ({ afterMs: 0, deed: add(node, container) })),
    // Others make room, whoever of them is there.
    ...Array.from(
      { length: 40 },
      (_, index): Scene => ({ afterMs: 2_000, deed: { do: 'del', node, container: `n${node}-p${index + 1}` } }),
    ),
    { afterMs: 20_000, deed: none },
    {
      afterMs: 20_000,
      deed: ambush(node, 'idlePool.backingOff', [
        ...(chance.chance(0.5) ? [told] : [ambush(node, 'idlePool.backingOff', [told])]),
        ambush(node, 'lease.releasing', [told], 3),
        ...leave,
      ]),
    },
    { afterMs: 20_000, deed: { do: 'settings', node, changed: { minIdle: 30, maxIdle: 30 } } },
    { afterMs: 60_000, deed: { do: 'settings', node, changed: { minIdle: 1, maxIdle: 4 } } },
  ];
};

/** A pod of a StatefulSet lives on another node now, and what was kept for it here cannot be struck out. */
const livesElsewhere: Story = (chance, node, name) => {
  const other = (node + 1) % 2;
  const [before, after] = [`${name}#1`, `${name}#2`];
  const fails: Deed = { do: 'portFault', node, port: 'store', times: chance.pick([2, 12]) };
  return [
    { afterMs: 0, deed: add(node, before) },
    { afterMs: 6_000, deed: { do: 'del', node, container: before } },
    { afterMs: 9_000, deed: add(other, after, 110_000) },
    ...[30_000, 50_000, 70_000, 100_000].flatMap((afterMs): readonly Scene[] => [
      { afterMs, deed: ambush(node, 'garbageCollector.confirming', [fails]) },
      { afterMs, deed: { do: 'lookNow', node, command: 'gc' } },
    ]),
    { afterMs: 200_000, deed: { do: 'del', node: other, container: after } },
  ];
};

/** The last digit of a name says whether its pod wants an ENI for itself (kubelet.ts). */
const alone = (name: string): string => `${name}.3`;
const shared = (name: string): string => `${name}.0`;

export function withStories(
  plan: readonly Decision[],
  { faults, crashes, outOfBand }: PlanKinds,
  ownEnis: boolean,
  chance: Seeded,
): readonly Decision[] {
  const stories: readonly Story[] = [
    waitsForItsNode,
    ...(faults ? [isMisseen, madeUnheard, stays, isContentWithLess, livesElsewhere] : []),
    ...(crashes && faults ? [leavesInTheDark] : []),
    ...(outOfBand ? [takenAndGone] : []),
    ...(outOfBand && faults ? [isTakenAgain] : []),
    ...(ownEnis ? [longsForItsOwn] : []),
    ...(ownEnis && faults ? [isNotWritten, isNotWritten, goesAtOnce, goesAtOnce] : []),
  ];
  if (!chance.chance(SEEDS_SHARE)) return plan;
  let told = 0;
  const all = plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(OFTEN)) return [decision];
    const { node, atMs } = decision;
    told += 1;
    const scenes = chance.pick(stories as [Story, ...Story[]])(chance, node, `n${node}-story${told}`);
    return [decision, ...scenes.map(({ afterMs, deed }): Decision => ({ ...deed, atMs: atMs + afterMs }))];
  });
  return all
    .map((one, at) => ({ one, at }))
    .sort((a, b) => a.one.atMs - b.one.atMs || a.at - b.at)
    .map(({ one }) => one);
}
