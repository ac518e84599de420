import type { Address } from './address.ts';
import type { Subnet } from './eni.ts';
import type { Sandbox } from './sandbox.ts';

/** The ENI as a pod's datapath needs it. */
export type EniBinding = {
  readonly eniId: string;
  readonly mac: string;
  readonly subnet: Subnet;
  readonly device: {
    readonly name: string;
    readonly ifindex: number;
    readonly routeTable: number;
    readonly mtu: number;
  };
};

/** What an ENI promised a sandbox: offered, not yet persisted. */
export type Grant = { readonly address: Address; readonly eni: EniBinding };

export const LEASE_VERSION = 1;

/** The persisted binding of a sandbox to an address; written, synced, before it is answered. */
export type Lease = {
  readonly version: typeof LEASE_VERSION;
  readonly sandbox: Sandbox;
  readonly grant: Grant;
  readonly boundAtMs: number;
  /** How long the address is kept for the pod once the sandbox is gone; absent: not at all. */
  readonly reserveMs?: number;
  /** Of the host when it was bound: no sandbox outlives its boot. Absent in records of before there was one. */
  readonly bootId?: string;
};
