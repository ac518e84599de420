/**
 * What the host does not send as it should because it has forgotten that it came from a pod, and what it must not tell a pod.
 *
 * kube-proxy in IPVS mode: a packet of a pod to a service is rewritten where the host takes in its own packets, and sent anew by its destination
 * alone, so that it leaves by the primary ENI with the pod's source. So packets from pods are marked as they come in, and where IPVS sends one
 * the mark is taken off again: in a chain of type `route` a mark that changes makes the kernel look the way up once more, by the source too. What will
 * be masqueraded (0x4000) goes by the primary as it is (reply-paths.ts). A node that has nat tables and tracks IPVS' connections, as kube-proxy sets
 * it up, looks again by itself (nf_nat on output); one that does not (measured in test/vm) loses every such packet.
 *
 * A packet that leaves by the device it has come by, as of a pod that reaches itself through a service, makes the host send the pod an ICMP redirect. `all`
 * decides that for IPv4 whatever the device says, and is the host's own setting; IPv6 has no switch. So they end here.
 * Source: cases/field F4, P20; net/netfilter/ipvs/ip_vs_xmit.c; Documentation/networking/ip-sysctl.rst, send_redirects.
 */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { BaseChain } from '../netlink/nft-table.ts';
import {
  comesBy,
  drop,
  isIcmp,
  leavesBy,
  markPacket,
  packetHas,
  packetLacks,
  unmarkPacket,
} from '../netlink/wire/nftables.ts';
import { MASQUERADE_MARK } from './reply-paths.ts';

/** Clear of kube-proxy's and Calico's, as the mark of replies is. */
export const POD_MARK = 0x20;

const MANGLE = -150;
const FILTER = 0;
const PODS = `${HOST_VETH_PREFIX}*`;
const [ICMP_REDIRECT, ICMPV6_REDIRECT] = [5, 137];

export function podOriginChains(): readonly BaseChain[] {
  return [
    {
      name: 'from-pods',
      type: 'filter',
      hook: 'prerouting',
      priority: MANGLE,
      rules: [[...comesBy(PODS), ...markPacket(POD_MARK)]],
    },
    {
      name: 'sent-by-ipvs',
      type: 'route',
      hook: 'output',
      priority: MANGLE,
      rules: [[...packetHas(POD_MARK), ...packetLacks(MASQUERADE_MARK), ...unmarkPacket(POD_MARK)]],
    },
    {
      name: 'no-redirects',
      type: 'filter',
      hook: 'output',
      priority: FILTER,
      rules: [
        [...leavesBy(PODS), ...isIcmp(4, ICMP_REDIRECT), ...drop()],
        [...leavesBy(PODS), ...isIcmp(6, ICMPV6_REDIRECT), ...drop()],
      ],
    },
  ];
}
