/** Who holds what, as the store has it. */
import type { Held, Holder } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import { LEASE_VERSION, type Lease } from '../src/core/lease.ts';
import { type Leftover, parseLeftover } from '../src/core/leftover.ts';
import { parseReservation, type Reservation } from '../src/core/reservation.ts';
import { podKey, type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Store } from '../src/ports/store.ts';

const holderOf = (lease: Lease): Holder => ({
  sandbox: sandboxKey(lease.sandbox),
  pod: podKey(lease.sandbox.pod),
  ...(lease.sandbox.ownEni === true && { ownEni: true as const }),
});

/** With the IPv6 that the lease names. */
export const heldOf = (lease: Lease): Held => ({ ...holderOf(lease), ipv6: lease.grant.address.ipv6 });

/**
 * Who holds the addresses of an ENI, or has them kept: leases on it that cannot be seen there too. An IPv6 that was kept beside an address, and is
 * a lease's by now, is that one's: others took it away meanwhile, and it came back on another ENI.
 */
export function heldOn(
  { eniId, ipv4 }: Pick<CloudEni, 'eniId' | 'ipv4'>,
  leases: readonly Lease[],
  reservations: ReadonlyMap<string, Reservation>,
  nowMs: number,
): Map<string, Held> {
  const here = leases.filter((lease) => lease.grant.eni.eniId === eniId);
  const held = new Map(here.map((lease): [string, Held] => [lease.grant.address.ipv4, heldOf(lease)]));
  const named = new Set(leases.map((lease) => lease.grant.address.ipv6));
  for (const { address, sandbox, pod, untilMs } of reservations.values())
    if (untilMs > nowMs && ipv4.includes(address.ipv4) && !held.has(address.ipv4)) {
      const ipv6 = named.has(address.ipv6) ? null : address.ipv6;
      held.set(address.ipv4, { sandbox, pod, ipv6, reservedUntilMs: untilMs });
    }
  return held;
}

export type LeasesOnDisk = {
  readonly leases: readonly Lease[];
  /** Sandboxes whose record cannot be read: any address may be theirs. */
  readonly unreadable: readonly SandboxKey[];
};

export async function readLeases(store: Store): Promise<LeasesOnDisk> {
  const leases: Lease[] = [];
  const unreadable: SandboxKey[] = [];
  for (const { key, value, unreadable: why } of await store.read('leases')) {
    const lease = why === undefined ? leaseOf(value, key) : null;
    if (lease !== null) leases.push(lease);
    else unreadable.push(key);
  }
  return { leases, unreadable };
}

/** null for a record of another version or shape, or one that is not under its own name. */
function leaseOf(value: unknown, key: SandboxKey): Lease | null {
  const lease = value as Partial<Lease> | null;
  if (typeof lease !== 'object' || lease?.version !== LEASE_VERSION) return null;
  const { sandbox, grant } = lease as { [name in keyof Lease]?: Partial<Lease[name]> };
  if (typeof grant?.address?.ipv4 !== 'string' || typeof grant.eni?.eniId !== 'string') return null;
  if (typeof grant.eni.device?.routeTable !== 'number' || typeof sandbox?.pod?.name !== 'string') return null;
  return sandboxKey(lease.sandbox as Lease['sandbox']) === key ? (lease as Lease) : null;
}

/** By address. One that cannot be read keeps nothing for anybody. */
export async function readReservations(store: Store): Promise<ReadonlyMap<string, Reservation>> {
  const records = await store.read('reservations');
  return new Map(
    records.flatMap(({ key, value }): [string, Reservation][] => {
      const reservation = parseReservation(value);
      return reservation === null ? [] : [[key, reservation]];
    }),
  );
}

/**
 * By address, of either family. A cool-down that cannot be read only costs a shorter rest. None ends after `latestMs`: written while the
 * machine's clock was ahead, and read after it was set, it would last for hours.
 */
export async function readCoolDowns(store: Store, latestMs = Infinity): Promise<ReadonlyMap<string, number>> {
  const records = await store.read('coolDowns');
  return new Map(
    records.flatMap(({ key, value }): [string, number][] =>
      typeof value === 'number' ? [[key, Math.min(value, latestMs)]] : [],
    ),
  );
}

/** By sandbox. One that cannot be read is nobody's. */
export async function readLeftovers(store: Store): Promise<ReadonlyMap<SandboxKey, Leftover>> {
  const records = await store.read('leftovers');
  return new Map(
    records.flatMap(({ key, value }): [SandboxKey, Leftover][] => {
      const leftover = parseLeftover(value);
      return leftover === null || sandboxKey(leftover.sandbox) !== key ? [] : [[key, leftover]];
    }),
  );
}
