/**
 * The instance metadata service: what this instance is, and the second witness of what its ENIs own.
 *
 * It lags the cloud by seconds: a missing MAC or address proves nothing, and nothing is destroyed on its word alone.
 */
export type InstanceIdentity = {
  readonly instanceId: string;
  readonly instanceType: string;
  readonly regionId: string;
  readonly zoneId: string;
  readonly vpcId: string;
  /** Of the primary ENI, as are the next two. */
  readonly vSwitchId: string;
  /** Lower case, colon separated. */
  readonly primaryMac: string;
  /** IPv4. */
  readonly nodeIp: string;
};

export type MetadataEni = {
  /** Lower case, colon separated. */
  readonly mac: string;
  readonly eniId: string;
  readonly vSwitchId: string;
  readonly vSwitchCidr: string;
  readonly gateway: string;
  readonly primaryIp: string;
  /** The primary address included, in the order told. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly ipv6Gateway: string | null;
  readonly vSwitchIpv6Cidr: string | null;
};

/** Methods reject with EnactorError `metadata` naming the path and what was wrong there, or with AbortError. */
export interface Metadata {
  /** Does not change during the life of an instance, but is asked anew by each call. */
  identity(signal: AbortSignal): Promise<InstanceIdentity>;
  /** Every ENI told of, the primary one included. One that goes while it is read is left out. */
  enis(signal: AbortSignal): Promise<MetadataEni[]>;
}
