/** The prefixes of pods and services in the lab that the table of paths is made in. */

/**
 * Of the VPC: kube-proxy takes it for the pods' range, since there it is. In mode VPC they have one of their own, in IPv6 nearer to the nodes' addresses than to services':
 * under IPVS, which puts services' addresses on the node, the kernel takes whichever is nearer to a pod for the node's own (RFC 6724).
 */
export const POD_CIDRS = { 4: '192.168.0.0/16', 6: '2001:db8:0:100::/56' } as const;
export const OWN_POD_CIDRS = { 4: '10.244.0.0/16', 6: '2001:db8:244::/48' } as const;
export const SERVICE_CIDRS = { 4: '172.21.0.0/20', 6: 'fd00:21::/112' } as const;
