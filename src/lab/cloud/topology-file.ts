/** A topology as JSON, from a file or the admin interface. What is left out has a default; what is unknown is refused. */
import { z } from 'zod';
import { canonicalIp, parseCidr } from '../../core/ip.ts';
import type { Topology } from '../../vpc/topology.ts';

const cidr = z.string().refine(isCidr, 'is not a prefix such as 192.168.0.0/24');
const id = z.string().min(1);

const vpc = z.strictObject({ vpcId: id, cidr, ipv6Cidr: cidr.nullable().default(null) });

const vSwitch = z.strictObject({
  vSwitchId: id,
  vpcId: id,
  zoneId: id,
  cidr,
  ipv6Cidr: cidr.nullable().default(null),
});

const securityGroup = z.strictObject({
  securityGroupId: id,
  vpcId: id,
  type: z.enum(['normal', 'enterprise']).default('normal'),
  accepts: z.array(id).default([]),
});

export const instanceStatusSchema = z.enum(['Pending', 'Running', 'Starting', 'Stopping', 'Stopped']);

const instance = z
  .strictObject({
    instanceId: id,
    name: id.optional(),
    instanceType: id.default('ecs.g7.xlarge'),
    vSwitchId: id,
    securityGroupIds: z.array(id).min(1),
    primaryIp: z
      .string()
      .refine((ip) => canonicalIp(ip) !== null, 'is not an address')
      .nullable()
      .default(null),
    primaryIpv6Count: z.int().min(0).default(0),
    status: instanceStatusSchema.default('Running'),
    ramRole: id.nullable().default(null),
    httpTokens: z.enum(['optional', 'required']).default('optional'),
    tags: z.record(z.string(), z.string()).default({}),
  })
  .transform((one) => ({ ...one, name: one.name ?? one.instanceId }));

const count = z.int().min(0);

const instanceType = z
  .strictObject({
    instanceType: id,
    enis: z.int().min(1),
    ipv4PerEni: z.int().min(1),
    ipv6PerEni: count,
    bandwidthKbps: z.int().min(1).default(1_024_000),
  })
  .transform((one) => ({
    ...one,
    family: one.instanceType.slice(0, one.instanceType.lastIndexOf('.')),
    source: 'invented' as const,
    cpuCores: 2,
    memoryGib: 4,
    enisInTotal: one.enis,
    trunk: false,
    rdmaEnis: 0,
    primaryQueues: 2,
    secondaryQueues: 2,
    totalQueues: 2 * one.enis,
  }));

/** Parts to add to what exists. */
export const topologyPartsSchema = z.strictObject({
  vpcs: z.array(vpc).default([]),
  vSwitches: z.array(vSwitch).default([]),
  securityGroups: z.array(securityGroup).default([]),
  instances: z.array(instance).default([]),
  instanceTypes: z.array(instanceType).default([]),
});

const topologySchema = topologyPartsSchema.extend({
  regionId: id.default('cn-lab'),
  ownerId: z
    .string()
    .regex(/^\d{1,15}$|^[1-8]\d{15}$/, 'is not an account number')
    .default('1000000000000001'),
});

/** Throws ZodError, whose issues name the fields. */
export function parseTopology(json: unknown): Topology {
  return topologySchema.parse(json);
}

function isCidr(text: string): boolean {
  try {
    parseCidr(text);
    return true;
  } catch {
    return false;
  }
}
