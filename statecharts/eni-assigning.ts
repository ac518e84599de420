/**
 * Addresses are asked for: calling → completing → calling, or judging.
 *
 * In dual stack an address is one only with its IPv6, which takes a call of its own.
 */
import { and, assign } from 'xstate';
import { named } from './eni-calls.ts';
import { answered, nobodyWaits, tokenOf } from './eni-context.ts';
import { noteFailure } from './eni-failures.ts';
import { afterAssign, askFirst, askNext, wanted } from './eni-owned.ts';
import { eniSetup } from './eni-setup.ts';

export const assigning = eniSetup.createStateConfig({
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
        { guard: and(['onceFailed', 'throttled']), target: '#eni.inUse.turnedAway' },
        { guard: and(['onceFailed', 'unanswered']), target: 'calling' },
        { guard: and(['onceFailed', 'mayHaveWorked']), target: '#eni.inUse.confirming' },
        { target: '#eni.inUse.backingOff' },
      ],
    },
  },
});
