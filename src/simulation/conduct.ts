/**
 * What an actor does in one step, against what it was before: a call that was begun is waited for, a success ends a row of failures, no
 * ENI is let go under those who hold its addresses, the factory believes nothing that is older than what it knows, and whoever works in
 * passes does so in their order.
 *
 * The other watchers look at what is; a chart that does the right thing at the wrong moment is seen only here.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { CloudKeeperContext } from '../../statecharts/cloud-keeper.ts';
import type { EniContext } from '../../statecharts/eni-context.ts';
import type { EniFactoryContext } from '../../statecharts/eni-factory-context.ts';
import type { GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';
import type { KernelKeeperContext, Swept } from '../../statecharts/kernel-keeper.ts';
import { hasHolders } from '../core/address-book.ts';
import { type PoolTotals, sameTotals } from '../core/pool.ts';
import { pathOf } from './stand-still.ts';
import type { Report } from './violation.ts';

type Before = { readonly path: string; readonly context: unknown };
type Heard = {
  readonly type: string;
  readonly basis?: PoolTotals;
  readonly output?: { readonly atMs?: number; readonly value?: unknown };
};

const WATCHED = new Set(['eni', 'eniFactory', 'kernelKeeper', 'cloudKeeper', 'garbageCollector']);

/** In these a call of the cloud or the kernel that changes something is under way; it is left by its result, or a time-out. */
const CALLING = /^(creating|attaching|detaching|deleting|draining|inUse\.assigning)\.calling$|^inUse\.unassigning$/;
const RESULT = /^xstate\.(done|error)\.actor\.|^xstate\.after\.(attach|detach)Timeout\./;
const SUCCESS = /^xstate\.done\.actor\.0\.eni\.(creating\.calling|settling\.calling|inUse\.unassigning)$/;
const GOING = /^(draining|detaching|deleting)/;

export class Conduct {
  readonly #report: Report;
  readonly #before = new WeakMap<AnyActorRef, Before>();
  checks = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  observe(ref: AnyActorRef, chart: string, snapshot: AnyMachineSnapshot, event: object): void {
    if (!WATCHED.has(chart)) return;
    const before = this.#before.get(ref);
    const { context } = snapshot;
    const path = chart === 'eniFactory' ? '' : pathOf(snapshot.value);
    this.#before.set(ref, { path, context });
    const heard = event as Heard;
    if (before === undefined) return;
    this.checks += 2;
    this.#waits(ref, chart, path, snapshot, heard);
    if (chart === 'kernelKeeper') this.#kernelKeeper(before, { path, context }, heard);
    if (chart === 'cloudKeeper') this.#cloudKeeper(before.path, path, context as CloudKeeperContext, heard);
    if (chart === 'garbageCollector') this.#collector(before.path, path, context as GarbageCollectorContext);
    if (before.context === context) return;
    if (chart === 'eni') this.#eni(ref, before, { path, context }, heard);
    if (chart === 'eniFactory') this.#factory(before.context as EniFactoryContext, context as EniFactoryContext, heard);
  }

  /** Nobody stays where he waits for a call that has come back. */
  #waits(ref: AnyActorRef, chart: string, path: string, { children }: AnyMachineSnapshot, { type }: Heard): void {
    const called = /^xstate\.(?:done|error)\.actor\.(0\.(\w+)\.(.*))$/.exec(type);
    const [, id = '', of, where = ''] = called ?? [];
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

  #cloudKeeper(from: string, to: string, { suspects, failures }: CloudKeeperContext, { type }: Heard): void {
    if (type.startsWith('xstate.done.actor.') && failures > 0)
      this.#report('alive', `the cloud keeper counts ${failures} failures after a look`);
    if (from !== to && (to === 'doubting') !== suspects.length > 0 && to !== 'listing')
      this.#report('alive', `the cloud keeper goes from ${from} to ${to} with ${suspects.length} suspects`);
  }

  /** A pass begins after a rest, with its list; and when it is over that is known. */
  #collector(from: string, to: string, { lastPassMs, nowMs }: GarbageCollectorContext): void {
    if (from === to) return;
    if (to === 'listing' && from !== 'resting' && from !== 'backingOff')
      this.#report('9', `the garbage collector goes from ${from} to ${to} without a rest`);
    if (to === 'suspecting' && from !== 'listing')
      this.#report('alive', `the garbage collector goes from ${from} to ${to} without a list`);
    if (to === 'resting' && lastPassMs !== nowMs)
      this.#report('alive', `the garbage collector rests, and its last pass was ${nowMs - (lastPassMs ?? 0)} ms ago`);
  }

  #eni(ref: AnyActorRef, before: Before, after: Before, { type, output }: Heard): void {
    const [from, to] = [before.path, after.path];
    const context = after.context as EniContext;
    const known = (before.context as EniContext).failures;
    // A comparison that fails is made again by its clock.
    if (type === `xstate.error.actor.0.eni.${from}` && !from.endsWith('.comparing') && context.failures <= known)
      this.#report('7', `${ref.id} counts ${context.failures} failures after ${type}, and counted ${known} before`);
    const got = type === 'xstate.done.actor.0.eni.inUse.assigning.calling' ? (output?.value as readonly string[]) : [];
    if (got.length > 0 && context.failures > 0)
      this.#report('7', `${ref.id} was given ${got.length} addresses and counts ${context.failures} failures`);
    if (from !== to && CALLING.test(from) && !RESULT.test(type))
      this.#report('9', `${ref.id} left ${from} on ${type}, while its call was under way`);
    if (SUCCESS.test(type) && context.failures > 0)
      this.#report('7', `${ref.id} counts ${context.failures} failures after ${type}`);
    if (to === 'settling.calling' && from.startsWith('attaching') && context.failures > 0)
      this.#report('7', `${ref.id} is attached and counts ${context.failures} failures`);
    if (GOING.test(to) && from !== to && hasHolders(context.book))
      this.#report('2', `${ref.id} goes from ${from} to ${to}, and its addresses are held`);
  }

  #factory(before: EniFactoryContext, context: EniFactoryContext, { type, basis }: Heard): void {
    for (const [slot, { heard }] of Object.entries(context.enis)) {
      const known = before.enis[Number(slot)];
      if (known !== undefined && heard < known.heard)
        this.#report('7', `the factory takes for new what eni:${slot} said before it heard its last message`);
    }
    const stale = basis !== undefined && !sameTotals(basis, before.totals);
    if ((type === 'grow' || type === 'shed') && stale && context.enis !== before.enis)
      this.#report('7', `the factory followed the pool's ${type}, which was made of totals that hold no longer`);
  }
}
