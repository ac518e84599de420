/** What one ENI actor knows, and the pure questions its chart asks of it. */

import type { Address } from '../src/core/address.ts';
import {
  type AddressBook,
  afterDeath,
  type Held,
  type Holder,
  hasHolders,
  sheddable,
} from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import type { EniPhase, EniSummary } from '../src/core/eni-summary.ts';
import type { EniTimes } from '../src/core/eni-times.ts';
import type { Failure } from '../src/core/errors.ts';
import type { CreateIntent, Intent } from '../src/core/intent.ts';
import { corrected, LATE_PERIODS, type Said, said } from '../src/core/late-describe.ts';
import type { EniBinding } from '../src/core/lease.ts';
import { OWN_ENI_TABLE } from '../src/core/own-eni.ts';
import { type Halves, ownedAtFirst } from '../src/core/pairs.ts';
import type { EniDevice } from '../src/ports/kernel.ts';
import type { At } from './at.ts';
import { type Asking, countsIn, isOwn, queueLength, wantsToLeave } from './eni-owned.ts';
import type { FactoryEvent, IpResult } from './messages.ts';

export type EniPlan = {
  readonly slot: number;
  /** Addresses the ENI may own; in dual stack pairs. */
  readonly limit: number;
  /** Every address is an IPv4/IPv6 pair; without it what an ENI has of IPv6 is nobody's business. */
  readonly dual: boolean;
  readonly vSwitchId: string;
  readonly subnet: Subnet;
  readonly mtu: number;
  /** Made by us. */
  readonly ours: boolean;
  /** Prefix of the tokens that name this ENI's calls. */
  readonly token: string;
  readonly times: EniTimes;
};

export type EniInput = EniPlan & {
  readonly nowMs: number;
  /** Addresses to create the ENI with; ignored when it exists. */
  readonly ipv4Count: number;
  /** An ENI that exists: attached ones are adopted, others finished off. */
  readonly existing: CloudEni | null;
  /** What an earlier life was about to do to it: it goes on. */
  readonly intent?: Intent | null;
  /** Addresses that it was about to have taken away. */
  readonly going?: readonly string[];
  readonly held: ReadonlyMap<string, Held>;
  readonly coolUntilMs: ReadonlyMap<string, number>;
  /** What answers said to an earlier life a moment ago. */
  readonly said?: readonly Said[];
  /** IPv6 addresses that may be those of a lease which cannot be read. */
  readonly heldBack?: readonly string[];
  /** The table of an earlier life of the daemon. */
  readonly routeTable: number | null;
  /** The actor of this ENI died: another one goes on from what it knew. */
  readonly revived?: Revived;
};

export type Revived = {
  /** Its last context; null when nothing is left of it. */
  readonly dead: EniContext | null;
  readonly eniId: string | null;
  /** Requests whose promised address is with a lease just now. */
  readonly promised: readonly string[];
  /** Messages that it has been sent. */
  readonly heard: number;
  readonly failure: Failure;
};

/** What the store and the cloud tell of an ENI whose actor died. */
export type Recalled = {
  readonly eni: CloudEni | null;
  /** Leases on it. */
  readonly held: ReadonlyMap<string, Held>;
  /** Of the addresses that were bound when this was asked: those without a lease, and until when they rest. */
  readonly released: readonly {
    readonly ipv4: string;
    readonly coolUntilMs: number;
    readonly reservedUntilMs?: number | null;
  }[];
};

export type Queued = Holder & { readonly requestId: string };

export type EniContext = EniPlan & {
  /** A Create of an earlier life, to be made once more as it was. */
  readonly repeated: CreateIntent | null;
  readonly eniId: string | null;
  readonly mac: string | null;
  readonly device: EniDevice | null;
  readonly routeTable: number | null;
  /** Where the life of this actor begins: a new ENI, one that is attached already, or one left half-way by an earlier life. */
  readonly origin: 'new' | 'attached' | 'attaching' | 'leftover' | 'lost';
  readonly phase: EniPhase;
  readonly book: AddressBook;
  /** Dual stack: addresses of one family that lack the other. */
  readonly halves: Halves;
  /** Requests that wait for the next addresses, oldest first. */
  readonly queue: readonly Queued[];
  /** Addresses to ask for besides those under way, also when nobody waits for them. */
  readonly growBy: number;
  /** Addresses the call under way asks for. */
  readonly arriving: number;
  readonly asking: Asking;
  readonly calls: number;
  /** Its Create waits for its turn, and nothing of it may be made already. */
  readonly unasked: boolean;
  /** A Create that failed may have made an ENI. */
  readonly doubtful: boolean;
  /** An Unassign was not answered: until it is made again its addresses may go at any time. */
  readonly takingYet: boolean;
  /** What answers said of addresses lately: Describe may be late about it. */
  readonly said: readonly Said[];
  /** What the cloud last reported otherwise than the book has it; null when they agreed. */
  readonly suspicion: string | null;
  /** When its attach was accepted: Describe may be late about it. null: no answer said so. */
  readonly attachedMs: number | null;
  /** When a look first did not show it here since; null: none yet. */
  readonly waitingMs: number | null;
  /** How old was what it was compared with last: so much sooner it is compared again. */
  readonly shownAgoMs: number;
  /** Failed calls in a row. */
  readonly failures: number;
  readonly lastFailure: Failure | null;
  /** Looks in a row in which the cloud did not show the ENI: Describe may be late about one that was just made. */
  readonly unseen: number;
  /** Messages of the factory so far. */
  readonly heard: number;
  /** When it wakes up for the next address that has rested; null: that is not to be. */
  readonly restAtMs: number | null;
  /** The latest instant that anything told of. */
  readonly nowMs: number;
};

export function contextOf({ revived, ...input }: EniInput): EniContext {
  return revived === undefined ? freshContext(input) : revivedContext(freshContext(input), revived);
}

/** What another actor had under way may be carried out yet: addresses that were leaving stay so. */
function revivedContext(fresh: EniContext, { dead, eniId, promised, heard, failure }: Revived): EniContext {
  const known = dead ?? { ...fresh, eniId };
  const book = afterDeath(known.book, promised);
  return {
    ...known,
    origin: 'lost',
    phase: 'lost',
    book,
    device: null,
    queue: [],
    growBy: 0,
    // It may have died of the very message that told it other ones.
    times: fresh.times,
    // Its Create may be under way: it is made once more as it was.
    arriving: known.eniId === null ? known.arriving : 0,
    doubtful: known.doubtful || known.eniId === null,
    unasked: false,
    takingYet: wantsToLeave({ book, halves: known.halves }),
    suspicion: null,
    attachedMs: null,
    waitingMs: null,
    shownAgoMs: 0,
    unseen: 0,
    failures: known.failures + 1,
    lastFailure: failure,
    // Its timer went with it.
    restAtMs: null,
    heard,
    nowMs: Math.max(known.nowMs, fresh.nowMs),
  };
}

function freshContext({
  existing,
  intent,
  going = [],
  held,
  coolUntilMs,
  nowMs,
  ipv4Count,
  said: lately = [],
  heldBack = [],
  ...plan
}: Omit<EniInput, 'revived'>): EniContext {
  const ips = existing ?? { ipv4: [], ipv6: [] };
  const here = existing === null ? new Map<string, Held>() : held;
  const own = ownedAtFirst({ ips, held: here, coolUntilMs, going, heldBack, dual: plan.dual, nowMs });
  const { book } = own;
  const origin = originOf(existing, book, plan.ours ? (intent?.kind ?? null) : null);
  return {
    ...plan,
    repeated: existing === null && intent?.kind === 'create' ? intent : null,
    eniId: existing?.eniId ?? null,
    mac: existing?.mac ?? null,
    device: null,
    origin,
    phase: origin === 'leftover' ? 'leaving' : 'opening',
    ...own,
    queue: [],
    growBy: 0,
    arriving: existing === null ? ipv4Count : 0,
    asking: { family: 4, count: 0 },
    calls: 0,
    unasked: false,
    // Whatever the same call is answered now, the one before may have been carried out.
    doubtful: existing === null && intent?.kind === 'create',
    takingYet: wantsToLeave(own),
    said: lately,
    suspicion: null,
    attachedMs: null,
    waitingMs: null,
    shownAgoMs: 0,
    failures: 0,
    lastFailure: null,
    unseen: 0,
    heard: 0,
    restAtMs: null,
    nowMs,
  };
}

/**
 * What was begun goes on: one that was to be attached is, one that was to be detached is let go, since that call may arrive yet. One
 * that was detached while pods held its addresses is attached again, not finished off.
 */
function originOf(existing: CloudEni | null, book: AddressBook, begun: Intent['kind'] | null): EniContext['origin'] {
  if (existing === null) return 'new';
  const lettingGo = (begun === 'detach' || begun === 'delete') && !hasHolders(book);
  if (existing.status === 'InUse') return lettingGo ? 'leftover' : 'attached';
  if (existing.status === 'Attaching' || hasHolders(book)) return 'attaching';
  return begun === 'attach' || begun === 'create' ? 'attaching' : 'leftover';
}

/** What the factory may know. */
export function summaryOf(context: EniContext): EniSummary {
  const { slot, phase, eniId, vSwitchId, ours, limit, unasked, heard, lastFailure } = context;
  const counts = countsIn(context);
  return {
    slot,
    phase,
    eniId,
    vSwitchId,
    ours,
    limit,
    counts,
    sheddable: sheddable(context.book),
    arriving: context.arriving + context.growBy,
    queued: queueLength(context),
    ...(unasked && { unasked: true as const }),
    ...(isOwn(context) && { own: true as const }),
    reserved: counts.reserved === 0 ? nobodys : reservedIn(context.book),
    heard,
    lastFailure,
  };
}

const nobodys: NonNullable<EniSummary['reserved']> = [];

const reservedIn = (book: AddressBook): NonNullable<EniSummary['reserved']> =>
  book
    .filter((entry) => entry.state === 'reserved')
    .map(({ pod, atMs }) => ({ pod: pod ?? '', untilMs: atMs }))
    .sort((a, b) => a.untilMs - b.untilMs);

/** The name of the next call: the same one as long as nothing has started a new one. */
export function tokenOf(context: EniContext): string {
  return context.repeated?.clientToken ?? `${context.token}-${context.slot}-${context.calls}`;
}

/** What is asked for is to be kept idle. */
export const nobodyWaits = ({ queue }: EniContext): boolean => queue.length === 0;

/** The first wait is between half and three quarters of a period, the second look a quarter later: both fit into one period. */
const FIRST_LOOK = 0.5;
const SPREAD = 0.25;
const SECOND_LOOK = 0.25;
/** So much of a period at most is what an ENI is compared with shown before. */
export const SHOWN_BEFORE_MAX = 0.4;

/** Each node looks at a moment of its own, so that those that started together do not ask together; its ENIs share the look. */
export function compareAfterMs({ times, token, suspicion, shownAgoMs }: EniContext): number {
  if (suspicion !== null) return SECOND_LOOK * times.cloudPeriodMs;
  const mixed = [...token].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 1_009, 0);
  const wait = FIRST_LOOK + (SPREAD * mixed) / 1_009;
  return wait * times.cloudPeriodMs - Math.min(shownAgoMs, SHOWN_BEFORE_MAX * times.cloudPeriodMs);
}

/** What Describe shows, as far as it cannot be late. */
export const shownThen = <T extends CloudEni | null>(
  { said: lately }: EniContext,
  { value, atMs, askedMs = atMs }: At<T>,
): T => (value === null ? value : corrected(value, lately, askedMs));

/** Whether a look that was asked for then may have missed that the attach was accepted. */
export const mayMissAttach = ({ attachedMs, times }: EniContext, { atMs, askedMs = atMs }: At<unknown>): boolean =>
  attachedMs !== null && askedMs - attachedMs < LATE_PERIODS * times.describePeriodMs;

/** Looks have not shown it here for as long as an attach may take. */
export const isLate = ({ waitingMs, times }: EniContext, nowMs: number): boolean =>
  waitingMs !== null && nowMs - waitingMs >= times.attachTimeoutMs;

/** What an answer of the cloud has just said of these addresses. */
export const answered = (context: EniContext, ips: readonly string[], there: boolean, nowMs: number): readonly Said[] =>
  said(context.said, ips, there, { nowMs, lateMs: LATE_PERIODS * context.times.describePeriodMs });

export function changed(context: EniContext): Extract<FactoryEvent, { type: 'eniChanged' }> {
  return { type: 'eniChanged', summary: summaryOf(context), atMs: context.nowMs };
}

/** @param whole the pod has the ENI for itself: its device goes to the pod, and no table of the host's leads over it */
export function granted(context: EniContext, requestId: string, address: Address, whole: boolean = false): IpResult {
  const { device, slot } = context;
  const eni: EniBinding = {
    eniId: context.eniId ?? '',
    mac: context.mac ?? '',
    subnet: context.subnet,
    device: {
      name: device?.name ?? '',
      ifindex: device?.ifindex ?? 0,
      routeTable: whole ? OWN_ENI_TABLE : (device?.routeTable ?? 0),
      mtu: context.mtu,
    },
  };
  return { type: 'ipResult', requestId, slot, ok: true, grant: { address, eni } };
}
