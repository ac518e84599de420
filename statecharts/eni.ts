/**
 * One ENI's life: appearing → creating → attaching → settling → inUse → draining → detaching → deleting → gone; stuck.
 *
 * It owns its address book and is the only one to change it; one mutating call is in flight at most, and what arrives during a call
 * forms the next one. The surprising choice: nobody tells it what to call. The book, the queue and `growBy` are wants; whenever no
 * call is under way it looks at them and makes the one call that helps.
 */
import { type ActorRefFrom, and, assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';
import {
  type AddressBook,
  added,
  bookOf,
  bound,
  countsOf,
  freed,
  type Holder,
  hasHolders,
  leaving,
  leavingIps,
  left,
  nextRestMs,
  offered,
  reconciled,
  rested,
  withdrawn,
} from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import { EnactorError, type Failure, failureOf } from '../src/core/errors.ts';
import type { EniBinding } from '../src/core/lease.ts';
import type { EniPhase, EniSummary } from '../src/core/placement.ts';
import { ASSIGN_MAX } from '../src/core/settings.ts';
import type { EniDevice } from '../src/ports/kernel.ts';
import type { EniEvent } from './messages.ts';

const CREATE_TRIES = 5;
const ATTACH_TRIES = 3;

/** What an invoked call brings back, with the instant it came. */
export type At<T> = { readonly atMs: number; readonly value: T };

export type EniTimes = {
  readonly describePeriodMs: number;
  readonly attachTimeoutMs: number;
  readonly settleTimeoutMs: number;
  readonly detachTimeoutMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
};

export type EniPlan = {
  readonly slot: number;
  /** Addresses the ENI may own. */
  readonly limit: number;
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
  readonly held: ReadonlyMap<string, Holder>;
  readonly coolUntilMs: ReadonlyMap<string, number>;
  /** The table of an earlier life of the daemon. */
  readonly routeTable: number | null;
};

type Queued = Holder & { readonly requestId: string };

export type EniContext = EniPlan & {
  readonly eniId: string | null;
  readonly mac: string | null;
  readonly device: EniDevice | null;
  readonly routeTable: number | null;
  /** Where the life of this actor begins: a new ENI, one that is attached already, or one left half-way by an earlier life. */
  readonly origin: 'new' | 'attached' | 'attaching' | 'leftover';
  readonly phase: EniPhase;
  readonly book: AddressBook;
  /** Requests that wait for the next addresses, oldest first. */
  readonly queue: readonly Queued[];
  /** Addresses the pool wants beyond the queue. */
  readonly growBy: number;
  /** Addresses the call under way asks for. */
  readonly arriving: number;
  readonly calls: number;
  readonly failures: number;
  readonly lastFailure: Failure | null;
  readonly nowMs: number;
};

type Named = { readonly eniId: string };

export const eniMachine = setup({
  types: {
    input: {} as EniInput,
    context: {} as EniContext,
    events: {} as EniEvent,
  },
  actors: {} as {
    createEni: PromiseActorLogic<At<CloudEni>, { slot: number; vSwitchId: string; ipv4Count: number; token: string }>;
    attachEni: PromiseActorLogic<At<void>, Named>;
    describeEni: PromiseActorLogic<At<CloudEni | null>, Named>;
    setUpEni: PromiseActorLogic<
      At<EniDevice>,
      { eniId: string; mac: string; subnet: Subnet; mtu: number; routeTable: number | null }
    >;
    assignIpv4: PromiseActorLogic<At<readonly string[]>, Named & { count: number; token: string }>;
    unassignIpv4: PromiseActorLogic<At<void>, Named & { ips: readonly string[] }>;
    tearDownEni: PromiseActorLogic<At<void>, { mac: string; routeTable: number | null }>;
    detachEni: PromiseActorLogic<At<void>, Named>;
    deleteEni: PromiseActorLogic<At<void>, Named>;
  },
  delays: {
    describePeriod: ({ context }) => context.times.describePeriodMs,
    attachTimeout: ({ context }) => context.times.attachTimeoutMs,
    settleTimeout: ({ context }) => context.times.settleTimeoutMs,
    detachTimeout: ({ context }) => context.times.detachTimeoutMs,
    longBackoff: ({ context }) => context.times.backoffMaxMs,
    backoff: ({ context }) =>
      Math.min(context.times.backoffMs * 2 ** Math.max(0, context.failures - 1), context.times.backoffMaxMs),
  },
  guards: {
    tried: ({ context }, params: { times: number }) => context.failures >= params.times,
    hasHolders: ({ context }) => hasHolders(context.book),
    /** Nobody holds an address, waits for one, or was promised one. */
    unused: ({ context }) => !hasHolders(context.book) && context.queue.length === 0,
    wantsAddresses: ({ context }) => wanted(context) > 0,
    wantsFewer: ({ context }) => leavingIps(context.book).length > 0,
    ours: ({ context }) => context.ours,
  },
  actions: {
    failed: assign(({ context }, params: { error: unknown }) => ({
      failures: context.failures + 1,
      lastFailure: failureOf(params.error),
    })),
    succeeded: assign({ failures: 0, lastFailure: null }),
    learn: assign((_, params: { eni: CloudEni; atMs: number }) => ({
      eniId: params.eni.eniId,
      mac: params.eni.mac,
      book: bookOf(params.eni.ipv4, params.atMs),
      arriving: 0,
      nowMs: params.atMs,
    })),
    phase: assign((_, params: { phase: EniPhase }) => ({ phase: params.phase })),
    /** Tells the factory what there is now. */
    report: enqueueActions(({ context, enqueue }) => {
      enqueue.sendParent({ type: 'eniChanged', summary: summaryOf(context), atMs: context.nowMs });
    }),
    /** Promises addresses to the queue, oldest request first, as far as they go. */
    serve: enqueueActions(({ context, enqueue }) => {
      if (context.device === null || context.phase === 'leaving') return;
      let { book } = context;
      const queue = [...context.queue];
      while (queue[0] !== undefined) {
        const offer = offered(book, queue[0], false);
        if (offer === null) break;
        enqueue.sendParent(resultOf(context, queue[0].requestId, offer.address));
        book = offer.book;
        queue.shift();
      }
      enqueue.assign({ book, queue });
    }),
    /** Gives the queue back to the factory: another ENI may serve it. */
    bounce: enqueueActions(({ context, enqueue }) => {
      const failure = context.lastFailure ?? {
        code: 'internal' as const,
        detail: `ENI ${context.eniId ?? ''} is leaving`,
      };
      for (const { requestId } of context.queue)
        enqueue.sendParent({ type: 'ipResult', requestId, ok: false, failure });
      enqueue.assign({ queue: [], growBy: 0, arriving: 0 });
    }),
    /** Wants that this ENI cannot meet by itself go back: it is full. */
    letGo: enqueueActions(({ context, enqueue }) => {
      if (wanted(context) > 0) return;
      const failure = { code: 'noCapacity' as const, detail: `ENI ${context.eniId} is full` };
      for (const { requestId } of context.queue)
        enqueue.sendParent({ type: 'ipResult', requestId, ok: false, failure });
      enqueue.assign({ queue: [], growBy: 0 });
    }),
    decline: enqueueActions(({ context, enqueue }, params: { requestId: string }) => {
      const failure = context.lastFailure ?? {
        code: 'noCapacity' as const,
        detail: `ENI ${context.eniId} takes no requests`,
      };
      enqueue.sendParent({ type: 'ipResult', requestId: params.requestId, ok: false, failure });
    }),
    /** Wakes up when the next cooling address has rested. */
    armRest: enqueueActions(({ context, enqueue }) => {
      enqueue.cancel('rest');
      const atMs = nextRestMs(context.book);
      if (atMs !== null)
        enqueue.raise({ type: 'rest', atMs }, { id: 'rest', delay: Math.max(0, atMs - context.nowMs) });
    }),
    sayGone: enqueueActions(({ context, enqueue }) => {
      enqueue.sendParent({ type: 'eniGone', slot: context.slot, failure: context.lastFailure, atMs: context.nowMs });
    }),
  },
}).createMachine({
  id: 'eni',
  options: { maxIterations: 100 },
  context: ({ input }) => contextOf(input),
  initial: 'appearing',
  on: {
    bind: { actions: [assign(({ context, event }) => ({ book: bound(context.book, event.requestId) })), 'report'] },
    withdraw: {
      actions: [
        assign(({ context, event }) => ({
          book: withdrawn(context.book, event.requestId, event.atMs),
          nowMs: event.atMs,
        })),
        'serve',
        'report',
      ],
    },
    cancel: {
      actions: [
        assign(({ context, event }) => ({
          queue: context.queue.filter((queued) => queued.requestId !== event.requestId),
          book: withdrawn(context.book, event.requestId, event.atMs),
          nowMs: event.atMs,
        })),
        'report',
      ],
    },
    freed: {
      actions: [
        assign(({ context, event }) => ({
          book: rested(freed(context.book, event.ipv4, event.coolUntilMs), event.atMs),
          nowMs: event.atMs,
        })),
        'armRest',
        'serve',
        'report',
      ],
    },
    rest: {
      actions: [
        assign(({ context, event }) => ({ book: rested(context.book, event.atMs), nowMs: event.atMs })),
        'armRest',
        'serve',
        'report',
      ],
    },
    assign: {
      actions: [
        assign(({ context, event }) => ({
          queue: [...context.queue, { requestId: event.requestId, sandbox: event.sandbox, pod: event.pod }],
          nowMs: event.atMs,
        })),
        'report',
      ],
    },
    grow: {
      actions: [
        assign(({ context, event }) => ({ growBy: context.growBy + event.count, nowMs: event.atMs })),
        'report',
      ],
    },
  },
  states: {
    appearing: {
      always: [
        { guard: ({ context }) => context.origin === 'new', target: 'creating' },
        { guard: ({ context }) => context.origin === 'attaching', target: 'attaching.describing' },
        { guard: ({ context }) => context.origin === 'leftover', target: 'detaching' },
        { target: 'settling' },
      ],
    },
    creating: {
      entry: 'report',
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'createEni',
            input: ({ context }) => ({
              slot: context.slot,
              vSwitchId: context.vSwitchId,
              ipv4Count: Math.max(1, context.arriving),
              token: tokenOf(context),
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
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        // An answer that was never seen may have created the ENI: the same token asks again without making a second one.
        judging: {
          always: [
            { guard: ({ context }) => !uncertain(context), target: '#eni.gone' },
            { guard: { type: 'tried', params: { times: CREATE_TRIES } }, target: '#eni.gone' },
            { target: 'backingOff' },
          ],
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    attaching: {
      entry: 'report',
      after: { attachTimeout: { target: 'detaching', actions: 'bounce' } },
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
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => named(context),
            onDone: [
              {
                guard: ({ event }) => event.output.value?.status === 'InUse',
                target: '#eni.settling',
                actions: 'succeeded',
              },
              {
                guard: ({ event, context }) =>
                  event.output.value?.status === 'Available' && context.failures < ATTACH_TRIES,
                target: 'calling',
                actions: {
                  type: 'failed',
                  params: ({ context }) => ({ error: context.lastFailure ?? rolledBack(context) }),
                },
              },
              {
                guard: ({ event }) => event.output.value?.status === 'Available',
                target: '#eni.detaching',
                actions: 'bounce',
              },
              {
                guard: ({ event, context }) => event.output.value === null && context.failures >= ATTACH_TRIES,
                target: '#eni.gone',
              },
              {
                guard: ({ event }) => event.output.value === null,
                target: 'waiting',
                actions: {
                  type: 'failed',
                  params: ({ context }) => ({ error: new Error(`Describe does not know ${context.eniId}`) }),
                },
              },
              { target: 'waiting' },
            ],
            onError: {
              target: 'waiting',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
      },
    },
    settling: {
      entry: 'report',
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'setUpEni',
            input: ({ context }) => ({
              eniId: context.eniId ?? '',
              mac: context.mac ?? '',
              subnet: context.subnet,
              mtu: context.mtu,
              routeTable: context.routeTable,
            }),
            onDone: {
              target: '#eni.inUse',
              actions: [
                assign(({ event }) => ({
                  device: event.output.value,
                  routeTable: event.output.value.routeTable,
                  nowMs: event.output.atMs,
                })),
                'succeeded',
              ],
            },
            onError: {
              target: 'judging',
              actions: [{ type: 'failed', params: ({ event }) => ({ error: event.error }) }, 'bounce', 'report'],
            },
          },
          after: {
            settleTimeout: {
              target: 'judging',
              actions: [
                { type: 'failed', params: ({ context }) => ({ error: deviceLate(context) }) },
                'bounce',
                'report',
              ],
            },
          },
        },
        // Pods live on an adopted ENI: it is never let go for a device that is late.
        judging: {
          always: [
            { guard: 'hasHolders', target: 'backingOff' },
            { guard: ({ context }) => !context.ours, target: 'backingOff' },
            { target: '#eni.draining' },
          ],
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    inUse: {
      initial: 'looking',
      on: {
        assign: [
          {
            guard: ({ context, event }) =>
              offered(context.book, event, event.alsoCooling) !== null && context.queue.length === 0,
            actions: [
              enqueueActions(({ context, event, enqueue }) => {
                const offer = offered(context.book, event, event.alsoCooling);
                if (offer === null) return;
                enqueue.sendParent(resultOf(context, event.requestId, offer.address));
                enqueue.assign({ book: offer.book, nowMs: event.atMs });
              }),
              'report',
            ],
          },
          {
            target: '.looking',
            guard: ({ context }) =>
              context.phase === 'ready' && context.arriving === 0 && leavingIps(context.book).length === 0,
            actions: queueUp(),
          },
          { guard: ({ context }) => context.phase === 'ready', actions: [queueUp(), 'report'] },
          { actions: { type: 'decline', params: ({ event }) => ({ requestId: event.requestId }) } },
        ],
      },
      states: {
        // Looks at what is wanted and makes the one call that helps.
        looking: {
          entry: [{ type: 'phase', params: { phase: 'ready' } }, 'armRest', 'serve'],
          always: [
            { guard: 'wantsAddresses', target: 'assigning' },
            { guard: 'wantsFewer', target: 'unassigning' },
            { target: 'resting' },
          ],
        },
        resting: {
          entry: ['letGo', 'report'],
          on: {
            grow: {
              target: 'looking',
              actions: assign(({ context, event }) => ({ growBy: context.growBy + event.count, nowMs: event.atMs })),
            },
            shed: {
              target: 'looking',
              guard: 'ours',
              actions: assign(({ context, event }) => ({
                book: leaving(context.book, event.count),
                nowMs: event.atMs,
              })),
            },
            drain: {
              target: '#eni.draining',
              guard: and(['ours', 'unused']),
              actions: assign(({ event }) => ({ nowMs: event.atMs })),
            },
          },
        },
        assigning: {
          entry: [
            assign(({ context }) => {
              const count = wanted(context);
              const extra = Math.max(0, count - context.queue.length);
              return {
                arriving: count,
                growBy: context.growBy - Math.min(context.growBy, extra),
                calls: context.calls + 1,
              };
            }),
            'report',
          ],
          invoke: {
            src: 'assignIpv4',
            input: ({ context }) => ({ ...named(context), count: context.arriving, token: tokenOf(context) }),
            onDone: [
              {
                guard: ({ event }) => event.output.value.length === 0,
                target: 'backingOff',
                actions: {
                  type: 'failed',
                  params: ({ context }) => ({
                    error: new Error(`Assign on ${context.eniId} answered with no address`),
                  }),
                },
              },
              {
                target: 'looking',
                actions: [
                  assign(({ context, event }) => ({
                    book: added(context.book, event.output.value, event.output.atMs),
                    arriving: 0,
                    nowMs: event.output.atMs,
                  })),
                  'succeeded',
                ],
              },
            ],
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        unassigning: {
          entry: 'report',
          invoke: {
            src: 'unassignIpv4',
            input: ({ context }) => ({ ...named(context), ips: leavingIps(context.book).slice(0, ASSIGN_MAX) }),
            onDone: {
              target: 'looking',
              actions: [
                assign(({ context, event }) => ({
                  book: left(context.book, leavingIps(context.book).slice(0, ASSIGN_MAX)),
                  nowMs: event.output.atMs,
                })),
                'succeeded',
              ],
            },
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        // A failed call may have done its work or part of it: the book follows the cloud before the next one.
        backingOff: {
          entry: [{ type: 'phase', params: { phase: 'holding' } }, 'bounce', 'report'],
          after: { backoff: 'confirming' },
        },
        confirming: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => named(context),
            onDone: [
              {
                guard: ({ event }) => event.output.value !== null,
                target: 'looking',
                actions: assign(({ context, event }) => ({
                  book: reconciled(context.book, event.output.value?.ipv4 ?? [], event.output.atMs),
                  nowMs: event.output.atMs,
                })),
              },
              {
                target: 'backingOff',
                actions: {
                  type: 'failed',
                  params: ({ context }) => ({ error: new Error(`Describe does not know ${context.eniId}`) }),
                },
              },
            ],
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
      },
    },
    draining: {
      entry: [{ type: 'phase', params: { phase: 'leaving' } }, 'bounce', 'report'],
      on: {
        assign: { actions: { type: 'decline', params: ({ event }) => ({ requestId: event.requestId }) } },
        grow: {},
      },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'tearDownEni',
            input: ({ context }) => ({ mac: context.mac ?? '', routeTable: context.routeTable }),
            onDone: '#eni.detaching',
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    detaching: {
      entry: [{ type: 'phase', params: { phase: 'leaving' } }, 'bounce', 'report'],
      on: {
        assign: { actions: { type: 'decline', params: ({ event }) => ({ requestId: event.requestId }) } },
        grow: {},
      },
      after: { detachTimeout: 'stuck' },
      initial: 'describing',
      states: {
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => named(context),
            onDone: [
              { guard: ({ event }) => event.output.value === null, target: '#eni.gone' },
              { guard: ({ event }) => event.output.value?.status === 'Available', target: '#eni.deleting' },
              { guard: ({ event }) => event.output.value?.status === 'Deleting', target: '#eni.deleting' },
              { guard: ({ event }) => event.output.value?.status === 'InUse', target: 'calling' },
              { target: 'waiting' },
            ],
            onError: {
              target: 'waiting',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
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
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        backingOff: { after: { backoff: 'describing' } },
      },
    },
    deleting: {
      entry: 'report',
      after: { detachTimeout: 'stuck' },
      on: {
        assign: { actions: { type: 'decline', params: ({ event }) => ({ requestId: event.requestId }) } },
        grow: {},
      },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'deleteEni',
            input: ({ context }) => named(context),
            onDone: 'waiting',
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        waiting: { after: { describePeriod: 'describing' } },
        describing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => named(context),
            onDone: [
              { guard: ({ event }) => event.output.value === null, target: '#eni.gone', actions: 'succeeded' },
              { guard: ({ event }) => event.output.value?.status === 'Available', target: 'backingOff' },
              { target: 'waiting' },
            ],
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    // The cloud does not let it go. It keeps its slot, since the cloud counts it too; someone may have to look.
    stuck: {
      tags: 'alarm',
      entry: 'report',
      on: {
        assign: { actions: { type: 'decline', params: ({ event }) => ({ requestId: event.requestId }) } },
        grow: {},
      },
      after: { longBackoff: 'detaching' },
    },
    gone: { type: 'final', entry: ['bounce', 'sayGone'] },
  },
});

export type EniRef = ActorRefFrom<typeof eniMachine>;

/** What the factory may know. */
export function summaryOf(context: EniContext): EniSummary {
  const { slot, phase, eniId, vSwitchId, ours, limit, lastFailure } = context;
  return {
    slot,
    phase,
    eniId,
    vSwitchId,
    ours,
    limit,
    counts: countsOf(context.book),
    arriving: context.arriving + context.growBy,
    queued: context.queue.length,
    lastFailure,
  };
}

function queueUp() {
  return assign<EniContext, Extract<EniEvent, { type: 'assign' }>, undefined, EniEvent, never>(
    ({ context, event }) => ({
      queue: [...context.queue, { requestId: event.requestId, sandbox: event.sandbox, pod: event.pod }],
      nowMs: event.atMs,
    }),
  );
}

/** Addresses the next Assign should ask for. */
function wanted(context: EniContext): number {
  const { idle } = countsOf(context.book);
  const missing = context.queue.length + context.growBy - Math.min(idle, context.queue.length);
  return Math.max(0, Math.min(missing, context.limit - context.book.length, ASSIGN_MAX));
}

function contextOf({ existing, held, coolUntilMs, nowMs, ipv4Count, ...plan }: EniInput): EniContext {
  const { routeTable, ...rest } = plan;
  return {
    ...rest,
    eniId: existing?.eniId ?? null,
    mac: existing?.mac ?? null,
    device: null,
    routeTable,
    origin: originOf(existing),
    phase: originOf(existing) === 'leftover' ? 'leaving' : 'opening',
    book: existing === null ? [] : bookOf(existing.ipv4, nowMs, held, coolUntilMs),
    queue: [],
    growBy: 0,
    arriving: existing === null ? ipv4Count : 0,
    calls: 0,
    failures: 0,
    lastFailure: null,
    nowMs,
  };
}

function originOf(existing: CloudEni | null): EniContext['origin'] {
  if (existing === null) return 'new';
  if (existing.status === 'InUse') return 'attached';
  return existing.status === 'Attaching' ? 'attaching' : 'leftover';
}

const named = (context: EniContext): Named => ({ eniId: context.eniId ?? '' });

const tokenOf = (context: EniContext): string => `${context.token}-${context.slot}-${context.calls}`;

/** No answer of the cloud was seen, so the call may have been carried out. */
const uncertain = (context: EniContext): boolean =>
  context.lastFailure?.code === 'cloudUnreachable' || context.lastFailure?.code === 'throttled';

const deviceLate = (context: EniContext): EnactorError =>
  new EnactorError(
    'device',
    `no device with MAC ${context.mac} after ${context.times.settleTimeoutMs} ms (${context.eniId})`,
  );

const rolledBack = (context: EniContext): Error => new Error(`${context.eniId} went back to Available while attaching`);

function resultOf(context: EniContext, requestId: string, address: { ipv4: string; ipv6: string | null }) {
  const { device } = context;
  const eni: EniBinding = {
    eniId: context.eniId ?? '',
    mac: context.mac ?? '',
    subnet: context.subnet,
    device: {
      name: device?.name ?? '',
      ifindex: device?.ifindex ?? 0,
      routeTable: device?.routeTable ?? 0,
      mtu: context.mtu,
    },
  };
  return { type: 'ipResult' as const, requestId, ok: true as const, grant: { address, eni } };
}
