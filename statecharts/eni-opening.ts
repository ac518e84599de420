/**
 * An ENI on its way here: creating → attaching → settling.
 *
 * Calls may wait for their turn for minutes, so nothing here is too late by the clock alone: it is by what a look shows that was answered then.
 */
import { and, assign, not, or } from 'xstate';
import { hasHolders } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import { failureOf } from '../src/core/errors.ts';
import { mayHaveHappened } from '../src/core/intent.ts';
import { ASSIGN_MAX } from '../src/core/settings.ts';
import type { At } from './at.ts';
import { deviceOf, looked, named, seeking } from './eni-calls.ts';
import { type EniContext, isLate, mayMissAttach, nobodyWaits, tokenOf } from './eni-context.ts';
import { deviceLate, noteFailure, rolledBack, whyNot } from './eni-failures.ts';
import { eniSetup } from './eni-setup.ts';

const CREATE_TRIES = 5;

const ATTACH_TRIES = 3;

const notHereYet = {
  type: 'notHere',
  params: ({ event }: Pick<Shown, 'event'>) => ({ atMs: event.output.atMs }),
} as const;

type Shown = { readonly context: EniContext; readonly event: { readonly output: At<CloudEni | null> } };

const isOverdue = ({ context, event }: Shown): boolean => isLate(context, event.output.atMs);

const arrivedWith = ({ ipv4, ipv6 }: CloudEni, atMs: number) => ({ ips: [...ipv4, ...ipv6], atMs });

/** Whoever it was for has left, and there is enough without it. */
const callOff = {
  guard: ({ context }: Pick<Shown, 'context'>) => context.unasked,
  target: '#eni.gone',
  actions: {
    type: 'tellCalledOff',
    params: ({ context: { slot, arriving } }: Pick<Shown, 'context'>) => ({ slot, count: arriving }),
  },
} as const;

export const creating = eniSetup.createStateConfig({
  initial: 'inLine',
  states: {
    inLine: {
      // That of an actor that died may have been asked for.
      entry: [assign({ unasked: ({ context }) => !context.doubtful }), 'report'],
      // The first for whom it is to be made: it is no call any more that can wait for those of others. How much is asked for stays as it was
      // placed, with a view to what the vSwitch has: a Create is carried out whole or not at all.
      on: {
        assign: {
          guard: ({ context }) => nobodyWaits(context),
          target: 'inLine',
          reenter: true,
          actions: ['hear', 'queueUp'],
        },
        drain: callOff,
      },
      invoke: {
        src: 'awaitTurn',
        input: ({ context }) => ({
          call: 'createEni' as const,
          about: context.vSwitchId,
          background: nobodyWaits(context),
        }),
        onDone: 'calling',
        onError: { target: 'judging', actions: [noteFailure, 'report'] },
      },
    },
    calling: {
      entry: [assign({ unasked: false }), 'report'],
      invoke: {
        src: 'createEni',
        input: ({ context }) => ({
          slot: context.slot,
          vSwitchId: context.vSwitchId,
          ipv4Count: Math.max(1, context.arriving),
          ipv6Count: context.dual ? Math.min(Math.max(1, context.arriving), ASSIGN_MAX) : 0,
          token: tokenOf(context),
          background: nobodyWaits(context),
          repeated: context.repeated,
          doubtful: context.doubtful,
        }),
        onDone: {
          target: '#eni.attaching',
          actions: [
            { type: 'learn', params: ({ event }) => ({ eni: event.output.value, atMs: event.output.atMs }) },
            { type: 'tellArrived', params: ({ event }) => arrivedWith(event.output.value, event.output.atMs) },
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
        { guard: and(['throttled', not('doubtful')]), target: 'turnedAway' },
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
    // Nobody has seen it: the next one is another call.
    turnedAway: {
      entry: [assign({ unasked: true }), 'report'],
      on: { drain: callOff },
      after: { backoff: { target: 'inLine', actions: assign(({ context }) => ({ calls: context.calls + 1 })) } },
    },
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
              {
                type: 'tellArrived',
                params: ({ event }) => arrivedWith(event.output.value as CloudEni, event.output.atMs),
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
            target: 'inLine',
            actions: assign(({ context }) => ({ calls: context.calls + 1, doubtful: false, unseen: 0 })),
          },
        ],
        onError: { target: 'searchingLater', actions: [noteFailure, assign({ unseen: 0 })] },
      },
    },
    searchingLater: { entry: 'report', after: { lookAgain: 'searching' } },
  },
});

export const attaching = eniSetup.createStateConfig({
  entry: [assign({ waitingMs: null }), 'report'],
  initial: 'calling',
  states: {
    calling: {
      invoke: {
        src: 'attachEni',
        input: ({ context }) => named(context),
        onDone: {
          target: 'seeking',
          actions: assign({ attachedMs: ({ event }) => event.output.atMs, waitingMs: null }),
        },
        onError: [
          // Nobody has seen it.
          {
            guard: ({ event }) => failureOf(event.error).code === 'throttled',
            target: 'turnedAway',
            actions: [noteFailure, assign({ attachedMs: null }), 'report'],
          },
          // Only Describe knows whether a refused or lost call took effect.
          { target: 'waiting', actions: [noteFailure, assign({ attachedMs: null }), 'report'] },
        ],
      },
    },
    turnedAway: { after: { backoff: { target: 'calling', actions: ['succeeded', 'report'] } } },
    // Its device tells when a look is worth a call; without it the cloud is asked after a while what has become of it.
    seeking: {
      invoke: {
        src: 'seekDevice',
        input: ({ context }) => seeking(context),
        onDone: 'describing',
        onError: 'waiting',
      },
      after: { patience: 'describing' },
    },
    waiting: { after: { describePeriod: 'describing' } },
    unanswered: {
      after: {
        describePeriod: [
          { guard: and(['looksFail', not('hasHolders')]), target: '#eni.detaching' },
          { target: 'describing' },
        ],
      },
    },
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
          {
            guard: ({ event, context }) =>
              event.output.value?.status === 'Available' && mayMissAttach(context, event.output),
            target: 'seeking',
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
          { guard: (shown) => isOverdue(shown) && !hasHolders(shown.context.book), target: '#eni.detaching' },
          { guard: ({ context }) => context.attachedMs !== null, target: 'seeking', actions: notHereYet },
          { target: 'waiting', actions: notHereYet },
        ],
        onError: [
          // One that has to wait for its turn says nothing.
          {
            guard: ({ event }) => failureOf(event.error).code === 'throttled',
            target: 'waiting',
            actions: [noteFailure, 'report'],
          },
          {
            target: 'unanswered',
            actions: [noteFailure, { type: 'notHere', params: ({ context }) => ({ atMs: context.nowMs }) }, 'report'],
          },
        ],
      },
    },
    backingOff: { entry: 'report', after: { backoff: 'calling' } },
  },
});

export const settling = eniSetup.createStateConfig({
  entry: 'report',
  // The device is where the pod is that has the ENI for itself: what was begun is ended before it starts.
  always: { guard: 'isTaken', target: '#eni.inUse', actions: 'plugTaken' },
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
});
