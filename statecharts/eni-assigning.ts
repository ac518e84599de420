/**
 * Addresses are asked for: inLine → calling → completing → calling, or judging.
 *
 * How many is settled when the call has its turn: where a fleet shares the account's calls that may be minutes later, and pods come meanwhile. In
 * dual stack an address is one only with its IPv6, which takes a call of its own.
 */
import { and, assign, not } from 'xstate';
import { named } from './eni-calls.ts';
import { answered, type EniContext, nobodyWaits, tokenOf } from './eni-context.ts';
import { lostDevice, noteFailure } from './eni-failures.ts';
import { afterAssign, askFirst, askNext, queueLength, wanted } from './eni-owned.ts';
import { eniSetup } from './eni-setup.ts';
import type { EniEvent } from './messages.ts';

type Cancel = Extract<EniEvent, { type: 'cancel' }>;

/** A pod whose time is over comes again, most likely before the call has its turn: what it wants stays wanted. */
const cancelOfLate = {
  guard: ({ context, event }: { context: EniContext; event: Cancel }) =>
    event.returns === true && context.queue.some(({ requestId }) => requestId === event.requestId),
  actions: ['keepWanting', 'report'],
} as const;

/** No call is under way. */
const asksAtOnce = { guard: 'hadDevice', target: '#eni.inUse.confirming', actions: lostDevice } as const;

export const assigning = eniSetup.createStateConfig({
  initial: 'inLine',
  states: {
    inLine: {
      // What the pool wants is counted apart as long as nothing is settled.
      entry: ['notSettled', 'report'],
      on: { cancel: cancelOfLate, unplugged: asksAtOnce },
      // Whoever wanted them has left, or was served by what others gave back.
      always: { guard: not('wantsAddresses'), target: '#eni.inUse.looking' },
      invoke: {
        src: 'awaitTurn',
        input: ({ context }) => ({
          call: askFirst(context, wanted(context)).family === 4 ? ('assignIpv4' as const) : ('assignIpv6' as const),
          about: context.eniId ?? '',
          background: nobodyWaits(context),
        }),
        onDone: {
          target: 'calling',
          actions: [
            assign(({ context, event }) => {
              const count = wanted(context);
              return {
                arriving: count,
                asking: askFirst(context, count),
                growBy: Math.max(0, context.growBy - count),
                calls: context.calls + 1,
                nowMs: Math.max(context.nowMs, event.output.atMs),
              };
            }),
            'report',
          ],
        },
        onError: { target: '#eni.inUse.backingOff', actions: noteFailure },
      },
    },
    calling: {
      invoke: {
        src: 'assignIps',
        input: ({ context }) => ({
          ...named(context),
          ...context.asking,
          token: tokenOf(context),
          background: nobodyWaits(context),
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
              {
                type: 'tellArrived',
                params: ({ event }) => ({ ips: event.output.value, atMs: event.output.atMs }),
              },
              'succeeded',
            ],
          },
        ],
        onError: { target: 'judging', actions: [noteFailure, 'report'] },
      },
    },
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
            // What has come may have its other half here, and that one may rest yet.
            'armRest',
            'serve',
            'report',
          ],
        },
        { target: '#eni.inUse.looking' },
      ],
    },
    // The account's calls are used up, and nobody has seen this one: the next is another, and asks for what is wanted then.
    turnedAway: {
      entry: [
        assign(({ context }) => ({
          growBy: context.growBy + Math.max(0, context.arriving - queueLength(context)),
        })),
        'notSettled',
        'report',
      ],
      exit: 'succeeded',
      on: { cancel: cancelOfLate, unplugged: asksAtOnce },
      after: { backoff: '#eni.inUse.looking' },
    },
    // One bad answer sends nobody away: the same token asks again what was not answered, and a look shows what a refusal did.
    judging: {
      always: [
        { guard: and(['onceFailed', 'throttled']), target: 'turnedAway' },
        { guard: and(['onceFailed', 'unanswered']), target: 'calling' },
        { guard: and(['onceFailed', 'mayHaveWorked']), target: '#eni.inUse.confirming' },
        { target: '#eni.inUse.backingOff' },
      ],
    },
  },
});
