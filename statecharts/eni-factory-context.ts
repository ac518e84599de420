/** What the factory knows, and the pure parts of what it does: its line, and what it learns from failures. */
import type { Holder } from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import type { EniSummary } from '../src/core/eni-summary.ts';
import type { Failure } from '../src/core/errors.ts';
import { afterFailedCall, afterFailedOpening, afterOpened, type Holds } from '../src/core/holds.ts';
import type { PlacementPolicy } from '../src/core/placement.ts';
import type { PoolTotals } from '../src/core/pool.ts';
import type { EniInput, EniPlan, EniTimes } from './eni-context.ts';

export type Request = Holder & { readonly requestId: string; readonly sinceMs: number; readonly untilMs: number };

export type Placed = {
  readonly slot: number;
  readonly request: Request;
  /** Promised an address: it is with its lease now, and must not go into the line again. */
  readonly granted: boolean;
};

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

export type EniFactoryContext = EniFactoryInput & {
  readonly nextSlot: number;
  /** What each ENI last said, with what it has been told since. */
  readonly enis: Readonly<Record<number, EniSummary>>;
  /** The line, oldest first. */
  readonly waiting: readonly Request[];
  /** Requests sent to an ENI, until their lease is bound. */
  readonly placed: Readonly<Record<string, Placed>>;
  /** Why each of the line waits. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Addresses the pool wants, until the next plan. */
  readonly growBy: number;
  readonly holds: Holds;
  /** What the idle pool was told last. */
  readonly totals: PoolTotals | null;
};

/** The line with these in it again, each at the place its age gives it. */
export function backInLine(waiting: readonly Request[], requests: readonly Request[]): readonly Request[] {
  return [...waiting, ...requests].sort((a, b) => a.sinceMs - b.sinceMs);
}

export function unservedOn(placed: Readonly<Record<string, Placed>>, slot: number): readonly Request[] {
  return Object.values(placed)
    .filter((one) => one.slot === slot && !one.granted)
    .map((one) => one.request);
}

export const eniId = (slot: number): string => `eni:${slot}`;
export const slotOf = (actorId: string): number => Number(actorId.slice(eniId(0).length - 1));

/** The name of the actor in this slot; null when there is none, since a message to it would end the factory. */
export function eniAt(enis: Readonly<Record<number, EniSummary>>, slot: number | undefined): string | null {
  if (slot === undefined || enis[slot] === undefined || enis[slot].phase === 'lost') return null;
  return eniId(slot);
}

type Known = Pick<EniFactoryContext, 'maxEnis' | 'ipv4PerEni' | 'vSwitches' | 'holds'>;

export function policyOf({ maxEnis, ipv4PerEni, vSwitches, holds }: Known): PlacementPolicy {
  return { maxEnis, ipv4PerEni, vSwitchIds: vSwitches.map((vSwitch) => vSwitch.vSwitchId), holds };
}

/** The cause to name when a request runs out of time. */
export function whyNothing(
  { placed, enis, reasons, holds }: Pick<EniFactoryContext, 'placed' | 'enis' | 'reasons' | 'holds'>,
  { requestId }: { readonly requestId: string },
): Failure {
  const slot = placed[requestId]?.slot;
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
  { holds, nowMs, holdDownMs, times }: Pick<EniFactoryContext, 'holds' | 'nowMs' | 'holdDownMs' | 'times'>,
  before: EniSummary | undefined,
  after: EniSummary,
): { readonly holds: Holds; readonly failedOpening: boolean } {
  const nothing = { holds, failedOpening: false };
  const { phase, lastFailure: failure, vSwitchId } = after;
  if (before === undefined) return nothing;
  if (before.phase === 'opening' && phase === 'ready') return { holds: afterOpened(holds), failedOpening: false };
  if (failure === null) return nothing;
  const allTimes = { ...times, holdDownMs };
  if (before.phase === 'opening' && (phase === 'leaving' || phase === 'faulty'))
    return { holds: afterFailedOpening(holds, failure, vSwitchId, nowMs, allTimes), failedOpening: true };
  if (phase === 'holding' && before.lastFailure !== failure)
    return { holds: afterFailedCall(holds, failure, vSwitchId, nowMs, allTimes), failedOpening: false };
  return nothing;
}

type Own = Pick<EniFactoryContext, 'ipv4PerEni' | 'mtu' | 'token' | 'times' | 'nowMs'>;

export function planOf(context: Own, slot: number, { vSwitchId, subnet }: VSwitchPlan): EniPlan {
  const { ipv4PerEni, mtu, token, times } = context;
  return { slot, limit: ipv4PerEni, vSwitchId, subnet, mtu, ours: true, token, times };
}

export function newEni(context: Own, slot: number, vSwitch: VSwitchPlan, ipv4Count: number): EniInput {
  const nothing = { existing: null, held: new Map(), coolUntilMs: new Map(), routeTable: null };
  return { ...planOf(context, slot, vSwitch), ...nothing, nowMs: context.nowMs, ipv4Count };
}
