/**
 * Which ENI serves which request, and when to open another: pure and total, with the reason for everything that has to wait.
 *
 * Preference for each request, oldest first: an idle address; room on an attached ENI (one Assign away); room on an ENI that is
 * being opened; a new ENI; a cooling address once nothing can grow. Refused only when nothing can change without somebody else's
 * doing.
 */
import type { Counts } from './address-book.ts';
import type { Failure } from './errors.ts';

/** opening: not attached yet · ready · holding (a call failed, backing off) · leaving (draining or later) · lost (its actor died). */
export type EniPhase = 'opening' | 'ready' | 'holding' | 'leaving' | 'lost';

/** What an ENI tells the factory about itself. */
export type EniSummary = {
  readonly slot: number;
  readonly phase: EniPhase;
  readonly eniId: string | null;
  readonly vSwitchId: string;
  /** Made by us: only such ENIs, and addresses on them, are ever given back. */
  readonly ours: boolean;
  /** Addresses the ENI may own. */
  readonly limit: number;
  readonly counts: Counts;
  /** Addresses asked for, or to be asked for in the next call, and not here yet. */
  readonly arriving: number;
  /** Requests that wait for them. */
  readonly queued: number;
  readonly lastFailure: Failure | null;
};

export type Waiting = {
  readonly requestId: string;
  readonly pod: string;
  readonly sinceMs: number;
  readonly untilMs: number;
};

export type PlacementPolicy = {
  /** Managed ENIs the node may have. */
  readonly maxEnis: number;
  readonly ipv4PerEni: number;
  /** In order of preference, with the end of their hold-down. */
  readonly vSwitches: readonly { readonly vSwitchId: string; readonly holdUntilMs: number }[];
  /** No ENI is opened before this time: the last try failed. */
  readonly openHoldUntilMs: number;
  readonly lastFailure: Failure | null;
};

export type Move =
  | { readonly type: 'assign'; readonly requestId: string; readonly slot: number; readonly alsoCooling: boolean }
  /** `slot` is an index into the new ENIs of this plan, for requests that go along. */
  | {
      readonly type: 'open';
      readonly vSwitchId: string;
      readonly ipv4Count: number;
      readonly requestIds: readonly string[];
    }
  | { readonly type: 'grow'; readonly slot: number; readonly count: number }
  | { readonly type: 'refuse'; readonly requestId: string; readonly failure: Failure };

export type Plan = {
  readonly moves: readonly Move[];
  /** requestId -> why it waits. */
  readonly reasons: ReadonlyMap<string, string>;
  /** When the plan may come out differently by itself; null when only an event can change it. */
  readonly againAtMs: number | null;
};

const owned = ({ idle, offered, bound, cooling, reserved, leaving, invalid }: Counts): number =>
  idle + offered + bound + cooling + reserved + leaving + invalid;

/** Addresses that could still be asked for on this ENI, beyond those asked for and those its queue will ask for. */
export function roomOf(eni: EniSummary): number {
  if (eni.phase !== 'ready' && eni.phase !== 'opening') return 0;
  const unmet = Math.max(0, eni.queued - coming(eni));
  return Math.max(0, eni.limit - owned(eni.counts) - eni.arriving - unmet);
}

/** Addresses that the queue of the ENI can count on; those of an ENI that is being opened wait for it as much as the requests do. */
function coming(eni: EniSummary): number {
  return eni.arriving + (eni.phase === 'opening' ? eni.counts.idle : 0);
}

/** Addresses under way that no request waits for. */
export function spareOf(eni: EniSummary): number {
  return Math.max(0, coming(eni) - eni.queued);
}

/**
 * @param growBy addresses the idle pool wants beyond the requests
 */
export function place(
  waiting: readonly Waiting[],
  growBy: number,
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  nowMs: number,
): Plan {
  const moves: Move[] = [];
  const reasons = new Map<string, string>();
  const byFill = [...enis].sort((a, b) => owned(b.counts) - owned(a.counts) || a.slot - b.slot);
  const ready = byFill.filter((eni) => eni.phase === 'ready');
  const opening = byFill.filter((eni) => eni.phase === 'opening');
  const left = new Map(
    enis.map((eni) => [eni.slot, { idle: eni.counts.idle, spare: spareOf(eni), room: roomOf(eni) }]),
  );
  const held = (vSwitchId: string): boolean =>
    policy.vSwitches.some((vSwitch) => vSwitch.vSwitchId === vSwitchId && vSwitch.holdUntilMs > nowMs);
  const take = (eni: EniSummary, what: 'idle' | 'spare' | 'room'): boolean => {
    const has = left.get(eni.slot);
    if (has === undefined || has[what] <= 0) return false;
    has[what] -= 1;
    return true;
  };

  const homeless: Waiting[] = [];
  for (const request of waiting) {
    const home =
      [...ready, ...byFill.filter((eni) => eni.phase === 'holding')].find((eni) => take(eni, 'idle')) ??
      ready.find((eni) => take(eni, 'spare')) ??
      ready.find((eni) => !held(eni.vSwitchId) && take(eni, 'room')) ??
      opening.find((eni) => take(eni, 'spare')) ??
      opening.find((eni) => !held(eni.vSwitchId) && take(eni, 'room'));
    if (home === undefined) homeless.push(request);
    else moves.push({ type: 'assign', requestId: request.requestId, slot: home.slot, alsoCooling: false });
  }

  let grow = growBy;
  for (const eni of [...ready, ...opening]) {
    const room = held(eni.vSwitchId) ? 0 : (left.get(eni.slot)?.room ?? 0);
    const count = Math.min(grow, room);
    if (count > 0) moves.push({ type: 'grow', slot: eni.slot, count });
    grow -= Math.max(0, count);
  }

  const openable = policy.vSwitches.filter((vSwitch) => vSwitch.holdUntilMs <= nowMs);
  let slots = Math.max(0, policy.maxEnis - enis.length);
  const mayOpen = policy.openHoldUntilMs <= nowMs && openable.length > 0;
  while (mayOpen && slots > 0 && homeless.length + grow > 0) {
    const requestIds = homeless.splice(0, policy.ipv4PerEni).map((request) => request.requestId);
    const extra = Math.min(grow, policy.ipv4PerEni - requestIds.length);
    grow -= extra;
    slots -= 1;
    moves.push({
      type: 'open',
      vSwitchId: openable[0]?.vSwitchId ?? '',
      ipv4Count: requestIds.length + extra,
      requestIds,
    });
  }

  // What is left cannot be served by growing now. A cooling address is better than none if growing cannot help at all.
  const couldOpen = policy.maxEnis > enis.length;
  const cooling = byFill.flatMap((eni) =>
    eni.phase === 'ready' || eni.phase === 'holding' ? Array.from({ length: eni.counts.cooling }, () => eni.slot) : [],
  );
  const changing = enis.some(
    (eni) => eni.phase !== 'ready' || eni.arriving > 0 || eni.counts.leaving > 0 || eni.counts.offered > 0,
  );
  for (const request of homeless) {
    const slot = couldOpen && openable.length > 0 ? undefined : cooling.shift();
    if (slot !== undefined) {
      moves.push({ type: 'assign', requestId: request.requestId, slot, alsoCooling: true });
    } else if (!couldOpen && !changing && !enis.some((eni) => roomOf(eni) > 0)) {
      moves.push({ type: 'refuse', requestId: request.requestId, failure: full(enis, policy) });
    } else if (openable.length === 0 && !changing && policy.vSwitches.length > 0) {
      const detail = policy.lastFailure?.detail ?? policy.vSwitches.map((vSwitch) => vSwitch.vSwitchId).join(', ');
      moves.push({ type: 'refuse', requestId: request.requestId, failure: { code: 'vSwitchEmpty', detail } });
    } else {
      reasons.set(request.requestId, waitingReason(enis, policy, nowMs));
    }
  }

  const holds = [policy.openHoldUntilMs, ...policy.vSwitches.map((vSwitch) => vSwitch.holdUntilMs)].filter(
    (at) => at > nowMs,
  );
  return { moves, reasons, againAtMs: reasons.size + grow > 0 && holds.length > 0 ? Math.min(...holds) : null };
}

function full(enis: readonly EniSummary[], policy: PlacementPolicy): Failure {
  const held = enis.reduce((sum, eni) => sum + eni.counts.bound + eni.counts.offered + eni.counts.reserved, 0);
  const detail = `no address available: ${held} held on ${enis.length} of ${policy.maxEnis} ENIs with ${policy.ipv4PerEni} each`;
  return { code: 'noCapacity', detail };
}

function waitingReason(enis: readonly EniSummary[], policy: PlacementPolicy, nowMs: number): string {
  const failure = policy.lastFailure === null ? '' : `: ${policy.lastFailure.detail}`;
  if (policy.openHoldUntilMs > nowMs) return `opening an ENI failed, next try at ${policy.openHoldUntilMs}${failure}`;
  if (enis.some((eni) => eni.phase === 'leaving'))
    return 'an ENI is on its way out and holds its slot until it is gone';
  if (enis.some((eni) => eni.phase === 'holding')) {
    const last = enis.find((eni) => eni.phase === 'holding')?.lastFailure;
    return `an ENI backs off after a failed call: ${last?.detail ?? 'unknown'}`;
  }
  if (policy.vSwitches.every((vSwitch) => vSwitch.holdUntilMs > nowMs)) return `every vSwitch is on hold${failure}`;
  return 'addresses are under way';
}
