/**
 * The singletons of the actor system, found by name: the one place where a system id is turned into a typed reference.
 *
 * All are invoked by `node` together. While they start one may look for another that is not there yet: hence `undefined`.
 */
import type { ActorRef, ActorSystem, Snapshot } from 'xstate';
import type { FactoryEvent, KernelKeeperEvent, LeasesEvent, LookNow, PoolEvent } from './messages.ts';

type Singleton<E extends { type: string }> = ActorRef<Snapshot<unknown>, E>;
// biome-ignore lint/suspicious/noExplicitAny: the system's own type lists every actor, which would tie all charts together
type System = ActorSystem<any>;

export const LEASES = 'leases';
export const ENI_FACTORY = 'eniFactory';
export const IDLE_POOL = 'idlePool';
export const KERNEL_KEEPER = 'kernelKeeper';
export const CLOUD_KEEPER = 'cloudKeeper';
export const GARBAGE_COLLECTOR = 'garbageCollector';

export const leasesIn = (system: System): Singleton<LeasesEvent> => system.get(LEASES) as Singleton<LeasesEvent>;
export const eniFactoryIn = (system: System): Singleton<FactoryEvent> =>
  system.get(ENI_FACTORY) as Singleton<FactoryEvent>;
export const idlePoolIn = (system: System): Singleton<PoolEvent> | undefined =>
  system.get(IDLE_POOL) as Singleton<PoolEvent> | undefined;
export const kernelKeeperIn = (system: System): Singleton<KernelKeeperEvent> | undefined =>
  system.get(KERNEL_KEEPER) as Singleton<KernelKeeperEvent> | undefined;
export const cloudKeeperIn = (system: System): Singleton<LookNow> | undefined =>
  system.get(CLOUD_KEEPER) as Singleton<LookNow> | undefined;
export const garbageCollectorIn = (system: System): Singleton<LookNow> | undefined =>
  system.get(GARBAGE_COLLECTOR) as Singleton<LookNow> | undefined;
