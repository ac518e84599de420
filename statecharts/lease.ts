/**
 * One sandbox's hold on its address: opening (waiting → allocating) → persisting → bound → releasing → gone.
 *
 * It answers everybody who asked for the sandbox, each once. The surprising choice: whoever gives up last takes the promise back,
 * also when the address is on disk already, since nobody is left who would use it. A release that cannot be written keeps the
 * lease, and says so. When the process ends between the write and the taking back, the lease stays on disk without anybody having been
 * told: the next life answers the same sandbox with it, and the DEL that a runtime owes a failed ADD ends it.
 * The address of a pod that may come back is kept for it: the reservation takes the lease's place on disk, and a new sandbox of such a
 * pod waits until the one before has made way.
 * Source: CNI SPEC 1.1, section 2, DEL: repeated and late deletions succeed.
 */
import { type ActorRefFrom, assign, cancel, enqueueActions, type PromiseActorLogic, sendTo, setup } from 'xstate';
import { type Failure, failureOf } from '../src/core/errors.ts';
import type { Grant, Lease } from '../src/core/lease.ts';
import { podKey, type Sandbox, sandboxKey } from '../src/core/sandbox.ts';
import type { At } from './at.ts';
import type { LeaseEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export type LeaseInput = {
  readonly sandbox: Sandbox;
  /** Names the request to the factory. */
  readonly requestId: string;
  readonly untilMs: number;
  readonly nowMs: number;
  /** How long the address is kept for the pod once the sandbox is gone; 0 or absent: not at all. */
  readonly reserveMs?: number;
  /** Another sandbox of the pod is about to make way. */
  readonly waits?: boolean;
  /** A lease of an earlier life of the daemon, or of the actor before this one. */
  readonly lease: Lease | null;
  /** The actor of this lease died: another one finishes what it was about to write. */
  readonly revived?: { readonly grant: Grant | null; readonly letGo: boolean };
};

export type LeaseContext = {
  readonly sandbox: Sandbox;
  readonly requestId: string;
  readonly untilMs: number;
  readonly nowMs: number;
  readonly reserveMs: number;
  readonly waits: boolean;
  /** Whoever released it said that the pod does not come back. */
  readonly forGood: boolean;
  readonly grant: Grant | null;
  readonly lease: Lease | null;
  /** The actor before this one was giving the address back: on disk it may be free already. */
  readonly letGo: boolean;
  /** Who waits for the address, and who for its release: request ids. */
  readonly askers: readonly string[];
  readonly releasers: readonly string[];
  readonly failure: Failure | null;
};

const gaveUp: Failure = { code: 'cancelled', detail: 'the sandbox was released while its address was being found' };

export const leaseMachine = setup({
  types: {
    input: {} as LeaseInput,
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
  },
  actors: {} as {
    persist: PromiseActorLogic<At<Lease>, { sandbox: Sandbox; grant: Grant; reserveMs: number }>;
    erase: PromiseActorLogic<
      At<{ coolUntilMs: number; reservedUntilMs?: number | null }>,
      { lease: Lease; forGood: boolean }
    >;
  },
  guards: {
    lastAsker: ({ context, event }) =>
      event.type === 'forget' && context.askers.every((asker) => asker === event.requestId),
    nobodyAsks: ({ context }) => context.askers.length === 0 || context.releasers.length > 0,
  },
  actions: {
    noteAsker: assign(({ context, event }) =>
      event.type === 'ask' ? { askers: [...context.askers, event.requestId] } : {},
    ),
    dropAsker: assign(({ context, event }) =>
      event.type === 'forget' ? { askers: context.askers.filter((asker) => asker !== event.requestId) } : {},
    ),
    noteReleaser: assign(({ context, event }) =>
      event.type === 'release'
        ? {
            releasers: [...context.releasers, event.requestId],
            forGood: context.forGood || event.forGood === true,
          }
        : {},
    ),
    /** The first deadline of all who ask ends the search for all of them: each is answered by its own. */
    hasten: assign(({ context, event }) =>
      event.type === 'ask' ? { untilMs: Math.min(context.untilMs, event.untilMs) } : {},
    ),
    armDeadline: enqueueActions(({ context: { untilMs, nowMs }, enqueue }) => {
      enqueue.cancel('deadline');
      enqueue.raise({ type: 'deadline', atMs: untilMs }, { id: 'deadline', delay: Math.max(0, untilMs - nowMs) });
    }),
    disarmDeadline: cancel('deadline'),
    fail: assign((_, params: { failure: Failure }) => ({ failure: params.failure })),
    answerLease: enqueueActions(({ context, enqueue }) => {
      for (const requestId of context.askers)
        enqueue.sendParent({ type: 'answer', requestId, ok: true, lease: context.lease });
      enqueue.assign({ askers: [] });
    }),
    answerFailure: enqueueActions(({ context, enqueue }) => {
      const failure = context.failure ?? gaveUp;
      for (const requestId of context.askers) enqueue.sendParent({ type: 'answer', requestId, ok: false, failure });
      enqueue.assign({ askers: [] });
    }),
    turnAway: enqueueActions(({ event, enqueue }) => {
      if (event.type !== 'ask') return;
      const failure: Failure = { code: 'notReady', detail: 'the sandbox is being released' };
      enqueue.sendParent({ type: 'answer', requestId: event.requestId, ok: false, failure });
    }),
    answerReleased: enqueueActions(({ context, enqueue }) => {
      for (const requestId of context.releasers)
        enqueue.sendParent({ type: 'answer', requestId, ok: true, lease: context.lease });
      enqueue.assign({ releasers: [] });
    }),
    answerStillHeld: enqueueActions(({ context, enqueue }) => {
      const failure = context.failure ?? { code: 'store' as const, detail: 'the release could not be written' };
      for (const requestId of context.releasers) enqueue.sendParent({ type: 'answer', requestId, ok: false, failure });
      enqueue.assign({ releasers: [] });
    }),
    requestAddress: sendTo(
      ({ system }) => eniFactoryIn(system),
      ({ context }) => ({
        type: 'allocate',
        requestId: context.requestId,
        sandbox: sandboxKey(context.sandbox),
        pod: podKey(context.sandbox.pod),
        ...(context.sandbox.ownEni === true && { ownEni: true as const }),
        untilMs: context.untilMs,
        atMs: context.nowMs,
      }),
    ),
    giveUp: sendTo(
      ({ system }) => eniFactoryIn(system),
      ({ context }) => ({
        type: 'giveUp',
        requestId: context.requestId,
        sandbox: sandboxKey(context.sandbox),
        ...(context.releasers.length === 0 && { returns: true as const }),
        atMs: context.nowMs,
      }),
    ),
    bindAddress: sendTo(
      ({ system }) => eniFactoryIn(system),
      ({ context }) => ({ type: 'bind', requestId: context.requestId, atMs: context.nowMs }),
    ),
    withdrawAddress: sendTo(
      ({ system }) => eniFactoryIn(system),
      ({ context }) => ({ type: 'withdraw', requestId: context.requestId, atMs: context.nowMs }),
    ),
    freeAddress: sendTo(
      ({ system }) => eniFactoryIn(system),
      ({ context }, params: { coolUntilMs: number; reservedUntilMs?: number | null; atMs: number }) => ({
        type: 'freed',
        eniId: context.lease?.grant.eni.eniId ?? '',
        ipv4: context.lease?.grant.address.ipv4 ?? '',
        ...params,
      }),
    ),
  },
}).createMachine({
  id: 'lease',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    sandbox: input.sandbox,
    requestId: input.requestId,
    untilMs: input.untilMs,
    nowMs: input.nowMs,
    reserveMs: input.reserveMs ?? input.lease?.reserveMs ?? 0,
    waits: input.waits ?? false,
    forGood: false,
    grant: input.lease?.grant ?? input.revived?.grant ?? null,
    lease: input.lease,
    letGo: input.revived?.letGo ?? false,
    askers: [],
    releasers: [],
    failure: null,
  }),
  initial: 'appearing',
  // While it is being written, whoever comes or goes is answered by what follows.
  on: {
    ask: [{ guard: ({ context }) => context.releasers.length > 0, actions: 'turnAway' }, { actions: 'noteAsker' }],
    forget: { actions: 'dropAsker' },
    release: { actions: 'noteReleaser' },
  },
  states: {
    appearing: {
      always: [
        { guard: ({ context }) => context.lease !== null && context.letGo, target: 'releasing' },
        { guard: ({ context }) => context.lease !== null, target: 'bound' },
        { guard: ({ context }) => context.grant !== null, target: 'persisting' },
        { target: 'opening' },
      ],
    },
    opening: {
      initial: 'entering',
      exit: 'disarmDeadline',
      on: {
        deadline: { target: 'givingUp' },
        ask: { actions: ['noteAsker', 'hasten', 'armDeadline'] },
        release: {
          target: 'givingUp',
          actions: ['noteReleaser', { type: 'fail', params: { failure: gaveUp } }],
        },
        forget: { guard: 'lastAsker', target: 'givingUp', actions: ['dropAsker'] },
      },
      states: {
        entering: { always: [{ guard: ({ context }) => context.waits, target: 'waiting' }, { target: 'allocating' }] },
        waiting: { on: { vacated: 'allocating' } },
        allocating: {
          entry: 'requestAddress',
          on: {
            granted: {
              target: '#lease.persisting',
              actions: [assign(({ event }) => ({ grant: event.grant }))],
            },
            refused: {
              target: '#lease.failing',
              actions: { type: 'fail', params: ({ event }) => ({ failure: event.failure }) },
            },
          },
        },
      },
    },
    // The factory says why nothing was found; a grant that crosses is taken back by it.
    givingUp: {
      entry: 'giveUp',
      on: {
        refused: [
          {
            guard: ({ context }) => context.failure !== null,
            target: 'failing',
          },
          { target: 'failing', actions: { type: 'fail', params: ({ event }) => ({ failure: event.failure }) } },
        ],
      },
    },
    persisting: {
      invoke: {
        src: 'persist',
        input: ({ context }) => ({
          sandbox: context.sandbox,
          grant: context.grant as Grant,
          reserveMs: context.reserveMs,
        }),
        onDone: [
          {
            guard: 'nobodyAsks',
            target: 'releasing',
            actions: [
              assign(({ event }) => ({ lease: event.output.value, nowMs: event.output.atMs, failure: gaveUp })),
              'bindAddress',
              'answerFailure',
            ],
          },
          {
            target: 'bound',
            actions: [
              assign(({ event }) => ({ lease: event.output.value, nowMs: event.output.atMs, failure: null })),
              'bindAddress',
              'answerLease',
            ],
          },
        ],
        onError: {
          target: 'failing',
          actions: [{ type: 'fail', params: ({ event }) => ({ failure: failureOf(event.error) }) }, 'withdrawAddress'],
        },
      },
    },
    bound: {
      on: {
        ask: {
          actions: ['noteAsker', 'answerLease'],
        },
        release: {
          target: 'releasing',
          actions: 'noteReleaser',
        },
      },
    },
    releasing: {
      on: {
        ask: { actions: 'turnAway' },
      },
      invoke: {
        src: 'erase',
        input: ({ context }) => ({ lease: context.lease as Lease, forGood: context.forGood }),
        onDone: {
          target: 'gone',
          actions: [
            {
              type: 'freeAddress',
              params: ({ event }) => ({ ...event.output.value, atMs: event.output.atMs }),
            },
            'answerReleased',
          ],
        },
        onError: {
          target: 'bound',
          actions: [{ type: 'fail', params: ({ event }) => ({ failure: failureOf(event.error) }) }, 'answerStillHeld'],
        },
      },
    },
    failing: { entry: ['answerFailure', 'answerReleased'], always: 'gone' },
    gone: { type: 'final' },
  },
});

export type LeaseRef = ActorRefFrom<typeof leaseMachine>;
