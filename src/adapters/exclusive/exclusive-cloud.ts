/**
 * Ports Cloud and Metadata of a node whose pods have an ENI each: to the actors an ENI is one with room for a single pod, so that one is opened for
 * each, and one that is free serves the next. Of an ENI that has more addresses, as from another mode, only the first counts.
 */
import type { CloudEni } from '../../core/eni.ts';
import type { Cloud } from '../../ports/cloud.ts';
import type { Metadata } from '../../ports/metadata.ts';

export function exclusiveCloud(cloud: Cloud): Cloud {
  return {
    ...cloud,
    ...(cloud.keptAs !== undefined && { keptAs: `${cloud.keptAs}, one pod each` }),
    async instanceLimits(instanceType, signal) {
      const limits = await cloud.instanceLimits(instanceType, signal);
      return { ...limits, ipv4PerEni: Math.min(1, limits.ipv4PerEni), ipv6PerEni: Math.min(1, limits.ipv6PerEni) };
    },
    describeEnis: async (filter, signal) => (await cloud.describeEnis(filter, signal)).map(withOne),
    createEni: async (wanted, signal) => withOne(await cloud.createEni(wanted, signal)),
  };
}

export function exclusiveMetadata(metadata: Metadata): Metadata {
  return {
    identity: (signal) => metadata.identity(signal),
    enis: async (signal) =>
      (await metadata.enis(signal)).map((eni) => ({ ...eni, ipv4: [eni.primaryIp], ipv6: first(eni.ipv6) })),
  };
}

function withOne(eni: CloudEni): CloudEni {
  return eni.type === 'Secondary' ? { ...eni, ipv4: eni.ipv4.slice(0, 1), ipv6: first(eni.ipv6) } : eni;
}

/** The two witnesses may tell them in another order each. */
const first = (ips: readonly string[]): readonly string[] => ips.toSorted().slice(0, 1);
