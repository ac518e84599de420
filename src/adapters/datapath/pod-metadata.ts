/**
 * Pods are kept from the instance's metadata service, which gives whoever asks the credentials of the node's RAM role.
 *
 * What comes from a pod's pair for that address ends in the host, before anything can send it elsewhere. Pods whose own way does not pass the host
 * (ipvlan, an ENI each) are led there by their second pair: `host_stack_cidrs` gets the address too. One that may change its own routes
 * (CAP_NET_ADMIN) and has a device on the VPC itself can undo that; behind a pair nobody can.
 * Source: cases/field P16; Alibaba Cloud, instance metadata, 100.100.100.200.
 */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import { parseCidr } from '../../core/ip.ts';
import { METADATA_CIDR } from '../../core/metadata-address.ts';
import type { BaseChain } from '../netlink/nft-table.ts';
import { comesBy, drop, goesTo } from '../netlink/wire/nftables.ts';

/** Before connections are tracked and destinations rewritten. Source: nft(8), priority raw. */
const RAW = -300;

export function podMetadataChain(): BaseChain {
  return {
    name: 'pod-metadata',
    type: 'filter',
    hook: 'prerouting',
    priority: RAW,
    rules: [[...comesBy(`${HOST_VETH_PREFIX}*`), ...goesTo(parseCidr(METADATA_CIDR)), ...drop()]],
  };
}
