/**
 * Keeps the number of idle addresses between the water marks: measuring → filling | shedding → resting; backingOff.
 *
 * It is told the totals whenever they change, so that it acts at once and rests without a clock of its own; the period is a second
 * look. It asks for what is missing in one piece, naming the totals it reckoned from, and then waits for them to move before it
 * asks again: an order that crosses with better knowledge is not carried out. Reclaiming is no state: a batch goes whatever the pool
 * is about, and the totals that follow bring the next look.
 */
import { type ActorRefFrom, assign, enqueueActions, setup } from 'xstate';
import { keptIn, type PoolMove } from '../src/core/pool.ts';
import { batchOf, reclaimedOnce } from '../src/core/reclaim.ts';
import {
  contextOf,
  type IdlePoolContext,
  type IdlePoolInput,
  measured,
  moveIn,
  TIMERS,
  timersOf,
} from './idle-pool-context.ts';
import type { PoolEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

const isTooMuch = ({ shed, callOff }: PoolMove): boolean => shed > 0 || callOff > 0;

export const idlePoolMachine = setup({
  types: {
    input: {} as IdlePoolInput,
    context: {} as IdlePoolContext,
    events: {} as PoolEvent,
  },
  delays: {
    period: ({ context }) => context.periodMs,
    backoff: ({ context }) => Math.min(context.backoffMs * 2 ** Math.max(0, context.failures - 1), context.periodMs),
  },
  guards: {
    missing: ({ context }) => moveIn(context).grow > 0,
    surplus: ({ context }) => isTooMuch(moveIn(context)),
    surplusNow: ({ context, event }) => isTooMuch(moveIn({ ...context, ...measured(context, event) })),
    /** What has changed is between the marks yet. */
    enoughStill: ({ context, event }) => {
      const move = moveIn({ ...context, ...measured(context, event) });
      return move.grow === 0 && !isTooMuch(move);
    },
  },
  actions: {
    note: assign(({ context, event }) => measured(context, event)),
    /** Wakes up when a period ends that may move the low mark, and when a batch is to go. A timer that is set for the same instant stays. */
    arm: enqueueActions(({ context, event, enqueue }) => {
      const timers = timersOf(context);
      const moved = TIMERS.filter((type) => timers[type] !== context.armed[type] || event.type === type);
      for (const type of moved) {
        const atMs = timers[type];
        enqueue.cancel(type);
        if (atMs !== null) enqueue.raise({ type, atMs }, { id: type, delay: Math.max(1, atMs - context.nowMs) });
      }
      if (moved.length > 0) enqueue.assign({ armed: timers });
    }),
    grow: enqueueActions(({ context, enqueue, system }) => {
      const { totals: basis, nowMs: atMs, readOnly = false } = context;
      if (basis !== null && !readOnly)
        enqueue.sendTo(eniFactoryIn(system), { type: 'grow', count: moveIn(context).grow, basis, atMs });
    }),
    shed: enqueueActions(({ context, enqueue, system }) => {
      const { totals: basis, nowMs: atMs, bounds, readOnly = false } = context;
      const { shed: count, callOff } = moveIn(context);
      if (basis !== null && !readOnly)
        enqueue.sendTo(eniFactoryIn(system), {
          type: 'shed',
          count,
          callOff,
          keep: keptIn(basis, bounds),
          basis,
          atMs,
        });
    }),
    reclaim: enqueueActions(({ context, event, enqueue, system }) => {
      const { totals: basis, bounds, reclaimRules, seed } = context;
      const { atMs } = event;
      enqueue.assign({ nowMs: atMs, reclaim: reclaimedOnce(context.reclaim, atMs, reclaimRules, seed) });
      if (basis === null || basis.waiting > 0 || context.readOnly === true) return;
      const surplus = moveIn(context).shed;
      const keep = keptIn(basis, bounds);
      const batch = batchOf(basis.idle - keep, surplus, reclaimRules);
      if (batch > 0)
        enqueue.sendTo(eniFactoryIn(system), {
          type: 'shed',
          count: surplus + batch,
          callOff: 0,
          keep,
          basis,
          atMs,
        });
    }),
    enough: assign({ failures: 0 }),
  },
}).createMachine({
  id: 'idlePool',
  options: { maxIterations: 100 },
  context: ({ input }) => contextOf(input),
  initial: 'resting',
  on: {
    poolChanged: { target: '.measuring', actions: ['note', 'arm'] },
    periodEnded: { target: '.measuring', actions: ['note', 'arm'] },
    settings: { target: '.measuring', actions: ['note', 'arm'] },
    reclaimDue: { actions: ['reclaim', 'arm'] },
    growFailed: {
      target: '.backingOff',
      actions: assign(({ context }) => ({ failures: context.failures + 1 })),
    },
  },
  states: {
    measuring: {
      always: [
        { guard: 'missing', target: 'filling' },
        { guard: 'surplus', target: 'shedding' },
        { target: 'resting' },
      ],
    },
    filling: { entry: 'grow', after: { period: 'measuring' } },
    shedding: { entry: 'shed', after: { period: 'measuring' } },
    resting: {
      entry: 'enough',
      // Most of what it hears: a pod has come or gone.
      on: {
        poolChanged: [
          { guard: 'enoughStill', actions: ['note', 'arm'] },
          { target: 'measuring', actions: ['note', 'arm'] },
        ],
      },
      after: { period: 'measuring' },
    },
    // A grow that failed is not asked again at once; addresses that are too many still go.
    backingOff: {
      on: {
        poolChanged: [
          { guard: 'surplusNow', target: 'measuring', actions: ['note', 'arm'] },
          { actions: ['note', 'arm'] },
        ],
        settings: [
          { guard: 'surplusNow', target: 'measuring', actions: ['note', 'arm'] },
          { actions: ['note', 'arm'] },
        ],
        periodEnded: { actions: ['note', 'arm'] },
        // One wait for all that failed meanwhile.
        growFailed: {},
      },
      after: { backoff: 'measuring' },
    },
  },
});

export type IdlePoolRef = ActorRefFrom<typeof idlePoolMachine>;
