/**
 * What an ENI makes of calls that wait for their turn, are turned away or say nothing: it keeps its place and what it wants, takes no refused
 * turn for a failure of its own, and is late only by what looks have shown.
 */
import { type EniContext, tokenOf } from '../../statecharts/eni-context.ts';
import { hasHolders } from '../core/address-book.ts';
import type { Failure } from '../core/errors.ts';
import { isTaken } from '../core/own-eni.ts';
import { ASSIGN_MAX } from '../core/settings.ts';
import type { Move } from './evidence.ts';
import type { Report } from './violation.ts';

type Wrong = (what: string) => void;
type Answer = {
  readonly requestId?: string;
  readonly slot?: number;
  readonly ok?: boolean;
  readonly failure?: Failure;
};

/** Where a call of which nothing is known, or a wait, is left for. */
const LEADS_TO: Readonly<Record<string, RegExp>> = {
  'error creating.inLine': /^creating\.judging$/,
  'error inUse.assigning.inLine': /^inUse\.backingOff$/,
  'error attaching.seeking': /^attaching\.waiting$/,
  'after creating.turnedAway': /^creating\.inLine$/,
  'after attaching.turnedAway': /^attaching\.calling$/,
  'after attaching.unanswered': /^(attaching\.describing|detaching\.)/,
  'after inUse.assigning.turnedAway': /^inUse\.looking$/,
};

/** Calls that are made in their turn. */
const IN_TURN = /^(creating|inUse\.assigning)\.calling$/;
const WAITS = /\.(inLine|turnedAway)$/;
const ASKS_LATER = /^inUse\.assigning\.(inLine|turnedAway)$/;

const queued = ({ queue, book }: EniContext): number =>
  queue.filter(({ pod }) => !book.some((entry) => entry.state === 'reserved' && entry.pod === pod)).length;

/** Of what is missing so much may be had here by one call. */
function mayAsk(context: EniContext, missing: number): number {
  const { book, halves, limit, queue } = context;
  if (isTaken(book) || queue.some(({ ownEni }) => ownEni === true)) return 0;
  return Math.max(
    0,
    Math.min(missing, ASSIGN_MAX, limit - book.length - halves.leaving.length - halves.heldBack.length),
  );
}

const missingIn = (context: EniContext): number =>
  queued(context) - context.book.filter(({ state }) => state === 'idle').length;

export class LineWatch {
  readonly #report: Report;
  /** ENIs that back off since addresses could not be given back. */
  readonly #holding = new Set<number>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** @param anew what it waits for is another call than before */
  observe(move: Move, anew: boolean): void {
    const { ref, from, to, before, now, event } = move;
    const { type } = event;
    const wrong: Wrong = (what) => this.#report('7', `${ref.id} goes from ${from} to ${to}, ${what}`);
    const [, how = ''] = /^xstate\.(error\.actor|after)\./.exec(type) ?? [];
    if (how !== '' && type.endsWith(`eni.${from}`) && LEADS_TO[`${how.slice(0, 5)} ${from}`]?.test(to) === false)
      wrong(`on ${type}`);
    if (IN_TURN.test(to) && WAITS.test(from) && !type.startsWith('xstate.done')) wrong('and has not had its turn');
    if (from === 'creating.inLine' && to === from && type === 'assign') {
      const isFirst = before.queue.length === 0 && now.queue.length > 0;
      if (isFirst && !anew) wrong('and lets a pod wait behind what nobody waits for');
      if (!isFirst && anew) wrong('and gives up its place');
    }
    if (from === 'inUse.assigning.inLine') this.#inLine(move, wrong);
    if (ASKS_LATER.test(to) && from !== to) this.#tells(now, wrong);
    if (ASKS_LATER.test(from) && type === 'cancel') this.#cancelled(move, wrong);
    this.#turnedAway(move, wrong);
    if (from.startsWith('attaching') || to.startsWith('attaching')) this.#attaching(move, wrong);
    if (from === 'inUse.unassigning' && to === 'inUse.backingOff') this.#holding.add(now.slot);
    else if (from !== to) this.#holding.delete(now.slot);
  }

  /** The factory has heard an answer. What keeps an address from going keeps no pod from one. */
  answered({ ok, slot, requestId, failure }: Answer): void {
    if (ok !== false || slot === undefined || !this.#holding.has(slot)) return;
    if (failure?.code !== 'noCapacity')
      this.#report(
        '4',
        `eni:${slot} could not give addresses back, and refuses ${requestId} for that: ${failure?.code}`,
      );
  }

  /** As much is asked for as is wanted when the call has its turn, and a turn is given up only when nothing is. */
  #inLine({ to, now, event: { type } }: Move, wrong: Wrong): void {
    const { queue, arriving, device } = now;
    if (to === 'inUse.assigning.calling' && arriving < 1) wrong('and asks for nothing');
    if (to.startsWith('inUse.resting')) wrong('and does not look at what is wanted now');
    if (device === null) return;
    const most = mayAsk(now, missingIn(now));
    if (to.endsWith('.calling') && arriving < most) wrong(`and asks for ${arriving} while ${queue.length} wait`);
    // Who comes when nobody waits yet takes a turn of another kind.
    if (to === 'inUse.looking' && type !== 'assign' && most > 0) wrong(`and ${queue.length} wait`);
  }

  /** The factory reckons with what will be asked for. */
  #tells(now: EniContext, wrong: Wrong): void {
    const most = Math.max(now.growBy, mayAsk(now, Math.max(missingIn(now), now.growBy)));
    const told = now.arriving + now.growBy;
    if (told !== most) wrong(`and tells that ${told} are to come, and wants ${most}`);
  }

  /** A pod whose time is over comes again, and another does not. */
  #cancelled({ from, to, before, now, event }: Move, wrong: Wrong): void {
    if (to !== from || !before.queue.some(({ requestId }) => requestId === event.requestId)) return;
    const [was, is] = [Math.max(queued(before), before.growBy), Math.max(queued(now), now.growBy)];
    if (event.returns === true && is < was) wrong(`and wants ${is} of ${was}, although its pod comes again`);
    if (event.returns !== true && now.growBy > before.growBy) wrong('and wants what nobody comes for');
  }

  /** The account's calls are used up: nobody has seen this one, and that is no failure of its own. */
  #turnedAway({ from, to, before, now, event: { type } }: Move, wrong: Wrong): void {
    if (from === to) return;
    if (to === 'inUse.assigning.turnedAway') {
      if (now.queue.length < before.queue.length) wrong('and sends away who waits');
      if (now.growBy + queued(now) < before.growBy + before.arriving)
        wrong(`and forgets that it wanted ${before.growBy + before.arriving}`);
    }
    const isOver = type.startsWith('xstate.after') && /^(inUse\.assigning|attaching)\.turnedAway$/.test(from);
    if (isOver && now.failures > 0) wrong('and takes a turn that was not its own for a failure');
    if (from === 'creating.turnedAway' && to.startsWith('creating') && tokenOf(now) === tokenOf(before))
      wrong(`with the token ${tokenOf(now)} once more`);
  }

  #attaching({ from, to, before, now, event: { type } }: Move, wrong: Wrong): void {
    if (!from.startsWith('attaching') && now.waitingMs !== null) wrong('and reckons with looks of an earlier time');
    if (type === `xstate.error.actor.0.eni.${from}` && now.lastFailure !== null) {
      const isTurned = now.lastFailure.code === 'throttled';
      const next = {
        'attaching.calling': isTurned ? 'attaching.turnedAway' : 'attaching.waiting',
        'attaching.describing': isTurned ? 'attaching.waiting' : 'attaching.unanswered',
      }[from];
      if (next !== undefined && next !== to) wrong(`after ${now.lastFailure.code}`);
      if (to === 'attaching.unanswered' && now.waitingMs === null) wrong('and forgets that it waits');
      if (to === 'attaching.waiting' && from.endsWith('describing') && now.waitingMs !== before.waitingMs)
        wrong('and takes a look that was turned away for one');
    }
    if (from !== 'attaching.unanswered' || !type.startsWith('xstate.after')) return;
    const { waitingMs, times, book } = before;
    const { nowMs } = now;
    const isLate = waitingMs !== null && nowMs - waitingMs >= times.attachTimeoutMs && !hasHolders(book);
    if (isLate !== to.startsWith('detaching.'))
      wrong(`since ${waitingMs === null ? 'now' : `${nowMs - waitingMs} ms`}`);
  }
}
