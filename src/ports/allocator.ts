/**
 * What the plugin may ask of the node. One call in, one answer out; the same sandbox asking again gets the same answer.
 */
import type { Lease } from '../core/lease.ts';
import type { PodRef, Sandbox } from '../core/sandbox.ts';

export type AllocateRequest = Traced & {
  readonly sandbox: Sandbox;
  readonly untilMs: number;
  /** How long the address is kept for the pod once this sandbox is gone; 0 or absent: not at all. */
  readonly reserveMs?: number;
  /** When the caller asked, and when it was known whose pod it is; for telling how long each stage took. */
  readonly before?: { readonly askedMs: number; readonly podKnownMs: number };
};

/** `trace`: for the log alone. */
type Traced = { readonly trace?: string | null };

/** `pod` is for the log alone: the sandbox names the lease. */
export type ReleaseRequest = Traced & {
  readonly containerId: string;
  readonly ifName: string;
  readonly pod: PodRef;
  readonly reason: string;
  /** The pod does not come back here: its address is not kept for it. */
  readonly forGood?: boolean;
};

export interface Allocator {
  /** Rejects with EnactorError. An aborted `signal` (the caller went away) costs nothing: what was promised goes back. */
  allocate(request: AllocateRequest, signal: AbortSignal): Promise<Lease>;
  /** The lease that was given back, or null when there was none: both are success. Rejects when the store cannot be written. */
  release(request: ReleaseRequest, signal: AbortSignal): Promise<Lease | null>;
  lease(containerId: string, ifName: string): Lease | null;
}
