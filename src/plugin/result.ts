/**
 * The result of ADD in the shape of the configuration's version: 0.x says the family of each address and prints `dns`, 1.x
 * does neither; 1.1.0 adds the MTU of both ends.
 *
 * It tells what is in the kernel: the pod's address stands alone (/32, /128), its gateway is the link-local one, and the host's
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
const HOST_END = 0;
const POD_END = 1;

export function addResult(cniVersion: string, outcome: AddOutcome): Record<string, unknown> {
  const old = cniVersion.startsWith('0.');
  const mtu = MTU_SINCE.includes(cniVersion) ? { mtu: outcome.mtu } : {};
  const interfaces: Record<string, string | number>[] = [];
  interfaces[HOST_END] = { name: outcome.hostName, mac: outcome.hostMac, ...mtu };
  interfaces[POD_END] = { name: outcome.ifName, mac: outcome.podMac, ...mtu, sandbox: outcome.netns };
  const ips = outcome.ips.map((ip) => ({
    ...(old ? { version: `${familyOf(ip)}` } : {}),
    interface: POD_END,
    address: `${ip}/${familyOf(ip) === 4 ? 32 : 128}`,
    gateway: outcome.gateway[familyOf(ip)],
  }));
  const routes = (outcome.defaultRoute ? outcome.ips : []).map((ip) => ({
    dst: familyOf(ip) === 4 ? '0.0.0.0/0' : '::/0',
    gw: outcome.gateway[familyOf(ip)],
  }));
  return { cniVersion, interfaces, ips, ...(routes.length === 0 ? {} : { routes }), ...(old ? { dns: {} } : {}) };
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
