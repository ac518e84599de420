/**
 * Instance types and what they allow. All counts include the primary ENI, or an ENI's own primary address.
 *
 * Rows marked `record` repeat an answer of the real API, `family` a figure of the instance family documents of 2021;
 * what a source leaves open is filled by the family's rule (seventh generation: as many IPv6 as IPv4 addresses) and
 * says so by `family`. `lab.*` types are invented, for tests that want to fill an instance quickly.
 * Source: ECS DescribeInstanceTypes samples; "Overview of instance families".
 */
export type InstanceType = {
  readonly instanceType: string;
  readonly family: string;
  readonly source: 'record' | 'family' | 'invented';
  readonly cpuCores: number;
  readonly memoryGib: number;
  readonly enis: number;
  readonly ipv4PerEni: number;
  readonly ipv6PerEni: number;
  /** Members of a trunk included. */
  readonly enisInTotal: number;
  readonly trunk: boolean;
  readonly rdmaEnis: number;
  readonly primaryQueues: number;
  readonly secondaryQueues: number;
  readonly totalQueues: number;
  readonly bandwidthKbps: number;
};

type Row = readonly [
  instanceType: string,
  source: InstanceType['source'],
  cpuAndMemory: readonly [number, number],
  limits: readonly [enis: number, ipv4: number, ipv6: number, inTotal: number],
  trunk: boolean,
  queues: readonly [number, number, number],
  bandwidthKbps: number,
];

const rows: readonly Row[] = [
  ['ecs.g7.large', 'family', [2, 8], [3, 6, 6, 3], false, [2, 2, 6], 2_048_000],
  ['ecs.g7.xlarge', 'record', [4, 16], [4, 15, 15, 20], true, [4, 4, 16], 3_072_000],
  ['ecs.g7.2xlarge', 'record', [8, 32], [4, 15, 15, 10], true, [8, 8, 32], 5_120_000],
  ['ecs.g7.4xlarge', 'family', [16, 64], [8, 30, 30, 8], false, [8, 8, 64], 8_192_000],
  ['ecs.g7.16xlarge', 'family', [64, 256], [8, 30, 30, 8], false, [32, 32, 256], 32_768_000],
  ['ecs.c7.large', 'family', [2, 4], [3, 6, 6, 3], false, [2, 2, 6], 2_048_000],
  ['ecs.c7.xlarge', 'family', [4, 8], [4, 15, 15, 4], false, [4, 4, 16], 3_072_000],
  ['ecs.c7.2xlarge', 'family', [8, 16], [4, 15, 15, 4], false, [8, 8, 32], 5_120_000],
  ['ecs.c7.4xlarge', 'family', [16, 32], [8, 30, 30, 8], false, [8, 8, 64], 8_192_000],
  ['ecs.c7.8xlarge', 'family', [32, 64], [8, 30, 30, 8], false, [16, 16, 128], 16_384_000],
  ['ecs.g6.large', 'record', [2, 8], [2, 6, 1, 2], false, [2, 2, 4], 1_024_000],
  ['ecs.g6.xlarge', 'family', [4, 16], [3, 10, 1, 3], false, [2, 2, 6], 1_536_000],
  ['ecs.g6.2xlarge', 'family', [8, 32], [4, 10, 1, 4], false, [4, 4, 16], 2_560_000],
  ['ecs.g6.4xlarge', 'family', [16, 64], [8, 20, 1, 8], false, [8, 8, 64], 5_120_000],
  ['ecs.g6.8xlarge', 'family', [32, 128], [8, 20, 1, 8], false, [16, 16, 128], 10_240_000],
  ['ecs.g6.16xlarge', 'record', [64, 256], [8, 20, 1, 60], true, [32, 32, 256], 20_480_000],
  ['ecs.r6.8xlarge', 'record', [32, 256], [8, 20, 1, 40], true, [16, 16, 128], 10_240_000],
  ['ecs.g5.large', 'family', [2, 8], [2, 6, 0, 2], false, [2, 2, 4], 1_024_000],
  ['ecs.g5.xlarge', 'family', [4, 16], [3, 10, 0, 3], false, [2, 2, 6], 1_536_000],
  ['ecs.g5.2xlarge', 'family', [8, 32], [4, 10, 0, 4], false, [2, 2, 8], 2_560_000],
  ['ecs.g5.4xlarge', 'family', [16, 64], [8, 20, 0, 8], false, [4, 4, 32], 5_120_000],
  ['ecs.u1-c1m4.xlarge', 'record', [4, 16], [3, 10, 1, 6], true, [2, 2, 6], 1_536_000],
  ['ecs.ebmre7p.32xlarge', 'record', [128, 1024], [32, 15, 1, 110], true, [32, 16, 528], 65_536_000],
  ['ecs.ebmg5.24xlarge', 'record', [96, 384], [32, 10, 0, 32], false, [8, 1, 39], 10_240_000],
  ['ecs.ic5.large', 'record', [2, 2], [2, 6, 0, 2], false, [2, 2, 4], 1_024_000],
  ['ecs.s6-c1m2.16xlarge', 'record', [64, 128], [2, 6, 1, 2], false, [2, 1, 3], 10_240_000],
  ['ecs.t1.xsmall', 'record', [1, 0.5], [1, 1, 0, 1], false, [1, 1, 1], 102_400],
  ['lab.small', 'invented', [2, 4], [3, 6, 6, 3], false, [2, 2, 6], 1_024_000],
  ['lab.tiny', 'invented', [1, 1], [2, 2, 2, 2], false, [1, 1, 2], 102_400],
];

const rdmaEnis: Readonly<Record<string, number>> = { 'lab.small': 1 };

export const INSTANCE_TYPES: readonly InstanceType[] = rows.map(
  ([instanceType, source, [cpuCores, memoryGib], [enis, ipv4, ipv6, inTotal], trunk, queues, bandwidthKbps]) => ({
    instanceType,
    family: instanceType.slice(0, instanceType.lastIndexOf('.')),
    source,
    cpuCores,
    memoryGib,
    enis,
    ipv4PerEni: ipv4,
    ipv6PerEni: ipv6,
    enisInTotal: inTotal,
    trunk,
    rdmaEnis: rdmaEnis[instanceType] ?? 0,
    primaryQueues: queues[0],
    secondaryQueues: queues[1],
    totalQueues: queues[2],
    bandwidthKbps,
  }),
);
