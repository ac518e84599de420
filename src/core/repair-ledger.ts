/**
 * Which things had to be repaired, how often, and when each may be touched again.
 *
 * The first repair of a thing waits for nothing. One that somebody undoes is repaired again after a wait that doubles, so that two
 * agents that want different things are named and do not spin; it is forgiven after ten waits of peace, and not before a look at everything could have found
 * it whole: of settings no event tells, so that each look finds anew what is undone a moment after it. Bounded: the thing that was
 * last seen longest ago is forgotten.
 */
import type { Drift, DriftKind, DriftOutcome } from './drift.ts';

export type RepairTimes = {
  /** Between the first repair of a thing and the second. */
  readonly repairWaitMs: number;
  readonly repairWaitMaxMs: number;
  /** Between two looks at everything, at most. */
  readonly periodMs: number;
  /** How long what cannot be repaired is borne before it is told: most of it is on its way out. */
  readonly patienceMs: number;
};

export type RepairEntry = {
  readonly kind: DriftKind;
  readonly object: string;
  readonly pod: string | null;
  readonly outcome: DriftOutcome;
  readonly detail: string | null;
  /** Repairs that were made, of this thing, since it was first seen. */
  readonly times: number;
  /** Repairs in a row that somebody undid before there was peace. */
  readonly undone: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Not touched before this instant. */
  readonly untilMs: number;
  readonly told: boolean;
};

export type RepairLedger = readonly RepairEntry[];

/** What is worth a line in the log: a thing for the first time, and once more when it turns out that somebody works against us. */
export type RepairNews = RepairEntry & { readonly contested: boolean };

export const REPAIRS_MAX = 256;
/** From so many repairs in a row that were undone we speak of somebody who works against us. */
const CONTESTED = 4;
const PEACE = 10;
const PERIODS_OF_PEACE = 2;

export const repairKey = ({ kind, object }: Pick<Drift, 'kind' | 'object'>): string => `${kind} ${object}`;

export const isContested = (entry: Pick<RepairEntry, 'undone'>): boolean => entry.undone >= CONTESTED;

export type HeldOff = { readonly key: string; readonly untilMs: number };

/** What may not be touched yet. */
export function heldOff(ledger: RepairLedger, nowMs: number): readonly HeldOff[] {
  return ledger
    .filter((entry) => entry.untilMs > nowMs)
    .map((entry) => ({ key: repairKey(entry), untilMs: entry.untilMs }));
}

/** When the next thing that was found and left alone may be touched; null when there is none. */
export function nextRepairMs(ledger: RepairLedger): number | null {
  const waiting = ledger.filter((entry) => entry.outcome === 'heldOff' || entry.outcome === 'failed');
  return waiting.length === 0 ? null : Math.min(...waiting.map((entry) => entry.untilMs));
}

/** What one look at everything found. */
export function noted(
  ledger: RepairLedger,
  drifts: readonly Drift[],
  nowMs: number,
  times: RepairTimes,
): { readonly ledger: RepairLedger; readonly news: readonly RepairNews[] } {
  const found = new Map(drifts.map((drift) => [repairKey(drift), drift]));
  const known = new Map(ledger.map((entry) => [repairKey(entry), entry]));
  const news: RepairNews[] = [];
  const kept: RepairEntry[] = [];
  for (const [key, entry] of known) {
    if (found.has(key)) continue;
    // What could not be repaired and is no more needs no memory; a repair that held is history.
    if (entry.times === 0) continue;
    kept.push(entry.outcome === 'heldOff' ? { ...entry, outcome: 'repaired' } : entry);
  }
  for (const [key, drift] of found) {
    const { entry, told } = next(known.get(key), drift, nowMs, times);
    kept.push(entry);
    if (told) news.push({ ...entry, contested: entry.outcome === 'repaired' && isContested(entry) });
  }
  kept.sort((a, b) => b.lastMs - a.lastMs);
  return { ledger: kept.slice(0, REPAIRS_MAX), news };
}

function next(before: RepairEntry | undefined, drift: Drift, nowMs: number, times: RepairTimes) {
  const { kind, object, pod, outcome, detail } = drift;
  const first = before ?? { times: 0, undone: 0, firstMs: nowMs, untilMs: 0, told: false };
  const acted = outcome === 'repaired' || outcome === 'failed';
  const lastWaitMs = waitMs(first.undone, times);
  const peaceMs = Math.max(PEACE * lastWaitMs, PERIODS_OF_PEACE * times.periodMs);
  const peaceful = before === undefined || nowMs - before.lastMs > peaceMs;
  const undone = !acted ? first.undone : peaceful ? 0 : first.undone + 1;
  const due = outcome !== 'beyondRepair' || nowMs - first.firstMs >= times.patienceMs;
  const turned = acted && undone === CONTESTED && first.undone < CONTESTED;
  const told = (due && !first.told && outcome !== 'heldOff') || turned;
  const entry: RepairEntry = {
    kind,
    object,
    pod,
    outcome,
    detail: detail ?? before?.detail ?? null,
    times: first.times + (outcome === 'repaired' ? 1 : 0),
    undone,
    firstMs: first.firstMs,
    lastMs: acted || before === undefined ? nowMs : before.lastMs,
    untilMs: acted ? nowMs + waitMs(undone, times) : first.untilMs,
    told: first.told || told,
  };
  return { entry, told };
}

function waitMs(undone: number, { repairWaitMs, repairWaitMaxMs }: RepairTimes): number {
  return Math.min(repairWaitMs * 2 ** Math.min(undone, 30), repairWaitMaxMs);
}
