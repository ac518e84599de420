/**
 * What the host itself tells when the daemon starts: the witness beside the store, the cloud and the API server. Reads only.
 *
 * Methods reject with EnactorError `device`.
 */
import type { Sandbox } from '../core/sandbox.ts';

/** A pod whose traffic this host routes: it has a host end named `cali…` and a route to its address. */
export type HostPod = {
  /** The name of the host end. */
  readonly device: string;
  readonly ips: readonly string[];
  /** The table that its traffic is sent to; null when no rule says. */
  readonly routeTable: number | null;
  /** null when nothing tells whose it is, as with pods of Terway's plugin. */
  readonly sandbox: (Pick<Sandbox, 'containerId' | 'ifName' | 'pod'> & Partial<Pick<Sandbox, 'netns'>>) | null;
  /** How long its address is kept once the sandbox is gone; absent: nobody says so. */
  readonly reserveMs?: number;
  /** It has an ENI for itself, as whoever connected it has written down; absent: nobody says so. */
  readonly ownEni?: true;
};

export type HostLink = { readonly mac: string; readonly name: string; readonly ifindex: number };

export interface Host {
  /** Differs from boot to boot: no namespace of another boot exists any more. */
  bootId(): Promise<string>;
  pods(): Promise<readonly HostPod[]>;
  /** Devices with a MAC, lower case. */
  links(): Promise<readonly HostLink[]>;
}
