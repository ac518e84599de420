/**
 * Ports Cloud and Metadata of a node whose pods have addresses of its pod CIDR: no cloud is asked. The prefix is one ENI that is there from the
 * start, has all the addresses it will ever have, and is nobody's to change, so that leases, cool-downs, reservations and recovery are
 * what they are in every other mode.
 */

import type { CloudEni } from '../../core/eni.ts';
import { EnactorError } from '../../core/errors.ts';
import { cidrText } from '../../core/ip.ts';
import type { Cloud } from '../../ports/cloud.ts';
import type { Metadata } from '../../ports/metadata.ts';
import type { PodCidrFacts, PodCidrSource } from './pod-cidr-facts.ts';

/** Its name as an ENI, as a vSwitch and as a zone. */
export const POD_CIDR = 'pod-cidr';
/** No device has it. */
const MAC = '02:00:00:00:00:00';

export function podCidrCloud(source: PodCidrSource): Cloud {
  const never = async (): Promise<never> => {
    throw new EnactorError('cloud', 'mode VPC changes nothing in the cloud');
  };
  return {
    async instanceLimits(instanceType, signal) {
      const { ipv4, ipv6 } = await source(signal);
      return { instanceType, enis: 2, ipv4PerEni: ipv4.length, ipv6PerEni: ipv6.length };
    },
    async vSwitches(ids, signal) {
      const { cidr, ipv6Cidr } = await source(signal);
      const cidrs = { cidr: cidrText(cidr), ipv6Cidr: ipv6Cidr === null ? null : cidrText(ipv6Cidr) };
      const one = { vSwitchId: POD_CIDR, vpcId: POD_CIDR, zoneId: POD_CIDR, ...cidrs, availableAddresses: 0 };
      return ids.includes(POD_CIDR) ? [one] : [];
    },
    async describeEnis({ instanceId, eniIds, tags }, signal) {
      const facts = await source(signal);
      const here = instanceId === undefined || instanceId === facts.instanceId;
      return [primary(facts), pods(facts)].filter(
        (eni) => here && tags === undefined && (eniIds === undefined || eniIds.includes(eni.eniId)),
      );
    },
    createEni: never,
    attachEni: never,
    detachEni: never,
    deleteEni: never,
    assignIpv4: never,
    unassignIpv4: never,
    assignIpv6: never,
    unassignIpv6: never,
  };
}

export function podCidrMetadata(source: PodCidrSource): Metadata {
  return {
    async identity(signal) {
      const { instanceId, nodeIp } = await source(signal);
      const where = { regionId: POD_CIDR, zoneId: POD_CIDR, vpcId: POD_CIDR, vSwitchId: POD_CIDR };
      return { instanceId, instanceType: POD_CIDR, ...where, primaryMac: MAC, nodeIp };
    },
    async enis(signal) {
      const facts = await source(signal);
      const { mac, eniId, vSwitchId, ipv4, ipv6 } = pods(facts);
      const cidrs = {
        vSwitchCidr: cidrText(facts.cidr),
        vSwitchIpv6Cidr: facts.ipv6Cidr === null ? null : cidrText(facts.ipv6Cidr),
      };
      return [
        { mac, eniId, vSwitchId, gateway: '', primaryIp: ipv4[0] ?? '', ipv4, ipv6, ipv6Gateway: null, ...cidrs },
      ];
    },
  };
}

const base = (instanceId: string) =>
  ({
    mac: MAC,
    status: 'InUse',
    vpcId: POD_CIDR,
    vSwitchId: POD_CIDR,
    zoneId: POD_CIDR,
    securityGroupIds: [POD_CIDR],
    tags: {},
    instanceId,
  }) as const;

/** Stands for the node's own interface, which every instance has. */
function primary({ instanceId, nodeIp }: PodCidrFacts): CloudEni {
  return { ...base(instanceId), eniId: 'node', type: 'Primary', ipv4: [nodeIp], ipv6: [] };
}

function pods({ instanceId, ipv4, ipv6 }: PodCidrFacts): CloudEni {
  return { ...base(instanceId), eniId: POD_CIDR, type: 'Secondary', ipv4, ipv6 };
}
