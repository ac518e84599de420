/**
 * The host's side of an ENI. Owned by the daemon; what belongs to a pod is the plugin's (src/adapters/datapath).
 */
import type { Subnet } from '../core/eni.ts';

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
}
