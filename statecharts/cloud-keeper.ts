/**
 * Looks for ENIs of ours that no actor has: resting → listing → resting, or doubting → listing once more.
 *
 * A Create that was given up may be carried out after all, and a Describe that was late may have called an ENI gone that is there: such
 * an ENI costs money and a place, and no life of the daemon would find it before the next start. One look is no proof, since what was
 * let go is shown for a while yet: only what is seen twice, a good while apart, is handed to the factory. Addresses on ENIs that have an
 * actor are compared by that actor.
 * Source: design, "One witness never justifies a destructive act"; Terway finds such ENIs only when it starts.
 */
import { type ActorRefFrom, assign, enqueueActions, type PromiseActorLogic, setup } from 'xstate';
import type { AdoptedEni } from './adopted-eni.ts';
import type { At } from './at.ts';
import type { LookNow, PeriodsEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export type CloudKeeperSettings = { readonly periodMs: number };

export type CloudKeeperInput = CloudKeeperSettings & { readonly seed: number; readonly nowMs: number };

export type CloudKeeperContext = CloudKeeperInput & {
  /** Ids of ENIs that the last look has seen and no actor has. */
  readonly suspects: readonly string[];
  /** ENIs handed to the factory since the start. */
  readonly found: number;
  readonly failures: number;
};

/** Of a period: so that nodes that started together do not ask together, the first wait is between a half and a whole one. */
const SPREAD = 0.5;
const SECOND_LOOK = 0.25;

type Listed = { readonly event: { readonly output: At<readonly AdoptedEni[]> } };

const idsOf = (enis: readonly AdoptedEni[]): readonly string[] => enis.flatMap(({ eni }) => eni?.eniId ?? []);

export const cloudKeeperMachine = setup({
  types: {
    input: {} as CloudKeeperInput,
    context: {} as CloudKeeperContext,
    events: {} as LookNow | PeriodsEvent<CloudKeeperSettings>,
  },
  actors: {} as {
    /** ENIs of ours, on the instance or on none, that no actor has and no intent tells of. */
    listStrays: PromiseActorLogic<At<readonly AdoptedEni[]>, { suspects: readonly string[] }>;
  },
  delays: {
    period: ({ context: { periodMs, seed } }) => (1 - SPREAD * seed) * periodMs,
    secondLook: ({ context: { periodMs } }) => SECOND_LOOK * periodMs,
  },
  guards: {
    any: (_, { enis }: { enis: readonly AdoptedEni[] }) => enis.length > 0,
    seenBefore: ({ context }, { enis }: { enis: readonly AdoptedEni[] }) =>
      idsOf(enis).some((id) => context.suspects.includes(id)),
  },
  actions: {
    handOver: enqueueActions(({ context, enqueue, system }, { value, atMs }: At<readonly AdoptedEni[]>) => {
      const proven = value.filter(({ eni }) => eni !== null && context.suspects.includes(eni.eniId));
      enqueue.assign({ found: context.found + proven.length });
      for (const found of proven) enqueue.sendTo(eniFactoryIn(system), { type: 'eniFound', found, atMs });
    }),
    suspect: assign((_, { value, atMs }: At<readonly AdoptedEni[]>) => ({
      suspects: idsOf(value),
      failures: 0,
      nowMs: atMs,
    })),
    trust: assign((_, { atMs }: { atMs: number }) => ({ suspects: [], failures: 0, nowMs: atMs })),
  },
}).createMachine({
  id: 'cloudKeeper',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ ...input, suspects: [], found: 0, failures: 0 }),
  // The wait that has begun is the last of the old length.
  on: {
    settings: {
      actions: assign(({ context, event }) => ({ ...event.settings, nowMs: Math.max(context.nowMs, event.atMs) })),
    },
  },
  initial: 'resting',
  states: {
    resting: { after: { period: 'listing' }, on: { lookNow: 'listing' } },
    listing: {
      invoke: {
        src: 'listStrays',
        input: ({ context }) => ({ suspects: context.suspects }),
        onDone: [
          {
            guard: { type: 'seenBefore', params: ({ event }: Listed) => ({ enis: event.output.value }) },
            target: 'resting',
            actions: [
              { type: 'handOver', params: ({ event }: Listed) => event.output },
              { type: 'trust', params: ({ event }: Listed) => event.output },
            ],
          },
          {
            guard: { type: 'any', params: ({ event }: Listed) => ({ enis: event.output.value }) },
            target: 'doubting',
            actions: { type: 'suspect', params: ({ event }: Listed) => event.output },
          },
          { target: 'resting', actions: { type: 'trust', params: ({ event }: Listed) => event.output } },
        ],
        // What was seen before counts no more: it may have gone and come.
        onError: {
          target: 'resting',
          actions: assign(({ context }) => ({ suspects: [], failures: context.failures + 1 })),
        },
      },
    },
    doubting: { after: { secondLook: 'listing' } },
  },
});

export type CloudKeeperRef = ActorRefFrom<typeof cloudKeeperMachine>;
