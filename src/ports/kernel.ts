/**
 * The host's side of the network. An ENI's device and its table are the daemon's to make; what belongs to a pod the plugin makes
 * (src/adapters/datapath), and the daemon only repairs.
 */
import type { Drift } from '../core/drift.ts';
import type { Subnet } from '../core/eni.ts';
import type { Sandbox, SandboxKey } from '../core/sandbox.ts';

export type EniDevice = {
  readonly ifindex: number;
  readonly name: string;
  /** The routing table that holds the default route through this ENI: 1000 + ifindex if that is free, else the next free. */
  readonly routeTable: number;
};

export type EniDeviceWanted = {
  readonly mac: string;
  readonly subnet: Subnet;
  /** The node's own address, put on the device as /32 so that it has a source for neighbour requests. */
  readonly nodeIp: string;
  readonly mtu: number;
  /** The table of an earlier life, kept if it still holds nothing else. */
  readonly routeTable: number | null;
};

/** An ENI that is in use, as its device has to be. */
export type EniKept = Omit<EniDeviceWanted, 'routeTable'> & {
  readonly routeTable: number;
  /** All it owns, of both families: on the device itself none of them may be, or the kernel answers in the pod's place. */
  readonly ips: readonly string[];
  /** Those nobody holds. */
  readonly freeIps: readonly string[];
};

/**
 * How sure it is that the plugin has done its part. `young`: it may be at work; nothing is touched. `old`: no ADD takes so long, or not what is
 * left of it; what is missing beside the pod's device is made. `seen`: all was there once, so that a device that is gone is worth a word.
 */
export type Standing = 'young' | 'old' | 'seen';

export type PodKept = {
  readonly sandbox: Sandbox;
  readonly ips: readonly string[];
  /** The table of the ENI that owns the addresses. */
  readonly routeTable: number;
  readonly standing: Standing;
};

/** A sandbox without a lease, and the addresses that are known to have been its. */
export type SandboxLeft = {
  readonly sandbox: Pick<Sandbox, 'containerId' | 'ifName' | 'pod'>;
  readonly ips: readonly string[];
};

export type HostWanted = {
  readonly enis: readonly EniKept[];
  /** Leases that are bound. One that is being made or released is not here. */
  readonly pods: readonly PodKept[];
  /** Every sandbox that has a lease in whatever state, or asks for one. */
  readonly claimed: ReadonlySet<SandboxKey>;
  /** Sandboxes that were given back: what they left goes. */
  readonly dead: readonly SandboxLeft[];
  /** Keys (core/repair-ledger.ts) of what is only looked at this time. */
  readonly heldOff: ReadonlySet<string>;
  /** Also settings below /proc/sys, which no event tells of. */
  readonly thorough: boolean;
};

export type HostKept = {
  readonly drifts: readonly Drift[];
  /** Sandboxes of `pods` of which everything was there. */
  readonly whole: readonly SandboxKey[];
  /**
   * Young ones that lack something although the plugin has marked their device, which it does right before it makes what is missing, or although
   * their device is of a plugin before ours.
   */
  readonly begun: readonly SandboxKey[];
  /** Host ends that bear our mark and nobody claims. They are left alone: whether they are dead others must know. */
  readonly unclaimed: readonly SandboxLeft[];
};

export interface Kernel {
  /** Writes the host's forwarding and reverse-path settings. Idempotent. */
  prepareHost(): Promise<void>;
  /**
   * Waits until a device with this MAC exists, then makes it ready: MTU, address, up, default route in its own table.
   * Idempotent. Rejects with AbortError when `signal` fires first, EnactorError `device` otherwise.
   */
  setUpEni(wanted: EniDeviceWanted, signal: AbortSignal): Promise<EniDevice>;
  /** Removes the table's routes and the rules that point to it; the device itself goes with the detach. Idempotent. */
  tearDownEni(device: Pick<EniDevice, 'routeTable'> & { readonly mac: string }): Promise<void>;
  /**
   * Compares the host with what is wanted, and repairs. All of it happens within this call, before it returns, so that what was wanted
   * a moment ago still is. What cannot be repaired is a drift of its own; rejects with EnactorError `device` when nothing could be read.
   */
  keep(wanted: HostWanted): Promise<HostKept>;
  /**
   * Calls back soon after something has changed that `keep` might have to mend, once for many changes; also when changes were
   * missed. Answers with the way to stop. Throws EnactorError `device`.
   */
  watch(onChange: () => void): () => void;
  /** Ends what the connection tracking remembers of these addresses. Resolves to how many entries went. */
  forgetConnections(ips: readonly string[]): Promise<number>;
}
