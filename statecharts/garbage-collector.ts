/**
 * Releases leases whose pod is gone without a DEL, and ends what is kept for pods that live elsewhere now: resting → listing → confirming → collecting; backingOff.
 *
 * It only ever asks: the list, the second look and the releases are calls beside the leases, so no request waits for a pass. The
 * surprising choice: it forgets nothing that it has found and trusts nothing that it has found once. A lease goes when two passes, a
 * grace apart, both had the list, a direct GET and the kernel agree.
 */
import { type ActorRefFrom, assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';
import { failureOf } from '../src/core/errors.ts';
import { type HeldLease, type PodSighting, type SecondLook, type Suspect, suspectsAmong } from '../src/core/garbage.ts';
import type { Reservation } from '../src/core/reservation.ts';
import type { At } from './at.ts';
import {
  type Collected,
  collectedOnce,
  contextOf,
  type GarbageCollectorContext,
  type GarbageCollectorInput,
  type GarbageCollectorSettings,
  judged,
  restMs,
} from './garbage-collector-context.ts';
import type { LookNow, PeriodsEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export const garbageCollectorMachine = setup({
  types: {
    input: {} as GarbageCollectorInput,
    context: {} as GarbageCollectorContext,
    events: {} as LookNow | PeriodsEvent<GarbageCollectorSettings>,
  },
  actors: {} as {
    /** The bound leases first, then the pods: a lease that is made in between has its pod in no list. */
    list: PromiseActorLogic<
      At<{
        leases: readonly HeldLease[];
        pods: readonly PodSighting[];
        /** That have not ended yet. */
        reservations?: readonly Reservation[];
      }>,
      Record<string, never>
    >;
    /** One look a suspect. It fails for none of them: what did not answer is told as such. */
    confirm: PromiseActorLogic<
      At<{ looks: readonly SecondLook[]; elsewhere: readonly Reservation[] }>,
      { suspects: readonly Suspect[]; reservations: readonly Reservation[] }
    >;
    /** One outcome each, whatever becomes of the others. */
    collect: PromiseActorLogic<
      At<readonly Collected[]>,
      { doomed: readonly Suspect[]; ending: readonly Reservation[] }
    >;
  },
  delays: {
    rest: ({ context }) => restMs(context),
    timeout: ({ context }) => context.timeoutMs,
    backoff: ({ context }) => Math.min(context.backoffMs * 2 ** Math.max(0, context.failures - 1), context.periodMs),
  },
  guards: {
    anySuspect: ({ context }) => context.suspects.length + context.reservations.length > 0,
    anyDoomed: ({ context }) => context.doomed.length + context.ending.length > 0,
  },
  actions: {
    failed: assign(({ context }, params: { error: unknown }) => ({
      failures: context.failures + 1,
      lastFailure: failureOf(params.error),
    })),
    adjust: assign(({ context }, { settings, atMs }: PeriodsEvent<GarbageCollectorSettings>) => ({
      ...settings,
      nowMs: Math.max(context.nowMs, atMs),
    })),
    late: assign(({ context }) => ({
      failures: context.failures + 1,
      lastFailure: { code: 'deadline' as const, detail: `a pass took longer than ${context.timeoutMs} ms` },
    })),
    /** The address is free once it has rested, whatever becomes of the record. */
    unreserve: enqueueActions(({ context, enqueue, system }) => {
      for (const { eniId, address, coolUntilMs: untilMs } of context.ending)
        enqueue.sendTo(eniFactoryIn(system), {
          ...{ type: 'unreserve' as const, eniId, ipv4: address.ipv4, untilMs },
          atMs: context.nowMs,
        });
    }),
    passed: assign(({ context }) => ({ failures: 0, lastFailure: null, lastPassMs: context.nowMs })),
  },
}).createMachine({
  id: 'garbageCollector',
  options: { maxIterations: 100 },
  context: ({ input }) => contextOf(input),
  // The rest that has begun is the last of the old length.
  on: { settings: { actions: { type: 'adjust', params: ({ event }) => event } } },
  // The first pass begins at once: its findings count from now.
  initial: 'listing',
  states: {
    resting: { after: { rest: 'listing' }, on: { lookNow: 'listing' } },
    listing: {
      after: { timeout: { target: 'backingOff', actions: 'late' } },
      invoke: {
        src: 'list',
        input: {},
        onDone: {
          target: 'suspecting',
          actions: assign(({ context, event }) => {
            const { leases, pods, reservations = [] } = event.output.value;
            const suspects = suspectsAmong(leases, pods, context.nodeName);
            return { suspects, reservations, looked: leases.length, nowMs: event.output.atMs };
          }),
        },
        onError: {
          target: 'backingOff',
          actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    suspecting: {
      always: [
        { guard: 'anySuspect', target: 'confirming' },
        { target: 'resting', actions: [assign({ condemned: {}, kept: [], doomed: [], ending: [] }), 'passed'] },
      ],
    },
    confirming: {
      after: { timeout: { target: 'backingOff', actions: 'late' } },
      invoke: {
        src: 'confirm',
        input: ({ context }) => ({ suspects: context.suspects, reservations: context.reservations }),
        onDone: {
          target: 'condemning',
          actions: assign(({ context, event }) => ({
            ...judged(context, event.output.value.looks, event.output.atMs),
            ending: event.output.value.elsewhere,
            nowMs: event.output.atMs,
          })),
        },
        onError: {
          target: 'backingOff',
          actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    condemning: {
      always: [
        { guard: 'anyDoomed', target: 'collecting' },
        { target: 'resting', actions: 'passed' },
      ],
    },
    collecting: {
      entry: 'unreserve',
      after: { timeout: { target: 'backingOff', actions: 'late' } },
      invoke: {
        src: 'collect',
        input: ({ context }) => ({ doomed: context.doomed, ending: context.ending }),
        onDone: [
          {
            guard: ({ event }) => event.output.value.some(({ failure }) => failure !== null),
            target: 'backingOff',
            actions: assign(({ context, event }) => ({
              ...collectedOnce(context, event.output.value),
              nowMs: event.output.atMs,
              failures: context.failures + 1,
            })),
          },
          {
            target: 'resting',
            actions: [
              assign(({ context, event }) => ({
                ...collectedOnce(context, event.output.value),
                nowMs: event.output.atMs,
              })),
              'passed',
            ],
          },
        ],
        onError: {
          target: 'backingOff',
          actions: { type: 'failed', params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
    // A pass that failed is made anew from its list.
    backingOff: { after: { backoff: 'listing' }, on: { lookNow: 'listing' } },
  },
});

export type GarbageCollectorRef = ActorRefFrom<typeof garbageCollectorMachine>;
