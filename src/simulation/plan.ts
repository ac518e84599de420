/**
 * What will be done to the world: a list of decisions made from the seed before anything runs, so that a shorter list can be tried
 * when one fails. Whatever a decision names that does not exist by then is skipped.
 */

import type { Settings } from '../core/settings.ts';
import type { NodeCommand } from '../ports/introspection.ts';
import type { Fault } from '../vpc/faults.ts';
import type { LateCalls } from './late-plan.ts';
import type { Kind } from './lifetimes.ts';
import type { Flaw } from './plugged-kernel.ts';
import type { Seeded } from './seeded.ts';

/** Where in a node's life a crash strikes: now, or at the nth time that it passes the point from now on. */
export type CrashPoint = 'now' | 'callSending' | 'callCarriedOut' | 'storeWriting' | 'storePending' | 'storeSynced';

/**
 * deleted, finished, replaced (by another pod of its name): nothing of the sandbox is left, and no DEL comes, or late. lingers: the API
 * server knows it no more, but its namespace is there. sandboxLost: the pod is there, and its sandbox is not. Those two keep their address.
 */
export const FATES = ['deleted', 'finished', 'replaced', 'lingers', 'sandboxLost'] as const;
export type Fate = (typeof FATES)[number];

/** Which of the collector's witnesses says that what is there is not. */
export type Lapse = 'api' | 'host';

/** Of what a running daemon takes. Its times are left alone, since the simulation's own limits are reckoned from them. */
export type Changed = Partial<
  Pick<
    Settings,
    | 'minIdle'
    | 'maxIdle'
    | 'minEnis'
    | 'maxEnis'
    | 'vSwitchIds'
    | 'eniPolicy'
    | 'adaptivePool'
    | 'reclaim'
    | 'eniTags'
    | 'cloudPeriodMs'
    | 'gcPeriodMs'
    | 'kernelPeriodMs'
  >
>;

export type Deed =
  | {
      readonly do: 'add';
      readonly node: number;
      readonly container: string;
      readonly withinMs: number;
      readonly abortMs: number | null;
    }
  | { readonly do: 'del'; readonly node: number; readonly container: string }
  /** What becomes of a pod without anybody telling the node. */
  | { readonly do: 'fate'; readonly node: number; readonly container: string; readonly fate: Fate }
  /** Its pod is made anew at the API server, and is on no node yet. */
  | { readonly do: 'pending'; readonly node: number; readonly container: string }
  | {
      readonly do: 'crash';
      readonly node: number;
      readonly point: CrashPoint;
      readonly nth: number;
      readonly downMs: number;
      /** Share of the unsynced writes that made it. */
      readonly kept: number;
    }
  /** Told to stop, as an upgrade does, and started again; `againMs` after that start once more, perhaps before it has recovered. */
  | {
      readonly do: 'restart';
      readonly node: number;
      /** How long those who are being served may take. */
      readonly drainMs: number;
      readonly downMs: number;
      readonly againMs: number | null;
    }
  /** An actor dies of a fault of its own; the process is started again `untilMs` later, if it has not ended by itself. */
  | {
      readonly do: 'defect';
      readonly node: number;
      readonly of: 'eni' | 'lease' | 'supervisor';
      readonly which: number;
      readonly forMs: number;
    }
  /** `forMs`: when it is taken back, used up or not. */
  | { readonly do: 'callFault'; readonly fault: Fault; readonly forMs: number }
  /** The daemon ends and the disk has lost all, or the lease of one sandbox. */
  | {
      readonly do: 'lose';
      readonly node: number;
      readonly what: 'store' | 'lease';
      readonly which: number;
      readonly downMs: number;
    }
  /** The host is booted. */
  | { readonly do: 'reboot'; readonly node: number; readonly downMs: number; readonly kept: number }
  /** Calls of an API are answered by nothing and carried out later (virtual-cloud.ts). `next`: what is done after each is kept. */
  | {
      readonly do: 'lateCalls';
      readonly node: number;
      readonly calls: LateCalls;
      readonly forMs: number;
      readonly next: readonly { readonly afterMs: number; readonly deed: Deed }[];
    }
  | {
      readonly do: 'portFault';
      readonly node: number;
      readonly port: 'store' | 'metadata' | 'kernel' | 'kubernetes' | 'sandboxes';
      readonly times: number;
    }
  /** Nobody of these answers the node. */
  | { readonly do: 'away'; readonly node: number; readonly who: 'cloud' | 'metadata' | 'both'; readonly forMs: number }
  /** The configuration is another one, now and after every start. */
  | { readonly do: 'settings'; readonly node: number; readonly changed: Changed }
  | { readonly do: 'cordon'; readonly node: number; readonly cordoned: boolean }
  /** An operator tells the keepers to look. */
  | { readonly do: 'lookNow'; readonly node: number; readonly command: NodeCommand }
  /** The next lists of pods leave some out. */
  | { readonly do: 'shortLists'; readonly node: number; readonly times: number }
  /** For the next pass of the collector a witness is mistaken: the API server is behind, or the host hides its namespaces. */
  | { readonly do: 'lapse'; readonly node: number; readonly of: Lapse }
  /** What sandboxes have left on the host cannot be removed for so long. */
  | { readonly do: 'stuck'; readonly node: number; readonly forMs: number }
  /** Calls of the API server take this long, all that begin within `forMs`. */
  | { readonly do: 'slowApi'; readonly node: number; readonly ms: number; readonly forMs: number }
  /** Writes take this long, all that begin within `forMs`. */
  | { readonly do: 'slowStore'; readonly node: number; readonly ms: number; readonly forMs: number }
  /** Somebody changes an ENI's device, or what a pod has on the host. */
  | { readonly do: 'drift'; readonly node: number; readonly flaw: Flaw; readonly which: number }
  /** The host loses the device of an ENI for so long, and the cloud does not. */
  | { readonly do: 'unplug'; readonly node: number; readonly which: number; readonly forMs: number }
  /** Devices that are plugged in from now on appear so much later. */
  | { readonly do: 'lateDevices'; readonly node: number; readonly lateMs: number; readonly forMs: number }
  /** All but so many of the free addresses of a vSwitch are nobody's to take. */
  | { readonly do: 'drySwitch'; readonly vSwitch: number; readonly forMs: number }
  | {
      readonly do: 'outOfBand';
      readonly node: number;
      /** deletingEni: it is being deleted for a while. strayEni: one with our tags that no actor has, as a Create makes which was given up. */
      readonly change: 'unassign' | 'assign' | 'detachEni' | 'deleteEni' | 'foreignEni' | 'strayEni' | 'deletingEni';
      readonly which: number;
    }
  /** What a node was given to open doors with ends now, before its time. */
  | { readonly do: 'takeBack'; readonly node: number; readonly kind: Kind }
  /** Kubelet writes no new tokens for a while. */
  | { readonly do: 'kubeletSleeps'; readonly node: number; readonly forMs: number }
  /** Whoever runs the world looks at it. */
  | { readonly do: 'look' }
  /**
   * Something is done at the nth time from now on that an actor of the node enters a state, while it is in it: what is rarely met by
   * chance is met at every awkward moment. Where the deed picks an actor or an ENI, it is that one.
   */
  | {
      readonly do: 'ambush';
      readonly node: number;
      readonly state: string;
      readonly nth: number;
      readonly deeds: readonly Deed[];
    };

export type Decision = Deed & { readonly atMs: number };

/** What a seed may do besides adding and deleting pods. */
export type PlanKinds = {
  readonly faults: boolean;
  readonly crashes: boolean;
  /** Actors may die of faults of their own. */
  readonly defects: boolean;
  readonly outOfBand: boolean;
  /** Some node is, or turns, dual stack: calls for IPv6 fail too. */
  readonly dual: boolean;
};

export type PlanOptions = PlanKinds & {
  readonly nodes: number;
  readonly decisions: number;
  readonly startMs: number;
  /** Pods a node may have addresses for. */
  readonly capacity: number;
  /** Between two decisions; moments if not told. */
  readonly gapMs?: (chance: Seeded) => number;
  /** No decision is made after this instant. */
  readonly untilMs?: number;
};

const REFUSALS = [
  'Throttling.User',
  'InternalError',
  'ServiceUnavailable',
  'InvalidVSwitchId.IpNotEnough',
  'Operation.Conflict',
  'Forbidden.RAM',
  'EniPerInstanceLimitExceeded',
  'InvalidOperation.Ipv4CountExceeded',
  'QuotaExceeded.PrivateIpAddress',
  'MaxEniCountExceeded',
  'IdempotentFailed',
] as const;
const MUTATING = [
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
] as const;
const DUAL_REFUSALS = [...REFUSALS, 'InvalidOperation.Ipv6CountExceeded', 'InvalidVSwitch.Ipv6NotTurnOn'] as const;
const DUAL_MUTATING = [...MUTATING, 'AssignIpv6Addresses', 'AssignIpv6Addresses', 'UnassignIpv6Addresses'] as const;
const CRASH_POINTS = [
  'now',
  'callSending',
  'callCarriedOut',
  'storeWriting',
  'storePending',
  'storeSynced',
] as const satisfies readonly CrashPoint[];

/** `goal`: how many are wanted for now. */
type Pods = { live: string[]; gone: string[]; made: number; goal: number; tideTurnsIn: number };

/** @param fates what the API server and the kernel do: of a stream of its own, so that the other choices of a seed stay */
export function planOf(chance: Seeded, options: PlanOptions, fates: Seeded): Decision[] {
  const decisions: Decision[] = [];
  const nodes = Array.from(
    { length: options.nodes },
    (): Pods => ({ live: [], gone: [], made: 0, goal: 0, tideTurnsIn: 0 }),
  );
  // Some worlds are crowded, some nearly empty.
  const crowd = Math.ceil(options.capacity * chance.pick([0.3, 0.7, 1, 1.3]));
  const set = (pod: string): SetPod => ({ pod, node: 0, made: 0, live: null });
  const sets = [set('set0'), set('set1'), set('set2')] as const;
  const { gapMs = momentsMs, untilMs = Number.POSITIVE_INFINITY } = options;
  let atMs = options.startMs;
  while (decisions.length < options.decisions) {
    atMs += gapMs(chance);
    if (atMs > untilMs) break;
    const node = chance.between(0, options.nodes - 1);
    const pods = nodes[node] as Pods;
    turnTide(chance, pods, crowd);
    for (const deed of deeds(chance, options, node, pods)) {
      const one = fated(fates, deed);
      for (const done of [one, ...impatient(fates, one)]) decisions.push({ ...done, atMs });
    }
    if (fates.chance(0.1)) for (const deed of setDeeds(fates, options, sets)) decisions.push({ ...deed, atMs });
    if (options.faults && fates.chance(0.03)) decisions.push({ ...apiFault(fates, node), atMs });
  }
  return decisions;
}

/** Pods come and go in tides, so that nodes grow to their bounds and shrink to nothing again. */
function turnTide(chance: Seeded, pods: Pods, crowd: number): void {
  pods.tideTurnsIn -= 1;
  if (pods.tideTurnsIn > 0) return;
  pods.tideTurnsIn = chance.between(10, 40);
  pods.goal = Math.ceil(crowd * chance.pick([0, 0.2, 0.6, 1, 1]));
}

/** Mostly moments, sometimes a long silence. */
function momentsMs(chance: Seeded): number {
  const kind = chance.fraction();
  if (kind < 0.25) return chance.between(0, 3);
  if (kind < 0.7) return chance.between(5, 400);
  if (kind < 0.95) return chance.between(400, 4_000);
  return chance.between(5_000, 90_000);
}

function deeds(chance: Seeded, options: PlanOptions, node: number, pods: Pods): readonly Deed[] {
  const kind = chance.fraction();
  if (kind < 0.05 && options.crashes) {
    if (chance.chance(0.2)) return [restart(chance, node)];
    return [crash(chance, node)];
  }
  if (kind < 0.13 && options.faults) return fault(chance, node, options.dual);
  if (kind < 0.14 && options.defects) return [defect(chance, node)];
  if (kind < 0.155 && options.outOfBand) return [outOfBand(chance, node)];
  if (kind < 0.17) return [ambush(chance, options, node, pods)];
  if (kind < 0.2) {
    const size = chance.between(2, 8);
    return Array.from({ length: size }, () => add(chance, node, newPod(node, pods)));
  }
  if (kind < 0.23) return pods.live.splice(0, chance.between(1, 8)).map((container) => del(node, container, pods));
  if (kind < 0.29 && pods.live.length > 0) return [add(chance, node, any(chance, pods.live))];
  if (kind < 0.32 && pods.gone.length > 0) return [{ do: 'del', node, container: any(chance, pods.gone) }];
  // The sandbox is asked for again while it is being released.
  if (kind < 0.33 && pods.live.length > 1) {
    const [container] = pods.live.splice(0, 1);
    if (container !== undefined)
      return [del(node, container, pods), add(chance, node, container), del(node, container, pods)];
  }
  // Stopped while callers wait, some of whom will not wait for the end.
  if (kind < 0.333 && options.crashes) {
    const burst = Array.from({ length: chance.between(1, 6) }, () => ({
      ...add(chance, node, newPod(node, pods)),
      abortMs: chance.chance(0.7) ? chance.between(0, 1_800) : null,
    }));
    return [...burst, { ...restart(chance, node), drainMs: 2_000 }];
  }
  if (kind < 0.34) return [{ do: 'del', node, container: `unknown-${node}-${chance.between(0, 99)}` }];
  if (chance.chance(pods.live.length > pods.goal ? 0.8 : 0.15)) {
    const [container] = pods.live.splice(chance.between(0, pods.live.length - 1), 1);
    return container === undefined ? [] : [del(node, container, pods)];
  }
  return [add(chance, node, newPod(node, pods))];
}

/** A pod of a StatefulSet: its containers come one after another, `set0#1`, `set0#2`, mostly on one node. */
type SetPod = { readonly pod: string; node: number; made: number; live: string | null };

function setDeeds(fates: Seeded, options: PlanOptions, sets: readonly [SetPod, ...SetPod[]]): readonly Deed[] {
  const one = fates.pick(sets);
  const { node, live } = one;
  const anew = (at: number): Deed => {
    one.made += 1;
    one.node = at;
    one.live = `${one.pod}#${one.made}`;
    return { do: 'add', node: at, container: one.live, withinMs: fates.pick([2_000, 30_000, 110_000]), abortMs: null };
  };
  if (live === null) return [anew(fates.chance(0.7) ? node : fates.between(0, options.nodes - 1))];
  const kind = fates.fraction();
  // A new sandbox, and the DEL of the old one late, or never.
  if (kind < 0.25) return [anew(node), ...(fates.chance(0.5) ? [{ do: 'del', node, container: live } as const] : [])];
  one.live = null;
  if (kind < 0.4) return [{ do: 'fate', node, container: live, fate: 'deleted' }];
  return [{ do: 'del', node, container: live }];
}

/** Runtimes ask again for a sandbox that is still being made, leave, and delete it meanwhile. */
function impatient(fates: Seeded, deed: Deed): readonly Deed[] {
  if (deed.do !== 'add' || !fates.chance(0.08)) return [];
  const { node, container } = deed;
  const again = { ...add(fates, node, container), abortMs: fates.chance(0.6) ? fates.between(0, 200) : null };
  return fates.chance(0.25) ? [again, { do: 'del', node, container }] : [again];
}

/** Some of the pods that go are never deleted at the node. */
function fated(fates: Seeded, deed: Deed): Deed {
  if (deed.do !== 'del' || !fates.chance(0.15)) return deed;
  return { ...deed, do: 'fate', fate: fates.pick(FATES) };
}

function apiFault(fates: Seeded, node: number): Deed {
  const times = fates.pick([1, 2, 4]);
  if (fates.chance(0.5)) return { do: 'shortLists', node, times };
  return { do: 'portFault', node, port: fates.pick(['kubernetes', 'sandboxes'] as const), times };
}

function newPod(node: number, pods: Pods): string {
  pods.made += 1;
  const container = `n${node}-p${pods.made}`;
  pods.live.push(container);
  return container;
}

function del(node: number, container: string, pods: Pods): Deed {
  pods.gone.push(container);
  return { do: 'del', node, container };
}

function add(chance: Seeded, node: number, container: string): Deed & { do: 'add' } {
  const withinMs = chance.pick([300, 2_000, 10_000, 30_000, 110_000]);
  return { do: 'add', node, container, withinMs, abortMs: chance.chance(0.08) ? chance.between(0, 4_000) : null };
}

function crash(chance: Seeded, node: number): Deed & { do: 'crash' } {
  const point = chance.pick(CRASH_POINTS);
  const downMs = chance.pick([1, 50, 1_000, 5_000, 60_000]);
  return { do: 'crash', node, point, nth: chance.between(1, 4), downMs, kept: chance.fraction() };
}

function restart(chance: Seeded, node: number): Deed & { do: 'restart' } {
  const againMs = chance.chance(0.5) ? chance.between(0, 400) : null;
  return { do: 'restart', node, drainMs: chance.pick([0, 2_000]), downMs: chance.pick([1, 500, 20_000]), againMs };
}

function defect(chance: Seeded, node: number): Deed {
  const of = chance.pick(['eni', 'eni', 'supervisor', 'lease'] as const);
  return { do: 'defect', node, of, which: chance.between(0, 999), forMs: chance.pick([10, 5_000, 60_000]) };
}

function fault(chance: Seeded, node: number, dual: boolean): readonly Deed[] {
  const kind = chance.fraction();
  // An answer is lost, and then the same call is refused for good: it may have been carried out.
  if (kind < 0.03) {
    const forMs = chance.pick([5_000, 30_000]);
    const api = 'CreateNetworkInterface';
    const code = chance.pick([
      'Forbidden.RAM',
      'InvalidVSwitchId.IpNotEnough',
      'IdempotentFailed',
      'InternalError',
    ] as const);
    const lost: Fault = { api, times: 1, params: {}, effect: 'drop', how: 'close' };
    const refused: Fault = {
      api,
      times: chance.between(1, 8),
      params: {},
      effect: 'fail',
      code,
      status: null,
      message: null,
    };
    const first: Deed = { do: 'callFault', fault: lost, forMs };
    return chance.chance(0.7)
      ? [{ do: 'callFault', fault: refused, forMs }]
      : [first, { do: 'callFault', fault: { ...refused, times: 200 }, forMs }];
  }
  return [oneFault(chance, node, kind, dual)];
}

function oneFault(chance: Seeded, node: number, kind: number, dual: boolean): Deed {
  if (kind < 0.1) return { do: 'drySwitch', vSwitch: chance.between(0, 1), forMs: chance.between(1_000, 60_000) };
  if (kind < 0.2) {
    const lateMs = chance.pick([500, 3_000, 45_000]);
    return { do: 'lateDevices', node, lateMs, forMs: chance.between(1_000, 20_000) };
  }
  if (kind < 0.35) {
    const port = chance.pick(['store', 'metadata', 'kernel'] as const);
    return { do: 'portFault', node, port, times: chance.pick([1, 1, 2, 3, 8]) };
  }
  const planted = callFault(chance, dual);
  // A held call goes on before its caller gives up: what is carried out after that is another matter (lateCalls).
  const forMs = planted.effect === 'hold' ? chance.between(100, 10_000) : chance.pick([2_000, 20_000, 90_000]);
  return { do: 'callFault', fault: planted, forMs };
}

function callFault(chance: Seeded, dual: boolean): Fault {
  const api = chance.chance(0.75)
    ? chance.pick(dual ? DUAL_MUTATING : MUTATING)
    : chance.pick(['DescribeNetworkInterfaces', '*'] as const);
  const planted = { api, times: chance.pick([1, 1, 2, 5, 200]), params: {} };
  switch (chance.pick(['fail', 'fail', 'fail', 'drop', 'drop', 'delay', 'hold', 'transition', 'reply'] as const)) {
    case 'fail':
      return {
        ...planted,
        effect: 'fail',
        code: chance.pick(dual ? DUAL_REFUSALS : REFUSALS),
        status: null,
        message: null,
      };
    case 'drop':
      return { ...planted, effect: 'drop', how: chance.pick(['close', 'hang'] as const) };
    case 'delay':
      return { ...planted, effect: 'delay', ms: chance.pick([300, 5_000, 30_000]) };
    case 'hold':
      return { ...planted, effect: 'hold' };
    case 'reply': {
      const html = { status: 502, contentType: 'text/html', body: '<html>Bad Gateway</html>' };
      return { ...planted, effect: 'reply', ...html, carriedOut: chance.chance(0.5) };
    }
    case 'transition':
      return {
        ...planted,
        effect: 'transition',
        lastsMs: chance.pick([0, 10_000, 200_000]),
        fails: chance.chance(0.5),
      };
  }
}

function outOfBand(chance: Seeded, node: number): Deed & { do: 'outOfBand' } {
  const change = chance.pick(['unassign', 'assign', 'detachEni', 'deleteEni', 'foreignEni'] as const);
  return { do: 'outOfBand', node, change, which: chance.between(0, 999) };
}

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

function ambush(chance: Seeded, options: PlanOptions, node: number, pods: Pods): Deed {
  const state = chance.pick(MOMENTS);
  return { do: 'ambush', node, state, nth: chance.between(1, 3), deeds: surprise(chance, options, node, pods, state) };
}

function surprise(chance: Seeded, options: PlanOptions, node: number, pods: Pods, state: string): readonly Deed[] {
  const gone = (): readonly Deed[] =>
    pods.live.slice(0, chance.between(1, 8)).map((container) => ({ do: 'del', node, container }));
  const come = (): readonly Deed[] =>
    Array.from({ length: chance.between(1, 6) }, () => add(chance, node, newPod(node, pods)));
  const again = (): readonly Deed[] => (pods.live.length > 0 ? [add(chance, node, any(chance, pods.live))] : come());
  const kind = chance.fraction();
  if (kind < 0.2 && options.crashes)
    return [chance.chance(0.3) ? restart(chance, node) : { ...crash(chance, node), point: 'now' }];
  if (kind < 0.4 && options.faults) {
    if (chance.chance(0.4)) {
      const port = chance.pick(['store', 'kernel'] as const);
      return [{ do: 'portFault', node, port, times: 1 }];
    }
    return fault(chance, node, options.dual);
  }
  if (kind < 0.55 && options.defects && (state.startsWith('eni.') || state.startsWith('lease.')))
    return [
      {
        do: 'defect',
        node,
        of: state.startsWith('eni.') ? 'eni' : 'lease',
        which: 0,
        forMs: chance.pick([5_000, 60_000, 300_000]),
      },
    ];
  if (kind < 0.75 && options.outOfBand && state.startsWith('eni.'))
    return [
      { ...outOfBand(chance, node), change: chance.pick(['detachEni', 'detachEni', 'unassign', 'deleteEni'] as const) },
    ];
  if (kind < 0.85) return come();
  return kind < 0.93 ? gone() : again();
}

function any(chance: Seeded, list: readonly string[]): string {
  return list[chance.between(0, list.length - 1)] ?? '';
}
