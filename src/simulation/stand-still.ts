/**
 * Whether each actor goes on, and is what it says it is: no state is stayed in for longer than what it waits for takes, no actor's clock is
 * behind what it was told, and an ENI's phase and failures are those of its state.
 *
 * The limits are of the settings, not of the charts: a chart that has lost its way out of a state is found by the state it stays in.
 * The states in which an actor may stay for ever are those that wait for somebody else: a lease that is bound, a node that serves.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { EniContext } from '../../statecharts/eni-context.ts';
import type { GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';
import { type IdlePoolContext, moveIn } from '../../statecharts/idle-pool-context.ts';
import { hasHolders } from '../core/address-book.ts';
import type { EniPhase } from '../core/eni-summary.ts';
import { isTaken } from '../core/own-eni.ts';
import type { Settings } from '../core/settings.ts';
import type { Report } from './violation.ts';

/** What a timer, and what follows from it at the same moment, may be late. */
const GRACE_MS = 1_500;
/** Writes, and what the fakes draw for the way of a call, beside the call itself. */
const WAY_MS = 10_000;
/** Steps of start and recovery read all pages of several listings. */
const START_CALLS = 12;
/** Attach, tried some times, and the looks that began before the time was over. */
const ATTACH_CALLS = 5;
const SEEK_PERIODS = 5;
/** Of a call's time: before that is over a node serves what it remembers. */
const MEMORY_SHARE = 0.15;

type CollectorSnapshot = { readonly value: string; readonly context: GarbageCollectorContext };
type PoolSnapshot = {
  readonly value: 'measuring' | 'filling' | 'shedding' | 'resting' | 'backingOff';
  readonly context: IdlePoolContext;
};
type Stay = { readonly ref: AnyActorRef; readonly what: string; readonly sinceMs: number; readonly endMs: number };

export class StandStill {
  readonly #settings: Settings;
  readonly #report: Report;
  readonly #stays = new Map<AnyActorRef, Stay>();
  readonly #stages = new WeakMap<AnyActorRef, { readonly stage: string; readonly sinceMs: number }>();
  #nextEndMs = Number.POSITIVE_INFINITY;
  checks = 0;

  constructor(settings: Settings, report: Report) {
    this.#settings = settings;
    this.#report = report;
  }

  /** One step of an actor. */
  observe(ref: AnyActorRef, chart: string, snapshot: AnyMachineSnapshot, event: object, nowMs: number): void {
    this.checks += 2;
    if (snapshot.status !== 'active') {
      this.#stays.delete(ref);
      return;
    }
    if (CLOCKS.has(chart)) this.#clock(ref, snapshot, event);
    if (chart === 'node') this.#node(snapshot);
    if (chart === 'idlePool') this.#pool(snapshot as unknown as PoolSnapshot);
    if (chart === 'garbageCollector') this.#collector(snapshot as unknown as CollectorSnapshot);
    const path = pathOf(snapshot.value);
    if (chart === 'eni') {
      const { context } = snapshot as unknown as { context: EniContext };
      this.#eni(ref, path, context);
      this.#stage(ref, path, context, nowMs);
    }
    const limitMs = limitOf(
      chart,
      path,
      this.#settings,
      (snapshot.context as { recalled?: boolean }).recalled === true,
    );
    const what = limitMs === null ? '' : `${chart}.${path}`;
    const known = this.#stays.get(ref);
    if (limitMs === null) this.#stays.delete(ref);
    else if (known?.what !== what || ownTimer(event)) {
      const endMs = nowMs + limitMs + GRACE_MS;
      this.#stays.set(ref, { ref, what, sinceMs: nowMs, endMs });
      this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
    }
  }

  /** After each step. */
  check(nowMs: number): void {
    if (nowMs <= this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [ref, { what, sinceMs, endMs }] of this.#stays) {
      if (ref.getSnapshot().status !== 'active') this.#stays.delete(ref);
      else if (endMs < nowMs) this.#report('alive', `${ref.id} has been in ${what} for ${nowMs - sinceMs} ms`);
      else this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
    }
  }

  /** No actor lives in the past: what it makes of an instant it was told would be late. */
  #clock(ref: AnyActorRef, { context }: AnyMachineSnapshot, event: object): void {
    const { nowMs } = context as { nowMs?: number };
    const { atMs, output } = event as { atMs?: number; output?: { atMs?: number } };
    if (nowMs === undefined || nowMs === 0) return;
    const toldMs = atMs ?? output?.atMs;
    if (toldMs !== undefined && nowMs < toldMs && 'type' in event && CLOCKED.test(String(event.type)))
      this.#report('alive', `${ref.id} heard ${String(event.type)} of ${toldMs} and has it that it is ${nowMs}`);
  }

  /** Whoever is turned away is told why. */
  #node({ value, context }: AnyMachineSnapshot): void {
    const { failures, missing } = context as { failures: number; missing: readonly string[] };
    const path = pathOf(value);
    const degraded = path.startsWith('running.degraded');
    const step = { starting: 'identify: ', recovering: 'recover: ', running: '' }[path.split('.')[0] ?? ''];
    const told = missing[0] ?? '';
    if (path.endsWith('.backingOff') && (failures === 0 || step === undefined || !told.startsWith(step)))
      this.#report('alive', `the node is ${path} after ${failures} failures and says that it waits for "${told}"`);
    if (degraded && told === '') this.#report('alive', `the node is ${path} and does not say what it waits for`);
    if (path.startsWith('running') && !degraded && (failures > 0 || told !== ''))
      this.#report('alive', `the node is ${path} and says that it waits for "${told}" after ${failures} failures`);
  }

  /** It rests when nothing is missing and nothing too much, and backs off only from failures. */
  #pool({ value, context }: PoolSnapshot): void {
    const { grow, shed, callOff } = moveIn(context);
    const many = shed + callOff;
    const right = {
      measuring: true,
      filling: grow > 0,
      shedding: many > 0 && grow === 0,
      resting: grow === 0 && many === 0 && context.failures === 0,
      backingOff: context.failures > 0,
    }[value];
    if (right !== true)
      this.#report(
        '7',
        `the pool is ${value} after ${context.failures} failures, ${grow} missing and ${many} too much`,
      );
  }

  /** It rests once a pass is over, and backs off only from failures. */
  #collector({ value, context }: CollectorSnapshot): void {
    const { failures, lastFailure, failed, suspects, reservations, doomed, ending, condemned, kept } = context;
    const broken = failures > 0 && (lastFailure !== null || failed > 0);
    if (value === 'backingOff' && !broken)
      this.#report(
        'alive',
        `the garbage collector backs off after ${failures} failures, the last one ${JSON.stringify(lastFailure)}`,
      );
    if (value === 'resting' && (failures > 0 || lastFailure !== null || doomed.length > 0))
      this.#report(
        'alive',
        `the garbage collector rests after ${failures} failures with ${doomed.length} leases to release`,
      );
    if (value === 'resting' && suspects.length === 0 && kept.length + Object.keys(condemned).length > 0)
      this.#report('7', 'the garbage collector suspects nobody and keeps a list of suspects');
    const idle = { confirming: suspects.length + reservations.length, collecting: doomed.length + ending.length };
    if ((value === 'confirming' || value === 'collecting') && idle[value] === 0)
      this.#report('alive', `the garbage collector is ${value} and there is nothing to do`);
  }

  /** What an ENI does that nobody holds an address of, and that the cloud has to do, has an end. */
  #stage(ref: AnyActorRef, path: string, { book }: EniContext, nowMs: number): void {
    const [stage = ''] = path.split('.');
    const limitMs = stageLimitOf(stage, this.#settings);
    const known = this.#stages.get(ref);
    if (limitMs === null || hasHolders(book)) this.#stages.set(ref, { stage: '', sinceMs: nowMs });
    else if (known?.stage !== stage) this.#stages.set(ref, { stage, sinceMs: nowMs });
    else if (nowMs - known.sinceMs > limitMs + GRACE_MS)
      this.#report('alive', `${ref.id} has been ${stage} for ${nowMs - known.sinceMs} ms`);
  }

  #eni(ref: AnyActorRef, path: string, context: EniContext): void {
    const { phase, failures, lastFailure } = context;
    const right = phasesOf(path);
    if (right !== null && !right.includes(phase))
      this.#report('7', `${ref.id} is ${path} and says that it is ${phase}`);
    if (path.startsWith('inUse') && context.device === null && phase !== 'faulty')
      this.#report('7', `${ref.id} is ${path} without a device and says that it is ${phase}`);
    if (/^inUse\.(resting|assigning)/.test(path) && context.device?.ifindex === 0 && !isTaken(context.book))
      this.#report('7', `${ref.id} is ${path}, and its device is where its pod was`);
    if (path === 'inUse.unplugged' && context.device !== null)
      this.#report('7', `${ref.id} waits for a device that it has`);
    if (failures > 0 !== (lastFailure !== null))
      this.#report('7', `${ref.id} counts ${failures} failures, the last being ${JSON.stringify(lastFailure)}`);
    if (/\.(backingOff|judging|searchingLater)$/.test(path) && lastFailure === null)
      this.#report('7', `${ref.id} is ${path} and nothing has failed`);
  }
}

/** Events after which the actor's clock is looked at: not those that an actor is free to ignore. */
const CLOCKED = /^(assign|grow|freed|rest|bind|withdraw|cancel|poolChanged|periodEnded|reclaimDue|allocate)/;
const CLOCKS = new Set(['eni', 'lease', 'eniFactory', 'idlePool', 'garbageCollector']);

function ownTimer(event: object): boolean {
  return 'type' in event && String(event.type).startsWith('xstate.after.');
}

export function pathOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  return Object.entries(value)
    .map(([key, inner]) =>
      typeof inner === 'object' && Object.keys(inner as object).length === 0 ? key : `${key}.${pathOf(inner)}`,
    )
    .join('+');
}

/** How long an actor may stay in a state, ms; null for as long as it likes. */
function limitOf(chart: string, path: string, s: Settings, recalled: boolean): number | null {
  const call = s.callTimeoutMs + WAY_MS;
  const leaf = path.slice(path.lastIndexOf('.') + 1);
  switch (chart) {
    case 'node':
      // Who waits for an answer, and does not know yet what he remembers, looks at that.
      if (leaf === 'calling' && !recalled) return MEMORY_SHARE * s.callTimeoutMs;
      if (leaf === 'quieting') return s.callTimeoutMs;
      if (['calling', 'identifying', 'looking'].includes(leaf)) return START_CALLS * call;
      if (path === 'remembering') return WAY_MS;
      return leaf === 'backingOff' ? s.backoffMaxMs : null;
    case 'lease':
      if (path === 'bound' || path.startsWith('opening')) return null;
      return path === 'persisting' || path === 'releasing' ? WAY_MS : 0;
    case 'idlePool':
      return path === 'measuring' ? 0 : Math.max(s.poolPeriodMs, s.backoffMs);
    case 'garbageCollector':
      if (path === 'suspecting' || path === 'condemning') return 0;
      return path === 'resting' || path === 'backingOff' ? s.gcPeriodMs : s.gcTimeoutMs;
    case 'cloudKeeper':
      return path === 'listing' ? START_CALLS * call : s.cloudPeriodMs;
    case 'kernelKeeper':
      return path === 'sweeping' ? WAY_MS : Math.max(s.kernelPeriodMs, s.backoffMaxMs, s.leftoverGraceMs);
    case 'eni':
      return eniLimitOf(path, leaf, call, s);
    default:
      return null;
  }
}

function stageLimitOf(stage: string, s: Settings): number | null {
  // From the first look that does not show it to the last; the calls before, and looks that wait for the device, have their own time.
  if (stage === 'attaching')
    return s.attachTimeoutMs + ATTACH_CALLS * (s.callTimeoutMs + WAY_MS) + SEEK_PERIODS * s.describePeriodMs;
  return stage === 'detaching' || stage === 'deleting' ? s.detachTimeoutMs : null;
}

function eniLimitOf(path: string, leaf: string, call: number, s: Settings): number | null {
  if (path === 'settling.calling') return s.settleTimeoutMs;
  if (path === 'stuck') return s.backoffMaxMs;
  if (path === 'inUse.resting.quiet') return s.cloudPeriodMs;
  if (path === 'lost.waiting') return s.backoffMaxMs;
  switch (leaf) {
    case 'waiting':
    case 'unanswered':
      return s.describePeriodMs;
    case 'seeking':
      return SEEK_PERIODS * s.describePeriodMs;
    case 'backingOff':
    case 'refused':
    case 'turnedAway':
    case 'searchingLater':
    case 'unplugged':
      return s.backoffMaxMs;
    case 'judging':
    case 'looking':
    case 'appearing':
      return 0;
    // The call of the device is bounded by its own time-out, the others by that of a call; some make two.
    default:
      return 2 * call + s.settleTimeoutMs;
  }
}

/** What an ENI in a state may say of itself; null when that says nothing. */
function phasesOf(path: string): readonly EniPhase[] | null {
  if (path.startsWith('creating') || path.startsWith('attaching')) return ['opening'];
  if (path === 'settling.backingOff') return ['faulty'];
  if (path.startsWith('settling')) return ['opening', 'faulty'];
  if (path.startsWith('inUse.resting')) return ['ready'];
  // A device that goes is told at once, whatever is under way.
  if (/^inUse\.(looking|assigning\.(inLine|calling|turnedAway)|unassigning)/.test(path)) return ['ready', 'faulty'];
  if (path === 'inUse.unplugged') return ['faulty'];
  if (path === 'inUse.backingOff') return ['holding', 'faulty'];
  if (path.startsWith('inUse')) return ['ready', 'holding', 'faulty'];
  if (/^(draining|detaching|deleting|stuck)/.test(path)) return ['leaving'];
  return path.startsWith('lost') ? ['lost'] : null;
}
