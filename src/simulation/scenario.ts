/** One seed's world: how many nodes of which type, their settings, the cloud's delays and the sides of the assumptions that it takes. */
import { defaultSettings, type Settings } from '../core/settings.ts';
import { type CloudProfile, withProfile } from '../vpc/cloud-profile.ts';
import { INSTANCE_TYPES, type InstanceType } from '../vpc/instance-types.ts';
import { type Settings as CloudSettings, defaultSettings as cloudDefaults } from '../vpc/settings.ts';
import { defaultTopology, type Topology } from '../vpc/topology.ts';
import { drawAssumptions } from './assumptions.ts';
import { withChanges } from './changes.ts';
import type { Decision, PlanKinds } from './deed.ts';
import { withDrifts } from './drifts.ts';
import { withLateCalls } from './late-calls.ts';
import type { Lifetimes } from './lifetimes.ts';
import { withLines } from './lines.ts';
import { withLosses } from './losses.ts';
import { withMoments } from './moments.ts';
import { withOutages } from './outages.ts';
import { planOf } from './plan.ts';
import { Seeded } from './seeded.ts';
import { withStories } from './stories.ts';
import { withStraits } from './straits.ts';

/**
 * What the actors have no means against yet; left out until it is asked for.
 *
 * outOfBand: somebody else changes our ENIs, in every seed and not in a third of them.
 */
export const HAZARDS = ['outOfBand'] as const;
export type Hazard = (typeof HAZARDS)[number];

export const STACKS = ['ipv4', 'dual', 'turnsDual'] as const;
export type Stack = (typeof STACKS)[number];

export type ScenarioOptions = Partial<Omit<PlanKinds, 'dual'>> & {
  /** For all nodes: a third of the seeds is dual stack, and some of those become so at their first restart. */
  readonly stack?: Stack;
  /** Whether some pods want an ENI for themselves: in a third of the seeds they do. */
  readonly ownEnis?: boolean;
  /** Steps that a run makes before it is left to rest; the rest comes on top of them. */
  readonly steps: number;
  /** Steps of a whole run: one that has rested within fewer is watched on. */
  readonly stepsMin?: number;
  readonly hazards?: readonly Hazard[];
  /** Over what the seed says, on every node: for what has to hold under one configuration. */
  readonly settings?: Partial<Settings>;
  /** What a real cloud was measured to be: nothing of that is drawn. */
  readonly profile?: CloudProfile;
  /** Of all that opens doors; without it nothing ends. */
  readonly lifetimes?: Lifetimes;
  /** Between two decisions of the plan, and how long decisions are made at all. */
  readonly gapMs?: (chance: Seeded) => number;
  readonly lastsMs?: number;
};

/** Of the steps of a whole run those in which something is asked of the world; the others are its rest. */
const PLAN_SHARE = 0.6;

/** For a run of so many steps or more, its rest included. */
export const lasting = (steps: number): Pick<ScenarioOptions, 'steps'> & { readonly stepsMin: number } => ({
  steps: Math.ceil(PLAN_SHARE * steps),
  stepsMin: steps,
});

export type Scenario = {
  readonly seed: number;
  readonly kinds: PlanKinds;
  readonly hazards: readonly Hazard[];
  readonly topology: Topology;
  readonly cloud: CloudSettings;
  /** One for each node. */
  readonly settings: readonly Settings[];
  readonly stack: Stack;
  /** Names of the assumptions whose second side is tried. */
  readonly opposites: readonly string[];
  readonly startMs: number;
  /** Some pods want an ENI for themselves. */
  readonly ownEnis: boolean;
  readonly lifetimes: Lifetimes | null;
  /** Steps after which the rest of the plan is left out. */
  readonly steps: number;
  readonly stepsMin: number;
  /** Long enough for so many steps, since each decision is one. */
  readonly plan: readonly Decision[];
};

const START_MS = 1_700_000_000_000;

export function scenarioOf(seed: number, options: ScenarioOptions): Scenario {
  const hazards = options.hazards ?? [];
  const has = (hazard: Hazard): boolean => hazards.includes(hazard);
  const chance = new Seeded(seed, 'scenario');
  const stack = options.stack ?? stackOf(new Seeded(seed, 'stack'));
  const kinds = {
    dual: stack !== 'ipv4',
    faults: options.faults ?? seed % 4 !== 0,
    crashes: options.crashes ?? seed % 3 !== 0,
    defects: options.defects ?? seed % 5 < 2,
    outOfBand: has('outOfBand') || (options.outOfBand ?? seed % 3 === 2),
  };
  const nodes = chance.pick([1, 1, 2, 3]);
  const drawn = chance.pick(['ecs.g7.large', 'ecs.g6.large', 'ecs.g5.xlarge', 'lab.tiny', 'ecs.g7.xlarge']);
  const instanceType = stack !== 'ipv4' && drawn === 'ecs.g5.xlarge' ? UNEVEN.instanceType : drawn;
  const topology = { ...defaultTopology(instanceType, nodes), instanceTypes: [UNEVEN] };
  const base = { ...cloudDefaults('realistic'), jitter: chance.pick([0, 0.3, 0.9]) };
  const { cloud: assumed, opposites } = drawAssumptions(new Seeded(seed, 'assumptions'), base);
  const cloud = options.profile === undefined ? assumed : withProfile(assumed, options.profile);
  const maxIdle = chance.pick([0, 2, 5, 10]);
  const policies = new Seeded(seed, 'policies');
  const lateChance = new Seeded(seed, 'late calls');
  const badWay = kinds.faults && lateChance.chance(0.3);
  const settings = topology.instances.map(
    ({ name }): Settings => ({
      ...defaultSettings,
      nodeName: name,
      ipStack: stack === 'dual' ? 'dual' : 'ipv4',
      minIdle: chance.between(0, maxIdle),
      maxIdle,
      maxEnis: chance.pick([null, null, 1]),
      vSwitchIds: chance.pick([null, ['vsw-lab-1', 'vsw-lab-2']] as const),
      coolDownMs: chance.pick([0, 5_000, 30_000]),
      poolPeriodMs: 120_000,
      holdDownMs: 60_000,
      waitingMax: policies.chance(0.25) ? 3 : 1_000,
      ...poolSettings(policies),
      ...journalSettings(new Seeded(seed, `journal ${name}`)),
      ...collectorSettings(new Seeded(seed, `collector ${name}`)),
      ...(badWay ? tightPool(new Seeded(seed, `tight pool ${name}`)) : {}),
      ...options.settings,
    }),
  );
  const choices = {
    ...kinds,
    nodes,
    decisions: options.steps,
    startMs: START_MS + chance.between(0, 3_000),
    capacity: CAPACITY[instanceType] ?? 10,
    ...(options.gapMs && { gapMs: options.gapMs }),
    ...(options.lastsMs !== undefined && { untilMs: START_MS + options.lastsMs }),
  };
  const planned = planOf(new Seeded(seed, 'plan'), choices, new Seeded(seed, 'fates'));
  const drifting = kinds.faults ? withDrifts(planned, new Seeded(seed, 'drifts')) : planned;
  const late = kinds.faults ? withLateCalls(drifting, lateChance, kinds, badWay) : drifting;
  const lossy = kinds.crashes ? withLosses(late, new Seeded(seed, 'losses')) : late;
  const momentous = withMoments(lossy, kinds, new Seeded(seed, 'moments'));
  const away =
    kinds.faults && kinds.crashes
      ? withOutages(momentous, new Seeded(seed, 'outages'), new Seeded(seed, 'mishaps'))
      : momentous;
  const changes = new Seeded(seed, 'changes');
  const changing = changes.chance(0.3) ? withChanges(away, changes) : away;
  const narrow = withStraits(changing, kinds, new Seeded(seed, 'straits'));
  const ownEnis = options.ownEnis ?? new Seeded(seed, 'own ENIs').chance(0.3);
  const told = withStories(narrow, kinds, ownEnis, new Seeded(seed, 'stories'));
  const plan = withLines(told, kinds, new Seeded(seed, 'lines'));
  return {
    seed,
    kinds,
    hazards,
    topology,
    cloud,
    settings,
    stack,
    opposites,
    startMs: START_MS,
    ownEnis,
    lifetimes: options.lifetimes ?? null,
    steps: options.steps,
    stepsMin: options.stepsMin ?? 0,
    plan,
  };
}

/** How ENIs are chosen and idle addresses kept: of a stream of its own, so that other choices of a seed stay. */
function poolSettings(chance: Seeded): Partial<Settings> {
  const adaptivePool = chance.chance(0.3);
  return {
    // A peak has to be forgotten, and what it kept be reclaimed, before the world is looked at in its rest.
    ...(adaptivePool ? { poolPeriodMs: 5_000 } : {}),
    adaptivePool,
    eniPolicy: chance.pick(['most_ips', 'most_ips', 'least_ips']),
    vSwitchPolicy: chance.pick(['random', 'ordered', 'listed']),
    minEnis: chance.pick([0, 0, 0, 1]),
    warmUpSize: chance.pick([0, 0, 4, 20]),
    minEniAgeMs: chance.pick([0, 0, 10_000, 60_000]),
    reclaim: {
      afterMs: chance.pick([null, null, 5_000]),
      intervalMs: chance.pick([1_000, 5_000]),
      batchSize: chance.pick([1, 5]),
      jitterFactor: 0.1,
    },
  };
}

/** The journal is beside everything: where it is kept, its writes are a third of all steps. */
function journalSettings(chance: Seeded): Partial<Settings> {
  return chance.chance(0.75) ? { inputsMax: 0 } : {};
}

/** A node that gives back at once what it does not need: what goes, and may come back, is met by the next pods. */
function tightPool(chance: Seeded): Partial<Settings> {
  const maxIdle = chance.pick([0, 1, 3]);
  return { maxIdle, minIdle: chance.between(0, maxIdle), coolDownMs: chance.pick([0, 5_000]), minEniAgeMs: 0 };
}

/** Periods that fit often into the calm before the world is looked at. */
function collectorSettings(chance: Seeded): Partial<Settings> {
  return {
    gcPeriodMs: chance.pick([30_000, 60_000]),
    gcGraceMs: chance.pick([0, 15_000, 60_000]),
    gcTimeoutMs: chance.pick([defaultSettings.gcTimeoutMs, 5_000, 300]),
    reserveMs: chance.pick([10_000, 60_000, 300_000]),
    reservationsYield: chance.chance(0.7),
  };
}

/** Dual stack is of a stream of its own, so that what single-stack seeds do stays. */
function stackOf(chance: Seeded): Stack {
  return chance.pick(['ipv4', 'ipv4', 'ipv4', 'ipv4', 'dual', 'turnsDual']);
}

/** An ENI has fewer IPv6 than IPv4 addresses; in place of a type that has no IPv6. */
const UNEVEN: InstanceType = {
  ...(INSTANCE_TYPES.find((one) => one.instanceType === 'lab.small') as InstanceType),
  instanceType: 'lab.uneven',
  ipv4PerEni: 6,
  ipv6PerEni: 4,
};

/** Managed ENIs times addresses. */
const CAPACITY: Readonly<Record<string, number>> = {
  'ecs.g7.large': 12,
  'ecs.g6.large': 6,
  'ecs.g5.xlarge': 20,
  'lab.tiny': 2,
  'ecs.g7.xlarge': 45,
  'lab.uneven': 8,
};
