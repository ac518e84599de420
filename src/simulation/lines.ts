/**
 * A fleet shares the account's calls: calls wait for their turn, are turned away and are not answered, and pods, devices and crashes do not
 * wait for them. In a part of the seeds only, and of a stream of its own, so that the other choices of a seed stay.
 */
import { type Decision, type Deed, type FailingPort, MET_ENI, type PlanKinds } from './deed.ts';
import { ABOUT_NOW, ambush, attachTakes, refused, unanswered } from './ready-deeds.ts';
import type { Seeded } from './seeded.ts';

type Trouble = { readonly state: string; readonly deeds: (chance: Seeded, node: number) => readonly Deed[] };

const SEEDS_SHARE = 0.4;
const OFTEN = 0.1;

const turnedAway = (api: Parameters<typeof refused>[0], times: number): Deed => refused(api, 'Throttling.User', times);

const fails = (node: number, port: FailingPort, times: number): Deed => ({ do: 'portFault', node, port, times });

const loses = (node: number, forMs: number): Deed => ({ do: 'unplug', node, which: MET_ENI, forMs });

/** Pods of this trouble alone, so that they may leave together. */
const pods = (chance: Seeded, node: number, most: number): readonly string[] => {
  const name = `n${node}-l${chance.between(0, 999_999)}`;
  return Array.from({ length: chance.between(1, most) }, (_, index) => `${name}x${index}.0`);
};
const come = (node: number, names: readonly string[], withinMs: number): readonly Deed[] =>
  names.map((container) => ({ do: 'add', node, container, withinMs, abortMs: null }) as const);
const leave = (node: number, names: readonly string[]): readonly Deed[] =>
  names.map((container) => ({ do: 'del', node, container }) as const);

const slow = (chance: Seeded, node: number): Deed => ({
  ...{ do: 'slowTurns', node },
  ...{ ms: chance.pick([1_000, 5_000, 30_000]), forMs: chance.pick([20_000, 60_000]) },
});

/** Addresses are asked for in line, and this happens meanwhile. */
const whileInLine =
  (state: string, meanwhile: (chance: Seeded, node: number, names: readonly string[]) => readonly Deed[]) =>
  (chance: Seeded, node: number): readonly Deed[] => {
    const names = pods(chance, node, 8);
    const withinMs = chance.pick([800, 2_500, 30_000]);
    return [
      slow(chance, node),
      ambush(node, state, meanwhile(chance, node, names), chance.between(1, 2)),
      ...come(node, names, withinMs),
    ];
  };

const IN_LINE = 'eni.inUse.assigning.inLine';
const MAKING = 'eni.creating.inLine';

const ALWAYS: readonly Trouble[] = [
  { state: ABOUT_NOW, deeds: whileInLine(IN_LINE, (_, node, names) => leave(node, names)) },
  { state: ABOUT_NOW, deeds: whileInLine(IN_LINE, (_, node, names) => leave(node, names.slice(1))) },
  {
    state: ABOUT_NOW,
    deeds: whileInLine(IN_LINE, (chance, node) => come(node, pods(chance, node, 6), chance.pick([900, 30_000]))),
  },
  { state: ABOUT_NOW, deeds: whileInLine(IN_LINE, (chance, node) => [loses(node, chance.pick([700, 4_000, 30_000]))]) },
  { state: ABOUT_NOW, deeds: whileInLine(MAKING, (_, node, names) => leave(node, names)) },
  {
    state: ABOUT_NOW,
    deeds: whileInLine(MAKING, (chance, node) => come(node, pods(chance, node, 6), chance.pick([900, 30_000]))),
  },
  // The pool's own, and then pods come.
  {
    state: MAKING,
    deeds: (chance, node) => come(node, pods(chance, node, 3), 30_000),
  },
];

const WITH_FAULTS: readonly Trouble[] = [
  { state: MAKING, deeds: (_, node) => [fails(node, 'turns', 1)] },
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      fails(node, 'turns', chance.between(1, 3)),
      ...come(node, pods(chance, node, 12), chance.pick([2_000, 30_000])),
    ],
  },
  {
    state: 'eni.attaching.calling',
    deeds: (chance) => [turnedAway('AttachNetworkInterface', chance.between(1, 4))],
  },
  {
    state: 'eni.attaching.calling',
    deeds: (chance, node) => [
      attachTakes(chance.pick([0, 800]), true),
      ambush(node, 'eni.attaching.backingOff', [turnedAway('AttachNetworkInterface', chance.between(1, 3))]),
    ],
  },
  {
    state: 'eni.attaching.calling',
    deeds: (chance, node) => [
      attachTakes(chance.pick([90_000, 200_000]), chance.chance(0.5)),
      ...come(node, pods(chance, node, 4), 2_000),
    ],
  },
  { state: 'eni.attaching.seeking', deeds: (chance, node) => [fails(node, 'host', chance.between(1, 3))] },
  {
    state: 'eni.attaching.describing',
    deeds: (chance) => [turnedAway('DescribeNetworkInterfaces', chance.between(1, 3))],
  },
  // It is let go of, and then its attach arrives.
  {
    state: 'eni.attaching.calling',
    deeds: (chance, node) => [
      {
        ...{ do: 'lateCalls', node, forMs: 5_000, next: [] },
        calls: {
          ...{ api: 'AttachNetworkInterface', times: 1, how: 'close' },
          lateMs: chance.pick([6_000, 7_000, 8_000, 9_000, 10_000, 12_000]),
        },
      },
      refused('AttachNetworkInterface', 'Operation.Conflict', 3),
    ],
  },
  // Nobody can tell what became of it, for longer than an attach may take, or for a moment.
  {
    state: 'eni.attaching.calling',
    deeds: (chance, node) => {
      const [lastsMs, forMs] = chance.pick<readonly [number, number]>([
        [90_000, 100_000],
        [3_000, 90_000],
        [5_000, 8_000],
      ]);
      const blind = chance.chance(0.5)
        ? refused('DescribeNetworkInterfaces', 'InternalError', 400, forMs)
        : unanswered('DescribeNetworkInterfaces', 400, forMs);
      return [attachTakes(lastsMs, false), ambush(node, 'eni.attaching.describing', [blind])];
    },
  },
  {
    state: 'eni.inUse.assigning.calling',
    deeds: (chance, node) => [
      turnedAway('AssignPrivateIpAddresses', chance.between(1, 3)),
      ambush(
        ...([node, 'eni.inUse.assigning.turnedAway'] as const),
        chance.pick([
          [loses(node, chance.pick([700, 4_000]))],
          come(node, pods(chance, node, 3), 300),
          come(node, pods(chance, node, 6), 30_000),
        ]),
      ),
    ],
  },
  // Their time is over while they are turned away, or they are gone.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => {
      const names = pods(chance, node, 6);
      const goes = chance.chance(0.5) ? leave(node, names.slice(0, chance.between(1, 6))) : [];
      return [
        turnedAway('AssignPrivateIpAddresses', chance.between(1, 4)),
        ambush(node, 'eni.inUse.assigning.turnedAway', goes),
        ...come(node, names, chance.pick([150, 400, 900, 30_000])),
      ];
    },
  },
  // What the pool wants is turned away.
  {
    state: ABOUT_NOW,
    deeds: (chance, node) => [
      turnedAway('AssignPrivateIpAddresses', chance.between(1, 3)),
      { do: 'settings', node, changed: { minIdle: chance.between(4, 12), maxIdle: 12 } },
    ],
  },
  {
    state: 'eni.creating.calling',
    deeds: (chance) => [turnedAway('CreateNetworkInterface', chance.between(1, 3))],
  },
  // Addresses cannot be given back, and pods wait for others at the very ENI.
  {
    state: 'eni.inUse.unassigning',
    deeds: (chance, node) => [
      refused('UnassignPrivateIpAddresses', chance.pick(['Forbidden.RAM', 'Throttling.User', 'InternalError']), 3),
      ...come(node, pods(chance, node, 12), 30_000),
    ],
  },
];

/** Where a life may end, or an actor, while nothing of its call has left. */
const WAITING = [
  IN_LINE,
  MAKING,
  'eni.inUse.assigning.turnedAway',
  'eni.creating.turnedAway',
  'eni.attaching.turnedAway',
  'eni.attaching.seeking',
  'eni.attaching.unanswered',
] as const;

export function withLines(plan: readonly Decision[], kinds: PlanKinds, chance: Seeded): readonly Decision[] {
  const at = (deeds: Trouble['deeds']): readonly Trouble[] => WAITING.map((state) => ({ state, deeds }));
  const ends = kinds.crashes
    ? at((some, node) => [{ do: 'crash', node, point: 'now', nth: 1, downMs: 50, kept: some.fraction() }])
    : [];
  const dies = kinds.defects ? at((_, node) => [{ do: 'defect', node, of: 'eni', which: 0, forMs: 60_000 }]) : [];
  const taken = kinds.outOfBand
    ? at((some, node) => [
        { do: 'outOfBand', node, change: some.pick(['detachEni', 'deleteEni', 'assign', 'unassign']), which: 0 },
      ])
    : [];
  const rare = [ends, dies, taken].flatMap((all) =>
    all.length > 0 ? [chance.pick(all as [Trouble, ...Trouble[]])] : [],
  );
  const troubles = [...ALWAYS, ...(kinds.faults ? WITH_FAULTS : []), ...rare] as [Trouble, ...Trouble[]];
  if (!chance.chance(SEEDS_SHARE)) return plan;
  return plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision) || !chance.chance(OFTEN)) return [decision];
    const { node, atMs } = decision;
    const { state, deeds } = chance.pick(troubles);
    return [decision, { do: 'ambush', node, state, nth: 1, deeds: deeds(chance, node), atMs }];
  });
}
