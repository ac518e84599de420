/** The lease chart given hands: the store, and the kernel's memory of the address. One atomic, synced batch a transition, before anything is answered. */
import { fromPromise } from 'xstate';
import { addressKey, halvesOf } from '../src/core/address.ts';
import { failureOf } from '../src/core/errors.ts';
import { type Grant, LEASE_VERSION, type Lease } from '../src/core/lease.ts';
import { leftoverOf } from '../src/core/leftover.ts';
import { reservationOf } from '../src/core/reservation.ts';
import { sandboxKey } from '../src/core/sandbox.ts';
import type { StoreOp } from '../src/ports/store.ts';
import { leaseMachine } from '../statecharts/lease.ts';
import type { NodePorts } from './ports.ts';

/** `bootId`: of this boot, once it is known. */
export function leaseLogic(
  { store, clock, kernel, log }: Pick<NodePorts, 'store' | 'clock' | 'kernel' | 'log'>,
  coolDownMs: () => number,
  bootId: () => string | null,
) {
  /**
   * What is tracked of the pod before, a service's flow to it above all, must not reach this one: it may have come up again while the
   * address was resting. No pod goes without its address for that. Source: cases/field P23.
   */
  const forget = async ({ address: { ipv4, ipv6 } }: Grant): Promise<void> => {
    try {
      const gone = await kernel.forgetConnections(ipv6 === null ? [ipv4] : [ipv4, ipv6]);
      if (gone > 0) log.debug({ ip: ipv4, entries: gone }, 'tracked connections of an earlier pod ended');
    } catch (error) {
      log.warn({ ip: ipv4, failure: failureOf(error) }, 'tracked connections of an earlier pod could not be ended');
    }
  };

  return leaseMachine.provide({
    actors: {
      persist: fromPromise(async ({ input: { sandbox, grant, reserveMs } }) => {
        const boot = bootId();
        const lease: Lease = {
          version: LEASE_VERSION,
          sandbox,
          grant,
          boundAtMs: clock.nowMs(),
          ...(boot === null ? {} : { bootId: boot }),
          ...(reserveMs > 0 ? { reserveMs } : {}),
        };
        await Promise.all([
          store.write([
            { type: 'put', in: 'leases', key: sandboxKey(sandbox), value: lease },
            ...halvesOf(grant.address).map((key): StoreOp => ({ type: 'del', in: 'coolDowns', key })),
            { type: 'del', in: 'reservations', key: addressKey(grant.address) },
            { type: 'del', in: 'leftovers', key: sandboxKey(sandbox) },
          ]),
          forget(grant),
        ]);
        return { atMs: clock.nowMs(), value: lease };
      }),
      erase: fromPromise(async ({ input: { lease, forGood } }) => {
        const nowMs = clock.nowMs();
        const coolUntilMs = nowMs + coolDownMs();
        const kept = forGood ? null : reservationOf(lease, nowMs, coolUntilMs);
        const key = sandboxKey(lease.sandbox);
        await store.write([
          { type: 'del', in: 'leases', key },
          { type: 'put', in: 'leftovers', key, value: leftoverOf(lease, nowMs) },
          ...halvesOf(lease.grant.address).map(
            (key): StoreOp => ({ type: 'put', in: 'coolDowns', key, value: coolUntilMs }),
          ),
          ...(kept === null
            ? []
            : [{ type: 'put' as const, in: 'reservations' as const, key: addressKey(kept.address), value: kept }]),
        ]);
        if (kept !== null)
          log.info({ pod: kept.pod, ip: kept.address.ipv4, untilMs: kept.untilMs }, 'address reserved');
        return { atMs: clock.nowMs(), value: { coolUntilMs, reservedUntilMs: kept?.untilMs ?? null } };
      }),
    },
  });
}
