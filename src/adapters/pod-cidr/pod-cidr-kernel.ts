/**
 * Port Kernel where pods have no ENI: their prefix has no device, a pod's traffic goes the way of the host's, and what leaves the range that is
 * routed to pods bears the node's address.
 */
import { cidrText } from '../../core/ip.ts';
import type { Kernel } from '../../ports/kernel.ts';
import type { HostKernel } from '../datapath/host-kernel.ts';
import type { Masquerade } from '../datapath/node-filter.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import { POD_CIDR } from './pod-cidr-cloud.ts';
import type { PodCidrSource } from './pod-cidr-facts.ts';

/** @param podRange the prefixes in which addresses of pods are routed as they are; their own prefix always is */
export function podCidrKernel(host: HostKernel, source: PodCidrSource, podRange: readonly string[]): Kernel {
  return {
    async prepareHost() {
      const { cidr, ipv6Cidr } = await source(new AbortController().signal);
      host.masquerade(masquerades([cidr, ...(ipv6Cidr === null ? [] : [ipv6Cidr])].map(cidrText), podRange));
      await host.prepareHost();
    },
    setUpEni: async () => ({ ifindex: 0, name: POD_CIDR, routeTable: TABLE_MAIN }),
    tearDownEni: async () => {},
    keep: (wanted) => host.keep({ ...wanted, enis: [] }),
    watch: (onChange) => host.watch(onChange),
    forgetConnections: (ips) => host.forgetConnections(ips),
  };
}

function masquerades(cidrs: readonly string[], podRange: readonly string[]): Masquerade[] {
  const isIpv6 = (cidr: string): boolean => cidr.includes(':');
  return cidrs.map((from) => ({ from, except: [from, ...podRange.filter((range) => isIpv6(range) === isIpv6(from))] }));
}
