/**
 * Keeps the host as the ENIs and leases need it: sweeping → resting → gathering → sweeping; backingOff.
 *
 * The kernel's events only say that a look is worth while: every look is at everything, so that an event that was lost costs time and
 * nothing else. What is repaired, and what is left alone since somebody undoes it, is in the ledger. Which leases there are is read by the
 * hand at the very moment of the look: whatever a chart had been told could be released by then.
 */
import {
  type ActorRefFrom,
  assign,
  type CallbackActorLogic,
  type EventObject,
  enqueueActions,
  type PromiseActorLogic,
  setup,
} from 'xstate';
import type { Drift } from '../src/core/drift.ts';
import type { KernelKeeperSettings } from '../src/core/keeper-settings.ts';
import {
  type HeldOff,
  heldOff,
  nextRepairMs,
  noted,
  type RepairLedger,
  type RepairNews,
} from '../src/core/repair-ledger.ts';
import type { At } from './at.ts';
import type { KernelKeeperEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export type KernelKeeperInput = KernelKeeperSettings & { readonly nowMs: number };

/** It is the hand that knows the time. */
export type Sweep = {
  readonly heldOff: readonly HeldOff[];
  /** When a thorough look is due. */
  readonly thoroughFromMs: number;
};

export type Swept = {
  readonly drifts: readonly Drift[];
  readonly thorough: boolean;
  /** When what was seen may be acted on (what a released sandbox left, what a plugin has not finished); null when nothing waits for that. */
  readonly nextDueMs: number | null;
};

export type KernelKeeperContext = KernelKeeperInput & {
  readonly ledger: RepairLedger;
  /** Repairs made, of all things, since the start. */
  readonly repairs: number;
  readonly thoroughMs: number;
  readonly nextDueMs: number | null;
  /** Something has changed during the look. */
  readonly again: boolean;
  readonly failures: number;
};

type Found = { readonly context: KernelKeeperContext; readonly event: { readonly output: At<Swept> } };

/** What every look leaves behind. */
const learn = [
  { type: 'tellRepairs', params: ({ context, event: { output } }: Found) => ({ news: newsIn(context, output) }) },
  { type: 'tellUnplugged', params: ({ event }: Found) => event.output },
  { type: 'note', params: ({ event }: Found) => event.output },
] as const;

export const kernelKeeperMachine = setup({
  types: {
    input: {} as KernelKeeperInput,
    context: {} as KernelKeeperContext,
    events: {} as KernelKeeperEvent,
  },
  actors: {} as {
    sweep: PromiseActorLogic<At<Swept>, Sweep>;
    watch: CallbackActorLogic<EventObject, undefined>;
  },
  delays: {
    nextSweep: ({ context }) => sweepAfterMs(context),
    gather: ({ context }) => context.gatherMs,
    backoff: ({ context }) =>
      Math.min(context.backoffMs * 2 ** Math.max(0, context.failures - 1), context.backoffMaxMs),
  },
  guards: { changedMeanwhile: ({ context }) => context.again },
  actions: {
    /** For the log: charts write none. */
    tellRepairs: (_, _params: { news: readonly RepairNews[] }) => {},
    /** An ENI without its device gives out no address until it has been looked at. */
    tellUnplugged: enqueueActions(({ enqueue, system }, { value, atMs }: At<Swept>) => {
      for (const { kind, object: mac } of value.drifts)
        if (kind === 'eniDevice') enqueue.sendTo(eniFactoryIn(system), { type: 'unplugged', mac, atMs });
    }),
    note: assign(({ context }, { value, atMs }: At<Swept>) => ({
      ledger: noted(context.ledger, value.drifts, atMs, context.repairTimes).ledger,
      repairs: context.repairs + value.drifts.filter((drift) => drift.outcome === 'repaired').length,
      thoroughMs: value.thorough ? atMs : context.thoroughMs,
      nextDueMs: value.nextDueMs,
      nowMs: atMs,
      failures: 0,
    })),
    noteChange: assign({ again: true }),
    beThorough: assign(({ context }) => ({ thoroughMs: context.nowMs - context.periodMs })),
    forgetChange: assign({ again: false }),
  },
}).createMachine({
  id: 'kernelKeeper',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    ledger: [],
    repairs: 0,
    thoroughMs: input.nowMs - input.periodMs,
    nextDueMs: null,
    again: false,
    failures: 0,
  }),
  // The wait that has begun is the last of the old length.
  on: {
    settings: {
      actions: assign(({ context, event }) => ({ ...event.settings, nowMs: Math.max(context.nowMs, event.atMs) })),
    },
  },
  // Without its events the sweeps go on.
  invoke: { src: 'watch', onError: {} },
  initial: 'sweeping',
  states: {
    sweeping: {
      entry: 'forgetChange',
      on: { kernelChanged: { actions: 'noteChange' }, lookNow: { actions: ['noteChange', 'beThorough'] } },
      invoke: {
        src: 'sweep',
        input: ({ context }) => ({
          heldOff: heldOff(context.ledger, context.nowMs),
          thoroughFromMs: context.thoroughMs + context.periodMs,
        }),
        onDone: [
          { guard: 'changedMeanwhile', target: 'gathering', actions: learn },
          { target: 'resting', actions: learn },
        ],
        onError: {
          target: 'backingOff',
          actions: assign(({ context }) => ({ failures: context.failures + 1 })),
        },
      },
    },
    resting: {
      on: { kernelChanged: 'gathering', lookNow: { target: 'sweeping', actions: 'beThorough' } },
      after: { nextSweep: 'sweeping' },
    },
    gathering: { after: { gather: 'sweeping' }, on: { lookNow: { actions: 'beThorough' } } },
    backingOff: {
      tags: 'alarm',
      after: { backoff: 'sweeping' },
      on: { lookNow: { target: 'sweeping', actions: 'beThorough' } },
    },
  },
});

export type KernelKeeperRef = ActorRefFrom<typeof kernelKeeperMachine>;

/** Until the period is over, or something that was left alone may be touched. */
function sweepAfterMs({ ledger, nextDueMs, thoroughMs, periodMs, nowMs, gatherMs }: KernelKeeperContext): number {
  const repairMs = nextRepairMs(ledger) ?? Number.POSITIVE_INFINITY;
  const dueMs = nextDueMs ?? Number.POSITIVE_INFINITY;
  return Math.max(gatherMs, Math.min(thoroughMs + periodMs, repairMs, dueMs) - nowMs);
}

function newsIn({ ledger, repairTimes }: KernelKeeperContext, { value, atMs }: At<Swept>): readonly RepairNews[] {
  return noted(ledger, value.drifts, atMs, repairTimes).news;
}
