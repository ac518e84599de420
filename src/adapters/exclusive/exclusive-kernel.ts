/**
 * Port Kernel where pods have an ENI each: its device is made nothing of on the host, where it only waits for the next pod. One that a pod has is in
 * the pod's namespace.
 */
import type { HostKept, Kernel } from '../../ports/kernel.ts';
import type { HostKernel } from '../datapath/host-kernel.ts';
import { TABLE_MAIN } from '../netlink/route.ts';

/** How long a device may be on its way back from a pod. */
const MISSING_MS = 15_000;

/** @param heldMacs of the ENIs that leases hold, in lower case: their devices are not looked for */
export function exclusiveKernel(host: HostKernel, heldMacs: () => Promise<ReadonlySet<string>>): Kernel {
  const missingSince = new Map<string, number>();
  return {
    async prepareHost() {
      host.masqueradeServices();
      await host.prepareHost();
    },
    async setUpEni({ mac }, signal) {
      const held = (await heldMacs()).has(mac.toLowerCase());
      const device = held ? { ifindex: 0, name: '' } : await host.whenPlugged(mac, signal);
      return { ...device, routeTable: TABLE_MAIN };
    },
    tearDownEni: async () => {},
    async keep(wanted): Promise<HostKept> {
      const kept = await host.keep({ ...wanted, enis: [] });
      const free = wanted.enis.filter(({ ips, freeIps }) => ips.length === freeIps.length).map(({ mac }) => mac);
      return { ...kept, drifts: [...kept.drifts, ...missing(host.missingDevices(free))] };
    },
    watch: (onChange) => host.watch(onChange),
    forgetConnections: (ips) => host.forgetConnections(ips),
  };

  function missing(macs: readonly string[]): HostKept['drifts'] {
    const nowMs = performance.now();
    for (const mac of [...missingSince.keys()]) if (!macs.includes(mac)) missingSince.delete(mac);
    for (const mac of macs) if (!missingSince.has(mac)) missingSince.set(mac, nowMs);
    return macs
      .filter((mac) => nowMs - (missingSince.get(mac) ?? nowMs) >= MISSING_MS)
      .map((mac) => ({
        kind: 'eniDevice',
        object: mac,
        pod: null,
        outcome: 'beyondRepair',
        detail: `no device has the MAC ${mac}`,
      }));
  }
}
