/**
 * What a node of mode VPC is given by its Node object: prefixes for pods, its own address and who it is. Asked for until it is all there, and then
 * never again: whoever changes a node's pod CIDR makes a new node of it.
 *
 * An address of each prefix is spared at its begin and its end, and the one after the first, where others put a gateway.
 * Source: Kubernetes, Node spec.podCIDRs; Terway's mode VPC (host-local in the node's pod CIDR).
 */
import { EnactorError } from '../../core/errors.ts';
import { addressAt, type Cidr, cidrSize, cidrText, familyOf, parseCidr } from '../../core/ip.ts';
import type { Kubernetes, Node } from '../../ports/kubernetes.ts';

/** A node runs a few hundred pods; the prefix of a /16 would only make every look at the book long. */
export const POD_ADDRESSES_MAX = 1_024;
const SPARED = 3n;

export type PodCidrFacts = {
  readonly instanceId: string;
  readonly nodeIp: string;
  readonly cidr: Cidr;
  /** Of dual stack. */
  readonly ipv6Cidr: Cidr | null;
  readonly ipv4: readonly string[];
  /** As many as of IPv4, or none. */
  readonly ipv6: readonly string[];
};

export type PodCidrSource = (signal: AbortSignal) => Promise<PodCidrFacts>;

/** @param dual pods get pairs, and the node needs a prefix of each family */
export function podCidrSource(kubernetes: Pick<Kubernetes, 'getNode'>, nodeName: string, dual: boolean): PodCidrSource {
  let known: PodCidrFacts | null = null;
  return async (signal) => {
    known ??= factsOf(await kubernetes.getNode(nodeName, signal), nodeName, dual);
    return known;
  };
}

/** Throws EnactorError `kubernetes` naming what the Node object lacks. */
function factsOf(node: Node | null, nodeName: string, dual: boolean): PodCidrFacts {
  const lacks = (what: string) => new EnactorError('kubernetes', `node ${nodeName} ${what}, which mode VPC needs`);
  if (node === null) throw lacks('does not exist yet');
  const nodeIp = node.internalIps.find((ip) => familyOf(ip) === 4);
  if (nodeIp === undefined) throw lacks('has no InternalIP of IPv4 yet');
  const cidrs = node.podCidrs.map(parseCidr);
  const cidr = cidrs.find(({ family }) => family === 4);
  if (cidr === undefined) throw lacks('has no podCIDR of IPv4 yet');
  const ipv6Cidr = dual ? (cidrs.find(({ family }) => family === 6) ?? null) : null;
  if (dual && ipv6Cidr === null) throw lacks('has no podCIDR of IPv6 yet (ip_stack is dual)');
  const room = Math.min(roomIn(cidr), ipv6Cidr === null ? POD_ADDRESSES_MAX : roomIn(ipv6Cidr));
  if (room <= 0) throw lacks(`has podCIDR ${cidrText(cidr)} without room for a pod`);
  return {
    instanceId: node.providerId ?? node.name,
    nodeIp,
    cidr,
    ipv6Cidr,
    ipv4: addressesOf(cidr, room),
    ipv6: ipv6Cidr === null ? [] : addressesOf(ipv6Cidr, room),
  };
}

function roomIn(cidr: Cidr): number {
  const size = cidrSize(cidr) - SPARED;
  return size > BigInt(POD_ADDRESSES_MAX) ? POD_ADDRESSES_MAX : Number(size);
}

function addressesOf(cidr: Cidr, count: number): string[] {
  return Array.from({ length: count }, (_, index) => addressAt(cidr, index + 2));
}
