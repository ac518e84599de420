/**
 * What an actor does in one step, against what it was before: a call that was begun is waited for, a success ends a row of failures, no
 * ENI is let go under those who hold its addresses, the factory believes nothing that is older than what it knows, and whoever works in
 * passes does so in their order.
 *
 * The other watchers look at what is; a chart that does the right thing at the wrong moment is seen only here.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { AdoptedEni } from '../../statecharts/adopted-eni.ts';
import type { CloudKeeperContext } from '../../statecharts/cloud-keeper.ts';
import { type EniContext, shownThen } from '../../statecharts/eni-context.ts';
import { type EniFactoryContext, lessonOf } from '../../statecharts/eni-factory-context.ts';
import { strangeIn } from '../../statecharts/eni-owned.ts';
import type { Collected, GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';
import { type IdlePoolContext, moveIn } from '../../statecharts/idle-pool-context.ts';
import type { KernelKeeperContext, Swept } from '../../statecharts/kernel-keeper.ts';
import type { LeaseContext } from '../../statecharts/lease.ts';
import type { NodeContext } from '../../statecharts/node.ts';
import { hasHolders } from '../core/address-book.ts';
import type { CloudEni } from '../core/eni.ts';
import type { EniSummary } from '../core/eni-summary.ts';
import type { Failure } from '../core/errors.ts';
import type { SecondLook } from '../core/garbage.ts';
import { isTaken } from '../core/own-eni.ts';
import { type PoolTotals, sameTotals } from '../core/pool.ts';
import { noted } from '../core/repair-ledger.ts';
import type { Settings } from '../core/settings.ts';
import { Course, type Step } from './course.ts';
import { Evidence } from './evidence.ts';
import { HoldWatch } from './hold-watch.ts';
import { LineWatch } from './line-watch.ts';
import { RootWatch } from './root-watch.ts';
import { checkLookNow } from './settings-watch.ts';
import { pathOf } from './stand-still.ts';
import { Verdicts } from './verdicts.ts';
import type { Report } from './violation.ts';

type Before = { readonly path: string; readonly context: unknown };
type Heard = {
  readonly type: string;
  readonly requestId?: string;
  readonly returns?: true;
  readonly slot?: number;
  readonly ok?: boolean;
  readonly failure?: Failure;
  readonly basis?: PoolTotals;
  readonly summary?: EniSummary;
  readonly output?: { readonly atMs?: number; readonly askedMs?: number; readonly value?: unknown };
};
type Confirmed = { readonly looks: readonly SecondLook[] };

const noIps = { ipv4: [], ipv6: [] };

const WATCHED = new Set([
  ...['node', 'eni', 'eniFactory', 'leases', 'lease', 'idlePool', 'kernelKeeper', 'cloudKeeper', 'garbageCollector'],
]);

/** In these a call of the cloud or the kernel that changes something is under way; it is left by its result, or a time-out. */
const CALLING = /^(creating|attaching|detaching|deleting|draining|inUse\.assigning)\.calling$|^inUse\.unassigning$/;
const RESULT = /^xstate\.(done|error)\.actor\.|^xstate\.after\.(attach|detach)Timeout\./;
const SUCCESS = /^xstate\.done\.actor\.0\.eni\.(creating\.calling|settling\.calling|inUse\.(unassigning|unplugged))$/;
const GOING = /^(draining|detaching|deleting)/;

export class Conduct {
  readonly #report: Report;
  readonly #before = new WeakMap<AnyActorRef, Before>();
  /** Of an ENI its call, or its wait for one. */
  readonly #line = new WeakMap<AnyActorRef, AnyActorRef | undefined>();
  /** What the cloud keeper has told of, and what the kernel keeper, in this step. */
  readonly #handedOver = new Set<string>();
  readonly #unplugged = new Set<string>();
  readonly #news = new Set<string>();
  #growFailedMs = Number.NEGATIVE_INFINITY;
  /** Since when the collector is in its state, as far as was seen. */
  #collectorMs = Number.POSITIVE_INFINITY;
  readonly #growPauseMs: number;
  readonly #course: Course;
  readonly #evidence: Evidence;
  readonly #lines: LineWatch;
  readonly #doubtful: WeakSet<AnyActorRef>;
  readonly #holds: HoldWatch;
  readonly #root: RootWatch;
  #verdicts: Verdicts;
  checks = 0;

  constructor(settings: Settings, report: Report, doubtful: WeakSet<AnyActorRef> = new WeakSet()) {
    this.#report = report;
    this.#doubtful = doubtful;
    this.#growPauseMs = Math.min(settings.backoffMs, settings.poolPeriodMs);
    this.#course = new Course(settings, report);
    this.#evidence = new Evidence(report, doubtful);
    this.#lines = new LineWatch(report);
    this.#holds = new HoldWatch(settings, report);
    this.#root = new RootWatch(report);
    this.#verdicts = new Verdicts(report);
  }

  /** For a node that is whole again: what was gone by meanwhile was not seen, and what was asked of the cloud was all the same. */
  anew(settings: Settings): Conduct {
    return new Conduct(settings, this.#report, this.#doubtful);
  }

  observe(ref: AnyActorRef, chart: string, snapshot: AnyMachineSnapshot, event: object, nowMs: number): void {
    if (!WATCHED.has(chart)) return;
    const before = this.#before.get(ref);
    const { context } = snapshot;
    const path = chart === 'eniFactory' || chart === 'leases' ? '' : pathOf(snapshot.value);
    const line = chart === 'eni' ? (snapshot.children[`0.eni.${path}`] as AnyActorRef | undefined) : undefined;
    const wasLine = this.#line.get(ref);
    this.#line.set(ref, line);
    this.#before.set(ref, { path, context });
    const heard = event as Heard;
    if (chart === 'leases') this.#root.leases(heard);
    if (chart === 'eni')
      this.#holds.eni(before?.context as EniContext | undefined, path, context as EniContext, heard, nowMs);
    if (heard.type === 'xstate.init' && chart === 'eni') this.#evidence.begins(ref, path, context as EniContext);
    if (chart === 'lease' && (heard.type === 'xstate.init' || before?.path === 'appearing'))
      this.#lease(ref, path, context as LeaseContext);
    // One that begins anew, as after a degraded start, is at its first pass at once.
    if (before === undefined && chart === 'garbageCollector') {
      this.#collectorMs = nowMs;
      this.#verdicts = new Verdicts(this.#report);
    }
    if (before === undefined) return;
    this.checks += 3;
    const failures = { before: failuresIn(before.context), now: failuresIn(context) };
    this.#course.observe({ ref, chart, from: before.path, to: path, failures, event: heard.type, nowMs });
    if (chart === 'eni') {
      const contexts = { before: before.context as EniContext, now: context as EniContext };
      const move = { ref, from: before.path, to: path, event: heard, ...contexts };
      this.#evidence.observe(move);
      this.#lines.observe(move, wasLine !== line);
    }
    if (chart === 'eniFactory' && heard.type === 'ipResult') this.#lines.answered(heard);
    if (chart === 'node') this.#root.root(before.path, path, context as NodeContext, heard);
    if (chart === 'eniFactory' && heard.type === 'xstate.done.actor.survey')
      this.#holds.looked(context as EniFactoryContext);
    if (heard.type === 'lookNow') checkLookNow(chart, before.path, path, context, this.#report);
    this.#waits(ref, chart, path, snapshot, heard);
    if (chart === 'kernelKeeper') this.#kernelKeeper(before, { path, context }, heard);
    if (chart === 'cloudKeeper') this.#cloudKeeper(before, { path, context }, heard);
    if (chart === 'idlePool') {
      this.#idlePool(before.path, path, failures, heard, nowMs);
      this.#poolTold(before.path, path, context as IdlePoolContext, heard);
    }
    if (chart === 'garbageCollector')
      this.#collector(before.path, path, context as GarbageCollectorContext, heard, nowMs);
    if (before.context === context) return;
    if (chart === 'eni') this.#tells(ref, before.context as EniContext, context as EniContext, heard);
    if (chart === 'eni') this.#eni(ref, before, { path, context }, heard);
    if (chart === 'eniFactory') this.#factory(before.context as EniFactoryContext, context as EniFactoryContext, heard);
  }

  /** After each step. */
  check(living: () => readonly EniContext[], said: number): void {
    this.#root.check();
    if (this.#news.size + this.#handedOver.size + this.#unplugged.size === 0) return;
    const enis = living();
    // People hear of what others have done, and of what was mended.
    for (const news of this.#news) if (said === 0) this.#report('alive', `nobody is told that ${news}`);
    this.#news.clear();
    for (const id of this.#handedOver)
      if (!enis.some(({ eniId }) => eniId === id)) this.#report('6', `${id} was handed over, and no actor has it`);
    this.#handedOver.clear();
    // One that leaves needs its device no more.
    const lives = enis.filter(({ device, book, phase }) => device !== null && !isTaken(book) && phase !== 'leaving');
    for (const mac of this.#unplugged)
      if (lives.some(({ mac: of }) => of?.toLowerCase() === mac))
        this.#report('7', `the device ${mac} is gone, and its ENI does not hear of it`);
    this.#unplugged.clear();
  }

  /** Nobody stays where he waits for a call that has come back. */
  #waits(ref: AnyActorRef, chart: string, path: string, { children }: AnyMachineSnapshot, { type }: Heard): void {
    const called = /^xstate\.(?:done|error)\.actor\.(0\.(\w+)\.(.*))$/.exec(type);
    const [, id = '', of, where = ''] = called ?? [];
    // Until the cloud is asked again.
    if (where === 'inUse.unplugged') return;
    if (of !== chart || (path !== where && !path.startsWith(`${where}.`))) return;
    const call = children[id] as AnyActorRef | undefined;
    if (call?.getSnapshot().status !== 'active')
      this.#report('alive', `${ref.id} stays in ${path} after ${type}, and waits for nothing`);
  }

  /** It looks again when something has changed, rests after a look, and backs off from a failure. */
  #kernelKeeper(from: Before, to: Before, { type, output }: Heard): void {
    const before = from.context as KernelKeeperContext;
    const now = to.context as KernelKeeperContext;
    const looked = type.startsWith('xstate.done.actor.');
    const seen = output?.value as Swept | undefined;
    for (const { kind, object } of (looked && seen?.drifts) || [])
      if (kind === 'eniDevice') this.#unplugged.add(object.toLowerCase());
    if (looked && seen !== undefined) {
      const { news } = noted(before.ledger, seen.drifts, output?.atMs ?? 0, before.repairTimes);
      if (news.length > 0) this.#news.add('the host was changed');
    }
    const repaired = seen?.drifts.filter(({ outcome }) => outcome === 'repaired').length ?? 0;
    const wrong =
      (looked && seen?.thorough === true && now.thoroughMs !== output?.atMs && 'forgets that it looked') ||
      (looked && now.repairs - before.repairs !== repaired && 'forgets what it repaired') ||
      (from.path !== 'gathering' &&
        to.path === 'gathering' &&
        type !== 'kernelChanged' &&
        !before.again &&
        'looks for no reason') ||
      (from.path !== 'sweeping' &&
        to.path === 'sweeping' &&
        now.again &&
        'looks, and takes it for overtaken already') ||
      (from.path !== 'resting' && to.path === 'resting' && !looked && 'rests without a look') ||
      (to.path === 'backingOff' && now.failures === 0 && 'backs off, and nothing has failed') ||
      (from.path === 'sweeping' && type === 'kernelChanged' && !now.again && 'does not hear of a change during a look');
    if (wrong !== false) this.#report('alive', `the kernel keeper ${wrong} (${from.path} to ${to.path} on ${type})`);
  }

  /** A grow that failed is not asked again at once. */
  #idlePool(from: string, to: string, { before, now }: Step['failures'], { type }: Heard, nowMs: number): void {
    // One wait for all that failed meanwhile, and it is no shorter for the hour.
    if (from === 'backingOff' && type === 'growFailed' && now !== before)
      this.#report('9', `the pool counts ${now} failures, and ${before} before, while it was backing off`);
    if (from === 'backingOff' && type === 'periodEnded' && to !== from)
      this.#report('9', `the pool was backing off, and is ${to} since a period is over`);
    if (to === 'filling' && from !== 'filling' && nowMs - this.#growFailedMs < this.#growPauseMs)
      this.#report('9', `the pool asks for more ${nowMs - this.#growFailedMs} ms after that has failed`);
    // What is too many may go meanwhile, and then it begins anew.
    if (to === 'shedding') this.#growFailedMs = Number.NEGATIVE_INFINITY;
    else if (type === 'growFailed' && from !== 'backingOff') this.#growFailedMs = nowMs;
    if (type === 'growFailed' && from === 'backingOff' && to !== from)
      this.#report('9', `the pool is ${to} after a failure, and was backing off`);
  }

  /** What the pool is told while it backs off after a grow that failed ends that only if some are too many. */
  #poolTold(from: string, to: string, now: IdlePoolContext, { type }: Heard): void {
    if (from !== 'backingOff' || (type !== 'poolChanged' && type !== 'settings')) return;
    const { shed, callOff } = moveIn(now);
    const surplus = shed + callOff;
    if ((to === 'backingOff') !== (surplus === 0))
      this.#report('9', `the pool was backing off, and is ${to} since ${type}, with ${surplus} addresses too many`);
  }

  /** What is seen twice is handed over, what is seen once is looked at again. */
  #strays(from: CloudKeeperContext, to: string, enis: readonly AdoptedEni[]): void {
    const ids = enis.flatMap(({ eni }) => eni?.eniId ?? []);
    const proven = ids.filter((id) => from.suspects.includes(id));
    for (const id of proven) this.#handedOver.add(id);
    const right = proven.length === 0 && ids.length > 0 ? 'doubting' : 'resting';
    if (to !== right)
      this.#report('6', `the cloud keeper is ${to} after ${ids.length} strays, ${proven.length} of them seen before`);
  }

  #cloudKeeper(before: Before, after: Before, { type, output }: Heard): void {
    const [from, to] = [before.path, after.path];
    const { suspects, failures } = after.context as CloudKeeperContext;
    if (type === 'xstate.done.actor.0.cloudKeeper.listing' && from === 'listing')
      this.#strays(before.context as CloudKeeperContext, to, output?.value as readonly AdoptedEni[]);
    if (type.startsWith('xstate.done.actor.') && failures > 0)
      this.#report('alive', `the cloud keeper counts ${failures} failures after a look`);
    if (from !== to && (to === 'doubting') !== suspects.length > 0 && to !== 'listing')
      this.#report('alive', `the cloud keeper goes from ${from} to ${to} with ${suspects.length} suspects`);
  }

  /** A pass begins after a rest, with its list; and when it is over that is known. */
  #collector(from: string, to: string, context: GarbageCollectorContext, { type, output }: Heard, atMs: number): void {
    const { lastPassMs, nowMs, timeoutMs } = context;
    if (type === 'xstate.done.actor.0.garbageCollector.collecting') {
      const outcomes = (output?.value ?? []) as readonly Collected[];
      for (const { sandbox, failure } of outcomes) if (failure === null) this.#verdicts.released(sandbox);
      if (to !== 'backingOff' && outcomes.some(({ failure }) => failure !== null))
        this.#report('alive', `the garbage collector is ${to}, and could not release all that is to be released`);
    }
    if (type === 'xstate.done.actor.0.garbageCollector.confirming' && from === 'confirming')
      this.#verdicts.judged(context, (output as { readonly value: Confirmed }).value.looks, atMs);
    if (to === 'suspecting' && context.suspects.length === 0) this.#verdicts.cleared();
    if (type === `xstate.done.actor.0.garbageCollector.${from}` && atMs - this.#collectorMs > timeoutMs)
      this.#report('9', `the garbage collector waited ${atMs - this.#collectorMs} ms for the end of ${from}`);
    if (from !== to) this.#collectorMs = atMs;
    if (from === to) return;
    if (to === 'listing' && from !== 'resting' && from !== 'backingOff')
      this.#report('9', `the garbage collector goes from ${from} to ${to} without a rest`);
    if (to === 'suspecting' && from !== 'listing')
      this.#report('alive', `the garbage collector goes from ${from} to ${to} without a list`);
    if (to === 'resting' && lastPassMs !== nowMs)
      this.#report('alive', `the garbage collector rests, and its last pass was ${nowMs - (lastPassMs ?? 0)} ms ago`);
  }

  /** What is on the disk, or about to be, is not looked for; and what was being given back is given back. */
  #lease(ref: AnyActorRef, path: string, { lease, grant, letGo }: LeaseContext): void {
    const right = lease === null ? (grant === null ? /^opening\./ : /^persisting$/) : letGo ? /^releasing$/ : /^bound$/;
    if (path !== 'appearing' && !right.test(path))
      this.#report('4', `${ref.id} begins ${path}${lease === null ? ', with nothing on the disk' : ''}`);
  }

  #eni(ref: AnyActorRef, before: Before, after: Before, { type, output }: Heard): void {
    const [from, to] = [before.path, after.path];
    const context = after.context as EniContext;
    const got = type === 'xstate.done.actor.0.eni.inUse.assigning.calling' ? (output?.value as readonly string[]) : [];
    if (got.length > 0 && context.failures > 0)
      this.#report('7', `${ref.id} was given ${got.length} addresses and counts ${context.failures} failures`);
    if (from !== to && CALLING.test(from) && !RESULT.test(type))
      this.#report('9', `${ref.id} left ${from} on ${type}, while its call was under way`);
    if (SUCCESS.test(type) && context.failures > 0)
      this.#report('7', `${ref.id} counts ${context.failures} failures after ${type}`);
    if (to === 'settling.calling' && from.startsWith('attaching') && context.failures > 0)
      this.#report('7', `${ref.id} is attached and counts ${context.failures} failures`);
    if (to.startsWith('attaching') && from.startsWith('creating') && context.failures > 0)
      this.#report('7', `${ref.id} is made and counts ${context.failures} failures`);
    if (GOING.test(to) && from !== to && hasHolders(context.book))
      this.#report('2', `${ref.id} goes from ${from} to ${to}, and its addresses are held`);
  }

  #tells(ref: AnyActorRef, before: EniContext, now: EniContext, { type, output }: Heard): void {
    if (type === 'unplugged' && before.device !== null && now.device === null)
      this.#news.add(`the device of ${ref.id} is gone`);
    if (type === 'drain' && before.unasked) this.#news.add(`${ref.id} is not made`);
    if (type === 'moved' && before.book !== now.book) this.#news.add(`addresses of ${ref.id} are on another ENI`);
    if (type !== 'xstate.done.actor.0.eni.inUse.confirming' || before.book === now.book) return;
    const eni = output?.value as CloudEni | null;
    if (eni?.status !== 'InUse') return;
    const { atMs = 0, askedMs = atMs } = output ?? {};
    const { lost, missing, unknown } = strangeIn(before, shownThen(before, { value: eni, atMs, askedMs }) ?? noIps);
    if (lost.length + missing.length + unknown.length > 0) this.#news.add(`addresses of ${ref.id} were changed`);
  }

  #factory(before: EniFactoryContext, context: EniFactoryContext, { type, basis, summary }: Heard): void {
    for (const [slot, { heard }] of Object.entries(context.enis)) {
      const known = before.enis[Number(slot)];
      if (known !== undefined && heard < known.heard)
        this.#report('7', `the factory takes for new what eni:${slot} said before it heard its last message`);
    }
    // What was taken for new has taught what there is to learn of it.
    const known = summary === undefined ? undefined : before.enis[summary.slot];
    if (type === 'eniChanged' && summary !== undefined && known !== undefined && summary.heard >= known.heard) {
      const { holds } = lessonOf({ ...before, nowMs: context.nowMs }, known, summary);
      if (holds !== before.holds && JSON.stringify(holds) !== JSON.stringify(context.holds))
        this.#report('9', `the factory learns nothing of what eni:${summary.slot} tells`);
    }
    const stale = basis !== undefined && !sameTotals(basis, before.totals);
    if ((type === 'grow' || type === 'shed') && stale && context.enis !== before.enis)
      this.#report('7', `the factory followed the pool's ${type}, which was made of totals that hold no longer`);
  }
}

const failuresIn = (context: unknown): number | undefined => (context as { readonly failures?: number }).failures;
