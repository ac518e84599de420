/**
 * Places requests on ENIs, spawns and retires ENI actors, and holds the waiting line. It has one state: it is running.
 *
 * Every event changes what is known (summaries, the line, holds); then the whole plan is made anew by `place`, which is pure. The
 * surprising choice: nothing is remembered about a decision but which ENI a request was sent to, so a failed one is undone by
 * putting the request back at the head of the line.
 */
import { type ActorRefFrom, assign, type DoneActorEvent, type ErrorActorEvent, enqueueActions, setup } from 'xstate';
import type { Holder } from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import { type Failure, failureOf } from '../src/core/errors.ts';
import { type EniSummary, type PlacementPolicy, place, roomOf, spareOf } from '../src/core/placement.ts';
import { type PoolTotals, shedPlan } from '../src/core/pool.ts';
import type { EniPlan, EniTimes, eniMachine } from './eni.ts';
import type { FactoryEvent } from './messages.ts';
import { idlePoolIn, leasesIn } from './receptionist.ts';

export type VSwitchPlan = { readonly vSwitchId: string; readonly subnet: Subnet };

export type AdoptedEni = {
  readonly eni: CloudEni;
  readonly ours: boolean;
  readonly subnet: Subnet;
  readonly held: ReadonlyMap<string, Holder>;
  readonly coolUntilMs: ReadonlyMap<string, number>;
  readonly routeTable: number | null;
};

export type EniFactoryInput = {
  readonly nowMs: number;
  readonly maxEnis: number;
  readonly ipv4PerEni: number;
  readonly vSwitches: readonly VSwitchPlan[];
  readonly mtu: number;
  readonly token: string;
  readonly times: EniTimes;
  readonly holdDownMs: number;
  readonly waitingMax: number;
  readonly adopted: readonly AdoptedEni[];
};

export type Request = Holder & { readonly requestId: string; readonly sinceMs: number; readonly untilMs: number };

export type EniFactoryContext = Omit<EniFactoryInput, 'adopted'> & {
  readonly adopted: readonly AdoptedEni[];
  readonly nextSlot: number;
  readonly enis: Readonly<Record<number, EniSummary>>;
  /** The line, oldest first. */
  readonly waiting: readonly Request[];
  /** Requests sent to an ENI, until their lease is bound. */
  readonly placed: Readonly<Record<string, { readonly slot: number; readonly request: Request }>>;
  readonly reasons: ReadonlyMap<string, string>;
  readonly growBy: number;
  readonly holds: Readonly<Record<string, number>>;
  readonly openFailures: number;
  readonly openHoldUntilMs: number;
  readonly lastFailure: Failure | null;
  readonly totals: PoolTotals | null;
};

export const eniId = (slot: number): string => `eni:${slot}`;

export const eniFactoryMachine = setup({
  types: {
    input: {} as EniFactoryInput,
    context: {} as EniFactoryContext,
    events: {} as FactoryEvent | DoneActorEvent | ErrorActorEvent,
    children: {} as Record<string, 'eni'>,
  },
  actors: {} as { eni: typeof eniMachine },
  actions: {
    adopt: enqueueActions(({ context, enqueue }) => {
      const enis: Record<number, EniSummary> = {};
      context.adopted.forEach(({ eni, ours, subnet, held, coolUntilMs, routeTable }, slot) => {
        const plan = { ...planOf(context, slot, { vSwitchId: eni.vSwitchId, subnet }), ours };
        const input = { ...plan, nowMs: context.nowMs, ipv4Count: 0, existing: eni, held, coolUntilMs, routeTable };
        enqueue.spawnChild('eni', { id: eniId(slot), input });
        enis[slot] = {
          ...openingSummary(plan, 0),
          eniId: eni.eniId,
          phase: eni.status === 'InUse' ? 'opening' : 'leaving',
        };
      });
      enqueue.assign({ enis, nextSlot: context.adopted.length, adopted: [] });
    }),
    /** Makes the plan anew and carries it out. */
    plan: enqueueActions(({ context, enqueue, system }) => {
      const plan = place(
        context.waiting,
        context.growBy,
        Object.values(context.enis),
        policyOf(context),
        context.nowMs,
      );
      const placed = { ...context.placed };
      const enis = { ...context.enis };
      let { nextSlot } = context;
      const line = new Map(context.waiting.map((request) => [request.requestId, request]));
      const send = (slot: number, requestId: string, alsoCooling: boolean): void => {
        const request = line.get(requestId);
        if (request === undefined) return;
        placed[requestId] = { slot, request };
        line.delete(requestId);
        const { sandbox, pod } = request;
        enqueue.sendTo(eniId(slot), { type: 'assign', requestId, sandbox, pod, alsoCooling, atMs: context.nowMs });
      };
      for (const move of plan.moves) {
        if (move.type === 'assign') send(move.slot, move.requestId, move.alsoCooling);
        if (move.type === 'grow')
          enqueue.sendTo(eniId(move.slot), { type: 'grow', count: move.count, atMs: context.nowMs });
        if (move.type === 'refuse') {
          const request = line.get(move.requestId);
          line.delete(move.requestId);
          if (request !== undefined)
            enqueue.sendTo(leasesIn(system), { type: 'refused', sandbox: request.sandbox, failure: move.failure });
        }
        if (move.type === 'open') {
          const slot = nextSlot;
          nextSlot += 1;
          const vSwitch = context.vSwitches.find((one) => one.vSwitchId === move.vSwitchId);
          if (vSwitch === undefined) continue;
          const eni = planOf(context, slot, vSwitch);
          enqueue.spawnChild('eni', {
            id: eniId(slot),
            input: {
              ...eni,
              nowMs: context.nowMs,
              ipv4Count: move.ipv4Count,
              existing: null,
              held: new Map(),
              coolUntilMs: new Map(),
              routeTable: null,
            },
          });
          enis[slot] = openingSummary(eni, move.ipv4Count);
          for (const requestId of move.requestIds) send(slot, requestId, false);
        }
      }
      enqueue.cancel('reconsider');
      if (plan.againAtMs !== null) {
        const delay = Math.max(1, plan.againAtMs - context.nowMs);
        enqueue.raise({ type: 'reconsider', atMs: plan.againAtMs }, { id: 'reconsider', delay });
      }
      enqueue.assign({ placed, enis, nextSlot, waiting: [...line.values()], reasons: plan.reasons, growBy: 0 });
    }),
    /** Tells the idle pool, if what it looks at has changed. */
    tellPool: enqueueActions(({ context, enqueue, system }) => {
      const totals = totalsOf(context);
      if (JSON.stringify(totals) === JSON.stringify(context.totals)) return;
      const idlePool = idlePoolIn(system);
      if (idlePool === undefined) return;
      enqueue.assign({ totals });
      enqueue.sendTo(idlePool, { type: 'poolChanged', totals, atMs: context.nowMs });
    }),
  },
}).createMachine({
  id: 'eniFactory',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    nextSlot: 0,
    enis: {},
    waiting: [],
    placed: {},
    reasons: new Map(),
    growBy: 0,
    holds: {},
    openFailures: 0,
    openHoldUntilMs: 0,
    lastFailure: null,
    totals: null,
  }),
  entry: ['adopt', 'tellPool'],
  on: {
    allocate: [
      {
        guard: ({ context }) => context.waiting.length >= context.waitingMax,
        actions: enqueueActions(({ context, event, enqueue, system }) => {
          const detail = `${context.waiting.length} requests wait already`;
          enqueue.sendTo(leasesIn(system), {
            type: 'refused',
            sandbox: event.sandbox,
            failure: { code: 'noCapacity', detail },
          });
        }),
      },
      {
        actions: [
          assign(({ context, event }) => {
            const { requestId, sandbox, pod, untilMs, atMs } = event;
            return {
              waiting: [...context.waiting, { requestId, sandbox, pod, untilMs, sinceMs: atMs }],
              nowMs: Math.max(context.nowMs, atMs),
            };
          }),
          'plan',
          'tellPool',
        ],
      },
    ],
    giveUp: {
      actions: [
        enqueueActions(({ context, event, enqueue, system }) => {
          const { requestId } = event;
          const waiting = context.waiting.find((request) => request.requestId === requestId);
          const placed = context.placed[requestId];
          if (placed !== undefined) enqueue.sendTo(eniId(placed.slot), { type: 'cancel', requestId, atMs: event.atMs });
          const request = waiting ?? placed?.request;
          if (request === undefined) return;
          const reason = context.reasons.get(requestId) ?? `ENI slot ${placed?.slot}: addresses were under way`;
          const failure: Failure = { code: context.lastFailure?.code ?? 'deadline', detail: reason };
          enqueue.sendTo(leasesIn(system), { type: 'refused', sandbox: request.sandbox, failure });
          const { [requestId]: _, ...rest } = context.placed;
          enqueue.assign({ placed: rest, waiting: context.waiting.filter((one) => one.requestId !== requestId) });
        }),
        'plan',
        'tellPool',
      ],
    },
    bind: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const { [event.requestId]: placed, ...rest } = context.placed;
        if (placed === undefined) return;
        enqueue.sendTo(eniId(placed.slot), { type: 'bind', requestId: event.requestId, atMs: event.atMs });
        enqueue.assign({ placed: rest, nowMs: Math.max(context.nowMs, event.atMs) });
      }),
    },
    withdraw: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const { [event.requestId]: placed, ...rest } = context.placed;
        if (placed === undefined) return;
        enqueue.sendTo(eniId(placed.slot), { type: 'withdraw', requestId: event.requestId, atMs: event.atMs });
        enqueue.assign({ placed: rest });
      }),
    },
    freed: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        const eni = Object.values(context.enis).find((summary) => summary.eniId === event.eniId);
        enqueue.assign({ nowMs: Math.max(context.nowMs, event.atMs) });
        if (eni === undefined) return;
        const { ipv4, coolUntilMs, atMs } = event;
        enqueue.sendTo(eniId(eni.slot), { type: 'freed', ipv4, coolUntilMs, atMs });
      }),
    },
    grow: {
      actions: [
        assign(({ context, event }) => ({ growBy: event.count, nowMs: Math.max(context.nowMs, event.atMs) })),
        'plan',
        'tellPool',
      ],
    },
    shed: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        for (const { slot, drain, count } of shedPlan(Object.values(context.enis), event.count)) {
          enqueue.sendTo(
            eniId(slot),
            drain ? { type: 'drain', atMs: event.atMs } : { type: 'shed', count, atMs: event.atMs },
          );
        }
      }),
    },
    ipResult: {
      actions: [
        enqueueActions(({ context, event, enqueue, system }) => {
          const placed = context.placed[event.requestId];
          // A result nobody waits for: the caller gave up, and the ENI was told.
          if (placed === undefined) return;
          if (event.ok) {
            enqueue.sendTo(leasesIn(system), { type: 'granted', sandbox: placed.request.sandbox, grant: event.grant });
            return;
          }
          const { [event.requestId]: _, ...rest } = context.placed;
          if (event.failure.code === 'permission') {
            enqueue.sendTo(leasesIn(system), {
              type: 'refused',
              sandbox: placed.request.sandbox,
              failure: event.failure,
            });
            enqueue.assign({ placed: rest });
            return;
          }
          enqueue.assign({
            placed: rest,
            waiting: [...context.waiting, placed.request].sort((a, b) => a.sinceMs - b.sinceMs),
            ...holdsAfter(context, placed.slot, event.failure),
          });
        }),
        'plan',
        'tellPool',
      ],
    },
    eniChanged: {
      actions: [
        assign(({ context, event }) => {
          const before = context.enis[event.summary.slot];
          const opened = before?.phase === 'opening' && event.summary.phase === 'ready';
          return {
            enis: { ...context.enis, [event.summary.slot]: event.summary },
            nowMs: Math.max(context.nowMs, event.atMs),
            ...(opened ? { openFailures: 0, openHoldUntilMs: 0, lastFailure: null } : {}),
            ...(event.summary.phase === 'holding' && event.summary.lastFailure !== null
              ? holdsAfter(context, event.summary.slot, event.summary.lastFailure)
              : {}),
          };
        }),
        'plan',
        'tellPool',
      ],
    },
    eniGone: {
      actions: [
        assign(({ context, event }) => {
          const { [event.slot]: gone, ...enis } = context.enis;
          const failed = gone?.phase === 'opening' && event.failure !== null;
          return {
            enis,
            nowMs: Math.max(context.nowMs, event.atMs),
            ...(failed && event.failure !== null
              ? { ...holdsAfter(context, event.slot, event.failure), openFailures: context.openFailures + 1 }
              : {}),
          };
        }),
        enqueueActions(({ context, event, enqueue, system }) => {
          const idlePool = idlePoolIn(system);
          if (event.failure === null || idlePool === undefined) return;
          enqueue.sendTo(idlePool, { type: 'growFailed', failure: event.failure, atMs: context.nowMs });
        }),
        'plan',
        'tellPool',
      ],
    },
    reconsider: {
      actions: [assign(({ context, event }) => ({ nowMs: Math.max(context.nowMs, event.atMs) })), 'plan', 'tellPool'],
    },
    'xstate.done.actor.*': {
      actions: enqueueActions(({ event, enqueue }) => enqueue.stopChild((event as DoneActorEvent).actorId)),
    },
    // Its addresses and its slot stay taken: the cloud still has the ENI. Its requests go elsewhere.
    'xstate.error.actor.*': {
      actions: [
        enqueueActions(({ context, event, enqueue }) => {
          const { actorId, error } = event as ErrorActorEvent;
          enqueue.stopChild(actorId);
          const slot = Number(actorId.slice('eni:'.length));
          const summary = context.enis[slot];
          const homeless = Object.values(context.placed).filter((placed) => placed.slot === slot);
          const placed = Object.fromEntries(Object.entries(context.placed).filter(([, one]) => one.slot !== slot));
          const waiting = [...context.waiting, ...homeless.map((one) => one.request)];
          enqueue.assign({
            placed,
            waiting: waiting.sort((a, b) => a.sinceMs - b.sinceMs),
            lastFailure: failureOf(error),
            ...(summary === undefined
              ? {}
              : { enis: { ...context.enis, [slot]: { ...summary, phase: 'lost' as const } } }),
          });
        }),
        'plan',
        'tellPool',
      ],
    },
  },
});

export type EniFactoryRef = ActorRefFrom<typeof eniFactoryMachine>;

function planOf(context: EniFactoryContext, slot: number, { vSwitchId, subnet }: VSwitchPlan): EniPlan {
  const { ipv4PerEni, mtu, token, times } = context;
  return { slot, limit: ipv4PerEni, vSwitchId, subnet, mtu, ours: true, token, times };
}

function openingSummary({ slot, vSwitchId, ours, limit }: EniPlan, arriving: number): EniSummary {
  const counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };
  return {
    slot,
    phase: 'opening',
    eniId: null,
    vSwitchId,
    ours,
    limit,
    counts,
    arriving,
    queued: 0,
    lastFailure: null,
  };
}

function policyOf(context: EniFactoryContext): PlacementPolicy {
  const { maxEnis, ipv4PerEni, vSwitches, holds, openHoldUntilMs, lastFailure } = context;
  return {
    maxEnis,
    ipv4PerEni,
    vSwitches: vSwitches.map(({ vSwitchId }) => ({ vSwitchId, holdUntilMs: holds[vSwitchId] ?? 0 })),
    openHoldUntilMs,
    lastFailure,
  };
}

/** What a failed call teaches: an empty vSwitch rests; a failed opening makes the next one wait. */
function holdsAfter(
  context: EniFactoryContext,
  slot: number,
  failure: Failure,
): Pick<EniFactoryContext, 'holds' | 'openHoldUntilMs' | 'lastFailure'> {
  const { holds, nowMs, holdDownMs, times, openFailures } = context;
  const eni = context.enis[slot];
  if (failure.code === 'noCapacity')
    return { holds, openHoldUntilMs: context.openHoldUntilMs, lastFailure: context.lastFailure };
  if (failure.code === 'vSwitchEmpty' && eni !== undefined) {
    return {
      holds: { ...holds, [eni.vSwitchId]: nowMs + holdDownMs },
      openHoldUntilMs: context.openHoldUntilMs,
      lastFailure: failure,
    };
  }
  const wait = Math.min(times.backoffMs * 2 ** openFailures, times.backoffMaxMs);
  const openHoldUntilMs = eni?.phase === 'opening' || eni === undefined ? nowMs + wait : context.openHoldUntilMs;
  return { holds, openHoldUntilMs, lastFailure: failure };
}

export function totalsOf(context: EniFactoryContext): PoolTotals {
  const enis = Object.values(context.enis);
  const sum = (of: (eni: EniSummary) => number): number => enis.reduce((total, eni) => total + of(eni), 0);
  const usable = (eni: EniSummary): boolean => eni.phase === 'ready' || eni.phase === 'holding';
  const policy = policyOf(context);
  const canOpen =
    policy.openHoldUntilMs <= context.nowMs && policy.vSwitches.some((one) => one.holdUntilMs <= context.nowMs);
  const newEnis = canOpen ? Math.max(0, context.maxEnis - enis.length) : 0;
  return {
    idle: sum((eni) => (usable(eni) ? eni.counts.idle : 0)),
    cooling: sum((eni) => (usable(eni) ? eni.counts.cooling : 0)),
    spare: sum((eni) => (eni.phase === 'ready' || eni.phase === 'opening' ? spareOf(eni) : 0)),
    waiting: context.waiting.length,
    room: sum(roomOf) + newEnis * context.ipv4PerEni,
  };
}
