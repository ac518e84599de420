/**
 * What the store remembers of an ENI that is in use, so that its free addresses can serve pods after a restart while the cloud is away.
 *
 * A record counts in the boot that wrote it and no longer, so it need not outlive the machine and is written without a sync. It only ever
 * names too little: an address is struck out in the very batch that holds the intent to give it back (actors/eni-memory.ts).
 */
import type { CloudEni, Subnet } from './eni.ts';
import type { Owned } from './pairs.ts';

export const REMEMBERED_ENI_VERSION = 1;

export type RememberedEni = {
  readonly version: typeof REMEMBERED_ENI_VERSION;
  readonly eniId: string;
  readonly mac: string;
  readonly vSwitchId: string;
  readonly subnet: Subnet;
  /** The ENI's own primary address first. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly routeTable: number | null;
  /** Whose it was, in which boot, and the address that the node has itself. */
  readonly instanceId: string;
  readonly bootId: string;
  readonly nodeIp: string;
};

/** The addresses that the ENI has for sure, of both families: what leaves, and what the cloud does not show, is not among them. */
export function sureIps({ book, halves }: Owned): Pick<RememberedEni, 'ipv4' | 'ipv6'> {
  const sure = book.filter(({ state }) => state !== 'leaving' && state !== 'invalid');
  const all = [...sure, ...halves.ipv4].sort((a, b) => Number(b.primary) - Number(a.primary));
  return {
    ipv4: all.map(({ address }) => address.ipv4),
    ipv6: [
      ...sure.flatMap(({ address: { ipv6 } }) => (ipv6 === null ? [] : [ipv6])),
      ...halves.ipv6.map(({ ip }) => ip),
      ...halves.heldBack,
    ],
  };
}

/** null for a record of another version or shape: nothing is known of that ENI then. */
export function parseRememberedEni(value: unknown): RememberedEni | null {
  const record = value as Partial<RememberedEni> | null;
  if (typeof record !== 'object' || record?.version !== REMEMBERED_ENI_VERSION) return null;
  const { eniId, mac, vSwitchId, instanceId, bootId, nodeIp, subnet, ipv4, ipv6, routeTable } = record;
  const texts = [eniId, mac, vSwitchId, instanceId, bootId, nodeIp, subnet?.cidr, subnet?.gateway];
  if (!texts.every((one) => typeof one === 'string' && one !== '')) return null;
  if (!isTexts(ipv4) || !isTexts(ipv6)) return null;
  return routeTable === null || typeof routeTable === 'number' ? (record as RememberedEni) : null;
}

const isTexts = (list: unknown): boolean => Array.isArray(list) && list.every((one) => typeof one === 'string');

/** The ENI as the cloud would tell of it, with these of its addresses. */
export function asCloudEni({ eniId, mac, vSwitchId, instanceId }: RememberedEni, ips: Pick<CloudEni, 'ipv4' | 'ipv6'>) {
  const unknown = { vpcId: '', zoneId: '', securityGroupIds: [], tags: {} };
  const eni: CloudEni = { ...unknown, ...ips, eniId, mac, vSwitchId, instanceId, status: 'InUse', type: 'Secondary' };
  return eni;
}
