/**
 * Port Kernel in memory. Devices are there at once, or after `deviceDelayMs`, or not at all while `missing` names their MAC.
 *
 * What it cannot show: that packets flow. The real adapter's tests do.
 */
import { sandboxKey } from '../core/sandbox.ts';
import type { EniDevice, EniDeviceWanted, HostKept, HostWanted, Kernel } from '../ports/kernel.ts';

export class FakeKernel implements Kernel {
  readonly devices = new Map<string, EniDevice>();
  readonly missing = new Set<string>();
  /** Found by the next `keep`, once. */
  drifts: HostKept['drifts'] = [];
  /** What `keep` was asked for last. */
  wanted: HostWanted | null = null;
  /** Addresses whose connections were ended. */
  readonly forgotten: string[] = [];
  #watching = new Set<() => void>();
  hostPrepared = 0;
  #next = 2;

  async prepareHost(): Promise<void> {
    this.hostPrepared += 1;
  }

  async setUpEni(wanted: EniDeviceWanted, signal: AbortSignal): Promise<EniDevice> {
    while (this.missing.has(wanted.mac)) {
      signal.throwIfAborted();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const known = this.devices.get(wanted.mac);
    if (known !== undefined) return known;
    const ifindex = this.#next;
    this.#next += 1;
    const device = { ifindex, name: `eth${ifindex - 1}`, routeTable: wanted.routeTable ?? 1000 + ifindex };
    this.devices.set(wanted.mac, device);
    return device;
  }

  async tearDownEni({ mac }: { readonly mac: string }): Promise<void> {
    this.devices.delete(mac);
  }

  async keep(wanted: HostWanted): Promise<HostKept> {
    this.wanted = wanted;
    const { drifts } = this;
    this.drifts = [];
    return { drifts, whole: wanted.pods.map(({ sandbox }) => sandboxKey(sandbox)), begun: [], unclaimed: [] };
  }

  watch(onChange: () => void): () => void {
    this.#watching.add(onChange);
    return () => void this.#watching.delete(onChange);
  }

  /** Tells those who watch. */
  changed(): void {
    for (const tell of [...this.#watching]) tell();
  }

  async forgetConnections(ips: readonly string[]): Promise<number> {
    this.forgotten.push(...ips);
    return 0;
  }
}
