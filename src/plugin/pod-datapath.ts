/** What the verbs need of the kernel, in the words of the pod; src/adapters/datapath is behind it. All of it is synchronous. */
import type { Family } from '../core/ip.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { Shaping } from '../core/shaping.ts';

export type PodWanted = {
  readonly sandbox: Sandbox;
  readonly ips: readonly string[];
  readonly routeTable: number;
  readonly mtu: number;
  /** Of several interfaces of a pod only one may have it. */
  readonly defaultRoute: boolean;
  /** Absent: no limit. */
  readonly shaping?: Shaping;
  readonly connection: Connection;
};

/**
 * How a pod is connected: by a pair to the host, which routes for it (`veth`; also of the node's own prefix), or by a device on the network itself,
 * with a pair for what has to go through the host: the ENI's own, moved into the pod (`exclusive`), or a slave of one that pods share (`ipvlan`).
 */
export type Connection = { readonly kind: 'veth' } | ({ readonly kind: 'exclusive' | 'ipvlan' } & OnEni);

export type ConnectionKind = Connection['kind'];

/** A pod whose traffic does not meet the host. */
export type OnEni = {
  readonly mac: string;
  /** The vSwitch's, of each family that the pod has an address of. */
  readonly gateways: readonly string[];
  /** The vSwitch's prefixes, of the same families. */
  readonly subnets: readonly string[];
  /** Prefixes that go through the host, beside the node itself. */
  readonly throughHost: readonly string[];
};

/** What a sandbox had, as far as anybody can tell. */
export type Held = {
  readonly ips: readonly string[];
  /** MACs of ENIs that were its own; null: nobody can tell whether it had one. */
  readonly macs: readonly string[] | null;
};

export interface PodDatapath {
  /** The link-local address each family's default route of a pod goes to. */
  readonly gateway: Readonly<Record<Family, string>>;
  isOwnNetns(path: string): boolean;
  /** Holds the namespace until closed. Throws CniError 8 when it cannot be entered. */
  open(netns: string): OpenPod;
  /**
   * The addresses in the sandbox's namespace, if Terway's plugin has connected it: its interface's other end has the pod's name here and no mark of ours.
   * Of any other, and of a namespace that is gone, none. Changes nothing and never throws.
   */
  terwayAddresses(sandbox: Sandbox): readonly string[];
  /** Takes away what the sandbox has on the host and in its namespace. Nothing there is success. Throws on anything else. */
  detach(sandbox: Sandbox, held: Held): void;
}

export type PodMade = {
  readonly hostName: string;
  readonly hostMac: string;
  readonly podMac: string;
  /** Why it is connected by a pair and not as wanted; absent: it is as wanted. */
  readonly vethInstead?: string;
};

export interface OpenPod {
  hasInterface(ifName: string): boolean;
  /** The interface is there and is one that an ADD of this sandbox made. */
  isMade(sandbox: Sandbox): boolean;
  /** All or nothing. */
  attach(wanted: PodWanted): PodMade;
  /** null, or the first missing object in words. */
  verify(wanted: PodWanted): string | null;
  close(): void;
}
