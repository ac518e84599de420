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
};

export interface PodDatapath {
  /** The link-local address each family's default route of a pod goes to. */
  readonly gateway: Readonly<Record<Family, string>>;
  isOwnNetns(path: string): boolean;
  /** Holds the namespace until closed. Throws CniError 8 when it cannot be entered. */
  open(netns: string): OpenPod;
  /** Takes away what the sandbox has on the host and in its namespace. Nothing there is success. Throws on anything else. */
  detach(sandbox: Sandbox, ips: readonly string[]): void;
}

export interface OpenPod {
  hasInterface(ifName: string): boolean;
  /** The interface is there and is one that an ADD of this sandbox made. */
  isMade(sandbox: Sandbox): boolean;
  /** All or nothing. */
  attach(wanted: PodWanted): { readonly hostName: string; readonly hostMac: string; readonly podMac: string };
  /** null, or the first missing object in words. */
  verify(wanted: PodWanted): string | null;
  close(): void;
}
