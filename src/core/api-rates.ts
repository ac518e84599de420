/**
 * Every API that a node calls, by its name on the wire, with the requests a minute that it allows itself.
 *
 * The cloud counts per account, region and API, so that all nodes share what there is: these only keep one node from eating it alone.
 * Source: Terway's client limits; ECS "API throttling". DescribeSecurityGroups is ours, and asked for seldom.
 */
export const apiRates = {
  CreateNetworkInterface: 500,
  AttachNetworkInterface: 500,
  DetachNetworkInterface: 400,
  DeleteNetworkInterface: 500,
  AssignPrivateIpAddresses: 400,
  UnassignPrivateIpAddresses: 400,
  AssignIpv6Addresses: 400,
  UnassignIpv6Addresses: 400,
  DescribeNetworkInterfaces: 800,
  DescribeInstanceTypes: 400,
  DescribeVSwitches: 300,
  DescribeSecurityGroups: 60,
} as const satisfies Readonly<Record<string, number>>;

/** What an operator's command calls besides; no node does. */
export const operatorApiRates = { DescribeInstances: 60 } as const satisfies Readonly<Record<string, number>>;

export type CloudApi = keyof typeof apiRates | keyof typeof operatorApiRates;

export const isCloudApi = (name: string): name is keyof typeof apiRates => Object.hasOwn(apiRates, name);
