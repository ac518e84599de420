/**
 * Everything actors say to each other: one closed union a receiver. Requests are imperatives, facts are past participles; what
 * comes from outside a chart carries `atMs`, since charts read no clock.
 */
import type { Holder } from '../src/core/address-book.ts';
import type { EniSummary } from '../src/core/eni-summary.ts';
import type { EniTimes } from '../src/core/eni-times.ts';
import type { Failure } from '../src/core/errors.ts';
import type { FactorySettings } from '../src/core/factory-settings.ts';
import type { KernelKeeperSettings } from '../src/core/keeper-settings.ts';
import type { Grant, Lease } from '../src/core/lease.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { PoolTotals } from '../src/core/pool.ts';
import type { PoolSettings } from '../src/core/pool-settings.ts';
import type { Sandbox, SandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import type { AdoptedEni } from './adopted-eni.ts';

/** The result that an ENI reports for one request: the ipResultChan of the original, but each result names its request and its ENI. */
export type IpResult = { readonly type: 'ipResult'; readonly requestId: string; readonly slot: number } & (
  | { readonly ok: true; readonly grant: Grant }
  | { readonly ok: false; readonly failure: Failure }
);

export type EniEvent =
  | ({
      readonly type: 'assign';
      readonly requestId: string;
      readonly alsoCooling: boolean;
      /** Also an address that is kept for another pod. */
      readonly alsoReserved?: boolean;
      readonly atMs: number;
    } & Holder)
  | {
      readonly type: 'cancel';
      readonly requestId: string;
      /** Its time is over, and it will come again. */
      readonly returns?: true;
      readonly atMs: number;
    }
  | { readonly type: 'bind'; readonly requestId: string; readonly atMs: number }
  | { readonly type: 'withdraw'; readonly requestId: string; readonly atMs: number }
  | {
      readonly type: 'freed';
      readonly ipv4: string;
      readonly coolUntilMs: number;
      /** Kept for its pod until then; null or absent: only rests. */
      readonly reservedUntilMs?: number | null;
      readonly atMs: number;
    }
  /** A reservation ends at this instant, if it does not end before. */
  | { readonly type: 'unreserve'; readonly ipv4: string; readonly untilMs: number; readonly atMs: number }
  | { readonly type: 'grow'; readonly count: number; readonly atMs: number }
  | { readonly type: 'shed'; readonly count: number; readonly atMs: number }
  | { readonly type: 'drain'; readonly atMs: number }
  | { readonly type: 'rest'; readonly atMs: number }
  /** The configuration has changed. A wait that has begun goes on as long as it was to last. */
  | { readonly type: 'settings'; readonly times: EniTimes; readonly atMs: number }
  /** Another ENI has these addresses: an answer of the cloud has said so. */
  | Moved
  /** The host has no device with this MAC any more. */
  | Unplugged;

/** `slot`: where they are now. */
export type Moved = {
  readonly type: 'moved';
  readonly slot: number;
  readonly ips: readonly string[];
  readonly atMs: number;
};

export type Unplugged = { readonly type: 'unplugged'; readonly mac: string; readonly atMs: number };

export type FactoryEvent =
  | ({
      readonly type: 'allocate';
      readonly requestId: string;
      readonly untilMs: number;
      readonly atMs: number;
    } & Holder)
  | {
      readonly type: 'giveUp';
      readonly requestId: string;
      readonly sandbox: SandboxKey;
      /** The pod is there yet, and will come again. */
      readonly returns?: true;
      readonly atMs: number;
    }
  | { readonly type: 'bind'; readonly requestId: string; readonly atMs: number }
  | { readonly type: 'withdraw'; readonly requestId: string; readonly atMs: number }
  | {
      readonly type: 'freed';
      readonly eniId: string;
      readonly ipv4: string;
      readonly coolUntilMs: number;
      readonly reservedUntilMs?: number | null;
      readonly atMs: number;
    }
  | {
      readonly type: 'unreserve';
      readonly eniId: string;
      readonly ipv4: string;
      readonly untilMs: number;
      readonly atMs: number;
    }
  /** `basis`: the totals that the pool reckoned from. */
  | { readonly type: 'grow'; readonly count: number; readonly basis: PoolTotals; readonly atMs: number }
  /** `keep`: the low water mark, which has to hold afterwards. */
  | {
      readonly type: 'shed';
      readonly count: number;
      /** Of those that are not asked for yet so many need not be. */
      readonly callOff: number;
      readonly keep: number;
      readonly basis: PoolTotals;
      readonly atMs: number;
    }
  | IpResult
  | { readonly type: 'eniChanged'; readonly summary: EniSummary; readonly atMs: number }
  | { readonly type: 'eniGone'; readonly summary: EniSummary; readonly atMs: number }
  | Moved
  | Unplugged
  /** An ENI of ours that no actor has. */
  | { readonly type: 'eniFound'; readonly found: AdoptedEni; readonly atMs: number }
  | { readonly type: 'settings'; readonly settings: FactorySettings; readonly atMs: number }
  | { readonly type: 'reconsider'; readonly atMs: number }
  | { readonly type: 'surveyDue'; readonly atMs: number };

export type LeaseEvent =
  | { readonly type: 'ask'; readonly requestId: string; readonly untilMs: number; readonly atMs: number }
  | { readonly type: 'forget'; readonly requestId: string; readonly atMs: number }
  | { readonly type: 'granted'; readonly grant: Grant; readonly atMs: number }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'deadline'; readonly atMs: number }
  /** The sandbox before this one has given its address back, or cannot. */
  | { readonly type: 'vacated'; readonly atMs: number }
  | { readonly type: 'release'; readonly requestId: string; readonly forGood?: boolean; readonly atMs: number };

export type Ask = {
  readonly type: 'allocate';
  readonly requestId: string;
  readonly sandbox: Sandbox;
  /** How long the address is kept for the pod once the sandbox is gone; 0 or absent: not at all. */
  readonly reserveMs?: number;
  readonly untilMs: number;
  readonly atMs: number;
};
export type Release = {
  readonly type: 'release';
  readonly requestId: string;
  readonly sandbox: SandboxKey;
  /** Nothing is kept for the pod. */
  readonly forGood?: boolean;
  readonly atMs: number;
};
export type Forget = {
  readonly type: 'forget';
  readonly requestId: string;
  readonly sandbox: SandboxKey;
  readonly atMs: number;
};

/** The one answer to an `allocate` or `release` from outside. `lease` is null for a release of what was not held. */
export type Answer =
  | { readonly type: 'answer'; readonly requestId: string; readonly ok: true; readonly lease: Lease | null }
  | { readonly type: 'answer'; readonly requestId: string; readonly ok: false; readonly failure: Failure };

export type LeasesEvent =
  | Ask
  | Release
  | Forget
  | Answer
  | {
      readonly type: 'granted';
      readonly requestId: string;
      readonly sandbox: SandboxKey;
      readonly grant: Grant;
      readonly atMs: number;
    }
  | { readonly type: 'refused'; readonly sandbox: SandboxKey; readonly failure: Failure }
  /** To itself: the sandbox that `heir` waits for has its address no more, or keeps it. */
  | { readonly type: 'madeWay'; readonly heir: SandboxKey };

export type PoolEvent =
  | { readonly type: 'poolChanged'; readonly totals: PoolTotals; readonly atMs: number }
  | { readonly type: 'growFailed'; readonly atMs: number }
  /** The configuration has changed, or the node was cordoned or is no more. */
  | { readonly type: 'settings'; readonly settings: PoolSettings; readonly atMs: number }
  /** The pool's own timers: a period that demand is counted in is over; a batch of idle addresses is to go. */
  | { readonly type: 'periodEnded'; readonly atMs: number }
  | { readonly type: 'reclaimDue'; readonly atMs: number };

/** Something has changed in the host's network that may not be as it should. */
export type KernelKeeperEvent =
  | { readonly type: 'kernelChanged'; readonly atMs: number }
  | { readonly type: 'settings'; readonly settings: KernelKeeperSettings; readonly atMs: number }
  | LookNow;

/** An operator does not want to wait for the next look, or pass. What is under way is not begun anew for it. */
export type LookNow = { readonly type: 'lookNow'; readonly atMs: number };

/** Supervisors that have nothing but periods. */
export type PeriodsEvent<S> = { readonly type: 'settings'; readonly settings: S; readonly atMs: number };

export type NodeEvent =
  | Ask
  | Release
  | Forget
  /** The configuration has changed: all of it, with what the cloud says of it. */
  | { readonly type: 'settings'; readonly settings: Settings; readonly facts: NodeFacts; readonly atMs: number }
  /** The API server says that nothing is scheduled to this node any more, or is again. */
  | { readonly type: 'cordoned'; readonly cordoned: boolean; readonly atMs: number }
  | { readonly type: 'stop'; readonly atMs: number };
