/**
 * What the leases on disk do not tell, the host does: a pod whose traffic it routes has its address, whatever became of the record.
 *
 * A pod that bears our mark gets its lease back whole. Of another nothing is known but its address, which is held back; so is every
 * address that was there when a store began empty, until the API server has told too, and one that an old pod still uses although it
 * has moved to another ENI. An address that was given back is nobody's: its release is on disk, the host only has not been cleared yet.
 */
import type { CloudEni } from '../src/core/eni.ts';
import { heldBackLease } from '../src/core/held-back.ts';
import { type EniBinding, LEASE_VERSION, type Lease } from '../src/core/lease.ts';
import { OWN_ENI_TABLE } from '../src/core/own-eni.ts';
import { type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { HostPod } from '../src/ports/host.ts';

export type Witnesses = {
  /** Managed and attached. */
  readonly enis: readonly CloudEni[];
  readonly leases: readonly Lease[];
  /** Addresses whose release is on disk. */
  readonly released: ReadonlyMap<string, number>;
  /** Sandboxes whose release is on disk, and that the host may not have been cleared of yet. */
  readonly left: ReadonlyMap<SandboxKey, unknown>;
  readonly pods: readonly HostPod[];
  /** Addresses of both families that are kept for pods that come back. */
  readonly reserved?: ReadonlySet<string>;
  /** The store holds all that it should. */
  readonly whole: boolean;
  readonly bootId: string;
  readonly nowMs: number;
  /** Ours, and its device is not on the host: where a pod has it, that is in the pod. Absent: none is. */
  readonly isAway?: (eni: CloudEni) => boolean;
  readonly bindingOf: (eni: CloudEni, routeTable: number | null) => EniBinding;
};

export type Rebuilt = {
  /** To be written: leases of pods that the host told of. */
  readonly rebuilt: readonly Lease[];
  /** In memory alone (core/held-back.ts). */
  readonly heldBack: readonly Lease[];
};

export function rebuild(witnesses: Witnesses): Rebuilt {
  const { enis, leases, released, left, pods, whole, bootId, nowMs, bindingOf, isAway = () => false } = witnesses;
  const { reserved = new Set() } = witnesses;
  const rebuilt: Lease[] = [];
  const heldBack: Lease[] = [];
  const leased = new Set(leases.map((lease) => lease.grant.address.ipv4));
  // The cloud may have given what went with one ENI to another one since: an address alone does not name a lease.
  const leasedOn = new Set(leases.map(({ grant: { eni, address } }) => `${eni.eniId} ${address.ipv4}`));
  const known = new Set<SandboxKey>(leases.map((lease) => sandboxKey(lease.sandbox)));
  const podAt = new Map(pods.flatMap((pod) => pod.ips.map((ip) => [ip, pod] as const)));
  const named = new Set(leases.flatMap((lease) => lease.grant.address.ipv6 ?? []));
  for (const eni of enis) {
    // Which IPv6 a pod of a lost record has cannot be told either: as many as there are IPv4 are held back with them.
    const loose = eni.ipv6.filter((ip) => ![named, podAt, released, reserved].some((all) => all.has(ip))).sort();
    for (const ipv4 of eni.ipv4) {
      if (leasedOn.has(`${eni.eniId} ${ipv4}`)) continue;
      const pod = podAt.get(ipv4) ?? null;
      // Of a pod that the host has at two addresses, as between two lives of it, each IPv6 is one lease's.
      const ipv6 = pod?.ips.find((ip) => eni.ipv6.includes(ip) && !named.has(ip)) ?? null;
      if (ipv6 !== null) named.add(ipv6);
      const binding = bindingOf(eni, pod?.routeTable ?? null);
      const backHeld = (with6 = ipv6): void => void heldBack.push(heldBackLease(ipv4, with6, binding, nowMs));
      if (leased.has(ipv4)) {
        backHeld();
      } else if (released.has(ipv4) || (pod?.sandbox != null && left.has(sandboxKey(pod.sandbox)))) {
        // Its release is on disk.
      } else if (pod === null) {
        if (!whole && !reserved.has(ipv4)) backHeld(loose.shift() ?? null);
      } else if (pod.sandbox !== null && isOwn(eni, pod) && !known.has(sandboxKey(pod.sandbox))) {
        const sandbox = { netns: '', network: '', ...pod.sandbox, ownEni: true as const };
        known.add(sandboxKey(sandbox));
        const grant = { address: { ipv4, ipv6 }, eni: bindingOf(eni, OWN_ENI_TABLE) };
        rebuilt.push({ version: LEASE_VERSION, sandbox, grant, boundAtMs: nowMs, bootId });
      } else if (pod.sandbox === null || pod.routeTable === null || known.has(sandboxKey(pod.sandbox))) {
        backHeld();
      } else {
        const sandbox = { netns: '', network: '', ...pod.sandbox };
        known.add(sandboxKey(sandbox));
        const grant = { address: { ipv4, ipv6 }, eni: binding };
        const kept = pod.reserveMs === undefined ? {} : { reserveMs: pod.reserveMs };
        rebuilt.push({ version: LEASE_VERSION, sandbox, grant, boundAtMs: nowMs, ...kept, bootId });
      }
    }
  }
  return { rebuilt, heldBack };

  /** No rule leads what the pod sends to the ENI, since it leaves by the ENI's device in the pod. */
  function isOwn(eni: CloudEni, pod: HostPod): boolean {
    const isLed = pod.routeTable !== null && pod.routeTable !== OWN_ENI_TABLE;
    return !isLed && (pod.ownEni === true || isAway(eni));
  }
}
