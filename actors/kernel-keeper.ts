/**
 * The kernel keeper given hands: what is wanted is read from the actors at the moment of the look, and the port does the rest.
 */
import { type EventObject, fromCallback, fromPromise } from 'xstate';
import { failureOf } from '../src/core/errors.ts';
import { familyOf } from '../src/core/ip.ts';
import type { Leftover } from '../src/core/leftover.ts';
import { isTaken } from '../src/core/own-eni.ts';
import type { RepairNews } from '../src/core/repair-ledger.ts';
import type { SandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import type { EniKept, HostWanted, SandboxLeft } from '../src/ports/kernel.ts';
import type { Log } from '../src/ports/log.ts';
import type { At } from '../statecharts/at.ts';
import type { EniContext } from '../statecharts/eni-context.ts';
import { kernelKeeperMachine, type Sweep, type Swept } from '../statecharts/kernel-keeper.ts';
import { HostMemory } from './host-memory.ts';

import { readCoolDowns, readLeftovers } from './leases-on-disk.ts';
import type { LivingNode } from './living.ts';
import type { NodePorts } from './ports.ts';

export type KernelKeeperHands = Pick<NodePorts, 'kernel' | 'store' | 'clock' | 'log'> & {
  readonly settings: () => Settings;
  readonly living: () => LivingNode;
};

export function kernelKeeperLogic({ kernel, store, clock, log, settings, living }: KernelKeeperHands) {
  const memory = new HostMemory(() => settings().leftoverGraceMs);

  const sweep = async ({ heldOff, thoroughFromMs }: Sweep): Promise<At<Swept>> => {
    const startMs = clock.nowMs();
    const thorough = startMs >= thoroughFromMs;
    const leftovers = await left();
    const { nodeIp, enis, leases, claimed } = living();
    const wanted: HostWanted = {
      ...memory.wanted(leases, claimed, leftovers, startMs),
      enis: enis.flatMap((eni) => keptOf(eni, nodeIp)),
      heldOff: new Set(heldOff.filter(({ untilMs }) => untilMs > startMs).map(({ key }) => key)),
      thorough,
    };
    // Between reading the actors and this call nothing may be awaited.
    const kept = await kernel.keep(wanted);
    const atMs = clock.nowMs();
    const released = await releasedOf(kept.unclaimed);
    const cleared = memory.learn(kept, wanted.dead, released, atMs);
    await strikeOut(cleared.filter((key) => leftovers.has(key)));
    await forget(
      wanted.dead,
      kept.drifts.some(({ kind }) => kind === 'leftover'),
    );
    log.debug({ ms: atMs - startMs, thorough, drifts: kept.drifts.length }, 'host looked at');
    const nextDueMs = memory.nextDueMs(startMs);
    return { atMs: clock.nowMs(), value: { drifts: kept.drifts, thorough, nextDueMs } };
  };

  /** What sandboxes may have left, as the disk has it. One that cannot be read now is asked again: nothing else waits for it. */
  const left = async (): Promise<ReadonlyMap<SandboxKey, Leftover>> => {
    try {
      return await readLeftovers(store);
    } catch (error) {
      log.debug({ failure: failureOf(error) }, 'what released sandboxes may have left cannot be read');
      return new Map();
    }
  };

  /** Unsynced: a record that comes back costs one more look. */
  const strikeOut = async (keys: readonly SandboxKey[]): Promise<void> => {
    if (keys.length === 0) return;
    const ops = keys.map((key) => ({ type: 'del', in: 'leftovers', key }) as const);
    await store.write(ops, { synced: false }).catch((error: unknown) => {
      log.debug({ failure: failureOf(error) }, 'what is gone from the host stays on record');
    });
  };

  /** That nobody has a lease for it is one witness, and may be a store that was lost; that its address rests is another. */
  const releasedOf = async (unclaimed: readonly SandboxLeft[]): Promise<readonly SandboxLeft[]> => {
    if (unclaimed.length === 0) return [];
    const resting = await readCoolDowns(store);
    return unclaimed.filter(({ ips }) => {
      const named = ips.filter((ip) => familyOf(ip) === 4); // the IPv4 names the pair
      return named.length > 0 && named.every((ip) => resting.has(ip));
    });
  };

  const forget = async (dead: readonly SandboxLeft[], found: boolean): Promise<void> => {
    if (!found) return;
    const taken = new Set(living().leases.map(({ grant }) => grant.address.ipv4));
    const ips = dead.flatMap((left) => left.ips).filter((ip) => !taken.has(ip));
    await kernel.forgetConnections(ips).catch((error: unknown) => {
      log.debug({ ips, failure: failureOf(error) }, 'connections of a dead sandbox could not be ended');
    });
  };

  return kernelKeeperMachine.provide({
    actions: {
      tellRepairs: (_, { news }) => {
        for (const one of news) tell(log, one);
      },
    },
    actors: {
      sweep: fromPromise(async ({ input }) => {
        try {
          return await sweep(input);
        } catch (error) {
          log.warn({ failure: failureOf(error) }, 'the host could not be looked at');
          throw error;
        }
      }),
      watch: fromCallback<EventObject, undefined>(({ sendBack }) => {
        try {
          return kernel.watch(() => sendBack({ type: 'kernelChanged', atMs: clock.nowMs() }));
        } catch (error) {
          log.warn(
            { failure: failureOf(error) },
            'the kernel tells no changes: the host is looked at by the clock only',
          );
          throw error;
        }
      }),
    },
  });
}

/** Once per thing, and once more when somebody turns out to work against us. */
function tell(log: Log, { kind, object, pod, outcome, detail, times, contested }: RepairNews): void {
  const fields = { kind, object, pod, detail };
  if (contested) log.error({ ...fields, times }, 'somebody undoes a repair again and again: it is made less often now');
  else if (outcome === 'repaired') log.warn(fields, 'host repaired');
  else if (outcome === 'failed') log.error(fields, 'a repair of the host failed');
  else log.error(fields, 'something on the host is gone and cannot be repaired from here');
}

function keptOf({ mac, subnet, mtu, device, book }: EniContext, nodeIp: string): EniKept[] {
  if (mac === null || device === null || isTaken(book)) return [];
  const ips = book.flatMap(({ address: { ipv4, ipv6 } }) => (ipv6 === null ? [ipv4] : [ipv4, ipv6]));
  const free = book.filter(({ state }) => state === 'idle' || state === 'cooling');
  const freeIps = free.flatMap(({ address: { ipv4, ipv6 } }) => (ipv6 === null ? [ipv4] : [ipv4, ipv6]));
  return [{ mac, subnet, nodeIp, mtu, routeTable: device.routeTable, ips, freeIps }];
}
