/**
 * What people and tools may see of the actors. Reading is synchronous on snapshots and never waits for an allocation.
 */
import type { ErrorCode } from '../core/errors.ts';
import type { JournalPage, JournalQuery } from '../core/input-journal.ts';
import type { Lease } from '../core/lease.ts';
import type { Kind } from '../core/own-eni.ts';
import type { Considered } from '../core/placement-view.ts';
import type { RepairEntry } from '../core/repair-ledger.ts';
import type { Life } from '../core/support-bundle.ts';
import type { StatusReply } from '../core/wire.ts';

export type { AddressState } from '../core/address-book.ts';

import type { AddressState } from '../core/address-book.ts';
import type { GroupFinding } from '../core/group-findings.ts';
import type { HostFacts } from '../core/host-needs.ts';
import type { ChartData } from './chart-data.ts';
import type { CredentialsReport } from './credentials.ts';
import type { WatchListener, WatchOptions } from './inspected.ts';
import type { StoreState } from './store.ts';

export type EniReport = {
  /** The actor's name, `eni:<slot>`. */
  readonly actor: string;
  /** Dotted path of the chart's state, `inUse.assigning`. */
  readonly state: string;
  readonly sinceMs: number;
  /** Since when it is in the outermost state (`inUse`), whatever it did there meanwhile; absent: told by an older daemon. */
  readonly phaseSinceMs?: number;
  readonly eniId: string | null;
  readonly mac: string | null;
  readonly vSwitchId: string | null;
  readonly device: string | null;
  readonly routeTable: number | null;
  readonly addresses: readonly {
    readonly ipv4: string;
    readonly ipv6: string | null;
    readonly state: AddressState;
    /** Its holder has the whole ENI; absent: only this address. */
    readonly ownEni?: true;
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
  /** Until when neither it nor its vSwitch is asked for more; null or absent: it is. */
  readonly heldUntilMs?: number | null;
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

/** `chart`: its id, as the list of charts has it. */
export type ActorReport = {
  readonly path: string;
  readonly chart: string | null;
  readonly state: string;
  readonly sinceMs: number;
};

export type ActorDetail = Omit<ActorReport, 'state'> & {
  /** null for what is no chart: a call under way, a watch. */
  readonly state: string | null;
  readonly status: string;
  readonly tags: readonly string[];
  /** Events that it has a transition for just now. */
  readonly accepts: readonly string[];
  /** Paths. */
  readonly children: readonly string[];
  /** Bounded; what is left out says so, and what is named like a secret is masked. */
  readonly context?: unknown;
  readonly error?: unknown;
};

/** What a request goes through, in this order. */
export type Stage = 'asked' | 'podKnown' | 'placed' | 'offered' | 'persisted' | 'answered';

/** Why a pod has its address, or has none. */
export type Why = {
  /** `namespace/name`. */
  readonly pod: string;
  readonly verdict: 'bound' | 'waiting' | 'refused' | 'unknown';
  /** All of it in a sentence. */
  readonly answer: string;
  readonly leases: readonly {
    readonly sandbox: string;
    readonly ipv4: string;
    readonly ipv6: string | null;
    readonly eniId: string;
    readonly kind: Kind;
    readonly boundAtMs: number;
  }[];
  /** What was decided for its last request, in order; empty for what an earlier life of the daemon did. */
  readonly decisions: readonly { readonly atMs: number; readonly what: string }[];
  /** How its last request went; `tookMs` since the stage before. */
  readonly stages: readonly { readonly stage: Stage; readonly atMs: number; readonly tookMs: number }[];
  /** Its requests that have no address yet, with where they wait. */
  readonly requests: readonly {
    readonly requestId: string;
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly reason: string;
  }[];
  /** For a pod without an address: all ways in which it could come by one. */
  readonly considered: readonly Considered[];
  readonly underWay: readonly string[];
  readonly nextTryMs: number | null;
  readonly refusal: Refusal | null;
};

/** What may be told to a node from the debug socket. Each is an input of the actors, and in the journal. */
export const NODE_COMMANDS = ['gc', 'sync'] as const;
/** gc: a pass of the garbage collector at once. sync: cloud and host are compared with what the node knows at once. */
export type NodeCommand = (typeof NODE_COMMANDS)[number];

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

/** How the watch of the node's pods fares. */
export type PodWatchReport = {
  /** When all pods were last listed, and when anything was last heard; null before the first time. */
  readonly syncedAtMs: number | null;
  readonly heardAtMs: number | null;
  /** Since when it has been away: what happened meanwhile is not known yet. */
  readonly awaySinceMs: number | null;
  /** Of the last failure, also after it is over. */
  readonly why: string | null;
  /** How often it has gone away since the daemon started. */
  readonly gaps: number;
};

/** Whether the node can take one more pod, and since when it could not. */
export type RoomReport = { readonly full: boolean; readonly free: number; readonly why: string };

/** Read-only mode: what would be done now, and the calls of the cloud that were refused so far, each with how often and when last. */
export type ReadOnlyReport = {
  readonly would: readonly string[];
  readonly refused?: readonly { readonly what: string; readonly times: number; readonly lastMs: number }[];
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
  /** Absent unless the node is in read-only mode. */
  readonly readOnly?: ReadOnlyReport;
  /** What had to be mended on the host, and what cannot be; absent before the node serves. */
  readonly host?: HostReport;
  /** What is not asked again before its end; absent or empty: nothing. `name`: the vSwitch, or the ENI's actor. */
  readonly holds?: readonly {
    readonly of: 'vSwitch' | 'eni' | 'opening' | 'quota';
    readonly name: string | null;
    readonly untilMs: number;
  }[];
  /** How the database is; absent in what only looks like a report. */
  readonly store?: StoreState;
  /** The last input that it takes account of. */
  readonly atSeq?: number;
  /** The newest first. The daemon's own, beside what the actors tell, so absent in theirs. */
  readonly refusals?: readonly Refusal[];
  /** The daemon's own too. */
  readonly podWatch?: PodWatchReport;
  readonly room?: RoomReport | null;
  /** What the plugin's STATUS would be told. */
  readonly readiness?: StatusReply;
  /** What the instance type and the settings allow; null until the node knows itself. */
  readonly limits?: {
    readonly enis: number;
    readonly ipsPerEni: number;
    /** Of `enis`, those that others leave to us; absent before the node serves. */
    readonly managedEnis?: number;
  } | null;
  /** Where ENIs may be opened, and how many addresses each had left when last looked at; null: not known. Absent before the node serves. */
  readonly vSwitches?: readonly { readonly vSwitchId: string; readonly free: number | null }[];
  /** The daemon's own, as refusals are; absent in mode VPC, which asks no cloud. */
  readonly cloud?: CloudReport;
  /** Of mode VPC alone: whether somebody has made the VPC's route to this node's pods; null: nobody says so. */
  readonly podRoute?: PodRouteReport | null;
  /** The machine that the daemon runs on, and what it goes without there; the daemon's own. */
  readonly machine?: MachineReport;
};

/** What the Node object says of the route that leads its pods' addresses here. */
export type PodRouteReport = { readonly made: boolean; readonly reason: string; readonly message: string };

/** `enactor`: the daemon's version; `node`: of Node. */
export type MachineReport = HostFacts & {
  readonly enactor: string;
  readonly node: string;
  readonly lacks: readonly string[];
};

export type GroupsReport = {
  readonly lookedMs: number;
  readonly findings: readonly GroupFinding[];
  /** Why the last look saw nothing; then the findings are those of the one before. */
  readonly failure: string | null;
};

/** How somebody answers whom the daemon asks now and then. */
export type ReachReport = {
  /** null: never yet. */
  readonly answeredMs: number | null;
  /** null while it answers. `why`: of the last failure. */
  readonly silent: { readonly sinceMs: number; readonly why: string } | null;
};

/** The way to the cloud. No secret is in it. */
export type CloudReport = {
  /** Absent in what an older daemon tells. */
  readonly api?: ReachReport;
  readonly metadata?: ReachReport;
  readonly credentials: CredentialsReport;
  /** By how much the cloud's clock is ahead of ours; null before its first answer. */
  readonly clockSkewMs: number | null;
  /** APIs that the cloud has throttled, how often in a row, and for how long they rest yet. */
  readonly resting: readonly { readonly api: string; readonly times: number; readonly forMs: number }[];
  /** null before the first look. */
  readonly securityGroups: GroupsReport | null;
};

export interface Introspection {
  report(): NodeReport;
  /** What entered the actors, this life's and, as far as they are kept, earlier ones'. */
  journal(query: JournalQuery): JournalPage;
  /** null when there is no actor at this path. */
  actor(path: string): ActorDetail | null;
  charts(): readonly ChartData[];
  life(): Life;
  /** Of a pod, `namespace/name`. */
  why(pod: string): Why;
  /** Tells `listener` of every actor there is, and from then on of all that happens. What it returns ends that, any number of times. */
  watch(listener: WatchListener, options: WatchOptions): () => void;
  /** Throws EnactorError `notReady` while there is nobody to be told. */
  command(command: NodeCommand): void;
}
