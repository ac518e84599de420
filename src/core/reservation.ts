/**
 * Addresses kept for pods that come back under their name: those of a StatefulSet, of kinds the configuration names, and those that ask
 * for it. Pure.
 *
 * The record of a reservation replaces the lease's in the batch that deletes it, under the address, so that whoever gets the address
 * deletes it with the write that gives it to him.
 * Source: Terway: five minutes for a StatefulSet's pod, `custom_stateful_workload_kinds`, annotation `k8s.aliyun.com/pod-ip-reservation`.
 */
import type { Address } from './address.ts';
import type { Lease } from './lease.ts';
import { podKey, type SandboxKey, sandboxKey } from './sandbox.ts';

export const RESERVATION_VERSION = 1;

export type Reservation = {
  readonly version: typeof RESERVATION_VERSION;
  /** `namespace/name`: the pod that may have it back. */
  readonly pod: string;
  /** The sandbox that gave it back. */
  readonly sandbox: SandboxKey;
  readonly address: Address;
  readonly eniId: string;
  readonly untilMs: number;
  /** Even when it ends early the address rests until then. */
  readonly coolUntilMs: number;
};

export type ReservationRules = {
  /** How long an address is kept; 0: not at all. */
  readonly reserveMs: number;
  /** Kinds of controllers besides StatefulSet, in lower case. */
  readonly statefulKinds: readonly string[];
};

const ANNOTATION = 'k8s.aliyun.com/pod-ip-reservation';
const STATEFUL_SET = 'statefulset';
/** Source: Go, strconv.ParseBool. */
const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];

/** How long this pod's address is kept for it; 0: not at all. */
export function reserveMsOf(
  pod: { readonly ownerKind: string | null; readonly annotations: Readonly<Record<string, string>> },
  { reserveMs, statefulKinds }: ReservationRules,
): number {
  const kind = pod.ownerKind?.toLowerCase() ?? '';
  const asks = TRUE.includes(pod.annotations[ANNOTATION] ?? '');
  return asks || kind === STATEFUL_SET || statefulKinds.includes(kind) ? reserveMs : 0;
}

/** null for a record of another version or shape: nothing is kept for whoever it was about. */
export function parseReservation(value: unknown): Reservation | null {
  const record = value as Partial<Reservation> | null;
  if (typeof record !== 'object' || record?.version !== RESERVATION_VERSION) return null;
  const whole =
    typeof record.pod === 'string' && typeof record.sandbox === 'string' && typeof record.eniId === 'string';
  if (!whole || typeof record.address?.ipv4 !== 'string') return null;
  return typeof record.untilMs === 'number' && typeof record.coolUntilMs === 'number' ? (record as Reservation) : null;
}

/** What is kept of a lease that ends now; null when nothing is. A reservation lasts at least as long as the address rests. */
export function reservationOf(
  { sandbox, grant: { address, eni }, reserveMs = 0 }: Lease,
  nowMs: number,
  coolUntilMs: number,
): Reservation | null {
  if (reserveMs <= 0) return null;
  const untilMs = Math.max(nowMs + reserveMs, coolUntilMs);
  const who = { pod: podKey(sandbox.pod), sandbox: sandboxKey(sandbox) };
  return { version: RESERVATION_VERSION, ...who, address, eniId: eni.eniId, untilMs, coolUntilMs };
}
