/**
 * What people and tools may see of the actors. Reading is synchronous on snapshots and never waits for an allocation.
 */
import type { ErrorCode } from '../core/errors.ts';
import type { JournalPage, JournalQuery } from '../core/input-journal.ts';
import type { Lease } from '../core/lease.ts';
import type { RepairEntry } from '../core/repair-ledger.ts';

export type { AddressState } from '../core/address-book.ts';

import type { AddressState } from '../core/address-book.ts';
import type { StoreState } from './store.ts';

export type EniReport = {
  /** The actor's name, `eni:<slot>`. */
  readonly actor: string;
  /** Dotted path of the chart's state, `inUse.assigning`. */
  readonly state: string;
  readonly sinceMs: number;
  readonly eniId: string | null;
  readonly mac: string | null;
  readonly vSwitchId: string | null;
  readonly device: string | null;
  readonly routeTable: number | null;
  readonly addresses: readonly {
    readonly ipv4: string;
    readonly ipv6: string | null;
    readonly state: AddressState;
    /** The pod that holds it, `namespace/name`, or null. */
    readonly pod: string | null;
    /** For cooling: when it may be leased again. */
    readonly untilMs: number | null;
  }[];
  /** Dual stack: addresses of one family that lack the other, so that they serve nobody. */
  readonly halves?: readonly string[];
  /** Requests that wait for this ENI's next call. */
  readonly waiting: number;
  readonly lastFailure: string | null;
};

export type PoolReport = {
  readonly state: string;
  readonly minIdle: number;
  readonly maxIdle: number;
  /** Why the low water mark is what it is. */
  readonly why: string;
  /** Addresses by state, over all ENIs. */
  readonly counts: Readonly<Record<AddressState, number>>;
  readonly capacity: number;
};

export type ActorReport = { readonly path: string; readonly state: string; readonly sinceMs: number };

/** A pod that asked and got no address: its last refusal, and how many there were since it last had one. */
export type Refusal = {
  /** `namespace/name`. */
  readonly pod: string;
  readonly atMs: number;
  readonly times: number;
  readonly code: ErrorCode;
  readonly detail: string;
};

export type HostReport = {
  /** Of all things, since the daemon started. */
  readonly repairs: number;
  /** By thing, the newest first. */
  readonly things: readonly RepairEntry[];
};

export type GcReport = {
  readonly state: string;
  /** When the last pass ended, and how many leases it looked at; null before the first. */
  readonly lastPassMs: number | null;
  readonly looked: number;
  /** Leases released since the start because their pod was gone, and releases that failed. */
  readonly collected: number;
  readonly failed: number;
  /** Leases of which a list of pods made doubtful whether anybody has them: why each is still there. */
  readonly kept: readonly { readonly sandbox: string; readonly pod: string; readonly why: string }[];
  readonly lastFailure: string | null;
};

export type NodeReport = {
  readonly state: string;
  /** What is missing while the node is starting, recovering or degraded. */
  readonly missing: readonly string[];
  readonly enis: readonly EniReport[];
  readonly pool: PoolReport | null;
  /** null until the node serves. */
  readonly gc?: GcReport | null;
  readonly leases: readonly Lease[];
  /** Those of them whose address is on no ENI here any more: their pods have no network, and a DEL of theirs still works. */
  readonly invalidLeases?: readonly Lease[];
  /** Requests in the factory's waiting line, with the reason of the last placement. */
  readonly waiting: readonly {
    readonly requestId: string;
    readonly pod: string;
    readonly sinceMs: number;
    readonly reason: string;
  }[];
  readonly actors: readonly ActorReport[];
  /** What had to be mended on the host, and what cannot be; absent before the node serves. */
  readonly host?: HostReport;
  /** How the database is; absent in what only looks like a report. */
  readonly store?: StoreState;
  /** The newest first. The daemon's own, beside what the actors tell, so absent in theirs. */
  readonly refusals?: readonly Refusal[];
};

export interface Introspection {
  report(): NodeReport;
  /** What entered the actors, this life's and, as far as they are kept, earlier ones'. */
  journal(query: JournalQuery): JournalPage;
}
