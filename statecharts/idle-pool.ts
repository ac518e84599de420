/**
 * Keeps the number of idle addresses between the water marks: measuring → filling | shedding → resting; backingOff.
 *
 * It is told the totals whenever they change, so that it acts at once and rests without a clock of its own; the period is a second
 * look. It asks for what is missing in one piece, naming the totals it reckoned from, and then waits for them to move before it
 * asks again: an order that crosses with better knowledge is not carried out.
 */
import { type ActorRefFrom, assign, enqueueActions, setup } from 'xstate';
import { type PoolBounds, type PoolMove, type PoolTotals, poolMove } from '../src/core/pool.ts';
import type { PoolEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export type IdlePoolInput = {
  readonly bounds: PoolBounds;
  readonly periodMs: number;
  readonly backoffMs: number;
  readonly nowMs: number;
};

export type IdlePoolContext = IdlePoolInput & { readonly totals: PoolTotals | null; readonly failures: number };

const moveOf = ({ totals, bounds }: IdlePoolContext): PoolMove =>
  totals === null ? { grow: 0, shed: 0 } : poolMove(totals, bounds);

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
    missing: ({ context }) => moveOf(context).grow > 0,
    surplus: ({ context }) => moveOf(context).shed > 0,
  },
  actions: {
    note: assign(({ event }) => (event.type === 'poolChanged' ? { totals: event.totals, nowMs: event.atMs } : {})),
    grow: enqueueActions(({ context, enqueue, system }) => {
      const { totals: basis, nowMs: atMs } = context;
      if (basis !== null)
        enqueue.sendTo(eniFactoryIn(system), { type: 'grow', count: moveOf(context).grow, basis, atMs });
    }),
    shed: enqueueActions(({ context, enqueue, system }) => {
      const { totals: basis, nowMs: atMs } = context;
      if (basis !== null)
        enqueue.sendTo(eniFactoryIn(system), { type: 'shed', count: moveOf(context).shed, basis, atMs });
    }),
    enough: assign({ failures: 0 }),
  },
}).createMachine({
  id: 'idlePool',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ ...input, totals: null, failures: 0 }),
  initial: 'resting',
  on: {
    poolChanged: { target: '.measuring', actions: 'note' },
    growFailed: {
      target: '.backingOff',
      actions: assign(({ context, event }) => ({ failures: context.failures + 1, nowMs: event.atMs })),
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
    resting: { entry: 'enough', after: { period: 'measuring' } },
    // A grow that failed is not asked again at once; addresses that are too many still go.
    backingOff: {
      on: {
        poolChanged: [
          {
            guard: ({ context, event }) => poolMove(event.totals, context.bounds).shed > 0,
            target: 'measuring',
            actions: 'note',
          },
          { actions: 'note' },
        ],
        growFailed: { actions: assign(({ event }) => ({ nowMs: event.atMs })) },
      },
      after: { backoff: 'measuring' },
    },
  },
});

export type IdlePoolRef = ActorRefFrom<typeof idlePoolMachine>;
