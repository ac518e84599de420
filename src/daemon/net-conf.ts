/**
 * A lease as the plugin reads it. Terway's fields as Terway fills them for an address of a shared ENI; RouteTable, DeviceName and Mtu
 * are ours, since here the daemon owns the ENI's device and its table.
 */
import type { Lease } from '../core/lease.ts';
import type { Shaping } from '../core/shaping.ts';
import type { IPSet, NetConf } from '../core/wire.ts';

export function netConfOf(
  { sandbox: { shaping }, grant: { address, eni } }: Lease,
  serviceCidr: IPSet | null,
): NetConf {
  const pair = (ipv4: string, ipv6: string | null): IPSet => ({
    IPv4: ipv4,
    ...(address.ipv6 !== null && ipv6 !== null && { IPv6: ipv6 }),
  });
  const gateway = pair(eni.subnet.gateway, eni.subnet.ipv6Gateway);
  return {
    BasicInfo: {
      PodIP: pair(address.ipv4, address.ipv6),
      PodCIDR: pair(eni.subnet.cidr, eni.subnet.ipv6Cidr),
      GatewayIP: gateway,
      ...(serviceCidr !== null && { ServiceCIDR: serviceCidr }),
    },
    ENIInfo: {
      MAC: eni.mac,
      Trunk: false,
      GatewayIP: gateway,
      eRDMA: false,
      RouteTable: eni.device.routeTable,
      DeviceName: eni.device.name,
      Mtu: eni.device.mtu,
    },
    ...(shaping !== undefined && { Pod: rates(shaping) }),
    IfName: '',
    DefaultRoute: true,
  };
}

/** Bytes per second, as proto3's JSON writes 64 bits. */
function rates({ ingress, egress }: Shaping): NonNullable<NetConf['Pod']> {
  return {
    ...(ingress !== undefined && { Ingress: String(ingress) }),
    ...(egress !== undefined && { Egress: String(egress) }),
  };
}
