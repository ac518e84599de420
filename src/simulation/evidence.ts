/**
 * What an ENI makes of an answer: of what Describe shows, and of what a refusal says. One look that does not show an ENI is no proof, an
 * ENI that is shown otherwise than it should be is not waited for, and what was refused for good is not asked for again.
 */
import type { AnyActorRef } from 'xstate';
import { type EniContext, mayMissAttach, type Recalled, shownThen, tokenOf } from '../../statecharts/eni-context.ts';
import { askNext, differenceOf } from '../../statecharts/eni-owned.ts';
import { halvesOf } from '../core/address.ts';
import { hasHolders } from '../core/address-book.ts';
import type { CloudEni } from '../core/eni.ts';
import { type ErrorCode, needsAPerson } from '../core/errors.ts';
import { mayHaveHappened } from '../core/intent.ts';
import { isTaken } from '../core/own-eni.ts';
import type { Report } from './violation.ts';

/** Looks that do not show an ENI, in a row, after which nobody needs another one. */
const LOOKS_MAX = 6;
/** And before which it may be Describe that is late. */
const LOOKS_MIN = 2;
/** Creates that the cloud answers and refuses, in a row. */
const CREATES_MAX = 6;
const CREATES_MIN = 4;
/** Attaches that fail, in a row, before an ENI that nobody uses is let go. */
const ATTACHES_MAX = 4;
const NO_USE: readonly ErrorCode[] = ['permission', 'vSwitchEmpty', 'ipv6Off'];

/** Also what has been given back since the leases were read. */
const HELD: readonly string[] = ['bound', 'offered', 'invalid', 'cooling', 'reserved', 'idle'];
const GOING = /^(detaching|gone)/;

const isNeeded = ({ ours, book }: EniContext): boolean =>
  !ours || hasHolders(book) || book.some(({ state }) => state === 'cooling');

export type Move = {
  readonly ref: AnyActorRef;
  readonly from: string;
  readonly to: string;
  readonly before: EniContext;
  readonly now: EniContext;
  readonly event: {
    readonly type: string;
    readonly output?: { readonly value?: unknown; readonly atMs?: number; readonly askedMs?: number };
    readonly mac?: string;
    readonly requestId?: string;
    readonly returns?: true;
  };
};

const beginningOf = ({ origin, repeated, doubtful }: EniContext): string =>
  origin === 'new' && (repeated !== null || doubtful) ? 'creating.calling' : BEGINS[origin];

const BEGINS: Readonly<Record<EniContext['origin'], string>> = {
  new: 'creating.inLine',
  attached: 'settling.calling',
  attaching: 'attaching.describing',
  leftover: 'detaching.describing',
  lost: 'lost.waiting',
};

export class Evidence {
  readonly #report: Report;
  /** ENIs whose Create may have been carried out. */
  readonly #doubtful: WeakSet<AnyActorRef>;

  /** @param doubtful outlives what this one sees: an actor may go on from before a look at it was interrupted */
  constructor(report: Report, doubtful: WeakSet<AnyActorRef>) {
    this.#report = report;
    this.#doubtful = doubtful;
  }

  /** The first that is seen of an actor. */
  begins(ref: AnyActorRef, path: string, context: EniContext): void {
    const { origin, book } = context;
    // Its device is in a pod, and is not waited for.
    if (isTaken(book) && origin === 'attached' && path.startsWith('inUse.')) return;
    if (path !== 'appearing' && path !== beginningOf(context) && !(origin === 'leftover' && path === 'gone'))
      this.#report('7', `${ref.id} begins ${path}, and is ${origin}`);
  }

  observe(move: Move): void {
    const { ref, from, to, before, now, event } = move;
    const { type, output } = event;
    const wrong = (what: string): void => this.#report('7', `${ref.id} goes from ${from} to ${to}, ${what}`);
    if (from === 'appearing' && to !== beginningOf(before) && !(before.origin === 'leftover' && to === 'gone'))
      wrong(`and is ${before.origin}`);
    if (type === `xstate.done.actor.0.eni.${from}` && from.endsWith('.describing'))
      this.#shown(move, output?.value as CloudEni | null, wrong);
    if (from.startsWith('deleting') && to.startsWith('detaching') && from !== 'deleting.confirming')
      wrong('and nothing says that it is in use');
    if (type === 'xstate.done.actor.0.eni.deleting.confirming' && from === 'deleting.confirming') {
      const status = (output?.value as CloudEni | null)?.status ?? null;
      const next = status === null ? /^gone$/ : status === 'InUse' ? /^detaching\./ : /^deleting\.calling$/;
      if (!next.test(to)) wrong(`and is shown as ${status}`);
    }
    if (type === 'xstate.done.actor.0.eni.inUse.confirming' && from === 'inUse.confirming')
      this.#confirmed(move, output?.value as CloudEni | null, wrong);
    if (type === 'xstate.done.actor.0.eni.lost.recalling' && from === 'lost.recalling')
      this.#recalled(move, output?.value as Recalled, wrong);
    if (from === 'inUse.resting.comparing' && to === 'inUse.confirming' && before.suspicion === null)
      if (type.startsWith('xstate.done')) wrong('after one look that differs');
    if (type === 'xstate.done.actor.0.eni.inUse.assigning.calling' && from === 'inUse.assigning.calling')
      if ((output?.value as readonly string[] | undefined)?.length === 0 && to !== 'inUse.backingOff')
        wrong('and was given nothing');
    if (type === 'xstate.done.actor.0.eni.inUse.assigning.calling' && to.startsWith('inUse.assigning.'))
      this.#given(now, (output?.value as readonly string[] | undefined) ?? [], wrong);
    if (type === 'xstate.done.actor.0.eni.attaching.calling' && now.attachedMs !== output?.atMs)
      wrong('and forgets when that was accepted');
    if (type === 'xstate.error.actor.0.eni.attaching.calling' && now.attachedMs !== null)
      wrong('and takes it for accepted');
    if (type === 'xstate.error.actor.0.eni.creating.searching' && now.unseen > 0) wrong('and counts looks that failed');
    if (/^(freed|withdraw)$/.test(type) && from.startsWith('inUse.') && isTaken(before.book) && !isTaken(now.book))
      if (!to.startsWith('settling.') && to !== 'inUse.unassigning')
        wrong('and does not set up the device that its pod gives back');
      else if (to === 'inUse.unassigning' && now.device?.ifindex !== 0)
        wrong('and has it that the device which its pod gives back is here');
    if (from.startsWith('inUse.') && type === 'unplugged') this.#unplugged(move, wrong);
    if (type.startsWith('xstate.done') && from === to && to === 'inUse.assigning.completing')
      wrong('and asks for nothing');
    if (from !== to) {
      this.#judged(move, wrong);
      this.#entered(move, wrong);
    }
  }

  /** It is the device of one ENI that is gone, and that one serves nobody until it has been looked at. */
  #unplugged({ from, to, before, now, event }: Move, wrong: (what: string) => void): void {
    const isOwn = before.mac?.toLowerCase() === event.mac?.toLowerCase();
    const isFree = /^inUse\.(resting|backingOff|assigning\.(inLine|turnedAway))/.test(from);
    if (isOwn && isFree && before.device !== null && to !== 'inUse.confirming')
      wrong('and asks nobody what became of it');
    // A pod that has the ENI for itself may have its device by now: the look was older.
    if (isOwn && now.device !== null && !isTaken(before.book)) wrong('and does not hear that its device is gone');
    if (from !== to && (!isOwn || before.device === null)) wrong('and it is no news to it');
    if (!isOwn && now.device !== before.device) wrong('and it is the device of another ENI that is gone');
  }

  #entered({ from, to, before, now }: Move, wrong: (what: string) => void): void {
    if (to === 'inUse.looking') {
      if (now.suspicion !== null) wrong('and suspects what it saw before its call');
      if (now.book.some(({ state, atMs }) => state === 'cooling' && atMs <= now.nowMs))
        wrong('and lets rest what has rested');
    }
    if (from === 'inUse.assigning.completing' && to === 'inUse.looking' && askNext(before) !== null)
      wrong('and halves of addresses lack the other one');
    if (from === 'deleting.describing' && to === 'gone' && now.failures > 0) wrong('and its end counts as a failure');
    if (to.startsWith('detaching') && /^inUse\.(resting|looking|assigning|unassigning)/.test(from))
      wrong('and its device is set up');
    if (to === 'detaching.calling' && from !== 'detaching.describing') wrong('without a look');
    if (from.startsWith('inUse') && !to.startsWith('inUse') && now.queue.length + now.growBy > 0)
      wrong(`and ${now.queue.length} requests wait here`);
    if (/^(creating|attaching|settling|lost)/.test(to) && now.device !== null)
      wrong('and believes that it has a device');
    if (/^inUse\.(resting|unassigning|backingOff)/.test(to) && now.arriving > 0)
      wrong(`and reckons with ${now.arriving} addresses that nobody asks for`);
  }

  #shown({ from, to, before, now, event }: Move, eni: CloudEni | null, wrong: (what: string) => void): void {
    const { unseen } = before;
    const status = eni?.status ?? null;
    const [life = ''] = from.split('.');
    const isHere = status === 'InUse';
    const isLoose = status === 'Available' || status === 'CreateFailed' || status === 'Deleting';
    const next: RegExp =
      {
        attaching: isHere
          ? /^settling/
          : status === 'Available'
            ? /^(attaching\.(backingOff|seeking)|detaching\.)/
            : before.attachedMs === null
              ? /^(attaching\.waiting|detaching\.)/
              : /^(attaching\.seeking|detaching\.)/,
        detaching: isHere
          ? /\.calling$/
          : isLoose
            ? /^deleting/
            : status === null
              ? /^(detaching\.waiting|gone)$/
              : /\.waiting$/,
        deleting: status === null ? /^gone$/ : status === 'Available' ? /\.backingOff$/ : /\.waiting$/,
      }[life] ?? /^/;
    if (!next.test(to)) wrong(`and is shown as ${status}`);
    if (life === 'attaching' && !hasHolders(before.book)) {
      const { atMs = 0, askedMs = atMs } = event.output ?? {};
      const isLate = status === 'Available' && mayMissAttach(before, { value: eni, atMs, askedMs });
      if (isLate && to !== 'attaching.seeking') wrong('by a look that may be older than what was accepted');
      const isOver = status === 'CreateFailed' || (status === 'Available' && before.failures > ATTACHES_MAX && !isLate);
      if (isOver && !to.startsWith('detaching.')) wrong(`after ${before.failures} failures`);
      const { waitingMs, times } = before;
      const isLong = waitingMs !== null && atMs - waitingMs >= times.attachTimeoutMs;
      if (!isHere && status !== 'Available' && !isOver && isLong !== to.startsWith('detaching.'))
        wrong(`since ${waitingMs === null ? 'this look' : `${atMs - waitingMs} ms`}`);
      if (/\.(seeking|waiting)$/.test(to) && !isLate && now.waitingMs === null) wrong('and forgets that it waits');
    }
    if (status !== null || life !== 'detaching') return;
    if (to === 'gone' && unseen < LOOKS_MIN) wrong(`after ${unseen + 1} looks that did not show it`);
    if (to !== 'gone' && (unseen >= LOOKS_MAX || now.unseen <= unseen))
      wrong(`after ${unseen + 1} looks that did not show it`);
  }

  #confirmed({ to, before, now, event }: Move, eni: CloudEni | null, wrong: (what: string) => void): void {
    const unused = !hasHolders(before.book) && before.queue.length === 0;
    const gone = unused && before.failures >= LOOKS_MIN ? /^(inUse\.backingOff|detaching\.)/ : /^inUse\.backingOff$/;
    const away = unused ? /^(detaching\.|gone)/ : before.ours ? /^attaching\.describing$/ : /^inUse\.backingOff$/;
    const here = before.device === null ? /^inUse\.unplugged$/ : /^inUse\.(looking|resting|assigning|unassigning)/;
    const next = eni === null ? gone : eni.status === 'InUse' ? here : away;
    if (!next.test(to)) wrong(`and is shown as ${eni?.status ?? null}`);
    const isWell = eni?.status === 'InUse' && before.device !== null;
    const isGivenUp = eni === null && to.startsWith('detaching');
    if (!isWell && !isGivenUp && to !== 'gone' && now.lastFailure === before.lastFailure)
      wrong('and takes that for no failure');
    if (eni !== null && eni.status !== 'InUse' && !GOING.test(to) && now.device !== null)
      wrong('and believes that it has a device');
    if (eni !== null && eni.status !== 'InUse' && now.book.length < before.book.length)
      wrong('and forgets its addresses');
    const { atMs = 0, askedMs = atMs } = event.output ?? {};
    if (eni?.status === 'InUse' && differenceOf(now, shownThen(before, { value: eni, atMs, askedMs })) !== null)
      wrong('and its book is not what it is shown');
    if (eni !== null) return;
    if (!isGivenUp && now.book.some(({ state }) => state !== 'invalid'))
      wrong('and believes that it has addresses which nobody sees');
    if (unused && before.failures >= LOOKS_MAX && to === 'inUse.backingOff') wrong('and is unused and unseen');
  }

  #recalled({ to, before, now }: Move, { eni, held, released }: Recalled, wrong: (what: string) => void): void {
    const isHere = eni?.status === 'InUse';
    const promised = before.book.some((entry) => entry.requestId !== null);
    const keeps = now.book.some(({ state }) => state === 'reserved');
    const free = held.size === 0 && !promised && (eni === null ? before.unseen >= LOOKS_MIN : !keeps);
    if (to.startsWith('settling') !== isHere) wrong(`and is shown as ${eni?.status ?? null}`);
    if (to.startsWith('attaching') && (eni === null || !before.ours)) wrong('and cannot be attached');
    const comes = before.ours && eni !== null && !isHere && (eni.status === 'Attaching' || held.size > 0 || keeps);
    if (comes && to !== 'attaching.describing') wrong(`and ${held.size} of its addresses are held`);
    const stateOf = (ip: string) => now.book.find(({ address }) => address.ipv4 === ip)?.state;
    // One that the cloud has taken and that was given back since the leases were read is nobody's.
    const isKnown = (ip: string): boolean =>
      before.book.some(({ address }) => address.ipv4 === ip) || eni?.ipv4.includes(ip) === true;
    // It was given back since the leases were read, and the book has heard of that.
    const isFreed = (ip: string): boolean =>
      before.book.some(({ address, sandbox }) => address.ipv4 === ip && sandbox === null);
    if ([...held.keys()].some((ip) => isKnown(ip) && !isFreed(ip) && !HELD.includes(stateOf(ip) ?? '')))
      wrong('and forgets who holds its addresses');
    if (released.some(({ ipv4 }) => stateOf(ipv4) === 'bound')) wrong('and keeps what was given back');
    if (to.startsWith('detaching') && !free) wrong('and may be in use');
    if (to === 'lost.waiting' && (now.unseen <= before.unseen || now.failures <= before.failures))
      wrong('and takes that for no failure');
    if (to === 'lost.waiting' && eni !== null && free) wrong('and is seen and free');
    if (to === 'lost.waiting' && free && before.unseen >= LOOKS_MAX) wrong('and is not seen');
  }

  /** What an answer gave is in the book, or waits there for its other half. */
  #given({ book, halves }: EniContext, ips: readonly string[], wrong: (what: string) => void): void {
    const known = new Set([
      ...book.flatMap(({ address }) => halvesOf(address)),
      ...halves.ipv4.flatMap(({ address }) => halvesOf(address)),
      ...halves.ipv6.map(({ ip }) => ip),
      ...halves.leaving,
    ]);
    const lost = ips.find((ip) => !known.has(ip));
    if (lost !== undefined) wrong(`and does not know ${lost}, which it was given`);
  }

  #judged({ ref, from, to, before, now }: Move, wrong: (what: string) => void): void {
    const { failures, lastFailure, unseen } = before;
    const code = lastFailure?.code;
    if (from === 'creating.searching' && (to === 'creating.inLine' || to === 'gone')) {
      const given = NO_USE.some((one) => one === code) || before.repeated !== null || before.origin === 'lost';
      if (unseen < LOOKS_MIN) wrong(`after ${unseen + 1} looks that did not show it`);
      if (to === 'creating.inLine' && (given || failures > CREATES_MAX))
        wrong(`after ${failures} failures, the last one ${code}`);
      if (to === 'gone' && !given && failures < CREATES_MIN) wrong(`after ${failures} failures, the last one ${code}`);
      if (to !== 'gone' && tokenOf(now) === tokenOf(before)) wrong(`with the token ${tokenOf(now)} once more`);
      this.#doubtful.delete(ref);
    }
    if (from === 'creating.judging' && lastFailure !== null) {
      if (mayHaveHappened(lastFailure)) this.#doubtful.add(ref);
      const isDoubtful = this.#doubtful.has(ref) || before.origin === 'lost' || before.repeated !== null;
      const useless = NO_USE.some((one) => one === code);
      if (to === 'gone' && isDoubtful) wrong('and may have been made');
      if (to === 'creating.backingOff' && (useless || code === 'tokenSpent')) wrong(`after ${code}`);
      if (to === 'creating.backingOff' && failures > CREATES_MAX && code !== 'cloudUnreachable')
        wrong(`after ${failures} failures`);
      if (to === 'creating.searching' && useless && !isDoubtful) wrong(`after ${code}`);
      const isTired = failures >= CREATES_MIN && code !== 'cloudUnreachable';
      const isHopeless = code === 'tokenSpent' || code === 'groupFull' || needsAPerson(lastFailure.code);
      if (to === 'creating.searching' && !useless && !isHopeless && !isTired)
        wrong(`after ${code}, which its own token may ask again`);
      if ((code === 'throttled' && !isDoubtful) !== (to === 'creating.turnedAway')) wrong(`after ${code}`);
      if (!/^(gone|creating\.(searching|backingOff|turnedAway))$/.test(to)) wrong(`after ${code}`);
    }
    if (from === 'inUse.assigning.judging' && failures === 1) {
      if (code === 'cloudUnreachable' && to !== 'inUse.assigning.calling') wrong('and its Assign was not answered');
      if ((code === 'throttled') !== (to === 'inUse.assigning.turnedAway')) wrong(`after ${code}`);
      if ((code === 'cloud' || code === 'tokenSpent') && to !== 'inUse.confirming') wrong(`after ${code}`);
    }
    if (from === 'inUse.assigning.judging' && failures > 1 && to !== 'inUse.backingOff')
      wrong(`after ${failures} failures`);
    if (from === 'settling.judging') {
      const needed = isNeeded(before);
      if (needed && to !== 'settling.backingOff') wrong('and is needed');
    }
    if (to === 'settling.backingOff' && !isNeeded(now)) wrong('and nobody needs it');
  }
}
