/**
 * Which ENI serves which request, and when to open another: pure and total, with the reason for everything that has to wait.
 *
 * Preference for each request, oldest first: an idle address; room on an attached ENI (one Assign away); room on an ENI that is
 * being opened; a new ENI; a cooling address once nothing can grow; then one that is kept for another pod, if the policy lets it go.
 * Refused only when nothing can change without somebody else's doing. Before all that a pod gets the address that is kept for it, on
 * the ENI that has it; if that ENI cannot serve it gets another one, and `astray` says why.
 *
 * A pod that asks for an ENI of its own comes before them (own-placement.ts): it needs a whole place, and the others need not. Where it waits for one that
 * nobody uses any more, later requests leave that alone.
 *
 * Both ENI policies keep this order and differ in which ENI of a kind comes first. Terway's `least_ips` opens every ENI before it
 * uses the idle addresses of one; here a pod never waits for an ENI while an address can be had sooner.
 */

import { type EniPhase, type EniSummary, freeOf, owned, roomOf, spareOf } from './eni-summary.ts';
import type { Failure } from './errors.ts';
import { type Holds, holdEndMs, holdEnds, isFull, opensAtMs } from './holds.ts';
import { timeOfDay } from './instant-text.ts';
import { surplusSlots } from './over-quota.ts';
import { isKeptFrom, type Kept, keptWhole, ownWaits, takenWhole } from './own-placement.ts';
import { allDry, nextTry, notSure } from './placement-failures.ts';
import type { EniPolicy } from './placement-settings.ts';
import { chooseVSwitch, type VSwitchChoice } from './vswitch-choice.ts';

export type Waiting = {
  readonly requestId: string;
  readonly pod: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** An ENI of its own is wanted; absent: an address of one that pods share. */
  readonly ownEni?: true;
};

export type PlacementPolicy = {
  /** Managed ENIs the node may have beside those of others. */
  readonly maxEnis: number;
  /** ENIs of others that take places of the instance. */
  readonly foreignEnis: number;
  /** What the instance type has places for beside those of others; absent: not less than there is. */
  readonly places?: number;
  /** A look at the instance and its vSwitches is under way: what it finds may help, so nobody is refused meanwhile. */
  readonly looking: boolean;
  readonly ipv4PerEni: number;
  readonly eniPolicy: EniPolicy;
  /** Addresses kept for other pods are given out before a request is refused; so it is unless this says no. */
  readonly reservationsYield?: boolean;
  /** The books are from memory: what is free for sure is given out at once, and nothing else. */
  readonly unconfirmed?: boolean;
  /** Nothing is asked of the cloud: what there is has to do. */
  readonly readOnly?: boolean;
  /** Where ENIs may be opened, as listed; `vSwitch` says how one is chosen, and `nth` the first choice of this plan. */
  readonly vSwitchIds: readonly string[];
  readonly vSwitch: VSwitchChoice;
  readonly holds: Holds;
};

export type Move =
  | {
      readonly type: 'assign';
      readonly requestId: string;
      readonly slot: number;
      readonly alsoCooling: boolean;
      readonly alsoReserved?: boolean;
    }
  | {
      readonly type: 'open';
      readonly vSwitchId: string;
      readonly ipv4Count: number;
      readonly requestIds: readonly string[];
      /** For one request alone, which wants the ENI for itself. */
      readonly own?: true;
    }
  | { readonly type: 'grow'; readonly slot: number; readonly count: number }
  | { readonly type: 'refuse'; readonly requestId: string; readonly failure: Failure };

export type Plan = {
  readonly moves: readonly Move[];
  /** requestId -> why it waits. */
  readonly reasons: ReadonlyMap<string, string>;
  /** requestId -> why a pod does not get the address that is kept for it. */
  readonly astray: ReadonlyMap<string, string>;
  /** When the plan may come out differently by itself; null when only an event can change it. */
  readonly againAtMs: number | null;
};

/**
 * @param growBy addresses the idle pool wants beyond the requests
 */
export function place(
  all: readonly Waiting[],
  growBy: number,
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  nowMs: number,
): Plan {
  const waiting = all.filter((request) => request.ownEni !== true);
  const wantOwn = all.filter((request) => request.ownEni === true);
  const dry = (vSwitchId: string): boolean => holdEndMs(policy.holds, vSwitchId) > nowMs;
  const closed = policy.readOnly === true;
  const noRoom = (eni: EniSummary): boolean => closed || dry(eni.vSwitchId) || isFull(policy.holds, eni.slot, nowMs);
  // While an ENI can be opened, what the idle pool has beside an ENI's own address is left to it.
  const mayOpen = opensNow(enis, policy, dry, nowMs);
  const whole = takenWhole(wantOwn, enis, { mayOpen, unconfirmed: policy.unconfirmed === true });
  const shared = enis.filter((eni) => eni.own !== true && !whole.slots.has(eni.slot));
  const opening = mayOpen ? slotsBeside(enis, policy) : 0;
  const kept = policy.unconfirmed === true ? nobodys : keptWhole(whole.homeless.slice(opening), shared);
  const byFill = [...shared].sort((a, b) => owned(b.counts) - owned(a.counts) || a.slot - b.slot);
  const home = returning(waiting, byFill);
  const surplus = surplusSlots(enis, policy.places ?? Number.POSITIVE_INFINITY);
  const toStay = surplus.size === 0 ? byFill : byFill.filter(({ slot }) => !surplus.has(slot));
  const housed = house(home.homeless, closed ? 0 : growBy, toStay, noRoom, policy.eniPolicy, kept);
  const opened = open(whole.homeless, housed.homeless, housed.grow, enis, policy, dry, nowMs);
  const growth = { slots: slotsBeside(enis, policy), opensAtMs: nextOpeningMs(enis, policy) };
  const rest = settleForLess(opened.homeless, home.kept, toStay, policy, dry, nowMs, enis, kept);
  const ownRest = ownWaits(opened.ownHomeless, enis, policy, growth, nowMs);
  const ends = [...holdEnds(policy.holds, nowMs), ...rest.lastChancesMs];
  return {
    moves: [
      ...whole.taken.map(assigned),
      ...home.moves,
      ...housed.moves,
      ...opened.moves,
      ...rest.moves,
      ...ownRest.refusals.map(refused),
    ],
    reasons: new Map([...rest.reasons, ...ownRest.reasons]),
    astray: home.astray,
    againAtMs: ends.length > 0 ? Math.min(...ends) : null,
  };
}

const nobodys: Kept<Waiting> = new Map();
const assigned = (one: { requestId: string; slot: number }): Move => ({ type: 'assign', ...one, alsoCooling: false });
const refused = (one: { requestId: string; failure: Failure }): Move => ({ type: 'refuse', ...one });

type Dry = (vSwitchId: string) => boolean;
type Homeless = { readonly moves: readonly Move[]; readonly homeless: readonly Waiting[] };
type Left = { readonly eni: EniSummary; idle: number; spare: number; room: number; fill: number };

/** An address that is kept for a pod which has not asked. */
type KeptFor = { readonly slot: number; readonly untilMs: number };

/** Pods that come back to their address. `kept`: addresses of others, on ENIs that serve, the one that is free first at the front. */
function returning(
  waiting: readonly Waiting[],
  enis: readonly EniSummary[],
): Homeless & { readonly astray: ReadonlyMap<string, string>; readonly kept: readonly KeptFor[] } {
  const moves: Move[] = [];
  const homeless: Waiting[] = [];
  const astray = new Map<string, string>();
  const all = enis.flatMap((eni) => (eni.reserved ?? []).map((one) => ({ ...one, eni, slot: eni.slot })));
  const taken = new Set<(typeof all)[number]>();
  for (const request of waiting) {
    const { requestId, pod } = request;
    // The one that it had last: one before may be kept yet that could not be had then.
    const own = all.filter((one) => one.pod === pod && !taken.has(one)).sort((a, b) => b.untilMs - a.untilMs);
    const there = own.find(({ eni }) => ['ready', 'holding', 'opening'].includes(eni.phase));
    if (there !== undefined) {
      taken.add(there);
      moves.push({ type: 'assign', requestId, slot: there.slot, alsoCooling: false });
      continue;
    }
    const [away] = own;
    if (away !== undefined)
      astray.set(requestId, `the address kept for it is on ENI ${away.eni.eniId}, which is ${away.eni.phase}`);
    homeless.push(request);
  }
  const kept = all
    .filter((one) => !taken.has(one) && (one.eni.phase === 'ready' || one.eni.phase === 'holding'))
    .sort((a, b) => a.untilMs - b.untilMs);
  return { moves, homeless, astray, kept };
}

/** On the ENIs there are: requests first, then what the pool wants. `grow` is what found no room. */
function house(
  waiting: readonly Waiting[],
  growBy: number,
  byFill: readonly EniSummary[],
  noRoom: (eni: EniSummary) => boolean,
  eniPolicy: EniPolicy,
  kept: Kept,
): Homeless & { readonly grow: number } {
  const moves: Move[] = [];
  const homeless: Waiting[] = [];
  const all = byFill.map(
    (eni): Left => ({
      eni,
      idle: eni.counts.idle,
      spare: spareOf(eni),
      room: noRoom(eni) ? 0 : roomOf(eni),
      fill: owned(eni.counts),
    }),
  );
  const inPhase = (phase: EniPhase): readonly Left[] => all.filter(({ eni }) => eni.phase === phase);
  const [ready, opening, holding] = [inPhase('ready'), inPhase('opening'), inPhase('holding')];
  const better = (a: Left, b: Left): boolean => (eniPolicy === 'most_ips' ? a.fill > b.fill : a.fill < b.fill);
  const bestWith = (what: 'idle' | 'spare' | 'room', from: readonly Left[]): Left | undefined =>
    from
      .filter((one) => one[what] > 0)
      .reduce<Left | undefined>((best, one) => (best === undefined || better(one, best) ? one : best), undefined);
  const take = (what: 'idle' | 'spare' | 'room', from: readonly Left[]): Left | undefined => {
    const best = bestWith(what, from);
    if (best === undefined) return undefined;
    best[what] -= 1;
    if (what === 'room') best.fill += 1;
    return best;
  };
  const openTo = (one: { readonly sinceMs: number }, all: readonly Left[]): readonly Left[] =>
    kept.size === 0 ? all : all.filter(({ eni }) => !isKeptFrom(kept, eni.slot, one));
  for (const request of waiting) {
    const [its, itsHolding] = [openTo(request, ready), openTo(request, holding)];
    const home =
      take('idle', [...its, ...itsHolding]) ??
      take('spare', its) ??
      take('room', its) ??
      take('spare', opening) ??
      take('room', opening);
    if (home === undefined) homeless.push(request);
    else moves.push({ type: 'assign', requestId: request.requestId, slot: home.eni.slot, alsoCooling: false });
  }
  let grow = growBy;
  const forPool = openTo({ sinceMs: Number.POSITIVE_INFINITY }, ready);
  const counts = new Map<number, number>();
  for (; grow > 0; grow -= 1) {
    const home = take('room', forPool) ?? take('room', opening);
    if (home === undefined) break;
    counts.set(home.eni.slot, (counts.get(home.eni.slot) ?? 0) + 1);
  }
  for (const [slot, count] of counts) moves.push({ type: 'grow', slot, count });
  // The pool is in no hurry: what an ENI that backs off has room for is not worth another ENI.
  const soon = holding.filter(({ eni }) => !noRoom(eni)).reduce((sum, { eni }) => sum + freeOf(eni), 0);
  return { moves, homeless, grow: Math.max(0, grow - soon) };
}

/** ENIs that the node could have besides these. */
function slotsBeside(enis: readonly EniSummary[], policy: PlacementPolicy): number {
  const { maxEnis, ipv4PerEni, vSwitchIds, readOnly } = policy;
  if (readOnly === true) return 0;
  return ipv4PerEni < 1 || vSwitchIds.length === 0 ? 0 : Math.max(0, maxEnis - enis.length);
}

/** An ENI can be opened at once. */
function opensNow(enis: readonly EniSummary[], policy: PlacementPolicy, dry: Dry, nowMs: number): boolean {
  return slotsBeside(enis, policy) > 0 && opensAtMs(policy.holds) <= nowMs && policy.vSwitchIds.some((id) => !dry(id));
}

/** On new ENIs, each as large as is wanted; for whoever wants one for itself, first, and with one address. */
function open(
  wantOwn: readonly Waiting[],
  waiting: readonly Waiting[],
  growBy: number,
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  dry: Dry,
  nowMs: number,
): Homeless & { readonly ownHomeless: readonly Waiting[] } {
  const candidates = policy.vSwitchIds.filter((id) => !dry(id));
  if (candidates.length === 0 || opensAtMs(policy.holds) > nowMs)
    return { moves: [], homeless: waiting, ownHomeless: wantOwn };
  const moves: Move[] = [];
  const homeless = [...waiting];
  const ownHomeless = [...wantOwn];
  const free: Record<string, number> = { ...policy.vSwitch.free };
  const spent = new Set<string>();
  let grow = growBy;
  const more = (): number => ownHomeless.length + homeless.length + grow;
  for (let slots = slotsBeside(enis, policy); slots > 0 && more() > 0; slots -= 1) {
    const own = ownHomeless[0];
    const wanted = own !== undefined ? 1 : Math.min(homeless.length + grow, policy.ipv4PerEni);
    const choice = { ...policy.vSwitch, nth: policy.vSwitch.nth + moves.length, free };
    const unspent = candidates.filter((id) => !spent.has(id));
    const vSwitchId = chooseVSwitch(unspent, wanted, choice);
    if (vSwitchId === undefined) break;
    // A Create that asks for more than there is gets nothing.
    const left = free[vSwitchId] ?? 0;
    const ipv4Count = left > 0 ? Math.min(wanted, left) : wanted;
    if (left > 0) free[vSwitchId] = left - ipv4Count;
    if (left > 0 && left === ipv4Count) spent.add(vSwitchId);
    if (own !== undefined) {
      ownHomeless.shift();
      moves.push({ type: 'open', vSwitchId, ipv4Count, requestIds: [own.requestId], own: true });
      continue;
    }
    const requestIds = homeless.slice(0, ipv4Count).map((request) => request.requestId);
    const extra = ipv4Count - requestIds.length;
    homeless.splice(0, requestIds.length);
    grow -= extra;
    moves.push({ type: 'open', vSwitchId, ipv4Count, requestIds });
  }
  return { moves, homeless, ownHomeless };
}

/** What growing now cannot serve: a cooling address if growing cannot help at all, a reason to wait, or a refusal. */
function settleForLess(
  homeless: readonly Waiting[],
  kept: readonly KeptFor[],
  byFill: readonly EniSummary[],
  policy: PlacementPolicy,
  dry: Dry,
  nowMs: number,
  enis: readonly EniSummary[],
  ofOthers: Kept<Waiting>,
): {
  readonly moves: readonly Move[];
  readonly reasons: ReadonlyMap<string, string>;
  readonly lastChancesMs: readonly number[];
} {
  const { holds } = policy;
  const moves: Move[] = [];
  const reasons = new Map<string, string>();
  const lastChancesMs: number[] = [];
  const yielding = policy.reservationsYield === false ? [] : [...kept];
  const never = Number.POSITIVE_INFINITY;
  const cooling = byFill
    .filter((eni) => eni.phase === 'ready' || eni.phase === 'holding')
    .flatMap((eni) => Array.from({ length: eni.counts.cooling }, () => eni.slot));
  const openAtMs = slotsBeside(enis, policy) > 0 && !policy.vSwitchIds.every(dry) ? opensAtMs(holds) : never;
  const growthMs = nextGrowthMs(enis, policy);
  const mayChange = policy.looking || byFill.some(changing);
  for (const request of homeless) {
    const { requestId, untilMs } = request;
    if (policy.unconfirmed === true) {
      moves.push({ type: 'refuse', requestId, failure: notSure });
      continue;
    }
    const isOpen = (slot: number): boolean => !isKeptFrom(ofOthers, slot, request);
    const growsAtMs = ofOthers.size === 0 ? growthMs : nextGrowthMs(enis, policy, isOpen);
    const at = openAtMs <= untilMs ? -1 : cooling.findIndex(isOpen);
    const [slot] = at < 0 ? [] : cooling.splice(at, 1);
    const helped = growsAtMs <= untilMs || mayChange;
    const chanceMs = lastChanceMs(request);
    const yielded = slot === undefined && (!helped || chanceMs <= nowMs) ? yielding.shift() : undefined;
    if (slot !== undefined) moves.push({ type: 'assign', requestId, slot, alsoCooling: true });
    else if (yielded !== undefined)
      moves.push({ type: 'assign', requestId, slot: yielded.slot, alsoCooling: false, alsoReserved: true });
    else if (helped) {
      reasons.set(requestId, waitingReason(byFill, policy, nowMs));
      if (yielding.length > 0 && chanceMs > nowMs) lastChancesMs.push(chanceMs);
    } else if (growsAtMs === never)
      moves.push({ type: 'refuse', requestId, failure: full(enis, policy, request, ofOthers, nowMs) });
    else
      moves.push({
        type: 'refuse',
        requestId,
        failure: nextTry(holds.lastFailure ?? allDry(policy.vSwitchIds), growsAtMs),
      });
  }
  return { moves, reasons, lastChancesMs };
}

const LAST_CHANCE_MS = 2_000;

/** A request that has waited in vain until then would be refused by its deadline, if it were not helped now. */
function lastChanceMs({ sinceMs, untilMs }: Waiting): number {
  return untilMs - Math.min(LAST_CHANCE_MS, Math.max(0, untilMs - sinceMs) / 4);
}

/** Something about this ENI changes by itself, and may help a request that has no place. */
function changing(eni: EniSummary): boolean {
  return eni.phase !== 'ready' || eni.arriving > 0 || eni.counts.leaving > 0 || eni.counts.offered > 0;
}

/** When holds end that keep the node from having more addresses; infinity when it has all that it may have. */
function nextGrowthMs(
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  isOpen: (slot: number) => boolean = () => true,
): number {
  const { holds } = policy;
  const never = Number.POSITIVE_INFINITY;
  const assigns = enis
    .filter((eni) => policy.readOnly !== true && roomOf(eni) > 0 && isOpen(eni.slot))
    .map((eni) => Math.max(holdEndMs(holds, eni.vSwitchId), holds.enis[eni.slot] ?? 0));
  return Math.min(never, ...assigns, nextOpeningMs(enis, policy));
}

/** When an ENI may be opened; infinity when there is no place for one. */
function nextOpeningMs(enis: readonly EniSummary[], policy: PlacementPolicy): number {
  const { vSwitchIds, holds } = policy;
  const never = Number.POSITIVE_INFINITY;
  if (slotsBeside(enis, policy) === 0) return never;
  return Math.max(opensAtMs(holds), Math.min(never, ...vSwitchIds.map((id) => holdEndMs(holds, id))));
}

function full(
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  request: Waiting,
  kept: Kept<Waiting>,
  nowMs: number,
): Failure {
  if (policy.readOnly === true) {
    const [move] = place([request], 0, enis, { ...policy, readOnly: false }, nowMs).moves;
    return { code: 'readOnly', detail: `read-only mode: no address is idle; ${wouldBe(move, enis)}` };
  }
  const shared = enis.filter((eni) => eni.own !== true);
  const held = shared.reduce((sum, eni) => sum + eni.counts.bound + eni.counts.offered + eni.counts.reserved, 0);
  const own = enis.length - shared.length;
  const beside = own === 0 ? '' : `; ${own} more ${own === 1 ? 'has' : 'have'} one pod each`;
  const detail = `no address available: ${held} held on ${shared.length} of ${policy.maxEnis} ENIs with ${policy.ipv4PerEni} each${beside}`;
  const others = policy.foreignEnis === 0 ? '' : `; ${policy.foreignEnis} more ENIs here are not ours to use`;
  const first = [...kept].find(([slot]) => isKeptFrom(kept, slot, request));
  const name = enis.find(({ slot }) => slot === first?.[0])?.eniId;
  const promised =
    first === undefined
      ? ''
      : `; ${name} comes free for ${first[1].pod}, which has waited longer and wants it for itself`;
  return { code: 'noCapacity', detail: `${detail}${others}${promised}` };
}

/** What would be done for a request that read-only mode refuses. */
function wouldBe(move: Move | undefined, enis: readonly EniSummary[]): string {
  if (move?.type === 'open') return `would create an ENI in ${move.vSwitchId} for it`;
  if (move?.type === 'assign')
    return `would assign one on ${enis.find(({ slot }) => slot === move.slot)?.eniId ?? 'an ENI'}`;
  if (move?.type === 'refuse') return `would refuse it all the same: ${move.failure.detail}`;
  return 'would let it wait';
}

function waitingReason(enis: readonly EniSummary[], { vSwitchIds, holds }: PlacementPolicy, nowMs: number): string {
  const failure = holds.lastFailure === null ? '' : `: ${holds.lastFailure.detail}`;
  const inPhase = (phase: EniPhase): EniSummary | undefined => enis.find((eni) => eni.phase === phase);
  if (holds.quotaUntilMs > nowMs)
    return `the instance has all the ENIs it may have, looked at again at ${timeOfDay(holds.quotaUntilMs)}${failure}`;
  if (holds.openUntilMs > nowMs) return `opening an ENI failed, next try at ${timeOfDay(holds.openUntilMs)}${failure}`;
  const faulty = inPhase('faulty');
  if (faulty !== undefined) return `ENI ${faulty.eniId} has no device: ${faulty.lastFailure?.detail ?? 'not yet'}`;
  if (inPhase('leaving') !== undefined) return 'an ENI is on its way out and holds its slot until it is gone';
  const holding = inPhase('holding');
  if (holding !== undefined) return `an ENI backs off after a failed call: ${holding.lastFailure?.detail ?? 'unknown'}`;
  const ends = vSwitchIds.map((id) => holdEndMs(holds, id));
  if (ends.every((endMs) => endMs > nowMs))
    return `every vSwitch is on hold, the first until ${timeOfDay(Math.min(...ends))}${failure}`;
  const held = enis.find((eni) => freeOf(eni) > 0 && holdEndMs(holds, eni.vSwitchId) > nowMs);
  if (held !== undefined)
    return `${held.eniId} has room in ${held.vSwitchId}, which is on hold until ${timeOfDay(holdEndMs(holds, held.vSwitchId))}${failure}`;
  return `addresses are under way${failure}`;
}
