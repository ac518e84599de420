/** Port PodDatapath over the kernel of this machine. */
import { SERVICE_IF_NAME } from '../adapters/datapath/exclusive-plan.ts';
import { NoIpvlanError } from '../adapters/datapath/ipvlan-network.ts';
import { isOwnNetns, PodNamespace } from '../adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../adapters/datapath/pod-network.ts';
import { POD_GATEWAY } from '../adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../adapters/datapath/sandbox-device.ts';
import { terwayAddressesIn } from '../adapters/datapath/verify-terway-pod.ts';
import { forgetConnections } from '../adapters/netlink/connections.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import { type Connectors, connectorFor, connectors } from './connectors.ts';
import type { Held, OpenPod, PodDatapath, PodMade, PodWanted } from './pod-datapath.ts';

export function hostDatapath(libc: Libc): PodDatapath {
  const network = new PodNetwork(libc);
  const kinds = connectors(libc);
  return {
    gateway: POD_GATEWAY,
    isOwnNetns,
    open: (netns) => openPod(libc, kinds, netns),
    terwayAddresses: (sandbox) => addressesByTerway(libc, sandbox),
    detach: (sandbox, held) => {
      leave(libc, kinds, sandbox, held.macs);
      forgetQuietly(libc, network.detach(sandbox, held.ips));
    },
  };
}

/**
 * Ends what the host tracks of the addresses, now that no packet of the pod can begin it anew. An entry that stays ages, and the daemon
 * tries once more before the address is leased again: no DEL fails for it. Source: cases/field P23.
 */
function forgetQuietly(libc: Libc, ips: readonly string[]): void {
  try {
    forgetConnections(libc, ips);
  } catch {
    // See above.
  }
}

function addressesByTerway(libc: Libc, sandbox: Sandbox): readonly string[] {
  if (sandbox.netns === '' || isOwnNetns(sandbox.netns)) return [];
  try {
    const namespace = new PodNamespace(libc, sandbox.netns);
    try {
      return terwayAddressesIn(libc, sandbox, namespace.netlink);
    } finally {
      namespace.close();
    }
  } catch {
    return []; // no namespace, or none that tells anything
  }
}

/** A namespace that is gone has given back by itself what was in it. */
function leave(libc: Libc, kinds: Connectors, sandbox: Sandbox, macs: Held['macs']): void {
  if (sandbox.netns === '' || isOwnNetns(sandbox.netns)) return;
  let namespace: PodNamespace;
  try {
    namespace = new PodNamespace(libc, sandbox.netns);
  } catch {
    return;
  }
  try {
    for (const kind of Object.values(kinds)) kind.leave(sandbox, namespace, macs);
  } finally {
    namespace.close();
  }
}

function openPod(libc: Libc, kinds: Connectors, netns: string): OpenPod {
  const namespace = openNamespace(libc, netns);
  return {
    hasInterface: (ifName) => namespace.netlink.linkByName(ifName) !== null,
    isMade: (sandbox) => {
      const { podMac } = sandboxDevice(sandbox);
      return [sandbox.ifName, SERVICE_IF_NAME].some((name) => namespace.netlink.linkByName(name)?.mac === podMac);
    },
    attach: (wanted) => attached(kinds, wanted, namespace),
    verify: (wanted) => {
      const made = asMade(wanted, namespace);
      return connectorFor(kinds, made).verify(made, namespace);
    },
    close: () => namespace.close(),
  };
}

/** Where the kernel makes no ipvlan devices the pod gets a pair: it works, and whoever started it hears why (add.ts). Source: Terway, VirtualModeChanged. */
function attached(kinds: Connectors, wanted: PodWanted, namespace: PodNamespace): PodMade {
  try {
    return connectorFor(kinds, wanted).attach(wanted, namespace);
  } catch (error) {
    if (!(error instanceof NoIpvlanError)) throw error;
    return { ...kinds.veth.attach({ ...wanted, connection: { kind: 'veth' } }, namespace), vethInstead: error.message };
  }
}

/** An ipvlan pod that got a pair after all, or is older than the configuration, is to be as it was made. */
function asMade(wanted: PodWanted, { netlink }: PodNamespace): PodWanted {
  if (wanted.connection.kind === 'exclusive') return wanted;
  const { sandbox } = wanted;
  const link = netlink.linkByName(sandbox.ifName);
  // No slave of an ENI is a veth. One that Terway's plugin made bears no mark of ours.
  return link?.kind === 'veth' ? { ...wanted, connection: { kind: 'veth' } } : wanted;
}

function openNamespace(libc: Libc, netns: string): PodNamespace {
  try {
    return new PodNamespace(libc, netns);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CniError(CNI_CODE.invalidNetns, `CNI_NETNS ${netns} cannot be used: ${why}`, '', error);
  }
}
