/**
 * One ENI's life: appearing → creating → attaching → settling → inUse → draining → detaching → deleting → gone; stuck, lost.
 *
 * It owns its address book and is the only one to change it; one mutating call is in flight at most, and what arrives during a call
 * forms the next one. The surprising choice: nobody tells it what to call. The book, the queue and `growBy` are wants; whenever no
 * call is under way it looks at them and makes the one call that helps.
 */
import { type ActorRefFrom, and, assign, enqueueActions, not, or, type PromiseActorLogic, setup } from 'xstate';
import {
  bound,
  freed,
  hasHolders,
  leaving,
  left,
  nextRestMs,
  offered,
  reservedFor,
  rested,
  shortened,
  withdrawn,
} from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import type { EniPhase } from '../src/core/eni-summary.ts';
import { type Failure, failureOf, needsAPerson } from '../src/core/errors.ts';
import { isHeldBackFor } from '../src/core/held-back.ts';
import { type CreateIntent, mayHaveHappened } from '../src/core/intent.ts';
import { halvesLeaving, type Ips, leftIpv6 } from '../src/core/pairs.ts';
import { ASSIGN_MAX } from '../src/core/settings.ts';
import type { Owned } from '../src/core/two-witnesses.ts';
import type { EniDevice } from '../src/ports/kernel.ts';
import type { At } from './at.ts';
import {
  answered,
  changed,
  compareAfterMs,
  contextOf,
  type EniContext,
  type EniInput,
  granted,
  type Recalled,
  shownThen,
  tokenOf,
} from './eni-context.ts';
import {
  afterAssign,
  afterCreate,
  afterReport,
  askFirst,
  askNext,
  differenceOf,
  evened,
  isUneven,
  nextToLeave,
  offeredFrom,
  owning,
  type Strange,
  someLeft,
  strangeIn,
  wanted,
  wantsToLeave,
} from './eni-owned.ts';
import type { EniEvent } from './messages.ts';

const CREATE_TRIES = 5;
const ATTACH_TRIES = 3;
const CONFIRM_TRIES = 3;
/** Looks that do not show an ENI before it counts as gone: with a period between them longer than Describe is late. */
const UNSEEN_MAX = 4;

const noIps: Ips = { ipv4: [], ipv6: [] };

type Named = { readonly slot: number; readonly eniId: string };

/** What every failed call leaves behind. */
const noteFailure = {
  type: 'failed',
  params: ({ event }: { event: { error: unknown } }) => ({ failure: failureOf(event.error) }),
} as const;

type Look = { readonly context: EniContext; readonly event: { readonly output: At<CloudEni | null> } };

/** The book follows what a look has shown. */
const followLook = [
  {
    type: 'tellStrange',
    params: ({ context, event }: Look) => strangeIn(context, shownThen(context, event.output) ?? noIps),
  },
  {
    type: 'follow',
    params: ({ context, event }: Look) => ({
      ips: shownThen(context, event.output) ?? noIps,
      atMs: event.output.atMs,
    }),
  },
] as const;

/** The kernel is the quick witness: nothing more is promised here until the cloud has told what became of the ENI. */
const lostDevice = [
  {
    type: 'tellUnplugged',
    params: ({ context: { eniId, mac } }: { context: EniContext }) => ({ eniId: eniId ?? '', mac: mac ?? '' }),
  },
  'unplug',
  { type: 'phase', params: { phase: 'faulty' } },
  { type: 'giveBack', params: ({ context }: { context: EniContext }) => ({ failure: noDevice(context) }) },
] as const;

export const eniMachine = setup({
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
        repeated: CreateIntent | null;
        doubtful: boolean;
      }
    >;
    /** The ENI that a Create with this token made; null when there is none. */
    findEni: PromiseActorLogic<At<CloudEni | null>, { token: string }>;
    attachEni: PromiseActorLogic<At<void>, Named>;
    /** With `known`: only what a second witness agrees in differs from it. Rejects where the witnesses dispute the ENI itself. */
    describeEni: PromiseActorLogic<At<CloudEni | null>, Named & { takingYet: boolean; known?: Owned }>;
    /** Whose the addresses are that were bound when the actor before this one died. */
    recall: PromiseActorLogic<At<Recalled>, Named & { bound: readonly string[] }>;
    setUpEni: PromiseActorLogic<
      At<EniDevice>,
      { eniId: string; mac: string; subnet: Subnet; mtu: number; routeTable: number | null }
    >;
    assignIps: PromiseActorLogic<At<readonly string[]>, Named & { family: 4 | 6; count: number; token: string }>;
    unassignIps: PromiseActorLogic<At<void>, Named & { family: 4 | 6; ips: readonly string[] }>;
    tearDownEni: PromiseActorLogic<At<void>, { mac: string; routeTable: number | null }>;
    detachEni: PromiseActorLogic<At<void>, Named>;
    deleteEni: PromiseActorLogic<At<void>, Named>;
  },
  delays: {
    describePeriod: ({ context }) => context.times.describePeriodMs,
    attachTimeout: ({ context }) => context.times.attachTimeoutMs,
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
      event.type === 'unplugged' && context.device !== null && context.mac?.toLowerCase() === event.mac.toLowerCase(),
    isUnplugged: ({ context }) => context.device === null,
    atRest: ({ context }) => context.arriving === 0 && !wantsToLeave(context),
    canOffer: ({ context, event }) =>
      event.type === 'assign' &&
      context.device !== null &&
      (context.queue.length === 0 || reservedFor(context.book, event.pod) !== null) &&
      offeredFrom(context, event, event.alsoCooling, event.alsoReserved) !== null,
    /** Whatever the same call is asked again, the answer will be the same. */
    refused: ({ context: { lastFailure } }) =>
      lastFailure !== null &&
      (needsAPerson(lastFailure.code) || ['vSwitchEmpty', 'ipv6Off', 'groupFull'].includes(lastFailure.code)),
    /** No answer of the cloud was seen: the call may have been carried out. */
    unanswered: ({ context }) => context.lastFailure?.code === 'cloudUnreachable',
    /** The same token will never be answered again. */
    spent: ({ context }) => context.lastFailure?.code === 'tokenSpent',
    doubtful: ({ context }) => context.doubtful,
    /** It was looked for often enough. */
    unseen: ({ context }) => context.unseen + 1 >= UNSEEN_MAX,
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
    /** The factory said something: the next report counts it. */
    hear: assign(({ context, event }) => ({
      heard: context.heard + 1,
      nowMs: Math.max(context.nowMs, event.atMs),
    })),
    queueUp: assign(({ context, event }) => {
      if (event.type !== 'assign' || !takesRequests(context)) return {};
      const { requestId, sandbox, pod } = event;
      return { queue: [...context.queue, { requestId, sandbox, pod }] };
    }),
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
    /** For the log: charts write none. */
    tellStrange: (_, _params: Strange) => {},
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
      if (context.device === null || context.phase === 'leaving') return;
      let { book } = context;
      const queue = context.queue.filter((request) => {
        const offer = offered(book, request, false);
        if (offer === null) return true;
        enqueue.sendParent(granted(context, request.requestId, offer.address));
        book = offer.book;
        return false;
      });
      enqueue.assign({ book, queue });
    }),
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
    /** Wakes up when the next cooling address has rested. */
    armRest: enqueueActions(({ context, enqueue }) => {
      enqueue.cancel('rest');
      const atMs = nextRestMs(context.book);
      if (atMs !== null)
        enqueue.raise({ type: 'rest', atMs }, { id: 'rest', delay: Math.max(0, atMs - context.nowMs) });
    }),
    sayGone: enqueueActions(({ context, enqueue }) => {
      enqueue.sendParent({ ...changed({ ...context, phase: 'leaving' }), type: 'eniGone' });
    }),
  },
}).createMachine({
  id: 'eni',
  options: { maxIterations: 100 },
  context: ({ input }) => contextOf(input),
  initial: 'appearing',
  on: {
    bind: {
      actions: [assign(({ context, event }) => ({ book: bound(context.book, event.requestId) })), 'report'],
    },
    withdraw: {
      actions: [
        assign(({ context, event }) =>
          owning(context, withdrawn(context.book, event.requestId, event.atMs), event.atMs),
        ),
        'armRest',
        'serve',
        'report',
      ],
    },
    cancel: {
      actions: [
        assign(({ context, event }) => ({
          queue: context.queue.filter((queued) => queued.requestId !== event.requestId),
        })),
        'report',
      ],
    },
    freed: {
      actions: [
        assign(({ context, event: { ipv4, coolUntilMs, reservedUntilMs, atMs } }) =>
          owning(
            context,
            rested(freed(context.book, ipv4, coolUntilMs, isWhole(context, ipv4) ? reservedUntilMs : null), atMs),
            atMs,
          ),
        ),
        'armRest',
        'serve',
        'report',
      ],
    },
    unreserve: {
      actions: [
        assign(({ context, event: { ipv4, untilMs, atMs } }) =>
          owning(context, rested(shortened(context.book, ipv4, untilMs), atMs), atMs),
        ),
        'armRest',
        'serve',
        'report',
      ],
    },
    rest: {
      actions: [
        assign(({ context, event }) => owning(context, rested(context.book, event.atMs), event.atMs)),
        'armRest',
        'serve',
        'report',
      ],
    },
    // It is no news to the factory, and counts as none.
    settings: {
      actions: assign(({ context, event: { times, atMs } }) => ({ times, nowMs: Math.max(context.nowMs, atMs) })),
    },
    // The factory hears of a phase that takes nothing before it can send again: that such an ENI declines is for safety alone.
    assign: { actions: ['hear', 'queueUp', 'report', 'declineOrWait'] },
    grow: { actions: ['hear', 'growMore', 'report'] },
    shed: { actions: ['hear', 'report'] },
    drain: { actions: ['hear', 'report'] },
  },
  states: {
    appearing: {
      always: [
        { guard: 'wasLost', target: 'lost' },
        { guard: ({ context }) => context.origin === 'new', target: 'creating' },
        { guard: ({ context }) => context.origin === 'attaching', target: 'attaching.describing' },
        { guard: ({ context }) => context.origin === 'leftover', target: 'detaching' },
        { target: 'settling' },
      ],
    },
    creating: {
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'createEni',
            input: ({ context }) => ({
              slot: context.slot,
              vSwitchId: context.vSwitchId,
              ipv4Count: Math.max(1, context.arriving),
              ipv6Count: context.dual ? Math.min(Math.max(1, context.arriving), ASSIGN_MAX) : 0,
              token: tokenOf(context),
              repeated: context.repeated,
              doubtful: context.doubtful,
            }),
            onDone: {
              target: '#eni.attaching',
              actions: [
                { type: 'learn', params: ({ event }) => ({ eni: event.output.value, atMs: event.output.atMs }) },
                'succeeded',
              ],
            },
            onError: {
              target: 'judging',
              actions: [
                noteFailure,
                assign(({ context, event }) => ({
                  doubtful: context.doubtful || mayHaveHappened(failureOf(event.error)),
                })),
                'report',
              ],
            },
          },
        },
        // The same token asks again without making a second one, so one whose answer was never seen is asked for until it is known.
        judging: {
          always: [
            { guard: and(['refused', not('doubtful')]), target: '#eni.gone' },
            { guard: 'refused', target: 'searching' },
            { guard: 'spent', target: 'searching' },
            {
              guard: and([{ type: 'tried', params: { times: CREATE_TRIES } }, not('unanswered')]),
              target: 'searching',
            },
            { target: 'backingOff' },
          ],
        },
        backingOff: { after: { backoff: 'calling' } },
        // A refusal is no proof that nothing was made: before it is given up, or asked for anew, what exists is looked at.
        searching: {
          invoke: {
            src: 'findEni',
            input: ({ context }) => ({ token: tokenOf(context) }),
            onDone: [
              {
                guard: ({ event }) => event.output.value !== null,
                target: '#eni.attaching.describing',
                actions: [
                  {
                    type: 'learn',
                    params: ({ event }) => ({ eni: event.output.value as CloudEni, atMs: event.output.atMs }),
                  },
                  'succeeded',
                ],
              },
              { guard: not('unseen'), target: 'searchingLater', actions: 'notSeen' },
              {
                guard: or(['refused', 'repeated', 'wasLost', { type: 'tried', params: { times: CREATE_TRIES } }]),
                target: '#eni.gone',
              },
              {
                target: 'calling',
                actions: assign(({ context }) => ({ calls: context.calls + 1, doubtful: false, unseen: 0 })),
              },
            ],
            onError: { target: 'searchingLater', actions: [noteFailure, assign({ unseen: 0 })] },
          },
        },
        searchingLater: { entry: 'report', after: { lookAgain: 'searching' } },
      },
    },
    attaching: {
      entry: 'report',
      after: { attachTimeout: { guard: not('hasHolders'), target: 'detaching' } },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'attachEni',
            input: ({ context }) => named(context),
            onDone: 'waiting',
            // Only Describe knows whether a refused or lost call took effect.
            onError: {
              target: 'waiting',
              actions: [noteFailure, 'report'],
            },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => looked(context),
            onDone: [
              {
                guard: ({ event }) => event.output.value?.status === 'InUse',
                target: '#eni.settling',
                actions: 'succeeded',
              },
              // The cloud rolled an attach back, or never began it.
              {
                guard: ({ event, context }) =>
                  event.output.value?.status === 'Available' &&
                  (context.failures < ATTACH_TRIES || hasHolders(context.book)),
                target: 'backingOff',
                actions: {
                  type: 'failed',
                  params: ({ context }) => ({ failure: context.lastFailure ?? rolledBack(context) }),
                },
              },
              {
                guard: ({ event, context }) =>
                  (event.output.value?.status === 'Available' || event.output.value?.status === 'CreateFailed') &&
                  !hasHolders(context.book),
                target: '#eni.detaching',
              },
              { target: 'waiting' },
            ],
            onError: {
              target: 'waiting',
              actions: [noteFailure, 'report'],
            },
          },
        },
        backingOff: { entry: 'report', after: { backoff: 'calling' } },
      },
    },
    settling: {
      entry: 'report',
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'setUpEni',
            input: ({ context }) => deviceOf(context),
            onDone: {
              target: '#eni.inUse',
              actions: [{ type: 'plug', params: ({ event }) => event.output }, 'succeeded'],
            },
            onError: {
              target: 'judging',
              actions: noteFailure,
            },
          },
          after: {
            settleTimeout: {
              target: 'judging',
              actions: { type: 'failed', params: ({ context }) => ({ failure: deviceLate(context) }) },
            },
          },
        },
        // Pods may live on an adopted ENI, or be in their tear-down: it is never let go for a device that is late.
        judging: {
          always: [
            { guard: and(['ours', not('hasHolders'), not('rests')]), target: '#eni.draining' },
            { target: 'backingOff' },
          ],
        },
        backingOff: {
          entry: [
            'armRest',
            { type: 'phase', params: { phase: 'faulty' } },
            { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
          ],
          after: { backoff: 'calling' },
        },
      },
    },
    inUse: {
      initial: 'looking',
      on: {
        assign: [
          { guard: 'canOffer', actions: ['hear', 'offer', 'report'] },
          { guard: and(['takesMore', 'atRest']), target: '.looking', actions: ['hear', 'queueUp'] },
        ],
        // A call is under way: when it is over the cloud is asked.
        unplugged: { guard: 'hadDevice', actions: lostDevice },
      },
      states: {
        // Looks at what is wanted and makes the one call that helps.
        looking: {
          entry: [
            { type: 'phase', params: ({ context }) => ({ phase: pluggedOr('ready', context) }) },
            // Rests go on, and end, while an ENI is on its way here, too.
            assign(({ context }) => ({
              suspicion: null,
              arriving: 0,
              ...owning(context, rested(context.book, context.nowMs), context.nowMs),
            })),
            'armRest',
            'serve',
          ],
          always: [
            { guard: 'isUnplugged', target: 'confirming', actions: 'report' },
            // An Unassign that fails and fails keeps nobody from addresses; its intent stays beside the others.
            { guard: 'wantsAddresses', target: 'assigning' },
            { guard: 'wantsFewer', target: 'unassigning' },
            { target: 'resting' },
          ],
        },
        resting: {
          // What is still wanted is more than the ENI may own.
          entry: { type: 'giveBack', params: ({ context }) => ({ failure: full(context) }) },
          on: {
            unplugged: { guard: 'hadDevice', target: 'confirming', actions: lostDevice },
            grow: { target: 'looking', actions: ['hear', 'growMore'] },
            shed: {
              target: 'looking',
              guard: 'ours',
              actions: [
                'hear',
                assign(({ context, event }) => halvesLeaving({ ...context, book: leaving(context.book, event.count) })),
              ],
            },
            drain: { target: '#eni.draining', guard: and(['ours', 'unused']), actions: 'hear' },
          },
          initial: 'quiet',
          states: {
            quiet: { after: { comparing: 'comparing' } },
            // Others may change what we own. Describe may be late: only what it says twice, with no call of ours between, is true.
            comparing: {
              invoke: {
                src: 'describeEni',
                input: ({ context }) => ({ ...looked(context), known: ownedBy(context) }),
                onDone: [
                  {
                    guard: ({ context, event }) =>
                      differenceOf(context, shownThen(context, event.output)) === null && isUneven(context),
                    target: '#eni.inUse.looking',
                    actions: assign(({ context }) => evened(context)),
                  },
                  {
                    guard: ({ context, event }) => {
                      const difference = differenceOf(context, shownThen(context, event.output));
                      return difference === null || difference !== context.suspicion;
                    },
                    target: 'quiet',
                    actions: assign(({ context, event }) => ({
                      suspicion: differenceOf(context, shownThen(context, event.output)),
                    })),
                  },
                  { target: '#eni.inUse.confirming' },
                ],
                onError: 'quiet',
              },
            },
          },
        },
        assigning: {
          entry: [
            assign(({ context }) => {
              const count = wanted(context);
              return {
                arriving: count,
                asking: askFirst(context, count),
                growBy: Math.max(0, context.growBy - count),
                calls: context.calls + 1,
              };
            }),
            'report',
          ],
          initial: 'calling',
          states: {
            calling: {
              invoke: {
                src: 'assignIps',
                input: ({ context }) => ({
                  ...named(context),
                  ...context.asking,
                  token: tokenOf(context),
                }),
                onDone: [
                  {
                    guard: ({ event }) => event.output.value.length === 0,
                    target: '#eni.inUse.backingOff',
                    actions: {
                      type: 'failed',
                      params: ({ context }) => ({
                        failure: { code: 'cloud' as const, detail: `Assign on ${context.eniId} gave no address` },
                      }),
                    },
                  },
                  {
                    target: 'completing',
                    actions: [
                      assign(({ context, event }) => ({
                        ...afterAssign(context, event.output.value, event.output.atMs),
                        said: answered(context, event.output.value, true, event.output.atMs),
                        nowMs: event.output.atMs,
                      })),
                      'succeeded',
                    ],
                  },
                ],
                onError: { target: 'judging', actions: [noteFailure, 'report'] },
              },
            },
            // In dual stack an address is one only with its IPv6, which takes a call of its own.
            completing: {
              always: [
                {
                  guard: 'lacksHalves',
                  target: 'calling',
                  actions: [
                    assign(({ context }) => ({
                      asking: askNext(context) ?? context.asking,
                      calls: context.calls + 1,
                    })),
                    'serve',
                    'report',
                  ],
                },
                { target: '#eni.inUse.looking' },
              ],
            },
            // One bad answer sends nobody away: the same token asks again what was not answered, and a look shows what a refusal did.
            judging: {
              always: [
                { guard: and(['onceFailed', 'unanswered']), target: 'calling' },
                { guard: and(['onceFailed', 'mayHaveWorked']), target: '#eni.inUse.confirming' },
                { target: '#eni.inUse.backingOff' },
              ],
            },
          },
        },
        unassigning: {
          entry: 'report',
          invoke: {
            src: 'unassignIps',
            input: ({ context }) => ({ ...named(context), ...nextToLeave(context) }),
            onDone: {
              target: 'looking',
              actions: [
                assign(({ context, event }) => {
                  const { family, ips } = nextToLeave(context);
                  const own = family === 6 ? leftIpv6(context, ips) : { book: left(context.book, ips) };
                  const { atMs } = event.output;
                  return { ...own, said: answered(context, ips, false, atMs), takingYet: false, nowMs: atMs };
                }),
                'succeeded',
              ],
            },
            onError: {
              target: 'backingOff',
              actions: [
                noteFailure,
                assign(({ context, event }) => ({
                  takingYet: context.takingYet || mayHaveHappened(failureOf(event.error)),
                })),
              ],
            },
          },
        },
        // A failed call may have done its work or part of it: the book follows the cloud before the next one.
        backingOff: {
          entry: [
            { type: 'phase', params: ({ context }) => ({ phase: pluggedOr('holding', context) }) },
            { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
          ],
          on: { unplugged: { guard: 'hadDevice', target: 'confirming', actions: lostDevice } },
          after: { backoff: 'confirming' },
        },
        // The cloud has it here and the host has not, or not yet told: Describe is late, or somebody has taken the device alone.
        unplugged: {
          tags: 'alarm',
          entry: 'report',
          invoke: {
            src: 'setUpEni',
            input: ({ context }) => deviceOf(context),
            onDone: {
              target: 'looking',
              actions: [{ type: 'plug', params: ({ event }) => event.output }, 'succeeded'],
            },
            onError: { actions: [noteFailure, 'report'] },
          },
          after: { backoff: 'confirming' },
        },
        confirming: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => looked(context),
            onDone: [
              {
                guard: and(['isUnplugged', ({ event }) => event.output.value?.status === 'InUse']),
                target: 'unplugged',
                actions: [...followLook, { type: 'failed', params: ({ context }) => ({ failure: noDevice(context) }) }],
              },
              {
                guard: ({ event }) => event.output.value?.status === 'InUse',
                target: 'looking',
                actions: followLook,
              },
              // Somebody detached it. It is attached again for those who hold its addresses, else it goes.
              {
                guard: and([({ event }) => event.output.value !== null, 'unused']),
                target: '#eni.detaching',
                actions: { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
              },
              {
                guard: and([({ event }) => event.output.value !== null, 'ours']),
                target: '#eni.attaching.describing',
                actions: [
                  { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
                  assign({ device: null }),
                  { type: 'phase', params: { phase: 'opening' } },
                  { type: 'giveBack', params: ({ context }) => ({ failure: detached(context) }) },
                ],
              },
              {
                guard: ({ event }) => event.output.value !== null,
                target: 'backingOff',
                actions: [
                  { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
                  assign({ device: null }),
                ],
              },
              {
                guard: and(['unused', { type: 'tried', params: { times: CONFIRM_TRIES } }]),
                target: '#eni.detaching',
              },
              // The cloud does not know it: nothing on it may be promised, and what is held is invalid.
              {
                target: 'backingOff',
                actions: [
                  { type: 'follow', params: ({ event }) => ({ ips: noIps, atMs: event.output.atMs }) },
                  { type: 'failed', params: ({ context }) => ({ failure: unknownToCloud(context) }) },
                ],
              },
            ],
            onError: {
              target: 'backingOff',
              actions: noteFailure,
            },
          },
        },
      },
    },
    // The actor before this one died. Its book is kept and told of what happens to leases; the truth is looked up after a while.
    lost: {
      initial: 'waiting',
      states: {
        waiting: {
          after: {
            lookAgain: [
              // The Create of the actor before may be on its way yet: the same token tells.
              {
                guard: ({ context }) => context.eniId === null,
                target: '#eni.creating',
                actions: ['reopen', 'report'],
              },
              { target: 'recalling' },
            ],
          },
        },
        recalling: {
          invoke: {
            src: 'recall',
            input: ({ context }) => ({
              ...named(context),
              // What is held back has no record on disk: that none is found says nothing.
              bound: context.book
                .filter((entry) => entry.state === 'bound' && !isHeldBackFor(entry.sandbox))
                .map((entry) => entry.address.ipv4),
            }),
            onDone: [
              {
                guard: ({ event }) => event.output.value.eni?.status === 'InUse',
                target: '#eni.settling',
                actions: [{ type: 'remember', params: ({ event }) => event.output }, 'reopen'],
              },
              {
                guard: ({ context, event }) => {
                  const { eni, held } = event.output.value;
                  return context.ours && eni !== null && (eni.status === 'Attaching' || held.size > 0);
                },
                target: '#eni.attaching.describing',
                actions: [{ type: 'remember', params: ({ event }) => event.output }, 'reopen'],
              },
              // Promises that are with a lease just now count too.
              {
                guard: ({ context, event }) =>
                  event.output.value.held.size === 0 &&
                  context.book.every((entry) => entry.requestId === null) &&
                  (event.output.value.eni !== null || context.unseen + 1 >= UNSEEN_MAX),
                target: '#eni.detaching',
                actions: { type: 'remember', params: ({ event }) => event.output },
              },
              {
                target: 'waiting',
                actions: [
                  'notSeen',
                  { type: 'remember', params: ({ event }) => event.output },
                  { type: 'failed', params: ({ context }) => ({ failure: unknownToCloud(context) }) },
                  'report',
                ],
              },
            ],
            onError: { target: 'waiting', actions: [noteFailure, 'report'] },
          },
        },
      },
    },
    draining: {
      entry: [
        { type: 'phase', params: { phase: 'leaving' } },
        { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
      ],
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'tearDownEni',
            input: ({ context }) => ({ mac: context.mac ?? '', routeTable: context.routeTable }),
            onDone: '#eni.detaching',
            onError: {
              target: 'backingOff',
              actions: [noteFailure, 'report'],
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    detaching: {
      entry: [
        { type: 'phase', params: { phase: 'leaving' } },
        { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
      ],
      // An ENI of somebody else is only ever forgotten.
      always: { guard: not('ours'), target: 'gone' },
      after: { detachTimeout: 'stuck' },
      initial: 'describing',
      states: {
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => looked(context),
            onDone: [
              // It may be too new to be shown.
              { guard: and([({ event }) => event.output.value === null, 'unseen']), target: '#eni.gone' },
              { guard: ({ event }) => event.output.value === null, target: 'waiting', actions: 'notSeen' },
              { guard: ({ event }) => event.output.value?.status === 'Available', target: '#eni.deleting' },
              { guard: ({ event }) => event.output.value?.status === 'Deleting', target: '#eni.deleting' },
              { guard: ({ event }) => event.output.value?.status === 'CreateFailed', target: '#eni.deleting' },
              { guard: ({ event }) => event.output.value?.status === 'InUse', target: 'calling' },
              { target: 'waiting' },
            ],
            onError: {
              target: 'backingOff',
              actions: [noteFailure, 'report'],
            },
          },
        },
        calling: {
          invoke: {
            src: 'detachEni',
            input: ({ context }) => named(context),
            onDone: 'waiting',
            onError: {
              target: 'backingOff',
              actions: [noteFailure, 'report'],
            },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        backingOff: { after: { backoff: 'describing' } },
      },
    },
    deleting: {
      after: { detachTimeout: 'stuck' },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'deleteEni',
            input: ({ context }) => named(context),
            onDone: 'waiting',
            onError: { target: 'backingOff', actions: noteFailure },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => looked(context),
            onDone: [
              { guard: ({ event }) => event.output.value === null, target: '#eni.gone', actions: 'succeeded' },
              {
                guard: ({ event }) => event.output.value?.status === 'Available',
                target: 'backingOff',
                actions: { type: 'failed', params: ({ context }) => ({ failure: stillThere(context) }) },
              },
              { target: 'waiting' },
            ],
            onError: { target: 'backingOff', actions: noteFailure },
          },
        },
        backingOff: { entry: 'report', after: { backoff: 'calling' } },
      },
    },
    // The cloud does not let it go. It keeps its slot, since the cloud counts it too; someone may have to look.
    stuck: {
      tags: 'alarm',
      after: { longBackoff: 'detaching' },
    },
    gone: { type: 'final', entry: 'sayGone' },
  },
});

export type EniRef = ActorRefFrom<typeof eniMachine>;

/** Whoever waits here is served by this ENI, or sent away when a call fails. */
const takesRequests = ({ phase }: EniContext): boolean => phase === 'opening' || phase === 'ready';

/** A pod that comes back in dual stack needs both halves. */
const isWhole = ({ dual, book }: EniContext, ip: string): boolean =>
  !dual || book.some(({ address }) => address.ipv4 === ip && address.ipv6 !== null);

const named = ({ slot, eniId }: EniContext): Named => ({ slot, eniId: eniId ?? '' });

/** Halves of the book that the cloud has to report. */
const ownedBy = ({ book }: EniContext): Owned => {
  const owned = book.filter((entry) => entry.state !== 'invalid').map((entry) => entry.address);
  return {
    ipv4: owned.map(({ ipv4 }) => ipv4),
    ipv6: owned.flatMap(({ ipv6 }) => (ipv6 === null ? [] : [ipv6])),
  };
};

const looked = (context: EniContext) => ({ ...named(context), takingYet: context.takingYet });

const whyNot = (context: EniContext): Failure =>
  context.lastFailure ?? { code: 'noCapacity', detail: `ENI ${context.eniId} takes no requests` };

const full = (context: EniContext): Failure => ({ code: 'noCapacity', detail: `ENI ${context.eniId} is full` });

const deviceOf = ({ eniId, mac, subnet, mtu, routeTable }: EniContext) => ({
  eniId: eniId ?? '',
  mac: mac ?? '',
  subnet,
  mtu,
  routeTable,
});

/** Without its device it serves nobody. */
const pluggedOr = (phase: EniPhase, { device }: EniContext): EniPhase => (device === null ? 'faulty' : phase);

const noDevice = ({ mac, eniId }: EniContext): Failure => ({
  code: 'device',
  detail: `no device has the MAC ${mac} any more (${eniId})`,
});

const deviceLate = ({ mac, times, eniId }: EniContext): Failure => ({
  code: 'device',
  detail: `no device with MAC ${mac} after ${times.settleTimeoutMs} ms (${eniId})`,
});

const rolledBack = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} went back to Available while attaching`,
});

const detached = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} is not attached here any more`,
});

const stillThere = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} is Available, though its deletion was asked for`,
});

const unknownToCloud = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `the cloud does not know ${eniId}`,
});
