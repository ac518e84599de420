/** The lease chart given hands: the store. One atomic, synced batch a transition, before anything is answered. */
import { fromPromise } from 'xstate';
import { halvesOf } from '../src/core/address.ts';
import { LEASE_VERSION, type Lease } from '../src/core/lease.ts';
import { sandboxKey } from '../src/core/sandbox.ts';
import type { StoreOp } from '../src/ports/store.ts';
import { leaseMachine } from '../statecharts/lease.ts';
import type { NodePorts } from './ports.ts';

/** `bootId`: of this boot, once it is known. */
export function leaseLogic(
  { store, clock }: Pick<NodePorts, 'store' | 'clock'>,
  coolDownMs: number,
  bootId: () => string | null,
) {
  return leaseMachine.provide({
    actors: {
      persist: fromPromise(async ({ input: { sandbox, grant } }) => {
        const boot = bootId();
        const lease: Lease = {
          version: LEASE_VERSION,
          sandbox,
          grant,
          boundAtMs: clock.nowMs(),
          ...(boot === null ? {} : { bootId: boot }),
        };
        await store.write([
          { type: 'put', in: 'leases', key: sandboxKey(sandbox), value: lease },
          ...halvesOf(grant.address).map((key): StoreOp => ({ type: 'del', in: 'coolDowns', key })),
        ]);
        return { atMs: clock.nowMs(), value: lease };
      }),
      erase: fromPromise(async ({ input: { lease } }) => {
        const coolUntilMs = clock.nowMs() + coolDownMs;
        await store.write([
          { type: 'del', in: 'leases', key: sandboxKey(lease.sandbox) },
          ...halvesOf(lease.grant.address).map(
            (key): StoreOp => ({ type: 'put', in: 'coolDowns', key, value: coolUntilMs }),
          ),
        ]);
        return { atMs: clock.nowMs(), value: { coolUntilMs } };
      }),
    },
  });
}
