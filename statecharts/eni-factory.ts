/**
 * Places requests on ENIs, spawns and retires ENI actors, and holds the waiting line. It has one state: it is running.
 *
 * Every event changes what is known (summaries, the line, holds); then the whole plan is made anew by `place`, which is pure. Two
 * surprising choices. Nothing is remembered about a decision but which ENI a request was sent to, so a failed one is undone by
 * putting the request back into the line. And what an ENI has been told counts at once: a report that is older than that is not
 * believed, since a newer one is about to come.
 */
import {
  type ActorRefFrom,
  assign,
  type DoneActorEvent,
  type ErrorActorEvent,
  enqueueActions,
  type PromiseActorLogic,
  setup,
} from 'xstate';
import { type EniSummary, expecting, givesNow } from '../src/core/eni-summary.ts';
import { type Failure, failureOf, isToldAtOnce } from '../src/core/errors.ts';
import { afterGone, afterLook, nextHoldEndMs, noHolds } from '../src/core/holds.ts';
import { mapWithout } from '../src/core/map-without.ts';
import { overQuota } from '../src/core/over-quota.ts';
import { place } from '../src/core/placement.ts';
import { type PoolTotals, sameTotals, totalsOf } from '../src/core/pool.ts';
import type { SandboxKey } from '../src/core/sandbox.ts';
import { shedPlan } from '../src/core/shed-plan.ts';
import { sooner } from '../src/core/sooner.ts';
import type { At } from './at.ts';
import type { eniMachine } from './eni.ts';
import { contextOf, type EniContext, summaryOf } from './eni-context.ts';
import {
  adoptedEni,
  backInLine,
  type EniFactoryContext,
  type EniFactoryInput,
  eniAt,
  eniId,
  isStale,
  lessonOf,
  newEni,
  nextAgeMs,
  nothingWaits,
  placesOf,
  policyOf,
  revivedEni,
  type Survey,
  slotOf,
  soonest,
  stillReturning,
  strandedOf,
  unanswered,
  unservedOn,
  whyNothing,
  withReturning,
  youngOf,
} from './eni-factory-context.ts';
import type { EniEvent, FactoryEvent } from './messages.ts';
import { idlePoolIn, leasesIn } from './receptionist.ts';

const SURVEY = 'survey';

/** For the log: a pod gets another address than the one that is kept for it. */
export type Astray = { readonly type: 'astray'; readonly pod: string; readonly why: string };

export const eniFactoryMachine = setup({
  types: {
    input: {} as EniFactoryInput,
    context: {} as EniFactoryContext,
    events: {} as FactoryEvent | DoneActorEvent | ErrorActorEvent,
    children: {} as Record<string, 'eni' | 'survey'>,
    emitted: {} as Astray,
  },
  actors: {} as {
    eni: typeof eniMachine;
    /** Looks at what hangs on the instance and at what the vSwitches have left. */
    survey: PromiseActorLogic<At<Survey>, { known: readonly string[]; vSwitchIds: readonly string[] }>;
  },
  guards: {
    lineIsFull: ({ context }) => unanswered(context) >= context.waitingMax,
    /** An address can be had without a call; an ENI as a whole is another matter. */
    anyIdle: ({ context, event }) =>
      event.type === 'allocate' && event.ownEni !== true && Object.values(context.enis).some(givesNow),
    /** The pool reckoned with what still holds; otherwise it has been told better meanwhile. */
    upToDate: ({ context }, params: { basis: PoolTotals }) => sameTotals(params.basis, context.totals),
    /** Of an ENI that is there, and not from before it heard what it has been told. */
    news: ({ context }, params: { summary: EniSummary }) => {
      const known = context.enis[params.summary.slot];
      return known !== undefined && params.summary.heard >= known.heard;
    },
  },
  actions: {
    adopt: enqueueActions(({ context, enqueue }) => {
      const enis: Record<number, EniSummary> = {};
      context.adopted.forEach((adopted, slot) => {
        const input = adoptedEni(context, slot, adopted);
        enqueue.spawnChild('eni', { id: eniId(slot), input });
        enis[slot] = summaryOf(contextOf(input));
      });
      enqueue.assign({ enis, nextSlot: context.adopted.length, adopted: [] });
    }),
    /** Unless it has an actor by now. */
    takeOver: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'eniFound') return;
      const { eni } = event.found;
      if (Object.values(context.enis).some((one) => one.eniId === eni?.eniId)) return;
      const slot = context.nextSlot;
      const input = adoptedEni(context, slot, event.found);
      enqueue.spawnChild('eni', { id: eniId(slot), input });
      enqueue.assign({ enis: { ...context.enis, [slot]: summaryOf(contextOf(input)) }, nextSlot: slot + 1 });
      // It may have counted as somebody else's.
      enqueue.raise({ type: 'surveyDue', atMs: event.atMs });
    }),
    /** The last word about a request that was placed is its ENI's to hear. */
    passOn: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'bind' && event.type !== 'withdraw') return;
      const placed = context.placed.get(event.requestId);
      enqueue.assign({ placed: mapWithout(context.placed, event.requestId) });
      const eni = eniAt(context.enis, placed?.slot);
      if (eni !== null) enqueue.sendTo(eni, event);
    }),
    lineUp: assign(({ context, event }) => {
      if (event.type !== 'allocate') return {};
      const { requestId, sandbox, pod, untilMs, atMs, ownEni } = event;
      const holder = { sandbox, pod, ...(ownEni === true && { ownEni }) };
      const request = { requestId, ...holder, untilMs, sinceMs: atMs, nth: context.arrivals };
      return {
        arrivals: context.arrivals + 1,
        waiting: [...context.waiting, request],
        ...(context.returning.has(pod) && { returning: mapWithout(context.returning, pod) }),
      };
    }),
    /**
     * Once all that comes in this moment has come: a burst is placed as one, so that each ENI is made with all the addresses that are
     * wanted of it. It costs a request that needs a call of the cloud less than a millisecond, and one that does not, nothing.
     */
    planSoon: enqueueActions(({ context, enqueue }) => {
      enqueue.cancel('planSoon');
      enqueue.raise({ type: 'reconsider', atMs: context.nowMs }, { id: 'planSoon', delay: 0 });
    }),
    /** Makes the plan anew and carries it out. Where nothing waits for it there is none: most of what the factory hears is of that kind. */
    plan: enqueueActions(({ context, event, enqueue, system }) => {
      const { nowMs: atMs } = context;
      /** The timer stays as it is as long as it would be set anew for the same instant. */
      const arm = (againAtMs: number | null): void => {
        if (againAtMs === context.againAtMs && event.type !== 'reconsider') return;
        enqueue.cancel('reconsider');
        if (againAtMs !== null) {
          const delay = Math.max(1, againAtMs - atMs);
          enqueue.raise({ type: 'reconsider', atMs: againAtMs }, { id: 'reconsider', delay });
        }
        enqueue.assign({ againAtMs });
      };
      if (nothingWaits(context)) {
        arm(soonest(nextHoldEndMs(context.holds, atMs), nextAgeMs(context)));
        if (context.reasons.size > 0) enqueue.assign({ reasons: new Map() });
        return;
      }
      const plan = place(context.waiting, context.growBy, Object.values(context.enis), policyOf(context), atMs);
      const placed = new Map(context.placed);
      const enis = { ...context.enis };
      const usedSinceMs = { ...context.usedSinceMs };
      const line = new Map(context.waiting.map((request) => [request.requestId, request]));
      let { nextSlot } = context;
      const tell = (slot: number, event: Extract<EniEvent, { type: 'assign' | 'grow' }>): void => {
        const eni = enis[slot];
        if (eni === undefined) return;
        enis[slot] = expecting(eni, event);
        enqueue.sendTo(eniId(slot), event);
      };
      const send = (slot: number, requestId: string, alsoCooling: boolean, alsoReserved: boolean = false): void => {
        const request = line.get(requestId);
        if (request === undefined || !line.delete(requestId)) return;
        const { sandbox, pod, ownEni } = request;
        const holder = { sandbox, pod, ...(ownEni === true && { ownEni }) };
        const queued = enis[slot]?.queued ?? 0;
        tell(slot, { type: 'assign', requestId, ...holder, alsoCooling, alsoReserved, atMs });
        placed.set(requestId, { slot, request, granted: false, waits: (enis[slot]?.queued ?? 0) > queued });
        const stray = plan.astray.get(requestId);
        if (stray !== undefined) enqueue.emit({ type: 'astray', pod, why: stray });
      };
      for (const move of plan.moves) {
        if (move.type === 'assign') send(move.slot, move.requestId, move.alsoCooling, move.alsoReserved);
        if (move.type === 'grow') tell(move.slot, { type: 'grow', count: move.count, atMs });
        if (move.type === 'refuse') {
          const request = line.get(move.requestId);
          if (request === undefined || !line.delete(move.requestId)) continue;
          enqueue.sendTo(leasesIn(system), refusal(request, move.failure));
        }
        if (move.type === 'open') {
          const vSwitch = context.vSwitches.find((one) => one.vSwitchId === move.vSwitchId);
          if (vSwitch === undefined) continue;
          const slot = nextSlot;
          nextSlot += 1;
          const input = newEni(context, slot, vSwitch, move.ipv4Count);
          enqueue.spawnChild('eni', { id: eniId(slot), input });
          enis[slot] = summaryOf(contextOf(input));
          usedSinceMs[slot] = atMs;
          for (const requestId of move.requestIds) send(slot, requestId, false);
        }
      }
      const rescues = sooner(strandedOf(placed), Object.values(enis), policyOf(context), atMs, [...line.values()]);
      for (const { requestId, from, to } of rescues) {
        const request = placed.get(requestId)?.request;
        if (request === undefined) continue;
        enqueue.sendTo(eniId(from), { type: 'cancel', requestId, atMs });
        line.set(requestId, request);
        send(to, requestId, false);
      }
      enqueue.cancel('planSoon');
      arm(soonest(plan.againAtMs, nextAgeMs({ ...context, usedSinceMs })));
      // The next one that is opened shall know better where.
      if (nextSlot > context.nextSlot && context.vSwitches.length > 1 && isStale(context))
        enqueue.raise({ type: 'surveyDue', atMs });
      enqueue.assign({
        usedSinceMs,
        placed,
        enis,
        nextSlot,
        waiting: [...line.values()],
        reasons: plan.reasons,
        growBy: 0,
      });
    }),
    /** Tells the idle pool, if what it looks at has changed. */
    tellPool: enqueueActions(({ context, enqueue, system }) => {
      const { enis, waiting, granted, freed, nowMs } = context;
      const known = { granted, freed, returning: context.returning.size };
      const view = { enis: Object.values(enis), waiting: waiting.length, young: youngOf(context), ...known };
      const totals = totalsOf(view, policyOf(context), nowMs);
      const idlePool = idlePoolIn(system);
      if (idlePool === undefined || sameTotals(totals, context.totals)) return;
      enqueue.assign({ totals });
      enqueue.sendTo(idlePool, { type: 'poolChanged', totals, atMs: nowMs });
    }),
    refuse: enqueueActions(({ enqueue, system }, params: { request: { sandbox: SandboxKey }; failure: Failure }) => {
      enqueue.sendTo(leasesIn(system), refusal(params.request, params.failure));
    }),
    /** What was sent to an ENI that cannot serve it any more goes elsewhere, or is refused when that would not help. */
    takeBack: enqueueActions(({ context, enqueue, system }, params: { slot: number; failure: Failure | null }) => {
      const { failure } = params;
      const unserved = unservedOn(context.placed, params.slot);
      const placed = new Map(context.placed);
      for (const { requestId } of unserved) placed.delete(requestId);
      enqueue.assign({ placed });
      if (failure !== null && isToldAtOnce(failure.code))
        for (const request of unserved) enqueue.sendTo(leasesIn(system), refusal(request, failure));
      else enqueue.assign({ waiting: backInLine(context.waiting, unserved) });
    }),
    /** What the report of an ENI, or its end, teaches about growing. */
    learn: enqueueActions(({ context, enqueue, system }, params: { after: EniSummary }) => {
      const lesson = lessonOf(context, context.enis[params.after.slot], params.after);
      if (lesson.holds === context.holds) return;
      enqueue.assign({ holds: lesson.holds });
      const { quotaUntilMs, short } = context.holds;
      if (lesson.holds.quotaUntilMs !== quotaUntilMs || lesson.holds.short !== short) {
        // Nobody is refused before it is known what is left.
        if (context.look === 'none') enqueue.assign({ look: 'due' });
        enqueue.raise({ type: 'surveyDue', atMs: context.nowMs });
      }
      const idlePool = idlePoolIn(system);
      if (lesson.failedOpening && idlePool !== undefined)
        enqueue.sendTo(idlePool, { type: 'growFailed', atMs: context.nowMs });
    }),
    survey: enqueueActions(({ context, enqueue }) => {
      if (context.look === 'underWay') return;
      const known = Object.values(context.enis).flatMap((eni) => eni.eniId ?? []);
      const vSwitchIds = context.vSwitches.map((vSwitch) => vSwitch.vSwitchId);
      enqueue.spawnChild('survey', { id: SURVEY, input: { known, vSwitchIds } });
      enqueue.assign({ look: 'underWay' });
    }),
    /** While others hold places here, a look now and then tells when they are given back. */
    armSurvey: enqueueActions(({ context, enqueue }) => {
      enqueue.cancel('surveyDue');
      const atMs = context.nowMs + context.holdDownMs;
      if (context.foreignEnis > 0)
        enqueue.raise({ type: 'surveyDue', atMs }, { id: 'surveyDue', delay: Math.max(1, context.holdDownMs) });
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
    placed: new Map(),
    reasons: new Map(),
    growBy: 0,
    holds: noHolds,
    usedSinceMs: {},
    arrivals: 0,
    returning: new Map(),
    granted: 0,
    freed: 0,
    lookedAtMs: input.nowMs,
    look: 'none',
    totals: null,
    againAtMs: null,
  }),
  entry: ['adopt', 'tellPool', 'armSurvey'],
  on: {
    allocate: [
      {
        guard: 'lineIsFull',
        actions: {
          type: 'refuse',
          params: ({ context, event }) => ({
            request: event,
            failure: { code: 'noCapacity', detail: `${unanswered(context)} requests wait already` },
          }),
        },
      },
      // The ENI that gives it reports, and the pool hears of both then; what is idle may be kept for somebody else.
      {
        guard: 'anyIdle',
        actions: [
          'lineUp',
          'plan',
          enqueueActions(({ context, enqueue }) => {
            if (context.waiting.length > 0) enqueue('tellPool');
          }),
        ],
      },
      { actions: ['lineUp', 'planSoon'] },
    ],
    giveUp: {
      actions: [
        { type: 'refuse', params: ({ context, event }) => ({ request: event, failure: whyNothing(context, event) }) },
        enqueueActions(({ context, event, enqueue }) => {
          const placed = context.placed.get(event.requestId);
          const request = placed?.request ?? context.waiting.find(({ requestId }) => requestId === event.requestId);
          const own = placed === undefined && request?.ownEni === true;
          if (event.returns === true && request !== undefined && request.ownEni !== true) {
            enqueue.assign({ returning: withReturning(context, request.pod) });
            enqueue.cancel('returned');
            const atMs = context.nowMs + context.returnMs;
            enqueue.raise({ type: 'reconsider', atMs }, { id: 'returned', delay: Math.max(1, context.returnMs) });
          }
          enqueue.assign({
            placed: mapWithout(context.placed, event.requestId),
            waiting: context.waiting.filter((request) => request.requestId !== event.requestId),
          });
          // The ENI that was kept for it is everybody's again.
          if (own) enqueue('plan');
          const eni = eniAt(context.enis, placed?.slot);
          // A grant that nobody took, since it crossed this or its lease died of it, is taken back.
          const { requestId, atMs, returns } = event;
          if (eni === null) return;
          if (placed?.granted === true) enqueue.sendTo(eni, { type: 'withdraw', requestId, atMs });
          else enqueue.sendTo(eni, { type: 'cancel', requestId, ...(returns && { returns }), atMs });
        }),
        'tellPool',
      ],
    },
    bind: { actions: 'passOn' },
    withdraw: { actions: 'passOn' },
    freed: {
      actions: [
        enqueueActions(
          ({ context, event: { eniId: id, ipv4, coolUntilMs, reservedUntilMs = null, atMs }, enqueue }) => {
            const summary = Object.values(context.enis).find((one) => one.eniId === id);
            const eni = eniAt(context.enis, summary?.slot);
            if (eni !== null) enqueue.sendTo(eni, { type: 'freed', ipv4, coolUntilMs, reservedUntilMs, atMs });
            enqueue.assign({ freed: context.freed + 1 });
            // An ENI that is told reports, and the pool hears of both then.
            if (eni === null) enqueue('tellPool');
          },
        ),
      ],
    },
    unreserve: {
      actions: [
        enqueueActions(({ context, event: { eniId: id, ipv4, untilMs, atMs }, enqueue }) => {
          const summary = Object.values(context.enis).find((one) => one.eniId === id);
          const eni = eniAt(context.enis, summary?.slot);
          if (eni !== null) enqueue.sendTo(eni, { type: 'unreserve', ipv4, untilMs, atMs });
        }),
      ],
    },
    grow: {
      guard: { type: 'upToDate', params: ({ event }) => ({ basis: event.basis }) },
      actions: [assign({ growBy: ({ event }) => event.count }), 'plan', 'tellPool'],
    },
    shed: {
      guard: { type: 'upToDate', params: ({ event }) => ({ basis: event.basis }) },
      actions: [
        enqueueActions(({ context, event: { count, callOff, keep, atMs }, enqueue }) => {
          const enis = { ...context.enis };
          const over = overQuota(Object.values(enis), placesOf(context));
          const order = { count, callOff, keep, young: youngOf(context), over };
          for (const move of shedPlan(Object.values(enis), order)) {
            const eni = enis[move.slot];
            if (eni === undefined) continue;
            const told = move.drain
              ? { type: 'drain' as const, atMs }
              : { type: 'shed' as const, count: move.count, atMs };
            enis[move.slot] = expecting(eni, told);
            enqueue.sendTo(eniId(move.slot), told);
          }
          enqueue.assign({ enis });
        }),
        // Whoever gives something up reports, and the pool hears of it then.
      ],
    },
    ipResult: {
      actions: [
        enqueueActions(({ context, event, enqueue, system }) => {
          const placed = context.placed.get(event.requestId);
          // A result nobody waits for: the caller gave up, or was sent elsewhere, and the ENI was told.
          if (placed?.slot !== event.slot) return;
          const { request } = placed;
          const { requestId, sandbox } = request;
          if (event.ok) {
            enqueue.sendTo(leasesIn(system), {
              type: 'granted',
              requestId,
              sandbox,
              grant: event.grant,
              atMs: context.nowMs,
            });
            enqueue.assign({
              placed: new Map(context.placed).set(requestId, { ...placed, granted: true }),
              granted: context.granted + 1,
              ...(context.holds.lastFailure !== null && { holds: { ...context.holds, lastFailure: null } }),
            });
          } else if (isToldAtOnce(event.failure.code)) {
            enqueue.sendTo(leasesIn(system), refusal(request, event.failure));
            enqueue.assign({ placed: mapWithout(context.placed, requestId) });
          } else {
            enqueue.assign({
              placed: mapWithout(context.placed, requestId),
              waiting: backInLine(context.waiting, [request]),
            });
          }
        }),
        'plan',
        'tellPool',
      ],
    },
    eniChanged: {
      guard: { type: 'news', params: ({ event }) => ({ summary: event.summary }) },
      actions: [
        { type: 'learn', params: ({ event }) => ({ after: event.summary }) },
        assign(({ context, event: { summary } }) => {
          const { slot, phase } = summary;
          const inUse = context.enis[slot]?.phase === 'opening' && phase === 'ready';
          const ages = inUse && context.usedSinceMs[slot] !== undefined ? { [slot]: context.nowMs } : {};
          return {
            enis: { ...context.enis, [slot]: summary },
            usedSinceMs: { ...context.usedSinceMs, ...ages },
          };
        }),
        'plan',
        'tellPool',
      ],
    },
    eniGone: {
      actions: [
        { type: 'learn', params: ({ event }) => ({ after: event.summary }) },
        {
          type: 'takeBack',
          params: ({ event: { summary } }) => ({ slot: summary.slot, failure: summary.lastFailure }),
        },
        assign(({ context, event }) => {
          const { slot } = event.summary;
          const { [slot]: _, ...enis } = context.enis;
          const { [slot]: __, ...usedSinceMs } = context.usedSinceMs;
          return { enis, usedSinceMs, holds: afterGone(context.holds, slot) };
        }),
        'plan',
        'tellPool',
      ],
    },
    // Whether another one had them, as when somebody took them from it a moment ago, only they know.
    moved: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        for (const { slot } of Object.values(context.enis)) {
          const eni = slot === event.slot ? null : eniAt(context.enis, slot);
          if (eni !== null) enqueue.sendTo(eni, event);
        }
      }),
    },
    // Whose MAC it is, only they know.
    unplugged: {
      actions: enqueueActions(({ context, event, enqueue }) => {
        for (const { slot } of Object.values(context.enis)) {
          const eni = eniAt(context.enis, slot);
          if (eni !== null) enqueue.sendTo(eni, event);
        }
      }),
    },
    // Its actor reports as it begins, and the pool hears of it then.
    eniFound: { actions: 'takeOver' },
    settings: {
      actions: [
        enqueueActions(({ context, event: { settings, atMs }, enqueue }) => {
          const { times } = settings;
          for (const { slot } of Object.values(context.enis))
            enqueue.sendTo(eniId(slot), { type: 'settings', times, atMs });
          enqueue.assign({ ...settings, nowMs: Math.max(context.nowMs, atMs) });
          enqueue.raise({ type: 'surveyDue', atMs });
        }),
        'plan',
        'tellPool',
      ],
    },
    reconsider: { actions: [assign({ returning: ({ context }) => stillReturning(context) }), 'plan', 'tellPool'] },
    surveyDue: { actions: ['survey'] },
    'xstate.done.actor.survey': {
      actions: [
        enqueueActions(({ context, event, enqueue }) => {
          const { atMs, value } = (event as DoneActorEvent<At<Survey>>).output;
          const known = Object.values(context.enis).map((eni) => eni.eniId);
          const vSwitches = context.vSwitches.map((one) => ({ ...one, free: value.free[one.vSwitchId] ?? null }));
          const foreignEnis = value.strangers.filter((id) => !known.includes(id)).length;
          enqueue.stopChild(SURVEY);
          enqueue.assign({
            vSwitches,
            foreignEnis,
            holds: afterLook(context.holds, value.free),
            look: 'none',
            lookedAtMs: atMs,
            nowMs: Math.max(context.nowMs, atMs),
          });
        }),
        'armSurvey',
        'plan',
        'tellPool',
      ],
    },
    'xstate.error.actor.survey': {
      actions: [
        enqueueActions(({ context, enqueue }) => {
          enqueue.stopChild(SURVEY);
          enqueue.assign({ look: 'none' });
          const atMs = context.nowMs + context.quotaHoldMs;
          enqueue.cancel('surveyDue');
          enqueue.raise({ type: 'surveyDue', atMs }, { id: 'surveyDue', delay: Math.max(1, context.quotaHoldMs) });
        }),
        'plan',
        'tellPool',
      ],
    },
    'xstate.done.actor.*': {
      actions: enqueueActions(({ event, enqueue }) => enqueue.stopChild((event as DoneActorEvent).actorId)),
    },
    // Its addresses and its slot stay taken: the cloud still has the ENI. Its requests go elsewhere, and another actor takes it over.
    'xstate.error.actor.*': {
      actions: [
        {
          type: 'takeBack',
          params: ({ event }) => ({ slot: slotOf((event as ErrorActorEvent).actorId), failure: null }),
        },
        enqueueActions(({ context, event, enqueue, self }) => {
          const { actorId, error } = event as ErrorActorEvent;
          const summary = context.enis[slotOf(actorId)];
          const last = self.getSnapshot().children[actorId]?.getSnapshot() as { context?: EniContext } | undefined;
          enqueue.stopChild(actorId);
          if (summary === undefined) return;
          const { slot, eniId: id, vSwitchId, heard } = summary;
          const dead = last?.context ?? null;
          const plan = context.vSwitches.find((one) => one.vSwitchId === vSwitchId) ?? context.vSwitches[0];
          const subnet = dead?.subnet ?? plan?.subnet;
          if (subnet === undefined) return;
          const promised = [...context.placed].flatMap(([requestId, { slot: at, granted }]) =>
            at === slot && granted ? [requestId] : [],
          );
          const revived = { dead, eniId: id, promised, heard, failure: failureOf(error) };
          const input = revivedEni(context, summary, revived, { vSwitchId, subnet });
          enqueue.spawnChild('eni', { id: actorId, input });
          enqueue.assign({ enis: { ...context.enis, [slot]: summaryOf(contextOf(input)) } });
        }),
        'plan',
        'tellPool',
      ],
    },
  },
});

export type EniFactoryRef = ActorRefFrom<typeof eniFactoryMachine>;

const refusal = ({ sandbox }: { readonly sandbox: SandboxKey }, failure: Failure) =>
  ({ type: 'refused', sandbox, failure }) as const;
