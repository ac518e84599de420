/** Port PodDatapath over the kernel of this machine. */

import { ExclusiveNetwork } from '../adapters/datapath/exclusive-network.ts';
import { type ExclusivePlan, exclusivePlan, SERVICE_IF_NAME } from '../adapters/datapath/exclusive-plan.ts';
import { nodeAddresses } from '../adapters/datapath/node-addresses.ts';
import { isOwnNetns, PodNamespace } from '../adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../adapters/datapath/pod-network.ts';
import { POD_GATEWAY, podPlan } from '../adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../adapters/datapath/sandbox-device.ts';
import { forgetConnections } from '../adapters/netlink/connections.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import { Netlink } from '../adapters/netlink/netlink.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import type { OpenPod, OwnEni, PodDatapath, PodWanted } from './pod-datapath.ts';

export function hostDatapath(libc: Libc): PodDatapath {
  const network = new PodNetwork(libc);
  const exclusive = new ExclusiveNetwork(libc);
  return {
    gateway: POD_GATEWAY,
    isOwnNetns,
    open: (netns) => openPod(libc, network, exclusive, netns),
    detach: (sandbox, held) => {
      giveEniBack(libc, exclusive, sandbox, held.macs);
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

/** A namespace that is gone has sent the device back by itself. */
function giveEniBack(libc: Libc, exclusive: ExclusiveNetwork, sandbox: Sandbox, macs: readonly string[]): void {
  if (sandbox.netns === '' || isOwnNetns(sandbox.netns)) return;
  let namespace: PodNamespace;
  try {
    namespace = new PodNamespace(libc, sandbox.netns);
  } catch {
    return;
  }
  try {
    for (const mac of macs.length === 0 ? [null] : macs) exclusive.detach(sandbox, namespace, mac);
  } finally {
    namespace.close();
  }
}

function exclusiveOf(libc: Libc, wanted: PodWanted, own: OwnEni): ExclusivePlan {
  const host = new Netlink(libc);
  try {
    const throughHost = [...nodeAddresses(host), ...own.throughHost];
    return exclusivePlan({ ...wanted, eniMac: own.mac, gateways: own.gateways, throughHost });
  } finally {
    host.close();
  }
}

function openPod(libc: Libc, network: PodNetwork, exclusive: ExclusiveNetwork, netns: string): OpenPod {
  const namespace = openNamespace(libc, netns);
  return {
    hasInterface: (ifName) => namespace.netlink.linkByName(ifName) !== null,
    isMade: (sandbox) => {
      const { podMac } = sandboxDevice(sandbox);
      return [sandbox.ifName, SERVICE_IF_NAME].some((name) => namespace.netlink.linkByName(name)?.mac === podMac);
    },
    attach: (wanted) =>
      wanted.own === undefined
        ? network.attach(podPlan(wanted), namespace)
        : exclusive.attach(exclusiveOf(libc, wanted, wanted.own), namespace),
    verify: (wanted) =>
      wanted.own === undefined
        ? network.verify(podPlan(wanted), namespace)
        : exclusive.verify(exclusiveOf(libc, wanted, wanted.own), namespace),
    close: () => namespace.close(),
  };
}

function openNamespace(libc: Libc, netns: string): PodNamespace {
  try {
    return new PodNamespace(libc, netns);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CniError(CNI_CODE.invalidNetns, `CNI_NETNS ${netns} cannot be used: ${why}`, '', error);
  }
}
