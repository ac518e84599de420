/**
 * How a kube-proxy tells pods' traffic from outsiders', which it masquerades: by the range of pod addresses, or by the name of the device
 * it comes in by.
 *
 * Where a pod's address is one of the VPC, its range is the VPC's (or the pod vSwitches'); a range that does not hold the pods makes
 * the proxy masquerade them (cases/field P4). Source: kube-proxy's configuration, detectLocalMode ClusterCIDR and InterfaceNamePrefix.
 */
import type { Family } from '../../core/ip.ts';

export type LocalTraffic =
  | { readonly by: 'clusterCidr'; readonly cidrs: Readonly<Record<Family, string>> }
  | { readonly by: 'interfacePrefix'; readonly prefix: string };

/** What one proxy knows of its own node. */
export type ProxyNode = {
  readonly name: string;
  /** Those that take NodePort traffic; kube-proxy's nft form names them, the iptables form takes every local one. */
  readonly ips: readonly string[];
  readonly local: LocalTraffic;
  /** The range of cluster IPs, by family. */
  readonly serviceCidrs: Readonly<Record<Family, string>>;
};
