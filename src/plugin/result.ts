/**
 * The result of ADD in the shape of the configuration's version: 0.x says the family of each address and prints `dns`, 1.x
 * does neither; 1.1.0 adds the MTU of both ends.
 *
 * It tells what is in the kernel: the pod's address stands alone (/32, /128), its gateway is the link-local one (of a pod on the network itself the vSwitch's), and the host's
 * end is listed with no sandbox. (Terway tells the vSwitch's mask and gateway instead.)
 * Source: CNI SPEC 0.3.0 to 1.1.0, "Result".
 */
import { type Family, familyOf } from '../core/ip.ts';

export type AddOutcome = {
  readonly ifName: string;
  readonly netns: string;
  readonly hostName: string;
  readonly hostMac: string;
  readonly podMac: string;
  readonly ips: readonly string[];
  readonly mtu: number;
  readonly gateway: Readonly<Record<Family, string>>;
  readonly defaultRoute: boolean;
};

const MTU_SINCE: readonly string[] = ['1.1.0'];
type Entry = Readonly<Record<string, unknown>>;

/** What the plugins before this one in the chain have made: it stays in the result. */
export type Earlier = {
  readonly interfaces: readonly Entry[];
  readonly ips: readonly Entry[];
  readonly routes: readonly Entry[];
  readonly dns: Entry | null;
};

const NOTHING: Earlier = { interfaces: [], ips: [], routes: [], dns: null };

export function addResult(
  cniVersion: string,
  outcome: AddOutcome,
  earlier: Earlier = NOTHING,
): Record<string, unknown> {
  const old = cniVersion.startsWith('0.');
  const mtu = MTU_SINCE.includes(cniVersion) ? { mtu: outcome.mtu } : {};
  const ends = [
    { name: outcome.hostName, mac: outcome.hostMac, ...mtu },
    { name: outcome.ifName, mac: outcome.podMac, ...mtu, sandbox: outcome.netns },
  ];
  const podEnd = earlier.interfaces.length + 1;
  const ips = outcome.ips.map((ip) => ({
    ...(old ? { version: `${familyOf(ip)}` } : {}),
    interface: podEnd,
    address: `${ip}/${familyOf(ip) === 4 ? 32 : 128}`,
    gateway: outcome.gateway[familyOf(ip)],
  }));
  const own = (outcome.defaultRoute ? outcome.ips : []).map((ip) => ({
    dst: familyOf(ip) === 4 ? '0.0.0.0/0' : '::/0',
    gw: outcome.gateway[familyOf(ip)],
  }));
  const routes = [...earlier.routes, ...own];
  const dns = earlier.dns ?? (old ? {} : null);
  return {
    cniVersion,
    interfaces: [...earlier.interfaces, ...ends],
    ips: [...earlier.ips, ...ips],
    ...(routes.length === 0 ? {} : { routes }),
    ...(dns === null ? {} : { dns }),
  };
}

/** What a prevResult tells, in the version of the configuration it came with; null when it is no result. */
export function earlierIn(prevResult: unknown): Earlier | null {
  if (prevResult === undefined) return NOTHING;
  if (!isEntry(prevResult) || addressesIn(prevResult) === null) return null;
  const { interfaces, ips, routes, dns = null } = prevResult;
  const lists = [interfaces, ips, routes].map((list) => list ?? []);
  if (!lists.every((list) => Array.isArray(list) && list.every(isEntry))) return null;
  if (dns !== null && !isEntry(dns)) return null;
  const [first = [], second = [], third = []] = lists as Entry[][];
  return { interfaces: first, ips: second, routes: third, dns };
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The addresses a prevResult lists, without their masks; null when it is no result. */
export function addressesIn(prevResult: unknown): string[] | null {
  if (typeof prevResult !== 'object' || prevResult === null || Array.isArray(prevResult)) return null;
  const { ips = [] } = prevResult as { ips?: unknown };
  if (!Array.isArray(ips)) return null;
  const addresses = ips.map((entry: unknown) => {
    const address = typeof entry === 'object' && entry !== null ? (entry as { address?: unknown }).address : undefined;
    return typeof address === 'string' ? (address.split('/')[0] ?? '') : null;
  });
  return addresses.every((address) => address !== null) ? addresses : null;
}
