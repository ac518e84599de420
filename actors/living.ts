/** The actors as they are at this very moment, for hands that act on what is true now and not on what a chart was told. */
import type { AnyActorRef } from 'xstate';
import { isHeldBack } from '../src/core/held-back.ts';
import type { Lease } from '../src/core/lease.ts';
import { knownIps } from '../src/core/pairs.ts';
import { REMEMBERED_ENI_VERSION, type RememberedEni, sureIps } from '../src/core/remembered-eni.ts';
import { type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { EniContext } from '../statecharts/eni-context.ts';
import type { LeaseContext } from '../statecharts/lease.ts';
import type { NodeRef } from '../statecharts/node.ts';
import { ENI_FACTORY, LEASES } from '../statecharts/receptionist.ts';

export type LivingNode = {
  readonly nodeIp: string;
  /** ENIs in use. */
  readonly enis: readonly EniContext[];
  /** Leases that are bound; those that hold addresses back have no sandbox that anything could be made for. */
  readonly leases: readonly Lease[];
  /** Sandboxes that have a lease actor, in whatever state. */
  readonly claimed: ReadonlySet<SandboxKey>;
};

type Snapshot = { readonly status: string; readonly value?: unknown; readonly context?: unknown };

export function livingIn(root: NodeRef, nodeIp: string): LivingNode {
  const enis = childrenOf(root.system.get(ENI_FACTORY)).flatMap(([id, { value, context }]) =>
    id.startsWith('eni:') && typeof value === 'object' && value !== null && 'inUse' in value
      ? [context as EniContext]
      : [],
  );
  const all = childrenOf(root.system.get(LEASES)).filter(([id]) => id.startsWith('lease:'));
  const leases = all.flatMap(([, { value, context }]) => {
    const { lease } = context as LeaseContext;
    return value === 'bound' && lease !== null && !isHeldBack(lease.sandbox) ? [lease] : [];
  });
  return { nodeIp, enis, leases, claimed: new Set(all.map(sandboxOf)) };
}

/** Sandboxes that have a lease actor, in whatever state; null when nobody can tell. */
export function claimedIn(root: NodeRef): ReadonlySet<SandboxKey> | null {
  const leases = root.system.get(LEASES) as AnyActorRef | undefined;
  if (leases?.getSnapshot().status !== 'active') return null;
  return new Set(childrenOf(leases).flatMap((child) => (child[0].startsWith('lease:') ? sandboxOf(child) : [])));
}

const sandboxOf = ([, { context }]: [string, Snapshot]): SandboxKey => sandboxKey((context as LeaseContext).sandbox);

/** Ids of the ENIs that have an actor, in whatever state. */
export function knownEnisOf(root: NodeRef): ReadonlySet<string> {
  const all = childrenOf(root.system.get(ENI_FACTORY)).filter(([id]) => id.startsWith('eni:'));
  return new Set(all.flatMap(([, { context }]) => (context as EniContext).eniId ?? []));
}

/** Addresses, each half by itself, of all ENIs that have an actor; null when nobody can tell. */
export function ownedIn(root: NodeRef): ReadonlySet<string> | null {
  const factory = root.system.get(ENI_FACTORY) as AnyActorRef | undefined;
  if (factory?.getSnapshot().status !== 'active') return null;
  const all = childrenOf(factory).filter(([id]) => id.startsWith('eni:'));
  return new Set(all.flatMap(([, { context }]) => [...knownIps(context as EniContext)]));
}

/** ENIs that are here to stay, as they are to be remembered; null when nobody can tell. */
export function rememberedIn(
  root: NodeRef,
  node: Pick<RememberedEni, 'instanceId' | 'bootId' | 'nodeIp'>,
): readonly RememberedEni[] | null {
  const factory = root.system.get(ENI_FACTORY) as AnyActorRef | undefined;
  if (!root.getSnapshot().matches('running') || factory?.getSnapshot().status !== 'active') return null;
  return childrenOf(root.system.get(ENI_FACTORY)).flatMap(([id, { context }]) => {
    if (!id.startsWith('eni:')) return [];
    const { eniId, mac, phase, vSwitchId, subnet, routeTable, book, halves } = context as EniContext;
    const ips = sureIps({ book, halves });
    if (eniId === null || mac === null || phase === 'leaving' || ips.ipv4.length === 0) return [];
    return [{ version: REMEMBERED_ENI_VERSION, eniId, mac, vSwitchId, subnet, ...ips, routeTable, ...node }];
  });
}

function childrenOf(actor: unknown): [string, Snapshot][] {
  const { children = {} } = ((actor as AnyActorRef | undefined)?.getSnapshot() ?? {}) as {
    children?: Record<string, AnyActorRef>;
  };
  return Object.entries(children)
    .map(([id, child]): [string, Snapshot] => [id, child.getSnapshot() as Snapshot])
    .filter(([, { status }]) => status === 'active');
}
