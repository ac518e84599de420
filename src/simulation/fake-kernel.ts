/**
 * Port Kernel in memory. Devices are there at once, or after `deviceDelayMs`, or not at all while `missing` names their MAC.
 *
 * What it cannot show: that packets flow. The real adapter's tests do.
 */
import type { EniDevice, EniDeviceWanted, Kernel } from '../ports/kernel.ts';

export class FakeKernel implements Kernel {
  readonly devices = new Map<string, EniDevice>();
  readonly missing = new Set<string>();
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
}
