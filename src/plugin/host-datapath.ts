/** Port PodDatapath over the kernel of this machine. */

import { isOwnNetns, PodNamespace } from '../adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../adapters/datapath/pod-network.ts';
import { POD_GATEWAY, podPlan } from '../adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../adapters/datapath/sandbox-device.ts';
import { forgetConnections } from '../adapters/netlink/connections.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import type { OpenPod, PodDatapath } from './pod-datapath.ts';

export function hostDatapath(libc: Libc): PodDatapath {
  const network = new PodNetwork(libc);
  return {
    gateway: POD_GATEWAY,
    isOwnNetns,
    open: (netns) => openPod(libc, network, netns),
    detach: (sandbox, ips) => forgetQuietly(libc, network.detach(sandbox, ips)),
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

function openPod(libc: Libc, network: PodNetwork, netns: string): OpenPod {
  const namespace = openNamespace(libc, netns);
  return {
    hasInterface: (ifName) => namespace.netlink.linkByName(ifName) !== null,
    isMade: (sandbox) => namespace.netlink.linkByName(sandbox.ifName)?.mac === sandboxDevice(sandbox).podMac,
    attach: (wanted) => network.attach(podPlan(wanted), namespace),
    verify: (wanted) => network.verify(podPlan(wanted), namespace),
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
