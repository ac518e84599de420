/**
 * The course of a life, whatever the chart: which states may follow each other, where a call that came back well leads, that a failure is
 * counted, and that nothing is tried again at once.
 *
 * The order is that of the design page, written down a second time and by hand: a chart that takes a way of its own is found by the first
 * step on it, long before anything comes of it.
 */
import type { AnyActorRef } from 'xstate';
import type { Settings } from '../core/settings.ts';
import type { Report } from './violation.ts';

/** Outermost states, and those that may come next. */
const NEXT: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  node: {
    starting: ['recovering', 'remembering', 'stopped'],
    remembering: ['running', 'starting', 'recovering', 'stopped'],
    recovering: ['running', 'remembering', 'stopped'],
    running: ['recovering', 'failed', 'stopped'],
  },
  eni: {
    appearing: ['creating', 'attaching', 'settling', 'detaching', 'lost'],
    creating: ['attaching', 'gone'],
    attaching: ['settling', 'detaching'],
    settling: ['inUse', 'draining'],
    // A device comes back from a pod that had the ENI for itself.
    inUse: ['draining', 'detaching', 'attaching', 'settling'],
    draining: ['detaching'],
    detaching: ['deleting', 'stuck', 'gone'],
    // It was in use after all.
    deleting: ['gone', 'stuck', 'detaching'],
    stuck: ['detaching'],
    lost: ['creating', 'attaching', 'settling', 'detaching'],
  },
  lease: {
    appearing: ['opening', 'persisting', 'bound', 'releasing'],
    opening: ['persisting', 'failing', 'givingUp'],
    givingUp: ['failing'],
    persisting: ['bound', 'releasing', 'failing'],
    bound: ['releasing'],
    releasing: ['gone', 'bound'],
    failing: ['gone'],
  },
  garbageCollector: {
    resting: ['listing'],
    listing: ['suspecting', 'backingOff'],
    suspecting: ['confirming', 'resting'],
    confirming: ['condemning', 'backingOff'],
    condemning: ['collecting', 'resting'],
    collecting: ['resting', 'backingOff'],
    backingOff: ['listing'],
  },
  cloudKeeper: {
    resting: ['listing'],
    listing: ['resting', 'doubting'],
    doubting: ['listing'],
  },
};

/** Where a call leads that came back well, and says the same whatever it brings. */
const LEADS_TO: Readonly<Record<string, RegExp>> = {
  'node.starting.calling': /^recovering\./,
  'node.recovering.calling': /^running\.serving$/,
  'node.running.degraded.identifying': /^running\.degraded\.looking$/,
  'node.running.degraded.looking': /^running\.degraded\.quieting$/,
  'node.running.degraded.quieting': /^recovering\./,
  'eni.creating.calling': /^attaching\./,
  'eni.creating.inLine': /^creating\.calling$/,
  'eni.attaching.calling': /^attaching\.seeking$/,
  'eni.attaching.seeking': /^attaching\.describing$/,
  'eni.inUse.assigning.inLine': /^inUse\.assigning\.calling$/,
  'eni.settling.calling': /^inUse\./,
  'eni.inUse.unassigning': /^inUse\.looking$/,
  'eni.inUse.unplugged': /^inUse\.looking$/,
  'eni.draining.calling': /^detaching\./,
  'eni.detaching.calling': /^detaching\.waiting$/,
  'eni.deleting.calling': /^deleting\.waiting$/,
  'lease.releasing': /^gone$/,
};

/** Nobody calls at once after a failure. */
const CALLING =
  /\.(calling|describing|confirming|recalling|searching|identifying|looking|comparing)$|^(listing|collecting)$/;
const AGAIN = /\.(calling|describing|confirming|identifying|stuck)$/;

/** They have a clock of their own, and make nothing of a failure. */
const UNCOUNTED = new Set(['eni.inUse.resting.comparing', 'eni.attaching.seeking', 'node.remembering']);
/** The wait for a device counts from its beginning; a lease is released, and what is remembered looked at, when there is a reason of its own. */
const OWN_PAUSE = /^(node\.remembering|eni\.inUse\.unplugged|lease\..*)$/;
/** Two states that make the same call. */
const SAME_CALL: Readonly<Record<string, string>> = { 'node.running.degraded.identifying': 'node.starting.calling' };

export type Step = {
  readonly ref: AnyActorRef;
  readonly chart: string;
  readonly from: string;
  readonly to: string;
  readonly failures: { readonly before: number | undefined; readonly now: number | undefined };
  readonly event: string;
  readonly nowMs: number;
};

export class Course {
  readonly #report: Report;
  /** Between a call that failed and the next of the kind. */
  readonly #pauseMs: number;
  readonly #failedMs = new WeakMap<AnyActorRef, Map<string, number>>();

  constructor({ backoffMs, describePeriodMs, gcPeriodMs }: Settings, report: Report) {
    this.#report = report;
    this.#pauseMs = Math.min(backoffMs, describePeriodMs, gcPeriodMs);
  }

  observe(step: Step): void {
    const { ref, chart, from, to, event } = step;
    const [before = '', now = ''] = [from, to].map((path) => path.split('.')[0]);
    if (before !== now && NEXT[chart]?.[before]?.includes(now) === false)
      this.#report('alive', `${ref.id} goes from ${from} to ${to} on ${event}`);
    const [, outcome, called] = /^xstate\.(done|error)\.actor\.0\.(.*)$/.exec(event) ?? [];
    if (called !== undefined && called === `${chart}.${from}`) {
      if (outcome === 'done') this.#succeeded(step, called);
      else this.#failed(step, called);
    }
    // Whoever is told that a device is gone, or to look now, asks at once.
    if (from !== to && event !== 'unplugged' && event !== 'lookNow') this.#tries(step);
    // A wait ends with the call that failed, or with a look at what has become of it.
    if (event.startsWith('xstate.after.backoff') && /\.(backingOff|refused)$/.test(from) && !AGAIN.test(to))
      this.#report('alive', `${ref.id} waited in ${from}, and is ${to}`);
  }

  #succeeded({ ref, to, event }: Step, called: string): void {
    if (LEADS_TO[called]?.test(to) === false) this.#report('alive', `${ref.id} goes to ${to} after ${event}`);
    // Its device is set up, as after a pod that had the ENI for itself: it begins anew with what it wants.
    if (called === 'eni.settling.calling') this.#failedMs.delete(ref);
  }

  #failed({ ref, to, failures: { before, now }, event, nowMs }: Step, called: string): void {
    if (now !== undefined && !UNCOUNTED.has(called) && now <= (before ?? 0))
      this.#report('7', `${ref.id} counts ${now} failures after ${event}, and counted ${before} before`);
    // Nothing remembered: back to the call that was given up for it.
    if (CALLING.test(to) && called !== 'node.remembering')
      this.#report('9', `${ref.id} is ${to} at once after ${event}`);
    const failed = this.#failedMs.get(ref) ?? new Map<string, number>();
    this.#failedMs.set(ref, failed);
    // An Assign that was not answered is asked again at once, once, with its own token.
    const isRepeated = called === 'eni.inUse.assigning.calling' && now === 1;
    if (!isRepeated && !OWN_PAUSE.test(called)) failed.set(SAME_CALL[called] ?? called, nowMs);
  }

  #tries({ ref, chart, to, nowMs }: Step): void {
    const called = `${chart}.${to}`;
    const failedMs = this.#failedMs.get(ref)?.get(SAME_CALL[called] ?? called);
    if (failedMs !== undefined && nowMs - failedMs < this.#pauseMs)
      this.#report('9', `${ref.id} is ${to} again ${nowMs - failedMs} ms after that has failed`);
  }
}
