/** What the factory knows, and the pure parts of what it does: its line, and what it learns from failures. */
import type { Holder } from '../src/core/address-book.ts';
import type { EniSummary } from '../src/core/eni-summary.ts';
import type { Failure } from '../src/core/errors.ts';
import type { FactorySettings, VSwitchPlan } from '../src/core/factory-settings.ts';
import { afterFailedCall, afterFailedOpening, afterOpened, type Holds } from '../src/core/holds.ts';
import { managedMax } from '../src/core/managed-enis.ts';
import type { PlacementPolicy } from '../src/core/placement.ts';
import type { PoolTotals } from '../src/core/pool.ts';
import type { Stranded } from '../src/core/sooner.ts';
import type { AdoptedEni } from './adopted-eni.ts';
import type { EniInput, EniPlan, Revived } from './eni-context.ts';

export type Request = Holder & {
  readonly requestId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Its turn: requests of one moment are told apart by it too. */
  readonly nth: number;
};

export type Placed = {
  readonly slot: number;
  readonly request: Request;
  /** Promised an address: it is with its lease now, and must not go into the line again. */
  readonly granted: boolean;
  /** The ENI had nothing for it: it is served by a call, while otherwise its result is on its way. */
  readonly waits: boolean;
};

/** What a look at the instance and its vSwitches found. */
export type Survey = {
  /** ENIs that take places of the instance and were not known to be managed when the look began. */
  readonly strangers: readonly string[];
  readonly free: Readonly<Record<string, number>>;
};

export type EniFactoryInput = FactorySettings & {
  readonly nowMs: number;
  /** Places the type has for ENIs of whomever. */
  readonly eniPlaces: number;
  /** Places taken by ENIs that are not ours to use. */
  readonly foreignEnis: number;
  /** Addresses an ENI may have; in dual stack pairs. */
  readonly ipv4PerEni: number;
  readonly dual: boolean;
  /** Drawn once, in [0, 1): what chance decides comes from it. */
  readonly seed: number;
  readonly mtu: number;
  readonly token: string;
  readonly adopted: readonly AdoptedEni[];
  /** They are from memory: nothing is changed in the cloud, and only what is free for sure is given out. */
  readonly unconfirmed?: boolean;
  /** Nothing is asked of the cloud. */
  readonly readOnly?: boolean;
};

export type EniFactoryContext = EniFactoryInput & {
  readonly nextSlot: number;
  /** What each ENI last said, with what it has been told since. */
  readonly enis: Readonly<Record<number, EniSummary>>;
  /** The line, oldest first. */
  readonly waiting: readonly Request[];
  /** Requests sent to an ENI, until their lease is bound. */
  readonly placed: ReadonlyMap<string, Placed>;
  /** Why each of the line waits. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Addresses the pool wants, until the next plan. */
  readonly growBy: number;
  readonly holds: Holds;
  /** Slot -> since when an ENI that we opened is in use. Those of an earlier life are old. */
  readonly usedSinceMs: Readonly<Record<number, number>>;
  /** Requests that ever came; addresses ever given out and freed. */
  readonly arrivals: number;
  /** Until when each pod is waited for that got nothing in time. */
  readonly returning: ReadonlyMap<string, number>;
  readonly granted: number;
  readonly freed: number;
  /** When foreign ENIs and the vSwitches were looked at last; and whether a look is about to be taken, or is. */
  readonly lookedAtMs: number;
  readonly look: 'none' | 'due' | 'underWay';
  /** What the idle pool was told last. */
  readonly totals: PoolTotals | null;
  /** When the plan is made anew by itself; null: never, as things are. */
  readonly againAtMs: number | null;
};

/** The line with these in it again, each at the place its age gives it. */
export function backInLine(waiting: readonly Request[], requests: readonly Request[]): readonly Request[] {
  return [...waiting, ...requests].sort((a, b) => a.nth - b.nth);
}

/** Requests without an answer, wherever they wait. All of them count toward the bound: an ENI that ends sends its own back. */
export function unanswered({ waiting, placed }: Pick<EniFactoryContext, 'waiting' | 'placed'>): number {
  let count = waiting.length;
  for (const { granted } of placed.values()) if (!granted) count += 1;
  return count;
}

/** Nothing is to be placed: no request without an address on its way to it, nothing that the pool wants. */
export function nothingWaits({ waiting, growBy, placed }: EniFactoryContext): boolean {
  if (waiting.length > 0 || growBy > 0) return false;
  for (const { waits, granted } of placed.values()) if (waits && !granted) return false;
  return true;
}

export const soonest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);

export function unservedOn(placed: ReadonlyMap<string, Placed>, slot: number): readonly Request[] {
  return [...placed.values()].filter((one) => one.slot === slot && !one.granted).map((one) => one.request);
}

/** Requests that wait at an ENI, oldest first. */
export function strandedOf(placed: ReadonlyMap<string, Placed>): readonly (Stranded & Request)[] {
  const waiting: Placed[] = [];
  for (const one of placed.values()) if (one.waits && !one.granted) waiting.push(one);
  return waiting.map(({ slot, request }) => ({ ...request, slot })).sort((a, b) => a.nth - b.nth);
}

export const eniId = (slot: number): string => `eni:${slot}`;
export const slotOf = (actorId: string): number => Number(actorId.slice(eniId(0).length - 1));

/** The name of the actor in this slot; null when there is none, since a message to it would end the factory. */
export function eniAt(enis: Readonly<Record<number, EniSummary>>, slot: number | undefined): string | null {
  if (slot === undefined || enis[slot] === undefined) return null;
  return eniId(slot);
}

/** ENIs that the type allows us. Those of others are not taken off: a survey may show one that is leaving, or is late, and ours would serve nobody for it. */
export const placesOf = ({ eniPlaces, unconfirmed }: EniFactoryContext): number =>
  unconfirmed === true ? Number.POSITIVE_INFINITY : eniPlaces;

export function policyOf(context: EniFactoryContext): PlacementPolicy {
  const {
    reservationsYield = true,
    unconfirmed = false,
    readOnly = false,
    vSwitches,
    ipv4PerEni,
    eniPolicy,
    vSwitchPolicy,
    seed,
    nextSlot,
    foreignEnis,
    holds,
  } = context;
  const known = vSwitches.flatMap(({ vSwitchId, free }) => (free === null ? [] : [[vSwitchId, free] as const]));
  return {
    maxEnis: managedMax(context),
    foreignEnis,
    places: placesOf(context),
    looking: context.look !== 'none',
    ipv4PerEni,
    eniPolicy,
    reservationsYield,
    ...(unconfirmed && { unconfirmed }),
    ...(readOnly && { readOnly }),
    vSwitchIds: vSwitches.map((vSwitch) => vSwitch.vSwitchId),
    vSwitch: { policy: vSwitchPolicy, seed, nth: nextSlot, free: isStale(context) ? {} : Object.fromEntries(known) },
    holds,
  };
}

/** What was seen is old enough to be otherwise by now. Source: Terway keeps vSwitches for 10 minutes, as long as a hold-down. */
export function isStale({
  nowMs,
  lookedAtMs,
  holdDownMs,
}: Pick<EniFactoryContext, 'nowMs' | 'lookedAtMs' | 'holdDownMs'>) {
  return nowMs - lookedAtMs > holdDownMs;
}

type Ages = Pick<EniFactoryContext, 'usedSinceMs' | 'minEniAgeMs' | 'nowMs'>;

/** Slots whose ENI is too new to go. */
export function youngOf({ usedSinceMs, minEniAgeMs, nowMs }: Ages): ReadonlySet<number> {
  const all = Object.entries(usedSinceMs).filter(([, sinceMs]) => sinceMs + minEniAgeMs > nowMs);
  return new Set(all.map(([slot]) => Number(slot)));
}

type Returns = Pick<EniFactoryContext, 'returning' | 'nowMs' | 'returnMs'>;

/** Of those who got nothing in time, whoever is expected yet. */
export function stillReturning({ returning, nowMs }: Pick<Returns, 'returning' | 'nowMs'>): Returns['returning'] {
  const expected = [...returning].filter(([, untilMs]) => untilMs > nowMs);
  return expected.length === returning.size ? returning : new Map(expected);
}

/** With this one among them. */
export function withReturning(context: Returns, pod: string): Returns['returning'] {
  const others = new Map(stillReturning(context));
  others.delete(pod);
  return others.set(pod, context.nowMs + context.returnMs);
}

/** When the next of them is old enough; null when none is young. */
export function nextAgeMs({ usedSinceMs, minEniAgeMs, nowMs }: Ages): number | null {
  const ends = Object.values(usedSinceMs)
    .map((sinceMs) => sinceMs + minEniAgeMs)
    .filter((endMs) => endMs > nowMs);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** The cause to name when a request runs out of time. */
export function whyNothing(
  { placed, enis, reasons, holds }: Pick<EniFactoryContext, 'placed' | 'enis' | 'reasons' | 'holds'>,
  { requestId }: { readonly requestId: string },
): Failure {
  const slot = placed.get(requestId)?.slot;
  const eni = slot === undefined ? undefined : enis[slot];
  if (eni !== undefined) {
    const detail = `addresses were under way on ENI ${eni.eniId ?? `of slot ${slot}, not made yet`}`;
    // While an ENI is made anew the cause is that of the one before.
    return eni.lastFailure ?? holds.lastFailure ?? { code: 'deadline', detail };
  }
  return { code: holds.lastFailure?.code ?? 'deadline', detail: reasons.get(requestId) ?? 'nothing was free' };
}

/**
 * What a report of an ENI teaches about growing: one that leaves, or has no device, without ever having been ready was a failed
 * opening; one that begins to back off has seen a call fail.
 */
export function lessonOf(
  context: Pick<EniFactoryContext, 'holds' | 'nowMs' | 'holdDownMs' | 'quotaHoldMs' | 'times'>,
  before: EniSummary | undefined,
  after: EniSummary,
): { readonly holds: Holds; readonly failedOpening: boolean } {
  const { holds, nowMs, holdDownMs, quotaHoldMs, times } = context;
  const nothing = { holds, failedOpening: false };
  const { phase, lastFailure: failure, vSwitchId, slot } = after;
  if (before === undefined) return nothing;
  if (before.phase === 'opening' && phase === 'ready') return { holds: afterOpened(holds), failedOpening: false };
  if (failure === null) return nothing;
  const allTimes = { ...times, holdDownMs, quotaHoldMs };
  const failed = { slot, vSwitchId, failure, asked: Math.max(before.arriving, after.arriving) };
  if (before.phase === 'opening' && (phase === 'leaving' || phase === 'faulty'))
    return { holds: afterFailedOpening(holds, failed, nowMs, allTimes), failedOpening: true };
  // An ENI that cannot be attached for want of places tries a few times: meanwhile no other one need.
  const quota = phase === 'opening' && failure.code === 'eniQuota';
  if ((phase === 'ready' || phase === 'holding' || quota) && before.lastFailure !== failure)
    return { holds: afterFailedCall(holds, failed, nowMs, allTimes), failedOpening: false };
  return nothing;
}

type Own = Pick<EniFactoryContext, 'ipv4PerEni' | 'dual' | 'mtu' | 'token' | 'times' | 'nowMs' | 'unconfirmed'>;

export function planOf(context: Own, slot: number, { vSwitchId, subnet }: VSwitchPlan): EniPlan {
  const { ipv4PerEni, dual, mtu, token, times } = context;
  // One that was made before dual stack was asked for may be where there is no IPv6.
  const limit = dual && subnet.ipv6Cidr === null ? 0 : ipv4PerEni;
  return { slot, limit, dual, vSwitchId, subnet, mtu, ours: true, token, times };
}

export function adoptedEni(
  context: Own,
  slot: number,
  { eni, intent = null, ours, subnet, routeTable, ...known }: AdoptedEni,
): EniInput {
  const create = intent?.kind === 'create' ? intent : null;
  const vSwitchId = eni?.vSwitchId ?? create?.vSwitchId ?? '';
  const own = { ...planOf(context, slot, { vSwitchId, subnet }), ours };
  // Nothing is added to a book from memory.
  const plan = context.unconfirmed === true ? { ...own, limit: eni?.ipv4.length ?? 0 } : own;
  const found = { ...known, existing: eni, intent, routeTable };
  return { ...plan, ...found, nowMs: context.nowMs, ipv4Count: create?.ipv4Count ?? 0 };
}

export function newEni(context: Own, slot: number, vSwitch: VSwitchPlan, ipv4Count: number): EniInput {
  const nothing = { existing: null, held: new Map(), coolUntilMs: new Map(), routeTable: null };
  return { ...planOf(context, slot, vSwitch), ...nothing, nowMs: context.nowMs, ipv4Count };
}

/** Another actor for the ENI of one that died, of which `summary` is what the factory last knew. */
export function revivedEni(context: Own, summary: EniSummary, revived: Revived, vSwitch: VSwitchPlan): EniInput {
  const plan = { ...planOf(context, summary.slot, vSwitch), ours: summary.ours, limit: summary.limit };
  const nothing = { existing: null, held: new Map(), coolUntilMs: new Map(), routeTable: null };
  return { ...plan, ...nothing, nowMs: context.nowMs, ipv4Count: 0, revived };
}
