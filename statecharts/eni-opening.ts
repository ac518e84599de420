/** An ENI on its way here: creating → attaching → settling. */
import { and, assign, not, or } from 'xstate';
import { hasHolders } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import { failureOf } from '../src/core/errors.ts';
import { mayHaveHappened } from '../src/core/intent.ts';
import { ASSIGN_MAX } from '../src/core/settings.ts';
import { deviceOf, looked, named } from './eni-calls.ts';
import { mayMissAttach, nobodyWaits, tokenOf } from './eni-context.ts';
import { deviceLate, noteFailure, rolledBack, whyNot } from './eni-failures.ts';
import { eniSetup } from './eni-setup.ts';

const CREATE_TRIES = 5;

const ATTACH_TRIES = 3;

export const creating = eniSetup.createStateConfig({
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
          background: nobodyWaits(context),
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
});

export const attaching = eniSetup.createStateConfig({
  entry: 'report',
  after: { attachTimeout: { guard: not('hasHolders'), target: 'detaching' } },
  initial: 'calling',
  states: {
    calling: {
      invoke: {
        src: 'attachEni',
        input: ({ context }) => named(context),
        onDone: { target: 'waiting', actions: assign({ attachedMs: ({ event }) => event.output.atMs }) },
        // Only Describe knows whether a refused or lost call took effect.
        onError: {
          target: 'waiting',
          actions: [noteFailure, assign({ attachedMs: null }), 'report'],
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
          {
            guard: ({ event, context }) =>
              event.output.value?.status === 'Available' && mayMissAttach(context, event.output),
            target: 'waiting',
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
