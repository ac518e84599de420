/**
 * The calls the model answers, as values: what each takes and gives back. The wire forms are the HTTP server's business.
 *
 * Names are those of the API; `null` means: not given. Instants are epoch milliseconds.
 * Source: ECS API 2014-05-26, VPC API 2016-04-28.
 */
import type { CloudEni, EniStatus, EniType } from '../core/eni.ts';
import type { InstanceType } from './instance-types.ts';
import type { Page, PageRequest } from './paging.ts';
import type { InstanceStatus } from './topology.ts';

/** Addresses wanted: so many, or these. */
export type Want = { readonly count: number } | { readonly ips: readonly string[] };

export type EniView = CloudEni & {
  readonly name: string;
  readonly description: string;
  readonly primaryIp: string;
  readonly deleteOnRelease: boolean;
  readonly sourceDestCheck: boolean;
  readonly serviceManaged: boolean;
  readonly trafficMode: 'Standard' | 'HighPerformance';
  readonly queueNumber: number | null;
  /** null when not attached. */
  readonly deviceIndex: number | null;
  readonly createdAtMs: number;
};

export type VSwitchView = {
  readonly vSwitchId: string;
  readonly vpcId: string;
  readonly zoneId: string;
  readonly cidr: string;
  readonly ipv6Cidr: string | null;
  readonly availableAddresses: number;
};

export type SecurityGroupView = {
  readonly securityGroupId: string;
  readonly vpcId: string;
  readonly type: 'normal' | 'enterprise';
  readonly addresses: number;
  readonly addressesAvailable: number;
  readonly tags: Readonly<Record<string, string>>;
};

export type InstanceView = {
  readonly instanceId: string;
  readonly name: string;
  readonly instanceType: string;
  readonly regionId: string;
  readonly zoneId: string;
  readonly vpcId: string;
  readonly vSwitchId: string;
  readonly status: InstanceStatus;
  readonly securityGroupIds: readonly string[];
  readonly httpTokens: 'optional' | 'required';
  readonly ramRole: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  /** The primary first. */
  readonly enis: readonly EniView[];
};

type TagFilter = readonly { readonly key: string; readonly value: string | null }[];

export type Apis = {
  CreateNetworkInterface: {
    input: {
      readonly vSwitchId: string;
      readonly securityGroupIds: readonly string[];
      readonly primaryIp: string | null;
      /** Besides the primary address. */
      readonly ipv4: Want;
      readonly ipv6: Want;
      readonly name: string;
      readonly description: string;
      readonly deleteOnRelease: boolean;
      readonly sourceDestCheck: boolean;
      readonly trafficMode: 'Standard' | 'HighPerformance';
      readonly queueNumber: number | null;
      readonly tags: Readonly<Record<string, string>>;
    };
    output: EniView;
  };
  AttachNetworkInterface: { input: { readonly eniId: string; readonly instanceId: string }; output: null };
  DetachNetworkInterface: { input: { readonly eniId: string; readonly instanceId: string }; output: null };
  DeleteNetworkInterface: { input: { readonly eniId: string }; output: null };
  /** Answers with the newly assigned addresses only. */
  AssignPrivateIpAddresses: {
    input: { readonly eniId: string; readonly want: Want };
    output: { readonly eniId: string; readonly ips: readonly string[] };
  };
  UnassignPrivateIpAddresses: {
    input: { readonly eniId: string; readonly ips: readonly string[] };
    output: null;
  };
  AssignIpv6Addresses: {
    input: { readonly eniId: string; readonly want: Want };
    output: { readonly eniId: string; readonly ips: readonly string[] };
  };
  UnassignIpv6Addresses: { input: { readonly eniId: string; readonly ips: readonly string[] }; output: null };
  DescribeNetworkInterfaces: {
    input: {
      /** Empty lists filter nothing. Lists are any-of, filters together are all-of. */
      readonly eniIds: readonly string[];
      readonly instanceId: string | null;
      readonly type: EniType | null;
      readonly status: EniStatus | null;
      readonly vpcId: string | null;
      readonly vSwitchId: string | null;
      readonly securityGroupId: string | null;
      readonly name: string | null;
      readonly primaryIp: string | null;
      readonly ips: readonly string[];
      readonly tags: TagFilter;
      readonly page: PageRequest;
    };
    output: Page<EniView>;
  };
  /** null: the id is not known and the setting `unknownEni` says `empty`. */
  DescribeNetworkInterfaceAttribute: { input: { readonly eniId: string }; output: EniView | null };
  ModifyNetworkInterfaceAttribute: {
    input: {
      readonly eniId: string;
      readonly name: string | null;
      readonly description: string | null;
      /** Replaces the whole set. */
      readonly securityGroupIds: readonly string[] | null;
      readonly deleteOnRelease: boolean | null;
      readonly sourceDestCheck: boolean | null;
      readonly queueNumber: number | null;
    };
    output: null;
  };
  DescribeInstanceTypes: {
    input: { readonly instanceTypes: readonly string[]; readonly family: string | null; readonly page: PageRequest };
    output: Page<InstanceType>;
  };
  DescribeInstances: {
    input: {
      readonly instanceIds: readonly string[];
      readonly vpcId: string | null;
      readonly vSwitchId: string | null;
      readonly zoneId: string | null;
      readonly status: InstanceStatus | null;
      readonly ips: readonly string[];
      readonly tags: TagFilter;
      readonly page: PageRequest;
    };
    output: Page<InstanceView>;
  };
  DescribeSecurityGroups: {
    input: {
      readonly securityGroupIds: readonly string[];
      readonly vpcId: string | null;
      readonly type: string | null;
      readonly page: PageRequest;
    };
    output: Page<SecurityGroupView>;
  };
  TagResources: {
    input: {
      readonly resourceType: string;
      readonly ids: readonly string[];
      readonly tags: Readonly<Record<string, string>>;
    };
    output: null;
  };
  DescribeVSwitches: {
    input: {
      readonly vSwitchId: string | null;
      readonly vpcId: string | null;
      readonly zoneId: string | null;
      readonly page: PageRequest;
    };
    output: Page<VSwitchView>;
  };
  DescribeVSwitchAttributes: { input: { readonly vSwitchId: string }; output: VSwitchView };
};

export type ApiName = keyof Apis;
export type Input<A extends ApiName> = Apis[A]['input'];
export type Output<A extends ApiName> = Apis[A]['output'];
