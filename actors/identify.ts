/** Starting: who the instance is (metadata) and what it may own (the cloud). */
import { fromPromise } from 'xstate';
import type { CloudEni, Subnet, VSwitch } from '../src/core/eni.ts';
import { EnactorError } from '../src/core/errors.ts';
import { parseCidr, vSwitchGateway } from '../src/core/ip.ts';
import { eniCap } from '../src/core/managed-enis.ts';
import type { Settings } from '../src/core/settings.ts';
import type { At } from '../statecharts/at.ts';
import type { NodeFacts } from '../statecharts/node.ts';
import type { NodePorts } from './ports.ts';

export function subnetOf(vSwitch: Pick<VSwitch, 'cidr' | 'ipv6Cidr'>): Subnet {
  return {
    cidr: vSwitch.cidr,
    gateway: vSwitchGateway(parseCidr(vSwitch.cidr)),
    ipv6Cidr: vSwitch.ipv6Cidr,
    ipv6Gateway: vSwitch.ipv6Cidr === null ? null : vSwitchGateway(parseCidr(vSwitch.ipv6Cidr)),
  };
}

/** The vSwitches listed for the zone. Source: Terway takes the instance's own one when its zone has no list. */
export function vSwitchIdsFor({ vSwitchIds }: Settings, zoneId: string, own: string): readonly string[] {
  if (vSwitchIds === null) return [own];
  const listed = isList(vSwitchIds) ? vSwitchIds : (vSwitchIds[zoneId] ?? []);
  return listed.length === 0 ? [own] : listed;
}

const isList = (lists: NonNullable<Settings['vSwitchIds']>): lists is readonly string[] => Array.isArray(lists);

export function identifyLogic({ metadata, cloud, kernel, clock, entropy, log }: NodePorts) {
  return fromPromise<At<NodeFacts>, { settings: Settings }>(async ({ input: { settings }, signal }) => {
    const identity = await metadata.identity(signal);
    const wantedIds = vSwitchIdsFor(settings, identity.zoneId, identity.vSwitchId);
    const [limits, known, attached] = await Promise.all([
      cloud.instanceLimits(identity.instanceType, signal),
      cloud.vSwitches(wantedIds, signal),
      cloud.describeEnis({ instanceId: identity.instanceId }, signal),
      kernel.prepareHost(),
    ]);
    const vSwitches = wantedIds
      .map((id) => known.find((vSwitch) => vSwitch.vSwitchId === id))
      .filter((vSwitch) => vSwitch !== undefined && vSwitch.zoneId === identity.zoneId) as VSwitch[];
    if (vSwitches.length === 0) {
      const detail = `none of the vSwitches ${wantedIds.join(', ')} is in zone ${identity.zoneId}`;
      throw new EnactorError('invalidArgument', detail);
    }
    const facts: NodeFacts = {
      instanceId: identity.instanceId,
      nodeIp: identity.nodeIp,
      eniCap: eniCap(limits.enis, settings),
      eniPlaces: Math.max(0, limits.enis - 1),
      ipv4PerEni: limits.ipv4PerEni,
      vSwitches: vSwitches.map((vSwitch) => ({
        vSwitchId: vSwitch.vSwitchId,
        subnet: subnetOf(vSwitch),
        free: vSwitch.availableAddresses,
      })),
      seed: entropy.fraction(),
      securityGroupIds: settings.securityGroupIds ?? primaryOf(attached)?.securityGroupIds ?? [],
    };
    log.info(
      { instance: facts.instanceId, type: identity.instanceType, enis: facts.eniCap, ipsPerEni: facts.ipv4PerEni },
      'instance identified',
    );
    return { atMs: clock.nowMs(), value: facts };
  });
}

const primaryOf = (enis: readonly CloudEni[]): CloudEni | undefined => enis.find((eni) => eni.type === 'Primary');
