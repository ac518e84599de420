/**
 * What may be done to the world, one thing at a time. Whatever a deed names that does not exist by then is skipped.
 */
import type { Settings } from '../core/settings.ts';
import type { NodeCommand } from '../ports/introspection.ts';
import type { Fault } from '../vpc/faults.ts';
import type { LateCalls } from './late-plan.ts';
import type { Kind } from './lifetimes.ts';
import type { Flaw } from './plugged-kernel.ts';

/** In an ambush of an ENI: its own device. */
export const MET_ENI = 'met';

/** Where in a node's life a crash strikes: now, or at the nth time that it passes the point from now on. */
export type CrashPoint = 'now' | 'callSending' | 'callCarriedOut' | 'storeWriting' | 'storePending' | 'storeSynced';

/**
 * deleted, finished, replaced (by another pod of its name): nothing of the sandbox is left, and no DEL comes, or late. lingers: the API
 * server knows it no more, but its namespace is there. sandboxLost: the pod is there, and its sandbox is not. Those two keep their address.
 */
export const FATES = ['deleted', 'finished', 'replaced', 'lingers', 'sandboxLost'] as const;
export type Fate = (typeof FATES)[number];

/**
 * Ports whose calls may be made to fail. `host`: it does not tell its devices. `turns`: a call may not even wait, since the same was
 * forbidden a moment ago.
 */
export const FAILING_PORTS = ['store', 'metadata', 'kernel', 'kubernetes', 'sandboxes', 'host', 'turns'] as const;
export type FailingPort = (typeof FAILING_PORTS)[number];

/** Which of the collector's witnesses says that what is there is not. */
export type Lapse = 'api' | 'host';

/** Of what a running daemon takes. Its times are left alone, since the simulation's own limits are reckoned from them. */
export type Changed = Partial<
  Pick<
    Settings,
    | 'minIdle'
    | 'maxIdle'
    | 'minEnis'
    | 'maxEnis'
    | 'vSwitchIds'
    | 'eniPolicy'
    | 'adaptivePool'
    | 'reclaim'
    | 'eniTags'
    | 'cloudPeriodMs'
    | 'gcPeriodMs'
    | 'kernelPeriodMs'
  >
>;

export type Deed =
  | {
      readonly do: 'add';
      readonly node: number;
      readonly container: string;
      readonly withinMs: number;
      readonly abortMs: number | null;
    }
  | { readonly do: 'del'; readonly node: number; readonly container: string }
  /** What becomes of a pod without anybody telling the node. */
  | { readonly do: 'fate'; readonly node: number; readonly container: string; readonly fate: Fate }
  /** Its pod is made anew at the API server, and is on no node yet. */
  | { readonly do: 'pending'; readonly node: number; readonly container: string }
  | {
      readonly do: 'crash';
      readonly node: number;
      readonly point: CrashPoint;
      readonly nth: number;
      readonly downMs: number;
      /** Share of the unsynced writes that made it. */
      readonly kept: number;
    }
  /** Told to stop, as an upgrade does, and started again; `againMs` after that start once more, perhaps before it has recovered. */
  | {
      readonly do: 'restart';
      readonly node: number;
      /** How long those who are being served may take. */
      readonly drainMs: number;
      readonly downMs: number;
      readonly againMs: number | null;
    }
  /** An actor dies of a fault of its own; the process is started again `untilMs` later, if it has not ended by itself. */
  | {
      readonly do: 'defect';
      readonly node: number;
      readonly of: 'eni' | 'lease' | 'supervisor';
      readonly which: number;
      readonly forMs: number;
    }
  /** `forMs`: when it is taken back, used up or not. */
  | { readonly do: 'callFault'; readonly fault: Fault; readonly forMs: number }
  /** The daemon ends and the disk has lost all, or the lease of one sandbox. */
  | {
      readonly do: 'lose';
      readonly node: number;
      readonly what: 'store' | 'lease';
      readonly which: number;
      readonly downMs: number;
    }
  /** The host is booted. */
  | { readonly do: 'reboot'; readonly node: number; readonly downMs: number; readonly kept: number }
  /** Calls of an API are answered by nothing and carried out later (virtual-cloud.ts). `next`: what is done after each is kept. */
  | {
      readonly do: 'lateCalls';
      readonly node: number;
      readonly calls: LateCalls;
      readonly forMs: number;
      readonly next: readonly { readonly afterMs: number; readonly deed: Deed }[];
    }
  | {
      readonly do: 'portFault';
      readonly node: number;
      readonly port: FailingPort;
      readonly times: number;
    }
  /** Nobody of these answers the node. */
  | { readonly do: 'away'; readonly node: number; readonly who: 'cloud' | 'metadata' | 'both'; readonly forMs: number }
  /** The configuration is another one, now and after every start. */
  | { readonly do: 'settings'; readonly node: number; readonly changed: Changed }
  | { readonly do: 'cordon'; readonly node: number; readonly cordoned: boolean }
  /** An operator tells the keepers to look. */
  | { readonly do: 'lookNow'; readonly node: number; readonly command: NodeCommand }
  /** The next lists of pods leave some out. */
  | { readonly do: 'shortLists'; readonly node: number; readonly times: number }
  /** For the next pass of the collector a witness is mistaken: the API server is behind, or the host hides its namespaces. */
  | { readonly do: 'lapse'; readonly node: number; readonly of: Lapse }
  /** What sandboxes have left on the host cannot be removed for so long. */
  | { readonly do: 'stuck'; readonly node: number; readonly forMs: number }
  /** Calls of the API server take this long, all that begin within `forMs`. */
  | { readonly do: 'slowApi'; readonly node: number; readonly ms: number; readonly forMs: number }
  /** Writes take this long, all that begin within `forMs`. */
  | { readonly do: 'slowStore'; readonly node: number; readonly ms: number; readonly forMs: number }
  /** Somebody changes an ENI's device, or what a pod has on the host. */
  | { readonly do: 'drift'; readonly node: number; readonly flaw: Flaw; readonly which: number }
  /** The host loses the device of an ENI for so long, and the cloud does not. */
  | { readonly do: 'unplug'; readonly node: number; readonly which: number | typeof MET_ENI; readonly forMs: number }
  /** Its calls wait for their turn as where a fleet shares the account's: up to so long each. */
  | { readonly do: 'slowTurns'; readonly node: number; readonly ms: number; readonly forMs: number }
  /** Devices that are plugged in from now on appear so much later. */
  | { readonly do: 'lateDevices'; readonly node: number; readonly lateMs: number; readonly forMs: number }
  /** All but so many of the free addresses of a vSwitch are nobody's to take. */
  | { readonly do: 'drySwitch'; readonly vSwitch: number; readonly forMs: number }
  | {
      readonly do: 'outOfBand';
      readonly node: number;
      /** deletingEni: it is being deleted for a while. strayEni: one with our tags that no actor has, as a Create makes which was given up. */
      readonly change: 'unassign' | 'assign' | 'detachEni' | 'deleteEni' | 'foreignEni' | 'strayEni' | 'deletingEni';
      readonly which: number;
    }
  /** What a node was given to open doors with ends now, before its time. */
  | { readonly do: 'takeBack'; readonly node: number; readonly kind: Kind }
  /** Kubelet writes no new tokens for a while. */
  | { readonly do: 'kubeletSleeps'; readonly node: number; readonly forMs: number }
  /** Whoever runs the world looks at it. */
  | { readonly do: 'look' }
  /**
   * Something is done at the nth time from now on that an actor of the node enters a state, while it is in it: what is rarely met by
   * chance is met at every awkward moment. Where the deed picks an actor or an ENI, it is that one.
   */
  | {
      readonly do: 'ambush';
      readonly node: number;
      readonly state: string;
      readonly nth: number;
      readonly deeds: readonly Deed[];
    };

export type Decision = Deed & { readonly atMs: number };

/** What a seed may do besides adding and deleting pods. */
export type PlanKinds = {
  readonly faults: boolean;
  readonly crashes: boolean;
  /** Actors may die of faults of their own. */
  readonly defects: boolean;
  readonly outOfBand: boolean;
  /** Some node is, or turns, dual stack: calls for IPv6 fail too. */
  readonly dual: boolean;
};
