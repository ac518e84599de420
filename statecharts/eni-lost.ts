/** An ENI whose actor died: waiting → recalling → the state that its ENI and its leases call for. */
import type { At } from './at.ts';
import { named } from './eni-calls.ts';
import type { EniContext, Recalled } from './eni-context.ts';
import { noteFailure, unknownToCloud } from './eni-failures.ts';
import { eniSetup, UNSEEN_MAX } from './eni-setup.ts';

/** An address is kept for a pod that is away, by the book, which has heard more since, or by what was given back before this actor began. */
const keepsSome = ({ book }: EniContext, { value: { released }, atMs }: At<Recalled>): boolean =>
  book.some((entry) => entry.state === 'reserved' && entry.atMs > atMs) ||
  released.some(({ reservedUntilMs }) => (reservedUntilMs ?? 0) > atMs);

/** The actor before this one died. Its book is kept and told of what happens to leases; the truth is looked up after a while. */
export const lost = eniSetup.createStateConfig({
  initial: 'waiting',
  states: {
    waiting: {
      after: {
        lookAgain: [
          // The Create of the actor before may be on its way yet: the same token tells.
          {
            guard: ({ context }) => context.eniId === null,
            target: '#eni.creating',
            actions: 'reopen', // which reports as it begins
          },
          { target: 'recalling' },
        ],
      },
    },
    recalling: {
      invoke: {
        src: 'recall',
        input: ({ context }) => ({
          ...named(context),
          bound: context.book
            .filter((entry) => entry.state === 'bound')
            .map(({ address: { ipv4 }, sandbox }) => ({ ipv4, sandbox })),
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.value.eni?.status === 'InUse',
            target: '#eni.settling',
            actions: [{ type: 'remember', params: ({ event }) => event.output }, 'reopen'],
          },
          {
            guard: ({ context, event }) => {
              const { eni, held } = event.output.value;
              if (!context.ours || eni === null) return false;
              return eni.status === 'Attaching' || held.size > 0 || keepsSome(context, event.output);
            },
            target: '#eni.attaching.describing',
            actions: [{ type: 'remember', params: ({ event }) => event.output }, 'reopen'],
          },
          // Promises that are with a lease just now count too.
          {
            guard: ({ context, event }) =>
              event.output.value.held.size === 0 &&
              context.book.every((entry) => entry.requestId === null) &&
              (event.output.value.eni === null ? context.unseen + 1 >= UNSEEN_MAX : !keepsSome(context, event.output)),
            target: '#eni.detaching',
            actions: { type: 'remember', params: ({ event }) => event.output },
          },
          {
            target: 'waiting',
            actions: [
              'notSeen',
              { type: 'remember', params: ({ event }) => event.output },
              { type: 'failed', params: ({ context }) => ({ failure: unknownToCloud(context) }) },
              'report',
            ],
          },
        ],
        onError: { target: 'waiting', actions: [noteFailure, 'report'] },
      },
    },
  },
});
