/** What the garbage collector knows, and the pure parts of what it does. */
import type { Failure } from '../src/core/errors.ts';
import { type GoneReason, type SecondLook, type Suspect, verdictOn } from '../src/core/garbage.ts';
import type { Reservation } from '../src/core/reservation.ts';
import { podKey, type SandboxKey } from '../src/core/sandbox.ts';

export type GarbageCollectorSettings = {
  readonly periodMs: number;
  /** How long a lease has to be found gone before it is released. */
  readonly graceMs: number;
  /** One pass takes at most this long. */
  readonly timeoutMs: number;
  readonly backoffMs: number;
};

export type GarbageCollectorInput = GarbageCollectorSettings & { readonly nodeName: string; readonly nowMs: number };

/** Found gone, and since which pass. */
export type Condemned = { readonly reason: GoneReason; readonly pod: string; readonly sinceMs: number };

/** A suspect that keeps its address, and why. */
export type Kept = { readonly sandbox: SandboxKey; readonly pod: string; readonly why: string };

/** What one release came to. */
export type Collected = { readonly sandbox: SandboxKey; readonly failure: Failure | null };

export type GarbageCollectorContext = GarbageCollectorInput & {
  /** Leases the last list spoke against. */
  readonly suspects: readonly Suspect[];
  readonly condemned: Readonly<Record<SandboxKey, Condemned>>;
  /** Addresses that are kept for pods; and those of them whose pod lives elsewhere now. */
  readonly reservations: readonly Reservation[];
  readonly ending: readonly Reservation[];
  /** To be released in this pass. */
  readonly doomed: readonly Suspect[];
  readonly kept: readonly Kept[];
  /** Leases looked at by the last pass, and when it ended; null before the first. */
  readonly looked: number;
  readonly lastPassMs: number | null;
  /** Leases released since the start, and releases that failed. */
  readonly collected: number;
  readonly failed: number;
  /** Passes in a row that could not be finished, or left something undone. */
  readonly failures: number;
  readonly lastFailure: Failure | null;
};

export function contextOf(input: GarbageCollectorInput): GarbageCollectorContext {
  return {
    ...input,
    suspects: [],
    condemned: {},
    reservations: [],
    ending: [],
    doomed: [],
    kept: [],
    looked: 0,
    lastPassMs: null,
    collected: 0,
    failed: 0,
    failures: 0,
    lastFailure: null,
  };
}

/**
 * After the second look. A lease is doomed only if a pass before this one had found it gone already; what a silent witness leaves
 * open neither counts nor is forgotten.
 */
export function judged(
  { suspects, condemned: before, nodeName, graceMs }: GarbageCollectorContext,
  looks: readonly SecondLook[],
  atMs: number,
): Pick<GarbageCollectorContext, 'condemned' | 'doomed' | 'kept'> {
  const condemned: Record<SandboxKey, Condemned> = {};
  const doomed: Suspect[] = [];
  const kept: Kept[] = [];
  const bySandbox = new Map(looks.map((look) => [look.sandbox, look]));
  for (const suspect of suspects) {
    const { sandbox } = suspect;
    const look = bySandbox.get(sandbox);
    const pod = podKey(suspect.pod);
    const known = before[sandbox];
    if (look === undefined) continue;
    const verdict = verdictOn(suspect, look, nodeName);
    if (!verdict.gone) {
      kept.push({ sandbox, pod, why: verdict.why });
      if (verdict.unknown && known !== undefined) condemned[sandbox] = known;
      continue;
    }
    const { reason } = verdict;
    const sinceMs = known?.sinceMs ?? atMs;
    condemned[sandbox] = { reason, pod, sinceMs };
    if (known !== undefined && atMs - sinceMs >= graceMs) doomed.push({ ...suspect, reason });
    else
      kept.push({
        sandbox,
        pod,
        why: `${reason}; released if it still is at ${new Date(sinceMs + graceMs).toISOString()}`,
      });
  }
  return { condemned, doomed, kept };
}

/** After the releases: one that failed is tried again by the next pass. */
export function collectedOnce(
  context: GarbageCollectorContext,
  outcomes: readonly Collected[],
): Pick<GarbageCollectorContext, 'condemned' | 'doomed' | 'collected' | 'failed' | 'lastFailure'> {
  const condemned = { ...context.condemned };
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  for (const { sandbox, failure } of outcomes) if (failure === null) delete condemned[sandbox];
  return {
    condemned,
    doomed: [],
    collected: context.collected + outcomes.length - failures.length,
    failed: context.failed + failures.length,
    lastFailure: failures.at(-1) ?? null,
  };
}

/** So often in a period a reservation is looked at: one lasts hardly longer than a period. */
const LOOKS_AT_RESERVATIONS = 5;

/** A period, or less when a grace ends before: what is gone is not kept waiting for a whole period more. */
export function restMs(context: GarbageCollectorContext): number {
  const { condemned, graceMs, nowMs, reservations } = context;
  const periodMs = context.periodMs / (reservations.length > 0 ? LOOKS_AT_RESERVATIONS : 1);
  const ends = Object.values(condemned).map(({ sinceMs }) => sinceMs + graceMs - nowMs);
  return Math.max(1, Math.min(periodMs, ...ends.filter((endMs) => endMs > 0)));
}
