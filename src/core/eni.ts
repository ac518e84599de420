/** Values of the cloud's side of an ENI, as ECS and VPC report them. Source: ECS API 2014-05-26, VPC API 2016-04-28. */

export type EniStatus = 'Creating' | 'Available' | 'Attaching' | 'InUse' | 'Detaching' | 'Deleting' | 'CreateFailed';
export type EniType = 'Primary' | 'Secondary' | 'Trunk' | 'Member';

export type CloudEni = {
  readonly eniId: string;
  /** Lower case, colon separated. */
  readonly mac: string;
  readonly status: EniStatus;
  readonly type: EniType;
  readonly vpcId: string;
  readonly vSwitchId: string;
  readonly zoneId: string;
  /** All private IPv4s; the ENI's own primary address comes first. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly securityGroupIds: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  /** null when not attached. */
  readonly instanceId: string | null;
};

export type VSwitch = {
  readonly vSwitchId: string;
  readonly vpcId: string;
  readonly zoneId: string;
  readonly cidr: string;
  readonly ipv6Cidr: string | null;
  /** Lags behind assignments by seconds. */
  readonly availableAddresses: number;
};

/** What an instance type allows. All counts include the primary ENI, or an ENI's own primary address. */
export type InstanceLimits = {
  readonly instanceType: string;
  readonly enis: number;
  readonly ipv4PerEni: number;
  readonly ipv6PerEni: number;
};

/** The subnet an ENI lives in, as pods need it. */
export type Subnet = {
  readonly cidr: string;
  readonly gateway: string;
  readonly ipv6Cidr: string | null;
  readonly ipv6Gateway: string | null;
};
