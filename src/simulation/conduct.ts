/**
 * What an actor does in one step, against what it was before: a call that was begun is waited for, a success ends a row of failures, no
 * ENI is let go under those who hold its addresses, and the factory believes nothing that is older than what it knows.
 *
 * The other watchers look at what is; a chart that does the right thing at the wrong moment is seen only here.
 */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { EniContext } from '../../statecharts/eni-context.ts';
import type { EniFactoryContext } from '../../statecharts/eni-factory-context.ts';
import { hasHolders } from '../core/address-book.ts';
import { type PoolTotals, sameTotals } from '../core/pool.ts';
import { pathOf } from './stand-still.ts';
import type { Report } from './violation.ts';

type Before = { readonly path: string; readonly context: unknown };
type Heard = { readonly type: string; readonly basis?: PoolTotals; readonly output?: { readonly value?: unknown } };

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
    if (chart !== 'eni' && chart !== 'eniFactory') return;
    const before = this.#before.get(ref);
    const { context } = snapshot;
    const path = chart === 'eni' ? pathOf(snapshot.value) : '';
    this.#before.set(ref, { path, context });
    if (before === undefined || before.context === context) return;
    this.checks += 2;
    const heard = event as Heard;
    if (chart === 'eni') this.#eni(ref, before.path, path, context as EniContext, heard);
    else this.#factory(before.context as EniFactoryContext, context as EniFactoryContext, heard);
  }

  #eni(ref: AnyActorRef, from: string, to: string, context: EniContext, { type }: Heard): void {
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
