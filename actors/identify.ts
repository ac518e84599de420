/** Starting: who the instance is (metadata) and what it may own (the cloud). */
import { fromPromise } from 'xstate';
import type { CloudEni, InstanceLimits, Subnet, VSwitch } from '../src/core/eni.ts';
import { EnactorError } from '../src/core/errors.ts';
import { parseCidr, vSwitchGateway } from '../src/core/ip.ts';
import { eniCap } from '../src/core/managed-enis.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { Settings } from '../src/core/settings.ts';
import type { Log } from '../src/ports/log.ts';
import type { At } from '../statecharts/at.ts';
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

/** What the instance is asked about at the cloud. */
type Asked = Pick<NodePorts['cloud'], 'instanceLimits' | 'vSwitches' | 'describeEnis'>;

const TOLD_MS = 120_000;
/** Limits, vSwitches, ENIs. */
const QUESTIONS = 3;

/** Keeps what the cloud has answered for a while, by question, until all of it was answered. */
class Told implements Asked {
  readonly #ports: Pick<NodePorts, 'cloud' | 'clock'>;
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: unknown }>();

  constructor(ports: Pick<NodePorts, 'cloud' | 'clock'>) {
    this.#ports = ports;
  }

  /** When all was answered and it is not enough (a primary ENI that is not shown yet), asking again is the only way on. */
  get isWhole(): boolean {
    return this.#answers.size >= QUESTIONS;
  }

  forget(): void {
    this.#answers.clear();
  }

  instanceLimits(type: string, signal: AbortSignal) {
    return this.#kept(`limits ${type}`, () => this.#ports.cloud.instanceLimits(type, signal));
  }

  vSwitches(ids: readonly string[], signal: AbortSignal) {
    return this.#kept(`vSwitches ${ids.join(' ')}`, () => this.#ports.cloud.vSwitches(ids, signal));
  }

  describeEnis(filter: Parameters<Asked['describeEnis']>[0], signal: AbortSignal) {
    return this.#kept(`enis ${JSON.stringify(filter)}`, () => this.#ports.cloud.describeEnis(filter, signal));
  }

  async #kept<T>(question: string, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.#ports;
    const known = this.#answers.get(question);
    if (known !== undefined && clock.nowMs() - known.atMs < TOLD_MS) return known.answer as T;
    const answer = await ask();
    this.#answers.set(question, { atMs: clock.nowMs(), answer });
    return answer;
  }
}

/** @param identified told whose we are as soon as the metadata service has said it */
export function identifyLogic(ports: NodePorts, identified: (instanceId: string) => void) {
  const { kernel, clock, log } = ports;
  // A step that fails is tried again: what was answered meanwhile is not asked again, since the account's calls are everybody's.
  const told = new Told(ports);
  return fromPromise<At<NodeFacts>, { settings: Settings }>(async ({ input: { settings }, signal }) => {
    const [{ facts, instanceType }] = await Promise.all([
      instanceFacts({ ...ports, cloud: told }, settings, signal, identified).finally(() => {
        if (told.isWhole) told.forget();
      }),
      kernel.prepareHost(),
    ]);
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
  const wantedIds = vSwitchIdsFor(settings, zoneId, own);
  const [limits, known, attached] = await Promise.all([
    cloud.instanceLimits(instanceType, signal),
    cloud.vSwitches(wantedIds, signal),
    cloud.describeEnis({ instanceId }, signal),
  ]);
  const inZone = wantedIds
    .map((id) => known.find((vSwitch) => vSwitch.vSwitchId === id))
    .filter((vSwitch) => vSwitch !== undefined && vSwitch.zoneId === zoneId) as VSwitch[];
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
function withIpv6(vSwitches: readonly VSwitch[], { instanceType, ipv4PerEni, ipv6PerEni }: InstanceLimits, log: Log) {
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
