/** Port PodDatapath over the kernel of this machine. */

import { isOwnNetns, PodNamespace, PodNetwork } from '../adapters/datapath/pod-network.ts';
import { POD_GATEWAY, podPlan } from '../adapters/datapath/pod-plan.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import type { OpenPod, PodDatapath } from './pod-datapath.ts';

export function hostDatapath(libc: Libc): PodDatapath {
  const network = new PodNetwork(libc);
  return {
    gateway: POD_GATEWAY,
    isOwnNetns,
    open: (netns) => openPod(network, netns),
    detach: (sandbox, ips) => network.detach(sandbox, ips),
  };
}

function openPod(network: PodNetwork, netns: string): OpenPod {
  const namespace = usable(netns, () => new PodNamespace(netns));
  return {
    hasInterface: (ifName) => usable(netns, () => network.hasInterface(namespace, ifName)),
    attach: (wanted) => network.attach(podPlan(wanted), namespace),
    verify: (wanted) => network.verify(podPlan(wanted), namespace),
    close: () => namespace.close(),
  };
}

function usable<T>(netns: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CniError(CNI_CODE.invalidNetns, `CNI_NETNS ${netns} cannot be used: ${why}`, '', error);
  }
}
