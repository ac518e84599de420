/**
 * Port Cloud that only looks: a call that would change something is refused before it leaves, and told. The one place where read-only mode
 * is enforced, so that nothing that the actors may think of gets past it.
 */
import { EnactorError } from '../../core/errors.ts';
import type { Cloud } from '../../ports/cloud.ts';

/** @param tell hears what would have been done, in words */
export function readOnlyCloud(cloud: Cloud, tell: (what: string) => void): Cloud {
  const refused = async (what: string): Promise<never> => {
    tell(`would ${what}`);
    throw new EnactorError('readOnly', `read-only mode: would ${what}`);
  };
  return {
    ...(cloud.keptAs !== undefined && { keptAs: cloud.keptAs }),
    hurry: () => cloud.hurry?.(),
    instanceLimits: (type, signal) => cloud.instanceLimits(type, signal),
    vSwitches: (ids, signal) => cloud.vSwitches(ids, signal),
    describeEnis: (filter, signal) => cloud.describeEnis(filter, signal),
    createEni: ({ vSwitchId, ipv4Count }) => refused(`create an ENI with ${ipv4Count} addresses in ${vSwitchId}`),
    attachEni: (eniId, instanceId) => refused(`attach ${eniId} to ${instanceId}`),
    detachEni: (eniId, instanceId) => refused(`detach ${eniId} from ${instanceId}`),
    deleteEni: (eniId) => refused(`delete ${eniId}`),
    assignIpv4: (eniId, count) => refused(`assign ${count} IPv4 addresses on ${eniId}`),
    unassignIpv4: (eniId, ips) => refused(`unassign ${ips.join(', ')} of ${eniId}`),
    assignIpv6: (eniId, count) => refused(`assign ${count} IPv6 addresses on ${eniId}`),
    unassignIpv6: (eniId, ips) => refused(`unassign ${ips.join(', ')} of ${eniId}`),
  };
}
