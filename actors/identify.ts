/** Starting: who the instance is (metadata) and what it may own (the cloud). */
import { fromPromise } from 'xstate';
import type { CloudEni, InstanceLimits, Subnet, VSwitch } from '../src/core/eni.ts';
import { EnactorError } from '../src/core/errors.ts';
import { parseCidr, vSwitchGateway } from '../src/core/ip.ts';
import { eniCap } from '../src/core/managed-enis.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { KnownVSwitch } from '../src/core/remembered-cloud.ts';
import type { Settings } from '../src/core/settings.ts';
import type { Log } from '../src/ports/log.ts';
import type { At } from '../statecharts/at.ts';
import { lookAhead } from './look.ts';
import type { NodePorts } from './ports.ts';
import type { Asked, Told } from './told.ts';

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

/** @param identified told whose we are as soon as the metadata service has said it */
export function identifyLogic(ports: NodePorts, told: Told, identified: (instanceId: string) => void) {
  const { kernel, clock, log } = ports;
  return fromPromise<At<NodeFacts>, { settings: Settings }>(async ({ input: { settings }, signal }) => {
    let ahead: Promise<void> = Promise.resolve();
    const begun = (instanceId: string): void => {
      identified(instanceId);
      ahead = lookAhead({ ...ports, told }, instanceId, settings, signal);
    };
    const [{ facts, instanceType }] = await Promise.all([
      instanceFacts({ ...ports, cloud: told }, settings, signal, begun).finally(() => {
        if (told.isWhole) told.forget();
      }),
      kernel.prepareHost(),
    ]);
    await ahead;
    const { instanceId: instance, eniCap: enis, ipv4PerEni: ipsPerEni } = facts;
    log.info({ instance, type: instanceType, enis, ipsPerEni }, 'instance identified');
    return { atMs: clock.nowMs(), value: facts };
  });
}

/** What the cloud says of these settings. Rejects with EnactorError `invalidArgument` when they do not fit the instance. */
export async function instanceFacts(
  { metadata, cloud, entropy, log }: Pick<NodePorts, 'metadata' | 'entropy' | 'log'> & { readonly cloud: Asked },
  settings: Settings,
  signal: AbortSignal,
  identified: (instanceId: string) => void = () => {},
): Promise<{ readonly facts: NodeFacts; readonly instanceType: string }> {
  const { instanceId, instanceType, nodeIp, zoneId, vSwitchId: own } = await metadata.identity(signal);
  identified(instanceId);
  await cloud.recall?.(instanceId, settings.ipStack === 'dual');
  const wantedIds = vSwitchIdsFor(settings, zoneId, own);
  const [limits, known, attached] = await Promise.all([
    cloud.instanceLimits(instanceType, signal),
    cloud.vSwitches(wantedIds, signal),
    cloud.describeEnis({ instanceId }, signal),
  ]);
  const inZone = wantedIds
    .map((id) => known.find((vSwitch) => vSwitch.vSwitchId === id))
    .filter((vSwitch) => vSwitch !== undefined && vSwitch.zoneId === zoneId) as KnownVSwitch[];
  if (inZone.length === 0)
    throw new EnactorError('invalidArgument', `none of the vSwitches ${wantedIds.join(', ')} is in zone ${zoneId}`);
  const vSwitches = settings.ipStack === 'dual' ? withIpv6(inZone, limits, log) : inZone;
  const facts: NodeFacts = {
    instanceId,
    nodeIp,
    eniCap: eniCap(limits.enis, settings),
    eniPlaces: Math.max(0, limits.enis - 1),
    ipv4PerEni: settings.ipStack === 'dual' ? Math.min(limits.ipv4PerEni, limits.ipv6PerEni) : limits.ipv4PerEni,
    vSwitches: vSwitches.map((vSwitch) => ({
      vSwitchId: vSwitch.vSwitchId,
      subnet: subnetOf(vSwitch),
      free: vSwitch.availableAddresses,
    })),
    seed: entropy.fraction(),
    securityGroupIds: settings.securityGroupIds ?? groupsOf(attached),
  };
  return { facts, instanceType };
}

/** Those of the node itself. Without any no ENI can be made, so an instance that is not shown yet is waited for. */
function groupsOf(attached: readonly CloudEni[]): readonly string[] {
  const groups = primaryOf(attached)?.securityGroupIds ?? [];
  if (groups.length === 0)
    throw new EnactorError('cloud', 'the primary ENI is not shown yet, whose security groups ours would have');
  return groups;
}

/**
 * The vSwitches that dual stack can use; the others are named and left alone. Throws EnactorError when none is left, or when the type
 * has no IPv6: both can be changed while the daemon waits.
 */
function withIpv6(
  vSwitches: readonly KnownVSwitch[],
  { instanceType, ipv4PerEni, ipv6PerEni }: InstanceLimits,
  log: Log,
) {
  if (ipv6PerEni === 0)
    throw new EnactorError('invalidArgument', `ip_stack is dual, and instance type ${instanceType} has no IPv6`);
  if (ipv6PerEni < ipv4PerEni)
    log.warn({ type: instanceType, ipv4PerEni, ipv6PerEni }, 'dual stack: an ENI holds only as many pods as IPv6');
  const [able, unable] = [true, false].map((is) => vSwitches.filter((one) => (one.ipv6Cidr !== null) === is));
  const names = (unable ?? []).map((one) => one.vSwitchId).join(', ');
  if (able === undefined || able.length === 0)
    throw new EnactorError('invalidArgument', `ip_stack is dual, and no vSwitch has an IPv6 prefix: ${names}`);
  if (names !== '') log.warn({ vSwitches: names }, 'dual stack: vSwitches without an IPv6 prefix are not used');
  return able;
}

const primaryOf = (enis: readonly CloudEni[]): CloudEni | undefined => enis.find((eni) => eni.type === 'Primary');
