/** What people see of the actors, read from their snapshots. Nothing here sends, waits or keeps anything. */
import type { AnyActorRef, SnapshotFrom } from 'xstate';
import { countsOf } from '../src/core/address-book.ts';
import { adviceOf } from '../src/core/advice.ts';
import { type Holds, holdEndMs } from '../src/core/holds.ts';
import type { Lease } from '../src/core/lease.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { ActorReport, EniReport, GcReport, NodeReport, PoolReport } from '../src/ports/introspection.ts';
import type { EniContext } from '../statecharts/eni-context.ts';
import type { eniFactoryMachine } from '../statecharts/eni-factory.ts';
import { type EniFactoryContext, policyOf, youngOf } from '../statecharts/eni-factory-context.ts';
import type { GarbageCollectorContext } from '../statecharts/garbage-collector-context.ts';
import { type IdlePoolContext, moveIn } from '../statecharts/idle-pool-context.ts';
import type { KernelKeeperContext } from '../statecharts/kernel-keeper.ts';
import type { LeaseContext } from '../statecharts/lease.ts';
import type { NodeRef } from '../statecharts/node.ts';
import { ENI_FACTORY, GARBAGE_COLLECTOR, IDLE_POOL, KERNEL_KEEPER, LEASES } from '../statecharts/receptionist.ts';
import { chartOf } from './observer.ts';
import type { SinceOf } from './since.ts';
import { statePath } from './state-path.ts';

type Snapshot = {
  readonly value?: unknown;
  readonly context?: unknown;
  readonly children?: Record<string, AnyActorRef>;
};

const snapshotOf = (actor: AnyActorRef): Snapshot => actor.getSnapshot() as Snapshot;

export function reportOf(root: NodeRef, since: SinceOf): NodeReport {
  const node = root.getSnapshot();
  const factory = root.system.get(ENI_FACTORY) as AnyActorRef | undefined;
  const leases = root.system.get(LEASES) as AnyActorRef | undefined;
  const idlePool = root.system.get(IDLE_POOL) as AnyActorRef | undefined;
  const enis = factory === undefined ? [] : enisOf(factory, since);
  const context =
    factory === undefined ? null : (factory.getSnapshot() as SnapshotFrom<typeof eniFactoryMachine>).context;
  const held = leases === undefined ? [] : leasesOf(leases);
  // From memory nothing can be said against an address.
  const sure = factory !== undefined && node.context.recovered?.unconfirmed !== true;
  const invalidLeases = !sure ? [] : held.filter((lease) => isInvalid(lease, enis));
  return {
    state: statePath(node.value),
    missing: node.context.missing,
    enis,
    pool: context === null || idlePool === undefined ? null : poolOf(idlePool, enis, invalidLeases),
    gc: gcOf(root.system.get(GARBAGE_COLLECTOR) as AnyActorRef | undefined),
    holds: factory === undefined ? [] : holdsOf(factory),
    leases: held,
    invalidLeases,
    waiting: (context?.waiting ?? []).map((request) => ({
      requestId: request.requestId,
      pod: request.pod,
      sinceMs: request.sinceMs,
      reason: context?.reasons.get(request.requestId) ?? 'not looked at yet',
    })),
    ...hostOf(root.system.get(KERNEL_KEEPER) as AnyActorRef | undefined),
    limits: limitsOf(node.context.facts, context),
    ...(context !== null && { vSwitches: context.vSwitches.map(({ vSwitchId, free }) => ({ vSwitchId, free })) }),
    actors: actorsUnder(root as AnyActorRef, 'node', since),
    ...(node.context.settings.readOnly && { readOnly: { would: wouldBe(context, idlePool) } }),
  };
}

/** What the factory and the pool would ask for. */
function wouldBe(factory: EniFactoryContext | null, idlePool: AnyActorRef | undefined): readonly string[] {
  if (factory === null || idlePool === undefined) return [];
  const pool = snapshotOf(idlePool).context as IdlePoolContext;
  const view = { waiting: factory.waiting, enis: Object.values(factory.enis), policy: policyOf(factory) };
  const { minIdle: keep } = pool.bounds;
  return adviceOf({ ...view, pool: moveIn(pool), keep, young: youngOf(factory), nowMs: factory.nowMs });
}

function limitsOf(
  facts: NodeFacts | null,
  factory: EniFactoryContext | null,
): NonNullable<NodeReport['limits']> | null {
  if (facts === null) return null;
  const limits = { enis: facts.eniCap, ipsPerEni: facts.ipv4PerEni };
  return factory === null ? limits : { ...limits, managedEnis: policyOf(factory).maxEnis };
}

function enisOf(factory: AnyActorRef, since: SinceOf): EniReport[] {
  // What only looks around for the factory is no ENI.
  const { holds, nowMs } = snapshotOf(factory).context as EniFactoryContext;
  const enis = Object.entries(snapshotOf(factory).children ?? {}).filter(([actor]) => actor.startsWith('eni:'));
  return enis.map(([actor, ref]) => {
    const snapshot = snapshotOf(ref);
    const eni = snapshot.context as EniContext;
    return {
      actor,
      state: statePath(snapshot.value),
      sinceMs: since(ref).atMs,
      phaseSinceMs: since(ref).phaseAtMs,
      eniId: eni.eniId,
      mac: eni.mac,
      vSwitchId: eni.vSwitchId,
      device: eni.device?.name ?? null,
      routeTable: eni.routeTable,
      addresses: eni.book.map((entry) => ({
        ipv4: entry.address.ipv4,
        ipv6: entry.address.ipv6,
        state: entry.state,
        ...(entry.ownEni === true && { ownEni: true as const }),
        pod: entry.pod,
        untilMs: entry.state === 'cooling' ? entry.atMs : null,
      })),
      ...(eni.dual && { halves: halvesIn(eni) }),
      waiting: eni.queue.length,
      heldUntilMs: heldUntilMs(holds, eni, nowMs),
      lastFailure: eni.lastFailure === null ? null : `${eni.lastFailure.code}: ${eni.lastFailure.detail}`,
    };
  });
}

function heldUntilMs(holds: Holds, { slot, vSwitchId }: EniContext, nowMs: number): number | null {
  const untilMs = Math.max(holdEndMs(holds, vSwitchId), holds.enis[slot] ?? 0);
  return untilMs > nowMs ? untilMs : null;
}

function holdsOf(factory: AnyActorRef): NonNullable<NodeReport['holds']> {
  const { holds, nowMs } = snapshotOf(factory).context as EniFactoryContext;
  const all = [
    ...Object.entries(holds.vSwitches).map(([name, untilMs]) => ({ of: 'vSwitch' as const, name, untilMs })),
    ...Object.entries(holds.enis).map(([slot, untilMs]) => ({ of: 'eni' as const, name: `eni:${slot}`, untilMs })),
    { of: 'opening' as const, name: null, untilMs: holds.openUntilMs },
    { of: 'quota' as const, name: null, untilMs: holds.quotaUntilMs },
  ];
  return all.filter(({ untilMs }) => untilMs > nowMs);
}

function halvesIn({ halves }: EniContext): readonly string[] {
  const { ipv4, ipv6, leaving, heldBack } = halves;
  return [...ipv4.map((entry) => entry.address.ipv4), ...ipv6.map(({ ip }) => ip), ...leaving, ...heldBack];
}

function poolOf(idlePool: AnyActorRef, enis: readonly EniReport[], invalidLeases: readonly Lease[]): PoolReport {
  const { bounds, capacity, totals } = snapshotOf(idlePool).context as IdlePoolContext;
  const counts = countsOf(enis.flatMap(({ addresses }) => addresses));
  const homeless = invalidLeases.filter(({ grant }) => !enis.some((eni) => eni.eniId === grant.eni.eniId)).length;
  return {
    state: statePath(snapshotOf(idlePool).value),
    ...bounds,
    counts: { ...counts, invalid: counts.invalid + homeless },
    capacity: totals?.capacity ?? capacity,
  };
}

function gcOf(ref: AnyActorRef | undefined): GcReport | null {
  if (ref === undefined) return null;
  const { value, context } = snapshotOf(ref);
  const { lastPassMs, looked, collected, failed, kept, lastFailure } = context as GarbageCollectorContext;
  const failure = lastFailure === null ? null : `${lastFailure.code}: ${lastFailure.detail}`;
  return { state: statePath(value), lastPassMs, looked, collected, failed, kept, lastFailure: failure };
}

function isInvalid({ grant }: Lease, enis: readonly EniReport[]): boolean {
  const eni = enis.find((one) => one.eniId === grant.eni.eniId);
  const address = eni?.addresses.find((one) => one.ipv4 === grant.address.ipv4);
  return address === undefined || address.state === 'invalid';
}

/** Those that are held by their sandboxes: not those being given back. */
export function boundLeases(root: AnyActorRef): readonly Lease[] {
  const leases = root.system.get(LEASES) as AnyActorRef | undefined;
  return leases === undefined ? [] : leasesOf(leases, ['bound']);
}

function leasesOf(leases: AnyActorRef, states: readonly string[] = ['bound', 'releasing']): Lease[] {
  return Object.values(snapshotOf(leases).children ?? {}).flatMap((ref) => {
    const { value, context } = snapshotOf(ref);
    const { lease } = context as LeaseContext;
    return lease !== null && states.includes(String(value)) ? [lease] : [];
  });
}

/** How many things of the host are told. */
const THINGS_MAX = 50;

function hostOf(keeper: AnyActorRef | undefined): Pick<NodeReport, 'host'> {
  if (keeper === undefined) return {};
  const { repairs, ledger } = snapshotOf(keeper).context as KernelKeeperContext;
  return { host: { repairs, things: ledger.slice(0, THINGS_MAX) } };
}

/** Machines only: the promises they invoke come and go. */
function actorsUnder(actor: AnyActorRef, path: string, since: SinceOf): ActorReport[] {
  const { value, children } = snapshotOf(actor);
  if (value === undefined) return [];
  const own = { path, chart: chartOf(actor), state: statePath(value), sinceMs: since(actor).atMs };
  const below = Object.entries(children ?? {}).flatMap(([id, child]) => actorsUnder(child, `${path}/${id}`, since));
  return [own, ...below];
}
