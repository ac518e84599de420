/**
 * The supervisor of the leases: one child a sandbox, spawned by the first who asks, stopped when it is gone.
 *
 * It never looks inside a lease; it forwards, and passes answers out. What is there already is sent to as itself, not by its name
 * (actors/many-children.ts).
 */
import {
  type ActorRefFrom,
  type AnyActorRef,
  type DoneActorEvent,
  type ErrorActorEvent,
  enqueueActions,
  setup,
} from 'xstate';
import { failureOf } from '../src/core/errors.ts';
import type { Lease } from '../src/core/lease.ts';
import { mapWithout } from '../src/core/map-without.ts';
import { podKey, type Sandbox, type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { LeaseContext, leaseMachine } from './lease.ts';
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
  readonly open: ReadonlyMap<string, SandboxKey>;
  /** Of pods whose address is kept for them: the sandbox that asked last, by pod and interface. */
  readonly latest: Readonly<Record<string, SandboxKey>>;
  /** Sandboxes that make way -> the one that waits for it. */
  readonly heirs: Readonly<Record<SandboxKey, SandboxKey>>;
};

const attachmentOf = ({ pod, ifName }: Sandbox): string => `${podKey(pod)}/${ifName}`;

/** Names the release of a sandbox that makes way for another one. */
const MAKING_WAY = 'making way for ';

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
  context: ({ input: { leases, dead = [], nowMs } }) => ({
    ...{ recovered: leases, dead, nowMs },
    ...{ open: new Map(), latest: {}, heirs: {} },
  }),
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
    const kept = context.recovered.filter(({ reserveMs = 0 }) => reserveMs > 0);
    const inOrder = [...kept].sort((a, b) => a.boundAtMs - b.boundAtMs);
    const latest = inOrder.map(({ sandbox }) => [attachmentOf(sandbox), sandboxKey(sandbox)]);
    enqueue.assign({ recovered: [], dead: [], latest: Object.fromEntries(latest) });
  }),
  on: {
    allocate: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        const { requestId, sandbox, reserveMs = 0, untilMs, atMs } = event;
        const key = sandboxKey(sandbox);
        const id = leaseId(key);
        const { children } = self.getSnapshot();
        const open = new Map(context.open).set(requestId, key);
        if (children[id] === undefined) {
          const attachment = attachmentOf(sandbox);
          const before = reserveMs > 0 ? context.latest[attachment] : undefined;
          const leaving = before === undefined ? undefined : children[leaseId(before)];
          const waits = before !== undefined && leaving !== undefined;
          if (reserveMs > 0) enqueue.assign({ latest: { ...context.latest, [attachment]: key } });
          if (waits) {
            const makingWay = `${MAKING_WAY}${key}`;
            open.set(makingWay, before);
            enqueue.assign({ heirs: { ...context.heirs, [before]: key } });
            enqueue.sendTo(leaving, { type: 'release', requestId: makingWay, atMs });
          }
          const input = { sandbox, requestId, untilMs, nowMs: atMs, reserveMs, waits, lease: null };
          enqueue.spawnChild('lease', { id, input });
        }
        enqueue.assign({ open });
        enqueue.sendTo(children[id] ?? id, { type: 'ask', requestId, untilMs, atMs });
      }),
    },
    release: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        const lease = self.getSnapshot().children[leaseId(event.sandbox)];
        if (lease === undefined) {
          enqueue.emit({ type: 'answer', requestId: event.requestId, ok: true, lease: null });
          return;
        }
        enqueue.assign({ open: new Map(context.open).set(event.requestId, event.sandbox) });
        const { requestId, atMs } = event;
        const forGood = event.forGood === true || isOutlived(context, event.sandbox, lease);
        enqueue.sendTo(lease, { type: 'release', requestId, forGood, atMs });
      }),
    },
    forget: {
      actions: enqueueActions(({ context, event, enqueue, self }) => {
        enqueue.assign({ open: mapWithout(context.open, event.requestId) });
        const lease = self.getSnapshot().children[leaseId(event.sandbox)];
        if (lease === undefined) return;
        enqueue.sendTo(lease, { type: 'forget', requestId: event.requestId, atMs: event.atMs });
      }),
    },
    granted: {
      actions: enqueueActions(({ event: { sandbox, requestId, grant, atMs }, enqueue, self, system }) => {
        const lease = self.getSnapshot().children[leaseId(sandbox)];
        if (lease !== undefined) enqueue.sendTo(lease, { type: 'granted', grant, atMs });
        // Whoever asked is no more: what was promised goes back.
        else enqueue.sendTo(eniFactoryIn(system), { type: 'withdraw', requestId, atMs });
      }),
    },
    refused: {
      actions: enqueueActions(({ event, enqueue, self }) => {
        const lease = self.getSnapshot().children[leaseId(event.sandbox)];
        if (lease !== undefined) enqueue.sendTo(lease, { type: 'refused', failure: event.failure });
      }),
    },
    answer: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const { requestId, ok } = event;
        // One that cannot be written keeps its address: the new sandbox gets another.
        if (requestId.startsWith(MAKING_WAY) && !ok)
          enqueue.raise({ type: 'madeWay', heir: requestId.slice(MAKING_WAY.length) });
        if (!context.open.has(requestId)) return;
        enqueue.assign({ open: mapWithout(context.open, requestId) });
        enqueue.emit(event);
      }),
    },
    madeWay: {
      actions: enqueueActions(({ context, event: { heir }, enqueue, self }) => {
        const heirs = Object.entries(context.heirs).filter(([, key]) => key !== heir);
        enqueue.assign({ heirs: Object.fromEntries(heirs) });
        const lease = self.getSnapshot().children[leaseId(heir)];
        if (lease !== undefined) enqueue.sendTo(lease, { type: 'vacated', atMs: context.nowMs });
      }),
    },
    'xstate.done.actor.*': {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const { actorId } = event as DoneActorEvent;
        enqueue.stopChild(actorId);
        const latest = latestWithout(context, actorId);
        if (latest !== context.latest) enqueue.assign({ latest });
        const heir = heirOf(context, actorId);
        if (heir !== undefined) enqueue.raise({ type: 'madeWay', heir });
      }),
    },
    // Its callers are told. What it held, or was about to write, another one takes over; what it was looking for is given up.
    'xstate.error.actor.*': {
      actions: enqueueActions(({ context, event, enqueue, self, system }) => {
        const { actorId, error } = event as ErrorActorEvent;
        const last = self.getSnapshot().children[actorId]?.getSnapshot();
        enqueue.stopChild(actorId);
        const heir = heirOf(context, actorId);
        if (heir !== undefined) enqueue.raise({ type: 'madeWay', heir });
        const open = new Map(context.open);
        for (const [requestId, key] of context.open) {
          if (leaseId(key) !== actorId) continue;
          open.delete(requestId);
          enqueue.emit({ type: 'answer', requestId, ok: false, failure: failureOf(error) });
        }
        enqueue.assign({ open });
        if (last === undefined) return;
        const { sandbox, requestId, untilMs, nowMs, reserveMs, lease, grant } = last.context;
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
        enqueue.spawnChild('lease', {
          id: actorId,
          input: { sandbox, requestId, untilMs, nowMs, reserveMs, lease, revived },
        });
      }),
    },
  },
});

export type LeasesRef = ActorRefFrom<typeof leasesMachine>;

function heirOf({ heirs }: Context, actorId: string): SandboxKey | undefined {
  return Object.entries(heirs).find(([key]) => leaseId(key) === actorId)?.[1];
}

/** Its pod has a newer sandbox, which does without its address: nothing is to be kept of it. */
function isOutlived({ latest, heirs }: Context, key: SandboxKey, lease: AnyActorRef | undefined): boolean {
  const { sandbox } = (lease?.getSnapshot() as { context?: LeaseContext } | undefined)?.context ?? {};
  const newest = sandbox === undefined ? undefined : latest[attachmentOf(sandbox)];
  return newest !== undefined && newest !== key && heirs[key] === undefined;
}

/** A sandbox that is gone is no pod's latest any more. */
function latestWithout({ latest }: Context, actorId: string): Context['latest'] {
  const others = Object.entries(latest).filter(([, key]) => leaseId(key) !== actorId);
  return others.length === Object.keys(latest).length ? latest : Object.fromEntries(others);
}
