/**
 * What the chart of an ENI is made of: its calls, delays, guards and actions by name. The states that use them are in files of their own
 * (eni-opening, eni-in-use, eni-lost, eni-leaving), and eni.ts puts them together.
 */
import { assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';
import { freed, hasHolders, nextRestMs, offered, reservedFor, rested, withdrawn } from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import type { EniPhase } from '../src/core/eni-summary.ts';
import { type Failure, needsAPerson } from '../src/core/errors.ts';
import type { CreateIntent } from '../src/core/intent.ts';
import { isTaken } from '../src/core/own-eni.ts';
import type { Ips } from '../src/core/pairs.ts';
import type { SandboxKey } from '../src/core/sandbox.ts';
import type { Owned } from '../src/core/two-witnesses.ts';
import type { TurnedCall } from '../src/ports/cloud.ts';
import type { EniDevice } from '../src/ports/kernel.ts';
import type { At } from './at.ts';
import { type Named, noIps } from './eni-calls.ts';
import {
  answered,
  changed,
  compareAfterMs,
  type EniContext,
  type EniInput,
  granted,
  isLate,
  type Recalled,
  shownThen,
} from './eni-context.ts';
import { whyNot } from './eni-failures.ts';
import {
  afterCreate,
  afterReport,
  askNext,
  hasFor,
  isOwn,
  offeredAll,
  offeredFrom,
  owning,
  queueLength,
  type Strange,
  someLeft,
  strangeIn,
  wanted,
  wantsToLeave,
} from './eni-owned.ts';
import type { EniEvent } from './messages.ts';

/** Looks that do not show an ENI before it counts as gone: with a period between them longer than Describe is late. */
export const UNSEEN_MAX = 4;

/** Without its device, an ENI that is being attached is looked for in the cloud after so many periods. Source: ECS, an attach takes 2 to 6 s. */
const PATIENCE_PERIODS = 5;

/** A device that is in a pod. */
const AWAY: EniDevice = { ifindex: 0, name: '', routeTable: 0 };

/** A pod that comes back in dual stack needs both halves. */
const isWhole = ({ dual, book }: EniContext, ip: string): boolean =>
  !dual || book.some(({ address }) => address.ipv4 === ip && address.ipv6 !== null);

export const eniSetup = setup({
  types: {
    input: {} as EniInput,
    context: {} as EniContext,
    events: {} as EniEvent,
  },
  actors: {} as {
    createEni: PromiseActorLogic<
      At<CloudEni>,
      {
        slot: number;
        vSwitchId: string;
        ipv4Count: number;
        ipv6Count: number;
        token: string;
        background: boolean;
        repeated: CreateIntent | null;
        doubtful: boolean;
      }
    >;
    /** Until a call may leave. */
    awaitTurn: PromiseActorLogic<At<void>, { call: TurnedCall; about: string; background: boolean }>;
    /** The ENI that a Create with this token made; null when there is none. */
    findEni: PromiseActorLogic<At<CloudEni | null>, { token: string }>;
    attachEni: PromiseActorLogic<At<void>, Named>;
    /** Until the host has its device: the first to know that the ENI is attached. Not before a period is over. */
    seekDevice: PromiseActorLogic<At<void>, { mac: string; periodMs: number }>;
    /** With `known`: only what a second witness agrees in differs from it. Rejects where the witnesses dispute the ENI itself. */
    describeEni: PromiseActorLogic<At<CloudEni | null>, Named & { takingYet: boolean; known?: Owned }>;
    /** Whose the addresses are that were bound when the actor before this one died. */
    recall: PromiseActorLogic<
      At<Recalled>,
      Named & { bound: readonly { readonly ipv4: string; readonly sandbox: SandboxKey | null }[] }
    >;
    setUpEni: PromiseActorLogic<
      At<EniDevice>,
      { eniId: string; mac: string; subnet: Subnet; mtu: number; routeTable: number | null }
    >;
    assignIps: PromiseActorLogic<
      At<readonly string[]>,
      Named & { family: 4 | 6; count: number; token: string; background: boolean }
    >;
    unassignIps: PromiseActorLogic<At<void>, Named & { family: 4 | 6; ips: readonly string[] }>;
    tearDownEni: PromiseActorLogic<At<void>, { mac: string; routeTable: number | null }>;
    detachEni: PromiseActorLogic<At<void>, Named>;
    deleteEni: PromiseActorLogic<At<void>, Named>;
  },
  delays: {
    describePeriod: ({ context }) => context.times.describePeriodMs,
    patience: ({ context }) => PATIENCE_PERIODS * context.times.describePeriodMs,
    settleTimeout: ({ context }) => context.times.settleTimeoutMs,
    detachTimeout: ({ context }) => context.times.detachTimeoutMs,
    comparing: ({ context }) => compareAfterMs(context),
    /** Describe is late by little: what is not shown by then, and looks that fail, are asked about ever more seldom. */
    lookAgain: ({ context: { unseen, failures, times } }) =>
      unseen > 0 && unseen < UNSEEN_MAX
        ? times.describePeriodMs
        : Math.max(
            times.describePeriodMs,
            Math.min(times.backoffMs * 2 ** Math.max(0, failures - 1), times.backoffMaxMs),
          ),
    longBackoff: ({ context }) => context.times.backoffMaxMs,
    backoff: ({ context }) =>
      Math.min(context.times.backoffMs * 2 ** Math.max(0, context.failures - 1), context.times.backoffMaxMs),
  },
  guards: {
    tried: ({ context }, params: { times: number }) => context.failures >= params.times,
    hasHolders: ({ context }) => hasHolders(context.book),
    /** An address was given back a moment ago. */
    rests: ({ context }) => context.book.some((entry) => entry.state === 'cooling'),
    /** Nobody holds an address, waits for one, or was promised one. */
    unused: ({ context }) => !hasHolders(context.book) && context.queue.length === 0,
    takesMore: ({ context }) => context.phase === 'ready',
    /** It is ours that the host lost, and news. */
    hadDevice: ({ context, event }) =>
      event.type === 'unplugged' &&
      context.device !== null &&
      !isTaken(context.book) &&
      context.mac?.toLowerCase() === event.mac.toLowerCase(),
    /** Its device is where its pod is. */
    isTaken: ({ context }) => isTaken(context.book),
    /** It was where its pod was, and that has it no more. */
    isAway: ({ context }) => context.device === AWAY && !isTaken(context.book),
    /** The pod that has the ENI for itself gives it back, or did not want it after all. */
    endsOwn: ({ context, event }) =>
      context.book.some(
        ({ ownEni, address, requestId }) =>
          ownEni === true &&
          ((event.type === 'freed' && event.ipv4 === address.ipv4) ||
            (event.type === 'withdraw' && event.requestId === requestId)),
      ),
    isUnplugged: ({ context }) => context.device === null,
    atRest: ({ context }) => context.arriving === 0 && !wantsToLeave(context),
    canOffer: ({ context, event }) =>
      event.type === 'assign' &&
      event.ownEni !== true &&
      context.device !== null &&
      !isOwn(context) &&
      (context.queue.length === 0 || reservedFor(context.book, event.pod) !== null) &&
      hasFor(context, event.pod, event.alsoCooling, event.alsoReserved),
    canOfferAll: ({ context, event }) =>
      event.type === 'assign' &&
      event.ownEni === true &&
      context.device !== null &&
      context.queue.length === 0 &&
      offeredAll(context, event) !== null,
    /** Whatever the same call is asked again, the answer will be the same. */
    refused: ({ context: { lastFailure } }) =>
      lastFailure !== null &&
      (needsAPerson(lastFailure.code) || ['vSwitchEmpty', 'ipv6Off', 'groupFull'].includes(lastFailure.code)),
    /** Not carried out for sure: too many calls are made. */
    throttled: ({ context: { lastFailure } }) => lastFailure?.code === 'throttled',
    /** No answer of the cloud was seen: the call may have been carried out. */
    unanswered: ({ context }) => context.lastFailure?.code === 'cloudUnreachable',
    /** The same token will never be answered again. */
    spent: ({ context }) => context.lastFailure?.code === 'tokenSpent',
    doubtful: ({ context }) => context.doubtful,
    /** It was looked for often enough. */
    unseen: ({ context }) => context.unseen + 1 >= UNSEEN_MAX,
    /** Looks have failed for as long as an attach may take. */
    looksFail: ({ context }) => isLate(context, context.nowMs),
    isNew: ({ context }) => context.origin === 'new',
    /** The actor before this one died. */
    wasLost: ({ context }) => context.origin === 'lost',
    /** It was an earlier life that wanted it. */
    repeated: ({ context }) => context.repeated !== null,
    onceFailed: ({ context }) => context.failures === 1,
    mayHaveWorked: ({ context }) => context.lastFailure?.code === 'cloud' || context.lastFailure?.code === 'tokenSpent',
    wantsAddresses: ({ context }) => wanted(context) > 0,
    wantsFewer: ({ context }) => wantsToLeave(context),
    /** Dual stack: the other family of what has arrived is to be asked for now. */
    lacksHalves: ({ context }) => askNext(context) !== null,
    ours: ({ context }) => context.ours,
  },
  actions: {
    failed: assign(({ context }, params: { failure: Failure }) => ({
      failures: context.failures + 1,
      lastFailure: params.failure,
    })),
    succeeded: assign({ failures: 0, lastFailure: null, unseen: 0 }),
    notSeen: assign(({ context }) => ({ unseen: context.unseen + 1 })),
    /** A look has not shown it here. */
    notHere: assign(({ context }, { atMs }: { atMs: number }) => ({ waitingMs: context.waitingMs ?? atMs })),
    /** The factory said something: the next report counts it. */
    hear: assign(({ context, event }) => ({
      heard: context.heard + 1,
      nowMs: Math.max(context.nowMs, event.atMs),
    })),
    queueUp: assign(({ context, event }) => {
      if (event.type !== 'assign' || !takesRequests(context)) return {};
      const { requestId, sandbox, pod, ownEni } = event;
      return { queue: [...context.queue, { requestId, sandbox, pod, ...(ownEni === true && { ownEni }) }] };
    }),
    /** How much is asked for is told by what waits here. */
    notSettled: assign(({ context }) => ({ arriving: Math.max(0, wanted(context) - context.growBy) })),
    /** One that waited here has no time left, and its address is asked for all the same. */
    keepWanting: assign(({ context, event }) =>
      event.type === 'cancel'
        ? {
            queue: context.queue.filter(({ requestId }) => requestId !== event.requestId),
            growBy: Math.max(context.growBy, queueLength(context)),
          }
        : {},
    ),
    growMore: assign(({ context, event }) =>
      event.type === 'grow' && takesRequests(context) ? { growBy: context.growBy + event.count } : {},
    ),
    learn: assign(({ context }, params: { eni: CloudEni; atMs: number }) => ({
      eniId: params.eni.eniId,
      mac: params.eni.mac,
      ...afterCreate(context, params.eni, params.atMs),
      said: answered(context, [...params.eni.ipv4, ...params.eni.ipv6], true, params.atMs),
      arriving: 0,
      repeated: null,
      doubtful: false,
      nowMs: params.atMs,
    })),
    takeBack: assign(({ context, event }) =>
      event.type === 'withdraw'
        ? owning(context, withdrawn(context.book, event.requestId, event.atMs), event.atMs)
        : {},
    ),
    putToRest: assign(({ context, event }) => {
      if (event.type !== 'freed') return {};
      const { ipv4, coolUntilMs, reservedUntilMs, atMs } = event;
      const book = freed(context.book, ipv4, coolUntilMs, isWhole(context, ipv4) ? reservedUntilMs : null);
      return owning(context, rested(book, atMs), atMs);
    }),
    /** Another ENI may have had them. */
    tellArrived: enqueueActions(({ context, enqueue }, { ips, atMs }: { ips: readonly string[]; atMs: number }) => {
      if (ips.length > 0) enqueue.sendParent({ type: 'moved', slot: context.slot, ips, atMs });
    }),
    /** For the log: charts write none. */
    tellStrange: (_, _params: Strange) => {},
    tellCalledOff: (_, _params: { slot: number; count: number }) => {},
    tellUnplugged: (_, _params: { eniId: string; mac: string }) => {},
    /** The book follows what the cloud reports. */
    follow: assign(({ context }, { ips, atMs }: { ips: Ips; atMs: number }) => {
      // What failed had worked after all: addresses came, or those that were to leave are gone.
      const worked = someLeft(context, ips) || strangeIn(context, ips).unknown.length > 0;
      const own = afterReport(context, ips, atMs);
      return {
        ...own,
        takingYet: context.takingYet && wantsToLeave(own),
        arriving: 0,
        nowMs: Math.max(context.nowMs, atMs),
        ...(worked ? { failures: 0, lastFailure: null } : {}),
      };
    }),
    /** The book of an actor that died, brought in line with the leases and the cloud. */
    remember: assign(({ context }, { value, atMs, askedMs = atMs }: At<Recalled>) => {
      const { eni, held, released } = value;
      const rid = released.reduce(
        (book, { ipv4, coolUntilMs, reservedUntilMs }) => freed(book, ipv4, coolUntilMs, reservedUntilMs),
        context.book,
      );
      // What the book knows of it has heard more since the leases were read.
      const unknown = new Map([...held].filter(([ip]) => !context.book.some((entry) => entry.address.ipv4 === ip)));
      const shown = shownThen(context, { value: eni, atMs, askedMs }) ?? noIps;
      const own = afterReport({ ...context, book: rid }, shown, atMs, unknown);
      return {
        ...owning({ ...context, halves: own.halves }, rested(own.book, atMs), atMs),
        mac: eni?.mac ?? context.mac,
        nowMs: Math.max(context.nowMs, atMs),
      };
    }),
    reopen: assign({ phase: 'opening' }),
    unplug: assign(({ context, event }) => ({ device: null, nowMs: Math.max(context.nowMs, event.atMs) })),
    plug: assign((_, { value: device, atMs }: At<EniDevice>) => ({
      device,
      routeTable: device.routeTable,
      nowMs: atMs,
    })),
    phase: assign((_, params: { phase: EniPhase }) => ({ phase: params.phase })),
    /** Tells the factory what there is now. */
    report: enqueueActions(({ context, enqueue }) => enqueue.sendParent(changed(context))),
    /** Promises addresses to the queue, oldest request first, as far as they go; whoever has one kept for it waits for nobody. */
    serve: enqueueActions(({ context, enqueue }) => {
      if (context.queue.length === 0 || context.device === null || context.phase === 'leaving') return;
      let { book, halves } = context;
      const queue = context.queue.filter((request) => {
        if (isTaken(book)) return true;
        if (request.ownEni === true) {
          const all = offeredAll({ ...context, book, halves }, request);
          if (all === null) return true;
          enqueue.sendParent(granted(context, request.requestId, all.address, true));
          ({ book, halves } = all);
          return false;
        }
        const offer = offered(book, request, false);
        if (offer === null) return true;
        enqueue.sendParent(granted(context, request.requestId, offer.address));
        book = offer.book;
        return false;
      });
      enqueue.assign({ book, halves, queue });
    }),
    offerAll: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'assign') return;
      const all = offeredAll(context, event);
      if (all === null) return;
      const { address, book, halves } = all;
      enqueue.sendParent(granted(context, event.requestId, address, true));
      enqueue.assign({ book, halves });
    }),
    /** It has to come back from the pod, and to be set up anew. */
    deviceReturns: assign({ device: null, phase: 'faulty' }),
    /** The same, once the Unassign under way has been answered. */
    deviceReturnsLater: assign({ device: AWAY, phase: 'faulty' }),
    /** Nothing of it is on the host. */
    plugTaken: assign({ device: AWAY }),
    offer: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'assign') return;
      const offer = offeredFrom(context, event, event.alsoCooling, event.alsoReserved);
      if (offer === null) return;
      enqueue.sendParent(granted(context, event.requestId, offer.address));
      enqueue.assign({ book: offer.book });
    }),
    /** Wants go back to the factory: another ENI may serve them. It hears of the state first, so as not to send them here again. */
    giveBack: enqueueActions(({ context, enqueue }, params: { failure: Failure }) => {
      const emptied = { queue: [], growBy: 0, arriving: 0 };
      enqueue.assign(emptied);
      enqueue.sendParent(changed({ ...context, ...emptied }));
      for (const { requestId } of context.queue)
        enqueue.sendParent({ type: 'ipResult', requestId, slot: context.slot, ok: false, failure: params.failure });
    }),
    declineOrWait: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'assign' || takesRequests(context)) return;
      const { requestId } = event;
      enqueue.sendParent({ type: 'ipResult', requestId, slot: context.slot, ok: false, failure: whyNot(context) });
    }),
    /** Wakes up when the next cooling address has rested. A timer that is set for the same instant stays. */
    armRest: enqueueActions(({ context, event, enqueue }) => {
      const atMs = nextRestMs(context.book);
      if (atMs === context.restAtMs && event.type !== 'rest') return;
      enqueue.assign({ restAtMs: atMs });
      enqueue.cancel('rest');
      if (atMs !== null)
        enqueue.raise({ type: 'rest', atMs }, { id: 'rest', delay: Math.max(0, atMs - context.nowMs) });
    }),
    sayGone: enqueueActions(({ context, enqueue }) => {
      enqueue.sendParent({ ...changed({ ...context, phase: 'leaving' }), type: 'eniGone' });
    }),
  },
});

/** Whoever waits here is served by this ENI, or sent away when a call fails. */
const takesRequests = ({ phase }: EniContext): boolean => phase === 'opening' || phase === 'ready';
