/**
 * The supervisor of the leases: one child a sandbox, spawned by the first who asks, stopped when it is gone.
 *
 * It never looks inside a lease; it forwards, and passes answers out.
 */
import { type ActorRefFrom, type DoneActorEvent, type ErrorActorEvent, enqueueActions, setup } from 'xstate';
import { failureOf } from '../src/core/errors.ts';
import type { Lease } from '../src/core/lease.ts';
import { type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { leaseMachine } from './lease.ts';
import type { Answer, LeasesEvent } from './messages.ts';
import { eniFactoryIn } from './receptionist.ts';

export type LeasesInput = {
  readonly leases: readonly Lease[];
  /** Those of them whose sandbox is gone for sure. */
  readonly dead?: readonly SandboxKey[];
  readonly nowMs: number;
};

type Context = {
  readonly recovered: readonly Lease[];
  readonly dead: readonly SandboxKey[];
  readonly nowMs: number;
  /** Requests without an answer, by sandbox: a lease that dies must not leave its callers waiting. */
  readonly open: Readonly<Record<string, SandboxKey>>;
};

export const leaseId = (key: SandboxKey): string => `lease:${key}`;

export const leasesMachine = setup({
  types: {
    input: {} as LeasesInput,
    context: {} as Context,
    events: {} as LeasesEvent | DoneActorEvent | ErrorActorEvent,
    emitted: {} as Answer,
    children: {} as Record<string, 'lease'>,
  },
  actors: {} as { lease: typeof leaseMachine },
}).createMachine({
  id: 'leases',
  options: { maxIterations: 100 },
  context: ({ input }) => ({ recovered: input.leases, dead: input.dead ?? [], nowMs: input.nowMs, open: {} }),
  entry: enqueueActions(({ context, enqueue }) => {
    for (const lease of context.recovered) {
      const key = sandboxKey(lease.sandbox);
      enqueue.spawnChild('lease', {
        id: leaseId(key),
        input: { sandbox: lease.sandbox, requestId: `recovered:${key}`, untilMs: 0, nowMs: context.nowMs, lease },
      });
    }
    // Nobody waits for these; one that cannot be written is released after the next start.
    for (const key of context.dead)
      enqueue.sendTo(leaseId(key), { type: 'release', requestId: `dead:${key}`, atMs: context.nowMs });
    enqueue.assign({ recovered: [], dead: [] });
  }),
  on: {
    allocate: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        const { requestId, sandbox, untilMs, atMs } = event;
        const key = sandboxKey(sandbox);
        const id = leaseId(key);
        if (self.getSnapshot().children[id] === undefined) {
          enqueue.spawnChild('lease', { id, input: { sandbox, requestId, untilMs, nowMs: atMs, lease: null } });
        }
        enqueue.assign({ open: { ...context.open, [requestId]: key } });
        enqueue.sendTo(id, { type: 'ask', requestId, untilMs, atMs });
      }),
    },
    release: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        const id = leaseId(event.sandbox);
        if (self.getSnapshot().children[id] === undefined) {
          enqueue.emit({ type: 'answer', requestId: event.requestId, ok: true, lease: null });
          return;
        }
        enqueue.assign({ open: { ...context.open, [event.requestId]: event.sandbox } });
        enqueue.sendTo(id, { type: 'release', requestId: event.requestId, atMs: event.atMs });
      }),
    },
    forget: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        const { [event.requestId]: _, ...open } = context.open;
        enqueue.assign({ open });
        const id = leaseId(event.sandbox);
        if (self.getSnapshot().children[id] === undefined) return;
        enqueue.sendTo(id, { type: 'forget', requestId: event.requestId, atMs: event.atMs });
      }),
    },
    granted: {
      actions: enqueueActions(({ event: { sandbox, requestId, grant, atMs }, enqueue, self, system }) => {
        const id = leaseId(sandbox);
        if (self.getSnapshot().children[id] !== undefined) enqueue.sendTo(id, { type: 'granted', grant, atMs });
        // Whoever asked is no more: what was promised goes back.
        else enqueue.sendTo(eniFactoryIn(system), { type: 'withdraw', requestId, atMs });
      }),
    },
    refused: {
      actions: enqueueActions(({ event, enqueue, self }) => {
        const id = leaseId(event.sandbox);
        if (self.getSnapshot().children[id] !== undefined)
          enqueue.sendTo(id, { type: 'refused', failure: event.failure });
      }),
    },
    answer: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const { [event.requestId]: asked, ...open } = context.open;
        if (asked === undefined) return;
        enqueue.assign({ open });
        enqueue.emit(event);
      }),
    },
    'xstate.done.actor.*': {
      actions: enqueueActions(({ event, enqueue }) => {
        enqueue.stopChild((event as DoneActorEvent).actorId);
      }),
    },
    // Its callers are told. What it held, or was about to write, another one takes over; what it was looking for is given up.
    'xstate.error.actor.*': {
      actions: enqueueActions(({ context, event, enqueue, self, system }) => {
        const { actorId, error } = event as ErrorActorEvent;
        const last = self.getSnapshot().children[actorId]?.getSnapshot();
        enqueue.stopChild(actorId);
        const open = { ...context.open };
        for (const [requestId, key] of Object.entries(context.open)) {
          if (leaseId(key) !== actorId) continue;
          delete open[requestId];
          enqueue.emit({ type: 'answer', requestId, ok: false, failure: failureOf(error) });
        }
        enqueue.assign({ open });
        if (last === undefined) return;
        const { sandbox, requestId, untilMs, nowMs, lease, grant } = last.context;
        if (grant === null) {
          enqueue.sendTo(eniFactoryIn(system), {
            type: 'giveUp',
            requestId,
            sandbox: sandboxKey(sandbox),
            atMs: nowMs,
          });
          return;
        }
        const revived = { grant, letGo: last.matches('releasing') };
        enqueue.spawnChild('lease', { id: actorId, input: { sandbox, requestId, untilMs, nowMs, lease, revived } });
      }),
    },
  },
});

export type LeasesRef = ActorRefFrom<typeof leasesMachine>;
