/**
 * What will be done to the world: a list of decisions made from the seed before anything runs, so that a shorter list can be tried
 * when one fails. Whatever a decision names that does not exist by then is skipped.
 */
import type { Fault } from '../vpc/faults.ts';
import type { Seeded } from './seeded.ts';

/** Where in a node's life a crash strikes: now, or at the nth time that it passes the point from now on. */
export type CrashPoint = 'now' | 'callSending' | 'callCarriedOut' | 'storeWriting' | 'storePending' | 'storeSynced';

export type Deed =
  | {
      readonly do: 'add';
      readonly node: number;
      readonly container: string;
      readonly withinMs: number;
      readonly abortMs: number | null;
    }
  | { readonly do: 'del'; readonly node: number; readonly container: string }
  | {
      readonly do: 'crash';
      readonly node: number;
      readonly point: CrashPoint;
      readonly nth: number;
      readonly downMs: number;
      /** Share of the unsynced writes that made it. */
      readonly kept: number;
    }
  /** Told to stop, as an upgrade does, and started again. */
  | { readonly do: 'restart'; readonly node: number; readonly downMs: number }
  /** `forMs`: when it is taken back, used up or not. */
  | { readonly do: 'callFault'; readonly fault: Fault; readonly forMs: number }
  | {
      readonly do: 'portFault';
      readonly node: number;
      readonly port: 'store' | 'metadata' | 'kernel';
      readonly times: number;
    }
  /** Devices that are plugged in from now on appear so much later. */
  | { readonly do: 'lateDevices'; readonly node: number; readonly lateMs: number; readonly forMs: number }
  /** All but so many of the free addresses of a vSwitch are nobody's to take. */
  | { readonly do: 'drySwitch'; readonly vSwitch: number; readonly forMs: number }
  | {
      readonly do: 'outOfBand';
      readonly node: number;
      readonly change: 'unassign' | 'assign' | 'detachEni' | 'deleteEni' | 'foreignEni';
      readonly which: number;
    };

export type Decision = Deed & { readonly atMs: number };

/** What a seed may do besides adding and deleting pods. */
export type PlanKinds = {
  readonly faults: boolean;
  readonly crashes: boolean;
  readonly outOfBand: boolean;
  /** Answers may come later than callers wait. */
  readonly slowAnswers: boolean;
};

export type PlanOptions = PlanKinds & {
  readonly nodes: number;
  readonly decisions: number;
  readonly startMs: number;
  /** Pods a node may have addresses for. */
  readonly capacity: number;
};

const REFUSALS = [
  'Throttling.User',
  'InternalError',
  'ServiceUnavailable',
  'InvalidVSwitchId.IpNotEnough',
  'Operation.Conflict',
  'Forbidden.RAM',
  'EniPerInstanceLimitExceeded',
] as const;
const MUTATING = [
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
] as const;
const CRASH_POINTS = [
  'now',
  'callSending',
  'callCarriedOut',
  'storeWriting',
  'storePending',
  'storeSynced',
] as const satisfies readonly CrashPoint[];

type Pods = { live: string[]; gone: string[]; made: number };

export function planOf(chance: Seeded, options: PlanOptions): Decision[] {
  const decisions: Decision[] = [];
  const nodes = Array.from({ length: options.nodes }, (): Pods => ({ live: [], gone: [], made: 0 }));
  // Some worlds are crowded, some nearly empty.
  const crowd = Math.ceil(options.capacity * chance.pick([0.3, 0.7, 1, 1.3]));
  let atMs = options.startMs;
  while (decisions.length < options.decisions) {
    atMs += gapMs(chance);
    const node = chance.between(0, options.nodes - 1);
    const pods = nodes[node] as Pods;
    for (const deed of deeds(chance, options, node, pods, crowd)) decisions.push({ ...deed, atMs });
  }
  return decisions;
}

/** Mostly moments, sometimes a long silence. */
function gapMs(chance: Seeded): number {
  const kind = chance.fraction();
  if (kind < 0.25) return chance.between(0, 3);
  if (kind < 0.7) return chance.between(5, 400);
  if (kind < 0.95) return chance.between(400, 4_000);
  return chance.between(5_000, 90_000);
}

function deeds(chance: Seeded, options: PlanOptions, node: number, pods: Pods, crowd: number): readonly Deed[] {
  const kind = chance.fraction();
  if (kind < 0.05 && options.crashes) {
    if (chance.chance(0.15)) return [{ do: 'restart', node, downMs: chance.pick([1, 500, 20_000]) }];
    return [crash(chance, node)];
  }
  if (kind < 0.14 && options.faults) return [fault(chance, node, options.slowAnswers)];
  if (kind < 0.16 && options.outOfBand) return [outOfBand(chance, node)];
  if (kind < 0.2) {
    const size = chance.between(2, 8);
    return Array.from({ length: size }, () => add(chance, node, newPod(node, pods)));
  }
  if (kind < 0.23) return pods.live.splice(0, chance.between(1, 8)).map((container) => del(node, container, pods));
  if (kind < 0.29 && pods.live.length > 0) return [add(chance, node, any(chance, pods.live))];
  if (kind < 0.32 && pods.gone.length > 0) return [{ do: 'del', node, container: any(chance, pods.gone) }];
  if (kind < 0.33) return [{ do: 'del', node, container: `unknown-${node}-${chance.between(0, 99)}` }];
  if (chance.fraction() < pods.live.length / (2 * crowd)) {
    const [container] = pods.live.splice(chance.between(0, pods.live.length - 1), 1);
    return container === undefined ? [] : [del(node, container, pods)];
  }
  return [add(chance, node, newPod(node, pods))];
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

function add(chance: Seeded, node: number, container: string): Deed {
  const withinMs = chance.pick([300, 2_000, 10_000, 30_000, 110_000]);
  return { do: 'add', node, container, withinMs, abortMs: chance.chance(0.08) ? chance.between(0, 4_000) : null };
}

function crash(chance: Seeded, node: number): Deed {
  const point = chance.pick(CRASH_POINTS);
  const downMs = chance.pick([1, 50, 1_000, 5_000, 60_000]);
  return { do: 'crash', node, point, nth: chance.between(1, 4), downMs, kept: chance.fraction() };
}

function fault(chance: Seeded, node: number, slowAnswers: boolean): Deed {
  const kind = chance.fraction();
  if (kind < 0.1) return { do: 'drySwitch', vSwitch: chance.between(0, 1), forMs: chance.between(1_000, 60_000) };
  if (kind < 0.2) {
    const lateMs = chance.pick([500, 3_000, 45_000]);
    return { do: 'lateDevices', node, lateMs, forMs: chance.between(1_000, 20_000) };
  }
  if (kind < 0.35) {
    const port = chance.pick(['store', 'metadata', 'kernel'] as const);
    return { do: 'portFault', node, port, times: chance.between(1, 3) };
  }
  const planted = callFault(chance, slowAnswers);
  // A held call goes on before its caller gives up: what is carried out after that is another matter (lateCalls).
  const forMs = planted.effect === 'hold' ? chance.between(100, 10_000) : chance.pick([2_000, 20_000, 90_000]);
  return { do: 'callFault', fault: planted, forMs };
}

function callFault(chance: Seeded, slowAnswers: boolean): Fault {
  const api = chance.chance(0.75) ? chance.pick(MUTATING) : chance.pick(['DescribeNetworkInterfaces', '*'] as const);
  const planted = { api, times: chance.pick([1, 1, 2, 5]), params: {} };
  switch (chance.pick(['fail', 'fail', 'drop', 'drop', 'delay', 'hold', 'transition'] as const)) {
    case 'fail':
      return { ...planted, effect: 'fail', code: chance.pick(REFUSALS), status: null, message: null };
    case 'drop':
      return { ...planted, effect: 'drop', how: chance.pick(['close', 'hang'] as const) };
    case 'delay':
      return { ...planted, effect: 'delay', ms: chance.pick([300, 5_000, slowAnswers ? 30_000 : 15_000]) };
    case 'hold':
      return { ...planted, effect: 'hold' };
    case 'transition':
      return {
        ...planted,
        effect: 'transition',
        lastsMs: chance.pick([0, 10_000, 200_000]),
        fails: chance.chance(0.5),
      };
  }
}

function outOfBand(chance: Seeded, node: number): Deed {
  const change = chance.pick(['unassign', 'assign', 'detachEni', 'deleteEni', 'foreignEni'] as const);
  return { do: 'outOfBand', node, change, which: chance.between(0, 999) };
}

function any(chance: Seeded, list: readonly string[]): string {
  return list[chance.between(0, list.length - 1)] ?? '';
}
