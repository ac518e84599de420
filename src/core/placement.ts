/**
 * Which ENI serves which request, and when to open another: pure and total, with the reason for everything that has to wait.
 *
 * Preference for each request, oldest first: an idle address; room on an attached ENI (one Assign away); room on an ENI that is
 * being opened; a new ENI; a cooling address once nothing can grow. Refused only when nothing can change without somebody else's
 * doing.
 */
import { type EniPhase, type EniSummary, freeOf, owned, roomOf, spareOf } from './eni-summary.ts';
import type { Failure } from './errors.ts';
import { type Holds, holdEndMs } from './holds.ts';

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
  /** Where ENIs may be opened, in order of preference. */
  readonly vSwitchIds: readonly string[];
  readonly holds: Holds;
};

export type Move =
  | { readonly type: 'assign'; readonly requestId: string; readonly slot: number; readonly alsoCooling: boolean }
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
  const { vSwitchIds, holds } = policy;
  const held = (vSwitchId: string): boolean => holdEndMs(holds, vSwitchId) > nowMs;
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

  // The pool is in no hurry: what an ENI that backs off has room for is not worth another ENI.
  const backingOff = byFill.filter((eni) => eni.phase === 'holding' && !held(eni.vSwitchId));
  let grow = Math.max(0, growBy - backingOff.reduce((sum, eni) => sum + freeOf(eni), 0));
  for (const eni of [...ready, ...opening]) {
    const room = held(eni.vSwitchId) ? 0 : (left.get(eni.slot)?.room ?? 0);
    const count = Math.min(grow, room);
    if (count > 0) moves.push({ type: 'grow', slot: eni.slot, count });
    grow -= Math.max(0, count);
  }

  const openable = vSwitchIds.find((vSwitchId) => !held(vSwitchId));
  let slots = Math.max(0, policy.maxEnis - enis.length);
  while (openable !== undefined && holds.openUntilMs <= nowMs && slots > 0 && homeless.length + grow > 0) {
    const requestIds = homeless.splice(0, policy.ipv4PerEni).map((request) => request.requestId);
    const extra = Math.min(grow, policy.ipv4PerEni - requestIds.length);
    grow -= extra;
    slots -= 1;
    moves.push({
      type: 'open',
      vSwitchId: openable,
      ipv4Count: requestIds.length + extra,
      requestIds,
    });
  }

  // What is left cannot be served by growing now.
  const cooling = byFill.flatMap((eni) =>
    eni.phase === 'ready' || eni.phase === 'holding' ? Array.from({ length: eni.counts.cooling }, () => eni.slot) : [],
  );
  const opensAtMs =
    policy.maxEnis > enis.length && openable !== undefined ? holds.openUntilMs : Number.POSITIVE_INFINITY;
  const growsAtMs = nextGrowthMs(enis, policy);
  for (const request of homeless) {
    // A cooling address is better than none, but only if growing cannot help.
    const slot = opensAtMs <= request.untilMs ? undefined : cooling.shift();
    if (slot !== undefined) moves.push({ type: 'assign', requestId: request.requestId, slot, alsoCooling: true });
    else if (growsAtMs <= request.untilMs || enis.some(changing))
      reasons.set(request.requestId, waitingReason(enis, policy, nowMs));
    else if (growsAtMs === Number.POSITIVE_INFINITY)
      moves.push({ type: 'refuse', requestId: request.requestId, failure: full(enis, policy) });
    else moves.push({ type: 'refuse', requestId: request.requestId, failure: holds.lastFailure ?? allDry(policy) });
  }

  const ends = [holds.openUntilMs, ...Object.values(holds.vSwitches)].filter((endMs) => endMs > nowMs);
  return { moves, reasons, againAtMs: ends.length > 0 ? Math.min(...ends) : null };
}

/** Something about this ENI changes by itself, and may help a request that has no place. */
function changing(eni: EniSummary): boolean {
  if (eni.phase === 'lost') return false;
  return eni.phase !== 'ready' || eni.arriving > 0 || eni.counts.leaving > 0 || eni.counts.offered > 0;
}

/** When holds end that keep the node from having more addresses; infinity when it has all that it may have. */
function nextGrowthMs(enis: readonly EniSummary[], { maxEnis, vSwitchIds, holds }: PlacementPolicy): number {
  const never = Number.POSITIVE_INFINITY;
  const opens = Math.max(holds.openUntilMs, Math.min(never, ...vSwitchIds.map((id) => holdEndMs(holds, id))));
  const assigns = enis.filter((eni) => roomOf(eni) > 0).map((eni) => holdEndMs(holds, eni.vSwitchId));
  return Math.min(never, ...assigns, maxEnis > enis.length ? opens : never);
}

const allDry = ({ vSwitchIds }: PlacementPolicy): Failure => ({
  code: 'vSwitchEmpty',
  detail: `no address left in ${vSwitchIds.join(', ')}; asked again later`,
});

function full(enis: readonly EniSummary[], policy: PlacementPolicy): Failure {
  const held = enis.reduce((sum, eni) => sum + eni.counts.bound + eni.counts.offered + eni.counts.reserved, 0);
  const detail = `no address available: ${held} held on ${enis.length} of ${policy.maxEnis} ENIs with ${policy.ipv4PerEni} each`;
  return { code: 'noCapacity', detail };
}

function waitingReason(enis: readonly EniSummary[], { vSwitchIds, holds }: PlacementPolicy, nowMs: number): string {
  const failure = holds.lastFailure === null ? '' : `: ${holds.lastFailure.detail}`;
  const inPhase = (phase: EniPhase): EniSummary | undefined => enis.find((eni) => eni.phase === phase);
  if (holds.openUntilMs > nowMs) return `opening an ENI failed, next try at ${holds.openUntilMs}${failure}`;
  const faulty = inPhase('faulty');
  if (faulty !== undefined) return `ENI ${faulty.eniId} has no device: ${faulty.lastFailure?.detail ?? 'not yet'}`;
  if (inPhase('leaving') !== undefined) return 'an ENI is on its way out and holds its slot until it is gone';
  const holding = inPhase('holding');
  if (holding !== undefined) return `an ENI backs off after a failed call: ${holding.lastFailure?.detail ?? 'unknown'}`;
  if (vSwitchIds.every((id) => holdEndMs(holds, id) > nowMs)) return `every vSwitch is on hold${failure}`;
  return 'addresses are under way';
}
