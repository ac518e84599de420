/**
 * What an ADD makes, as a value: the veth pair, the pod's address, neighbour and default route, the host's route and rules.
 *
 * Routed, not bridged: the pod has a /32 and sends everything to a link-local gateway whose MAC is the host end's; the host
 * routes the address to the veth, and a rule sends what comes from the pod to the table of the ENI that owns the address.
 * Source: Terway's policy route; node-local addresses 169.254.1.1 and fe80::1 are Calico's and Terway's.
 */
import { type Family, familyOf } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import { type Bucket, bucketOf, type Shaping } from '../../core/shaping.ts';
import type { NewAddr } from '../netlink/addr.ts';
import type { NewNeighbour } from '../netlink/neighbour.ts';
import { type NewRoute, SCOPE_LINK, TABLE_MAIN } from '../netlink/route.ts';
import type { NewRule } from '../netlink/rule.ts';
import { type SandboxDevice, sandboxDevice } from './sandbox-device.ts';

export const POD_GATEWAY: Readonly<Record<Family, string>> = { 4: '169.254.1.1', 6: 'fe80::1' };

/** To the pod: before every rule that could send it elsewhere. From the pod: after those. */
export const TO_POD_PRIORITY = 512;
export const FROM_POD_PRIORITY = 2048;

export type PodWanted = {
  readonly sandbox: Sandbox;
  /** One IPv4, one IPv6, or one of each. */
  readonly ips: readonly string[];
  /** The table of the ENI that owns the addresses. */
  readonly routeTable: number;
  readonly mtu: number;
  /** Of several interfaces of a pod only one may have it. */
  readonly defaultRoute: boolean;
  /** Absent: no limit. */
  readonly shaping?: Shaping;
};

export type OnLink<T> = Omit<T, 'linkIndex'>;

export type PodPlan = PodWanted & {
  readonly device: SandboxDevice;
  readonly inPod: {
    readonly addrs: readonly OnLink<NewAddr>[];
    readonly neighbours: readonly OnLink<NewNeighbour>[];
    readonly routes: readonly OnLink<NewRoute>[];
    /** What the pod sends is held back before it leaves the pod. */
    readonly queue: Bucket | null;
  };
  readonly onHost: {
    readonly routes: readonly OnLink<NewRoute>[];
    readonly rules: readonly NewRule[];
    /** What the pod receives is held back before the host sends it in. */
    readonly queue: Bucket | null;
  };
};

export function podPlan(wanted: PodWanted): PodPlan {
  const device = sandboxDevice(wanted.sandbox);
  const { ips, mtu, shaping: { ingress, egress } = {} } = wanted;
  return {
    ...wanted,
    device,
    inPod: {
      addrs: ips.map((ip) => ({ ...hostPrefix(ip), noDad: true })),
      neighbours: ips.map((ip) => ({ ip: POD_GATEWAY[familyOf(ip)], mac: device.hostMac })),
      routes: (wanted.defaultRoute ? ips : []).map((ip) => {
        const family = familyOf(ip);
        return { family, destination: null, table: TABLE_MAIN, gateway: POD_GATEWAY[family], onLink: true };
      }),
      queue: egress === undefined ? null : bucketOf(egress, mtu),
    },
    onHost: {
      routes: ips.map((ip) => ({
        family: familyOf(ip),
        destination: hostPrefix(ip),
        table: TABLE_MAIN,
        scope: SCOPE_LINK,
      })),
      rules: ips.flatMap((ip) => podRules(ip, wanted.routeTable)),
      queue: ingress === undefined ? null : bucketOf(ingress, mtu),
    },
  };
}

/** None where a pod's traffic goes the way of the host's: the route to it is all it needs. */
export function podRules(ip: string, routeTable: number): NewRule[] {
  if (routeTable === TABLE_MAIN) return [];
  const family = familyOf(ip);
  return [
    { family, priority: TO_POD_PRIORITY, destination: hostPrefix(ip), table: TABLE_MAIN },
    { family, priority: FROM_POD_PRIORITY, source: hostPrefix(ip), table: routeTable },
  ];
}

/** The address alone: /32 or /128. */
export function hostPrefix(ip: string): { readonly ip: string; readonly prefix: number } {
  return { ip, prefix: familyOf(ip) === 4 ? 32 : 128 };
}
