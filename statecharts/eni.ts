/**
 * One ENI's life: appearing → creating → attaching → settling → inUse → draining → detaching → deleting → gone; stuck, lost.
 *
 * It owns its address book and is the only one to change it; one mutating call is in flight at most, and what arrives during a call
 * forms the next one. The surprising choice: nobody tells it what to call. The book, the queue and `growBy` are wants; whenever no
 * call is under way it looks at them and makes the one call that helps.
 *
 * What it hears in every state is here; its states are in eni-opening, eni-in-use (with eni-assigning), eni-lost and eni-leaving, and the
 * names that they use in eni-setup.
 */
import { type ActorRefFrom, and, assign, or } from 'xstate';
import { bound, rested, shortened } from '../src/core/address-book.ts';
import { answered, contextOf } from './eni-context.ts';
import { inUse } from './eni-in-use.ts';
import { deleting, detaching, draining, stuck } from './eni-leaving.ts';
import { lost } from './eni-lost.ts';
import { attaching, creating, settling } from './eni-opening.ts';
import { afterMove, ownBut, owning, ownsAny, strangeIn } from './eni-owned.ts';
import { eniSetup } from './eni-setup.ts';

export const eniMachine = eniSetup.createMachine({
  id: 'eni',
  options: { maxIterations: 100 },
  context: ({ input }) => contextOf(input),
  initial: 'appearing',
  on: {
    bind: {
      actions: [assign(({ context, event }) => ({ book: bound(context.book, event.requestId) })), 'report'],
    },
    withdraw: { actions: ['takeBack', 'armRest', 'serve', 'report'] },
    cancel: {
      actions: [
        assign(({ context, event }) => ({
          queue: context.queue.filter((queued) => queued.requestId !== event.requestId),
        })),
        'report',
      ],
    },
    freed: { actions: ['putToRest', 'armRest', 'serve', 'report'] },
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
    // Before it is compared with the cloud: until then two pods could have one address.
    moved: {
      guard: ({ context, event }) => ownsAny(context, event.ips),
      actions: [
        { type: 'tellStrange', params: ({ context, event }) => strangeIn(context, ownBut(context, event.ips)) },
        assign(({ context, event: { ips, atMs } }) => ({
          ...afterMove(context, ips, atMs),
          said: answered(context, ips, false, atMs),
          nowMs: Math.max(context.nowMs, atMs),
        })),
        'armRest',
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
        // What may have been made is asked for as it was.
        { guard: and(['isNew', or(['repeated', 'doubtful'])]), target: 'creating.calling' },
        { guard: 'isNew', target: 'creating' },
        { guard: ({ context }) => context.origin === 'attaching', target: 'attaching.describing' },
        { guard: ({ context }) => context.origin === 'leftover', target: 'detaching' },
        { target: 'settling' },
      ],
    },
    creating,
    attaching,
    settling,
    inUse,
    lost,
    draining,
    detaching,
    deleting,
    stuck,
    gone: { type: 'final', entry: 'sayGone' },
  },
});

export type EniRef = ActorRefFrom<typeof eniMachine>;
