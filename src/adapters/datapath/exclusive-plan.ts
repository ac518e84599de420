/**
 * What an ADD makes for a pod that is on the network itself, as a value: a device of the network in the pod (its ENI's own, or an ipvlan slave of a shared
 * one), and a veth pair for what has to go through the host.
 *
 * The device carries the pod's address and its default route, so that the pod's traffic never meets the host. Services are the host's work, and so
 * are the node itself and what listens on it (node-local DNS): these go over the pair, to the link-local gateway, and the host sends what it
 * has for the pod back over it. Source: Terway's exclusive ENI; cases/field F1, P19.
 */
import { type Family, familyOf, parseCidr } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import { type Bucket, bucketOf, type Shaping } from '../../core/shaping.ts';
import type { NewAddr } from '../netlink/addr.ts';
import type { NewNeighbour } from '../netlink/neighbour.ts';
import { type NewRoute, SCOPE_LINK, TABLE_MAIN } from '../netlink/route.ts';
import { hostPrefix, type OnLink, POD_GATEWAY } from './pod-plan.ts';
import { type SandboxDevice, sandboxDevice } from './sandbox-device.ts';

/** The pod's end of the pair. Source: Terway. */
export const SERVICE_IF_NAME = 'veth1';

export type ExclusiveWanted = {
  readonly sandbox: Sandbox;
  readonly ips: readonly string[];
  readonly mtu: number;
  readonly eniMac: string;
  /** The vSwitch's, of each family that the pod has an address of. */
  readonly gateways: readonly string[];
  /** The vSwitch's prefixes, whose addresses are neighbours; absent: the pod's address is alone on its device. */
  readonly subnets?: readonly string[];
  /** The node's addresses and the prefixes that go through the host: services, node-local DNS. */
  readonly throughHost: readonly string[];
  readonly shaping?: Shaping;
};

export type ExclusivePlan = ExclusiveWanted & {
  readonly device: SandboxDevice;
  readonly onEni: {
    readonly addrs: readonly OnLink<NewAddr>[];
    readonly routes: readonly OnLink<NewRoute>[];
    readonly queue: Bucket | null;
  };
  readonly onPair: {
    readonly addrs: readonly OnLink<NewAddr>[];
    readonly neighbours: readonly OnLink<NewNeighbour>[];
    readonly routes: readonly OnLink<NewRoute>[];
  };
  readonly onHost: { readonly routes: readonly OnLink<NewRoute>[]; readonly queue: Bucket | null };
};

export function exclusivePlan(wanted: ExclusiveWanted): ExclusivePlan {
  const device = sandboxDevice(wanted.sandbox);
  const { ips, mtu, shaping: { ingress, egress } = {} } = wanted;
  const families = [...new Set(ips.map(familyOf))];
  const main = { table: TABLE_MAIN } as const;
  return {
    ...wanted,
    device,
    onEni: {
      addrs: ips.map((ip) => ({ ip, prefix: prefixOf(ip, wanted.subnets), noDad: true })),
      routes: wanted.gateways.filter((ip) => families.includes(familyOf(ip))).flatMap(defaultRoutes),
      queue: egress === undefined ? null : bucketOf(egress, mtu),
    },
    onPair: {
      addrs: ips.map((ip) => ({ ...hostPrefix(ip), noDad: true })),
      neighbours: families.map((family) => ({ ip: POD_GATEWAY[family], mac: device.hostMac })),
      routes: families.flatMap((family): OnLink<NewRoute>[] => [
        { ...main, family, destination: hostPrefix(POD_GATEWAY[family]), scope: SCOPE_LINK },
        ...prefixesOf(wanted.throughHost, family).map((destination) => ({
          ...main,
          family,
          destination,
          gateway: POD_GATEWAY[family],
          onLink: true,
        })),
      ]),
    },
    onHost: {
      routes: ips.map((ip) => ({ ...main, family: familyOf(ip), destination: hostPrefix(ip), scope: SCOPE_LINK })),
      queue: ingress === undefined ? null : bucketOf(ingress, mtu),
    },
  };
}

function prefixOf(ip: string, subnets: readonly string[] = []): number {
  const family = familyOf(ip);
  return subnets.map(parseCidr).find((one) => one.family === family)?.prefix ?? hostPrefix(ip).prefix;
}

/** The address is alone on the device, so that the gateway has to be said to be there. */
function defaultRoutes(gateway: string): OnLink<NewRoute>[] {
  const family = familyOf(gateway);
  const route = { family, destination: null, table: TABLE_MAIN, gateway };
  if (family === 4) return [{ ...route, onLink: true }];
  return [{ family, destination: hostPrefix(gateway), table: TABLE_MAIN, scope: SCOPE_LINK }, route];
}

function prefixesOf(texts: readonly string[], family: Family): { readonly ip: string; readonly prefix: number }[] {
  const all = texts.map((text) =>
    text.includes('/') ? parseCidr(text) : parseCidr(`${text}/${hostPrefix(text).prefix}`),
  );
  return all.filter((one) => one.family === family).map(({ network, prefix }) => ({ ip: network, prefix }));
}
