/**
 * Whether the actors of one node agree with each other once a step is over: what one has told another is what the other acts on.
 *
 * The production code sends messages and remembers; this looks at both ends and compares. It sees a report that was not sent, a request
 * that no one has any more, a promise that only one side remembers, a plan that should have been made again: long before any of them
 * costs an address or an answer. Invariants 1, 4, 6 and 7, as far as the actors' own memories can tell.
 */

import type { AnyActorRef, AnyMachineSnapshot, SnapshotFrom } from 'xstate';
import type { eniMachine } from '../../statecharts/eni.ts';
import { summaryOf } from '../../statecharts/eni-context.ts';
import type { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import { placesOf, policyOf, slotOf, strandedOf, youngOf } from '../../statecharts/eni-factory-context.ts';
import { isOwn, offeredAll, offeredFrom } from '../../statecharts/eni-owned.ts';
import type { idlePoolMachine } from '../../statecharts/idle-pool.ts';
import type { IdlePoolContext } from '../../statecharts/idle-pool-context.ts';
import { nextPeriodMs } from '../../statecharts/idle-pool-context.ts';
import type { leaseMachine } from '../../statecharts/lease.ts';
import { leaseId, type leasesMachine } from '../../statecharts/leases.ts';
import { type Entry, nextRestMs, offered } from '../core/address-book.ts';
import { givesNow } from '../core/eni-summary.ts';
import { surplusSlots } from '../core/over-quota.ts';
import { place } from '../core/placement.ts';
import { sameTotals, totalsOf } from '../core/pool.ts';
import { podKey, sandboxKey } from '../core/sandbox.ts';
import { checkTurns, isUnused } from './own-turns.ts';
import type { Report } from './violation.ts';

type Eni = SnapshotFrom<typeof eniMachine>;
type Factory = SnapshotFrom<typeof eniFactoryMachine>;
type Lease = SnapshotFrom<typeof leaseMachine>;

export type Supervisors = {
  readonly factory: Factory;
  readonly pool: SnapshotFrom<typeof idlePoolMachine>;
  readonly leases: SnapshotFrom<typeof leasesMachine>;
  /** Of the pool, and of the factory. */
  readonly timers: Timers;
  readonly factoryTimers: Timers;
};

/** What holds also while another actor takes the place of one that has died. */
export function checkPlans(node: string, { factory, pool }: Supervisors, nowMs: number, report: Report): number {
  const fault: Fault = (invariant, what) => report(invariant, `${node}: ${what}`);
  const enis = childrenOf<Eni>(factory, 'eni:');
  checkReports(factory, enis, fault);
  if (factory.context.waiting.some((request) => request.sinceMs >= nowMs)) return 1;
  checkPool({ factory, pool }, enis, fault);
  checkPlan(factory, nowMs, fault);
  return 3;
}

/** `callers`: those who wait for an ADD. Returns how many things were compared. */
export function checkAgreement(
  node: string,
  { factory, pool, leases, timers, factoryTimers }: Supervisors,
  callers: number,
  nowMs: number,
  report: Report,
): number {
  const enis = childrenOf<Eni>(factory, 'eni:');
  const living = childrenOf<Lease>(leases, 'lease:');
  const fault = (invariant: string, what: string): void => report(invariant, `${node}: ${what}`);
  checkReports(factory, enis, fault);
  checkEnds(factory, fault);
  checkSurvey(factory, factoryTimers, nowMs, fault);
  checkHaste(factory, fault);
  checkTurns(factory, fault);
  checkRestTimers(factory, fault);
  checkServed(enis, fault);
  // What came this very moment is placed, and told of, before the moment is over.
  const settled = factory.context.waiting.every((request) => request.sinceMs < nowMs);
  if (settled) {
    checkPool({ factory, pool }, enis, fault);
    checkPlan(factory, nowMs, fault);
  }
  checkRequests(factory, enis, living, fault);
  checkAskers(leases, living, fault);
  checkDeadlines(leases, fault);
  const asking = [...living.values()].reduce((sum, { context }) => sum + context.askers.length, 0);
  if (asking !== callers) fault('4', `${asking} callers are known and ${callers} wait`);
  checkPoolTimers(pool, timers, fault);
  return 4 + 3 * enis.size + 3 * living.size;
}

type Fault = (invariant: string, what: string) => void;

function childrenOf<S extends AnyMachineSnapshot>(
  { children }: AnyMachineSnapshot,
  prefix: string,
): ReadonlyMap<string, S> {
  const all = new Map<string, S>();
  for (const id in children) {
    if (!id.startsWith(prefix)) continue;
    const snapshot = (children[id] as AnyActorRef | undefined)?.getSnapshot() as S | undefined;
    if (snapshot?.status === 'active') all.set(id, snapshot);
  }
  return all;
}

const agreed = new WeakMap<object, object>();

/** The factory has each ENI as the ENI has itself. */
function checkReports(factory: Factory, enis: ReadonlyMap<string, Eni>, fault: Fault): void {
  const { context } = factory;
  for (const [id, { context: own }] of enis) {
    const known = context.enis[slotOf(id)];
    if (known === undefined) fault('6', `${id} lives and the factory has forgotten it`);
    // Neither is ever changed: what agreed once agrees for ever.
    else if (agreed.get(own) === known) continue;
    const told = summaryOf(own);
    if (JSON.stringify(known) === JSON.stringify(told)) agreed.set(own, known as object);
    else if (known !== undefined) fault('7', `${id} is ${differing(told, known)} in the factory's eyes`);
  }
  for (const slot of Object.keys(context.enis))
    if (!enis.has(`eni:${slot}`)) fault('6', `the factory reckons with eni:${slot}, which is no more`);
}

function differing(own: object, known: object): string {
  const other = known as Record<string, unknown>;
  return Object.entries(own)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(other[key]))
    .map(([key, value]) => `${key} ${JSON.stringify(other[key])} instead of ${JSON.stringify(value)}`)
    .join(', ');
}

const unwaited = new WeakSet<object>();

/** Who has ended is let go of, and an ENI keeps nobody waiting for what it has. */
function checkEnds(factory: Factory, fault: Fault): void {
  for (const [id, ref] of Object.entries(factory.children)) {
    const { status, context } = (ref as AnyActorRef).getSnapshot() as Eni;
    if (status !== 'active') fault('alive', `the factory keeps ${id}, which is ${status}`);
    if (!id.startsWith('eni:') || unwaited.has(context)) continue;
    unwaited.add(context);
    const { device, phase, book, queue, growBy } = context;
    if (phase !== 'opening' && phase !== 'ready' && queue.length + growBy > 0)
      fault('4', `${queue.length} wait at ${id}, which is ${phase}, for addresses and ${growBy} more are wanted of it`);
    if (queue.length === 0) continue;
    if (device === null || phase === 'leaving') continue;
    const serves = queue.find((request) =>
      request.ownEni === true
        ? offeredAll(context, request) !== null
        : !isOwn(context) && offeredFrom(context, request, false) !== null,
    );
    if (serves !== undefined)
      fault('4', `${serves.pod} waits at ${id}, which has ${book.length} addresses and could serve it`);
  }
}

const armed = new WeakSet<object>();
type Scheduled = Readonly<Record<string, { readonly event: { readonly atMs?: number } } | undefined>>;
/** For when an event that an actor sends itself is scheduled, by its id. */
export type Timers = (id: string) => number | undefined;

export function timersIn(ref: AnyActorRef): Timers {
  // `getSnapshot` of a system copies all of them.
  const { _scheduledEvents: timers } = (ref.system as unknown as { _snapshot: { _scheduledEvents: Scheduled } })
    ._snapshot;
  return (id) => timers[`${ref.sessionId}.${id}`]?.event.atMs;
}

/** Whatever rests on an ENI has a timer that ends its rest. */
function checkRestTimers(factory: Factory, fault: Fault): void {
  for (const [id, child] of Object.entries(factory.children)) {
    const ref = child as AnyActorRef;
    const snapshot = ref.getSnapshot() as Eni;
    if (!id.startsWith('eni:') || armed.has(snapshot.context)) continue;
    if (!snapshot.matches('inUse') && !snapshot.matches({ settling: 'backingOff' })) continue;
    const endMs = nextRestMs(snapshot.context.book);
    const dueMs = timersIn(ref)('rest');
    if (endMs === null || (dueMs !== undefined && dueMs <= endMs)) armed.add(snapshot.context);
    else fault('3', `an address of ${id} rests until ${endMs}, and its timer ${dueMs ?? 'is not set'}`);
  }
}

const unhurried = new WeakSet<object>();

/** Whoever has found what it looked for, or has given up, waits for no deadline. */
function checkDeadlines({ children }: Supervisors['leases'], fault: Fault): void {
  for (const [id, child] of Object.entries(children)) {
    const ref = child as AnyActorRef;
    const snapshot = ref.getSnapshot() as Lease;
    if (unhurried.has(snapshot.context) || snapshot.status !== 'active' || snapshot.matches('opening')) continue;
    if (timersIn(ref)('deadline') === undefined) unhurried.add(snapshot.context);
    else fault('4', `${id} is ${JSON.stringify(snapshot.value)}, and its deadline is yet to come`);
  }
}

const served = new WeakSet<object>();

/** Whoever waits at an ENI has what comes free there at once. */
function checkServed(enis: ReadonlyMap<string, Eni>, fault: Fault): void {
  for (const [id, eni] of enis) {
    const { context } = eni;
    const { queue, book, device, phase } = context;
    if (queue.length === 0 || device === null || phase === 'leaving' || served.has(context)) continue;
    served.add(context);
    const one = queue.find((request) =>
      request.ownEni === true
        ? offeredAll(context, request) !== null
        : !isOwn(context) && offered(book, request, false) !== null,
    );
    if (one !== undefined) fault('4', `${one.pod} waits at ${id}, which has an address for it`);
  }
}

/** Calls of a look, and their second tries. */
const LOOK_MS = 120_000;

/** While others hold places, it is looked at whether they still do. */
function checkSurvey({ context, children }: Factory, timers: Timers, nowMs: number, fault: Fault): void {
  if (context.look === 'due' || (context.look === 'underWay') !== (children.survey !== undefined))
    fault('alive', `a look at the instance is ${context.look}, and ${children.survey ? 'is' : 'nobody is'} taking it`);
  const { foreignEnis, lookedAtMs, holdDownMs, quotaHoldMs } = context;
  if (foreignEnis > 0 && context.look === 'none' && timers('surveyDue') === undefined)
    fault('alive', `${foreignEnis} ENIs of others hold places, and no look at them is due`);
  const lateMs = nowMs - lookedAtMs - holdDownMs - quotaHoldMs - LOOK_MS;
  if (foreignEnis > 0 && lateMs > 0)
    fault('alive', `${foreignEnis} ENIs of others were looked at ${nowMs - lookedAtMs} ms ago`);
}

const pooled = new WeakMap<object, object>();

/** The idle pool reckons with what there is. */
function checkPool(
  { factory: { context }, pool }: Pick<Supervisors, 'factory' | 'pool'>,
  living: ReadonlyMap<string, Eni>,
  fault: Fault,
): void {
  if (pooled.get(context) === pool.context) return;
  pooled.set(context, pool.context);
  const { enis, waiting, granted, freed, nowMs } = context;
  const known = { granted, freed, returning: context.returning.size };
  const view = { enis: Object.values(enis), waiting: waiting.length, young: youngOf(context), ...known };
  const now = totalsOf(view, policyOf(context), nowMs);
  if (!sameTotals(now, context.totals)) fault('7', `the pool was told ${differing(now, context.totals ?? {})}`);
  if (context.totals !== null && !sameTotals(context.totals, pool.context.totals))
    fault('7', `the pool reckons with ${differing(context.totals, pool.context.totals ?? {})}`);
  checkStillness(pool.context, fault);
  if (context.waiting.length === 0) checkInLine(living, pool.context, fault);
}

/** No ENI waits in line to be made when whom it was for has left, and there is enough without it. */
function checkInLine(
  enis: ReadonlyMap<string, Eni>,
  { totals, bounds, readOnly }: IdlePoolContext,
  fault: Fault,
): void {
  if (totals === null || readOnly === true) return;
  const { idle, spare, returning = 0 } = totals;
  for (const [id, eni] of enis) {
    const { queue, arriving, growBy, doubtful } = eni.context;
    const many = arriving + growBy;
    const waits = eni.matches({ creating: 'inLine' }) || eni.matches({ creating: 'turnedAway' });
    if (waits && !doubtful && queue.length === 0 && idle + spare - many >= Math.max(bounds.maxIdle, returning))
      fault('7', `${id} waits to be made with ${many}, and ${idle} are idle and ${spare} under way for nobody`);
  }
}

/** Nothing is given back for want of demand before there has been none for so long. */
function checkStillness({ reclaim, reclaimRules, totals }: IdlePoolContext, fault: Fault): void {
  const { dueMs, stillSinceMs, turns } = reclaim;
  if (totals !== null && turns !== totals.granted + totals.freed)
    fault('7', `the pool counts ${turns} addresses given out and freed, not ${totals.granted + totals.freed}`);
  const waitMs = (reclaimRules.afterMs ?? Number.POSITIVE_INFINITY) + reclaimRules.intervalMs;
  if (dueMs !== null && dueMs < stillSinceMs + waitMs)
    fault('7', `idle addresses go back ${dueMs - stillSinceMs} ms after one was wanted, not ${waitMs} ms`);
}

const hasty = new WeakSet<object>();

/** An idle address is given at once, and what is opened at one moment is opened for all that came with it. */
function checkHaste({ context }: Factory, fault: Fault): void {
  if (hasty.has(context)) return;
  hasty.add(context);
  const { enis, waiting, placed, usedSinceMs, vSwitches, nowMs } = context;
  const all = Object.values(enis);
  // A pod that wants an ENI for itself may wait all the same: `checkPlan` knows for what. What it waits for is not for who came later.
  const longing = waiting.filter((request) => request.ownEni === true).map(({ sinceMs }) => sinceMs);
  // What the instance type does not allow any more goes: a pod waits for an address that stays.
  const surplus = surplusSlots(all, placesOf(context));
  const staying = all.filter((eni) => !surplus.has(eni.slot));
  const idleFor = ({ sinceMs }: { readonly sinceMs: number }) =>
    staying.find((eni) => givesNow(eni) && !(isUnused(eni) && longing.some((one) => one <= sinceMs)));
  for (const request of waiting.filter(({ ownEni }) => ownEni !== true)) {
    const idle = idleFor(request);
    if (idle !== undefined) fault('4', `${request.pod} waits while eni:${idle.slot} has an idle address`);
  }
  for (const late of strandedOf(placed)) {
    const { slot, pod, ownEni } = late;
    const idle = idleFor(late);
    const returns = enis[slot]?.reserved?.some((one) => one.pod === pod) === true;
    if (ownEni !== true && idle !== undefined && idle.slot !== slot && !returns)
      fault('4', `${pod} waits at eni:${slot} while eni:${idle.slot} has an idle address`);
  }
  const opened = all.filter(({ slot, phase }) => phase === 'opening' && usedSinceMs[slot] === nowMs);
  const scarce = vSwitches.some(({ free }) => free !== null);
  const small = opened
    .filter((eni) => eni.own !== true)
    .slice(0, -1)
    // Whoever comes at that very moment, and after its call was made, waits there all the same.
    .find((eni) => eni.arriving < eni.limit && eni.queued < eni.limit);
  if (small !== undefined && !scarce)
    fault(
      '9',
      `${opened.length} ENIs were opened at one moment, eni:${small.slot} for ${small.arriving} of ${small.limit} addresses`,
    );
}

/** What the pool is to do at an instant it has a timer for. */
function checkPoolTimers({ context }: Supervisors['pool'], timers: Timers, fault: Fault): void {
  const dues = { periodEnded: nextPeriodMs(context), reclaimDue: context.reclaim.dueMs };
  for (const [what, dueMs] of Object.entries(dues))
    if (dueMs !== null && dueMs !== timers(what))
      fault('alive', `the pool's ${what} is due at ${dueMs}, and its timer ${timers(what) ?? 'is not set'}`);
}

/** Nothing can be done for the line that is not done. */
function checkPlan({ context }: Factory, nowMs: number, fault: Fault): void {
  const { waiting } = context;
  if (waiting.length === 0) return;
  // What a timer of this very moment will do is not done yet.
  const plan = place(waiting, 0, Object.values(context.enis), policyOf(context), nowMs - 1);
  const [move] = plan.moves;
  if (move !== undefined) fault('4', `${waiting.length} wait although this could be done: ${JSON.stringify(move)}`);
  const silent = waiting.find(({ requestId }) => !context.reasons.has(requestId));
  if (silent !== undefined) fault('4', `${silent.pod} waits and nobody can say why`);
}

/** Each request is where exactly one actor has it, from its lease to the address it was promised. */
function checkRequests(
  { context: { waiting, placed } }: Factory,
  enis: ReadonlyMap<string, Eni>,
  leases: ReadonlyMap<string, Lease>,
  fault: Fault,
): void {
  const wanted = new Map<string, Lease>();
  for (const lease of leases.values()) wanted.set(lease.context.requestId, lease);
  const searches = (requestId: string): boolean => wanted.get(requestId)?.matches({ opening: 'allocating' }) === true;
  for (const { requestId, pod } of waiting)
    if (!searches(requestId)) fault('4', `${pod} is in the line and its lease does not wait`);
  const queued = new Set<string>();
  const promised = new Map<string, Entry>();
  for (const { context } of enis.values()) {
    for (const { requestId } of context.queue) queued.add(requestId);
    for (const entry of context.book) if (entry.requestId !== null) promised.set(entry.requestId, entry);
  }
  for (const [requestId, { slot, request, granted }] of placed) {
    const lease = wanted.get(requestId);
    if (granted && !lease?.matches('persisting'))
      fault('4', `${request.pod} was granted an address and its lease is ${JSON.stringify(lease?.value)}`);
    if (!granted && !searches(requestId)) fault('4', `${request.pod} waits at eni:${slot} and its lease does not`);
    if (!granted && !queued.has(requestId))
      fault('4', `${request.pod} was sent to eni:${slot}, which does not know it`);
    if (granted && !promised.has(requestId))
      fault('1', `${request.pod} was granted an address of eni:${slot}, which does not know it`);
  }
  for (const requestId of queued)
    if (placed.get(requestId)?.granted !== false)
      fault('4', `${requestId} waits at an ENI and the factory does not know it`);
  for (const [requestId, { address }] of promised)
    if (placed.get(requestId)?.granted !== true)
      fault('1', `${address.ipv4} is promised to ${requestId}, which the factory does not know`);
  const line = new Set(waiting.map((request) => request.requestId));
  for (const { value, context } of leases.values()) {
    const searching = typeof value === 'object' && 'opening' in value && value.opening !== 'waiting';
    const waits = typeof value === 'object' && 'opening' in value && value.opening === 'waiting';
    if ((searching || waits) && context.askers.length + context.releasers.length === 0)
      fault('9', `${sandboxKey(context.sandbox)} looks for an address and nobody wants one`);
    if (waits && !hasOther(leases, context))
      fault('4', `${sandboxKey(context.sandbox)} waits for a sandbox that is no more`);
    if (searching && !line.has(context.requestId) && placed.get(context.requestId)?.granted !== false)
      fault('4', `${sandboxKey(context.sandbox)} waits for an address and nobody looks for one`);
    if (value === 'persisting' && placed.get(context.requestId)?.granted !== true)
      fault('4', `${sandboxKey(context.sandbox)} is being written and the factory does not know it`);
    if (value === 'bound' || value === 'releasing') checkBound(context, enis, fault);
  }
  checkHolders(enis, leases, fault);
}

/** Another sandbox of the same pod. */
function hasOther(leases: ReadonlyMap<string, Lease>, context: Lease['context']): boolean {
  const pod = podKey(context.sandbox.pod);
  return [...leases.values()].some((one) => one.context !== context && podKey(one.context.sandbox.pod) === pod);
}

/** Whoever an ENI keeps an address for has a lease of it. */
function checkHolders(enis: ReadonlyMap<string, Eni>, leases: ReadonlyMap<string, Lease>, fault: Fault): void {
  const held = new Map<string, string>();
  for (const { context } of leases.values()) {
    const { lease, sandbox } = context;
    if (lease !== null) held.set(`${lease.grant.eni.eniId} ${lease.grant.address.ipv4}`, sandboxKey(sandbox));
  }
  // What a record may name that cannot be read is kept without a lease.
  for (const [id, eni] of enis) {
    // The book of an actor that died is brought in line once the leases were looked at.
    if (eni.matches('lost')) continue;
    for (const { state, address, sandbox, pod, requestId } of eni.context.book)
      if (
        (state === 'bound' || (state === 'invalid' && requestId === null)) &&
        held.get(`${eni.context.eniId} ${address.ipv4}`) !== sandbox &&
        pod?.startsWith('unknown:') !== true
      )
        fault(
          '1',
          `${id} keeps ${address.ipv4} for ${sandbox}, whose lease has ${held.get(`${eni.context.eniId} ${address.ipv4}`) ?? 'nothing like it'}`,
        );
  }
}

/** A lease -> the book that has it. */
const booked = new WeakMap<object, object>();

/** The book knows who holds it. ENIs that are gone, or whose actor died, cannot. */
function checkBound(context: Lease['context'], enis: ReadonlyMap<string, Eni>, fault: Fault): void {
  const { lease, sandbox } = context;
  const { address, eni } = lease?.grant ?? {};
  let home: Eni | undefined;
  for (const one of enis.values()) if (home === undefined && one.context.eniId === eni?.eniId) home = one;
  if (home === undefined || address === undefined || booked.get(context) === home.context.book) return;
  booked.set(context, home.context.book);
  const entry = home.context.book.find((one) => one.address.ipv4 === address.ipv4);
  if (entry?.sandbox !== sandboxKey(sandbox) || (entry.state !== 'bound' && entry.state !== 'invalid'))
    fault(
      '1',
      `${address.ipv4} is leased to ${sandboxKey(sandbox)}, its ENI has it as ${entry?.state} of ${entry?.sandbox}`,
    );
}

/** Whoever waits for an answer is known to the lease that will give it. */
function checkAskers(
  { context: { open } }: Supervisors['leases'],
  leases: ReadonlyMap<string, Lease>,
  fault: Fault,
): void {
  for (const [requestId, sandbox] of open) {
    const lease = leases.get(leaseId(sandbox))?.context;
    if (lease === undefined) fault('4', `${requestId} waits for ${sandbox}, which has no actor`);
    else if (!lease.askers.includes(requestId) && !lease.releasers.includes(requestId))
      fault('4', `${requestId} waits for ${sandbox}, whose lease has forgotten it`);
  }
  // Nobody waits for the release of what an earlier boot left.
  for (const [id, { context }] of leases)
    for (const requestId of [...context.askers, ...context.releasers])
      if (!open.has(requestId) && !requestId.startsWith('dead:'))
        fault('4', `${id} is to answer ${requestId}, whom nobody knows`);
}
