/** One directory of `network/interfaces/macs/` as values. */
export type MetadataEni = {
  readonly mac: string;
  readonly eniId: string;
  readonly primaryIp: string;
  /** The primary address first. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly vpcId: string;
  readonly vpcCidr: string;
  readonly vpcIpv6Cidr: string | null;
  readonly vSwitchId: string;
  readonly vSwitchCidr: string;
  readonly vSwitchIpv6Cidr: string | null;
  readonly netmask: string;
  readonly gateway: string;
  readonly ipv6Gateway: string | null;
};
