/**
 * The ways a pod may be connected, each with one answer to the same questions. Which one a pod gets the daemon's reply says (net-conf.ts); which one
 * it has, DEL need not know: every kind is asked to leave.
 */
import { ExclusiveNetwork } from '../adapters/datapath/exclusive-network.ts';
import { type ExclusivePlan, exclusivePlan } from '../adapters/datapath/exclusive-plan.ts';
import { IpvlanNetwork } from '../adapters/datapath/ipvlan-network.ts';
import { nodeAddresses } from '../adapters/datapath/node-addresses.ts';
import type { PodNamespace } from '../adapters/datapath/pod-namespace.ts';
import { type Attached, PodNetwork } from '../adapters/datapath/pod-network.ts';
import { podPlan } from '../adapters/datapath/pod-plan.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import { Netlink } from '../adapters/netlink/netlink.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { Connection, ConnectionKind, PodWanted } from './pod-datapath.ts';

export type Wanted<Kind extends ConnectionKind> = PodWanted & { readonly connection: Connection & { kind: Kind } };

export interface Connector<Kind extends ConnectionKind> {
  /** All or nothing. */
  attach(wanted: Wanted<Kind>, namespace: PodNamespace): Attached;
  /** null, or the first missing object in words. */
  verify(wanted: Wanted<Kind>, namespace: PodNamespace): string | null;
  /**
   * Takes out of the pod what the end of its namespace would not put where it belongs; the pair and what leads to it are everybody's
   * (PodNetwork.detach). `macs`: ENIs that the sandbox had alone; null: nobody can tell. Nothing there is success.
   */
  leave(sandbox: Sandbox, namespace: PodNamespace, macs: readonly string[] | null): void;
}

export type Connectors = { readonly [Kind in ConnectionKind]: Connector<Kind> };

export function connectors(libc: Libc): Connectors {
  return {
    veth: byVeth(new PodNetwork(libc)),
    exclusive: byOwnEni(libc, new ExclusiveNetwork(libc)),
    ipvlan: byIpvlan(libc, new IpvlanNetwork(libc)),
  };
}

/** The one connector, with its kind forgotten: what it is given is what it was looked up by. */
export function connectorFor(all: Connectors, { connection: { kind } }: PodWanted): Connector<ConnectionKind> {
  return all[kind] as Connector<ConnectionKind>;
}

function byVeth(network: PodNetwork): Connector<'veth'> {
  return {
    attach: (wanted, namespace) => network.attach(podPlan(wanted), namespace),
    verify: (wanted, namespace) => network.verify(podPlan(wanted), namespace) ?? network.missingWayOut(wanted),
    leave: () => {},
  };
}

function byOwnEni(libc: Libc, network: ExclusiveNetwork): Connector<'exclusive'> {
  return {
    attach: (wanted, namespace) => network.attach(planOf(libc, wanted), namespace),
    verify: (wanted, namespace) => network.verify(planOf(libc, wanted), namespace),
    leave: (sandbox, namespace, macs) => {
      for (const mac of macs ?? [null]) network.detach(sandbox, namespace, mac);
    },
  };
}

function byIpvlan(libc: Libc, network: IpvlanNetwork): Connector<'ipvlan'> {
  // Its neighbours on the same ENI are reached through the slave alone: no gateway sends a packet back where it came from.
  const plan = (wanted: Wanted<'ipvlan'>) => planOf(libc, wanted, wanted.connection.subnets);
  return {
    attach: (wanted, namespace) => network.attach(plan(wanted), namespace),
    verify: (wanted, namespace) => network.verify(plan(wanted), namespace),
    leave: (sandbox, namespace) => network.detach(sandbox, namespace),
  };
}

function planOf(libc: Libc, wanted: Wanted<'exclusive' | 'ipvlan'>, subnets: readonly string[] = []): ExclusivePlan {
  const host = new Netlink(libc);
  try {
    const { mac, gateways, throughHost } = wanted.connection;
    return exclusivePlan({
      ...wanted,
      eniMac: mac,
      gateways,
      subnets,
      throughHost: [...nodeAddresses(host), ...throughHost],
    });
  } finally {
    host.close();
  }
}
