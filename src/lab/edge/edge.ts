/**
 * What lies beyond the VPC: a client outside, the internet behind a gateway that translates sources, and the cloud's own services.
 *
 * - `outside`: a client whose packets reach the VPC with its own address, as through a network load balancer that keeps it.
 * - `internet`: behind the NAT gateway of IPv4, which shows its own address; IPv6 goes out as it is.
 * - `cloud`: a service in 100.64.0.0/10, where the cloud has DNS, time and package mirrors; it sees who asks.
 * Source: the ranges are RFC 5737's, RFC 3849's and RFC 6598's; Alibaba Cloud, "NAT gateway", "IPv6 gateway", "reserved CIDR blocks".
 */
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { addAddr } from '../../adapters/netlink/wire/addr.ts';
import { createVeth, setLink } from '../../adapters/netlink/wire/link.ts';
import { parseCidr } from '../../core/ip.ts';
import { Guest, type GuestAddress, PRIMARY_DEVICE } from '../guest/guest.ts';
import type { Lab } from '../lab.ts';
import { writeSysctl } from '../netns/sysctl.ts';
import { runInside } from '../services/run-inside.ts';

export const OUTSIDE = 'outside';
export const INTERNET = 'internet';
export const CLOUD_SERVICES = 'cloud';
export const NAT_GATEWAY = 'nat-gateway';

const EDGE_MTU = 1500;
const NAT_PUBLIC = ['198.51.100.1', '2001:db8:51::1'] as const;
const NAT_DEVICE = 'eth1';

type Machine = { readonly name: string; readonly mac: string; readonly addresses: readonly GuestAddress[] };

const outside: Machine = {
  name: OUTSIDE,
  mac: '02:00:00:00:02:01',
  addresses: [
    { ip: '203.0.113.9', prefix: 32, gateway: '203.0.113.1' },
    { ip: '2001:db8:113::9', prefix: 128, gateway: '2001:db8:113::1' },
  ],
};
const cloud: Machine = {
  name: CLOUD_SERVICES,
  mac: '02:00:00:00:02:02',
  addresses: [{ ip: '100.100.2.136', prefix: 32, gateway: '100.100.2.1' }],
};
const natGateway: Machine = {
  name: NAT_GATEWAY,
  mac: '02:00:00:00:02:03',
  addresses: [
    { ip: NAT_PUBLIC[0], prefix: 32, gateway: '198.51.100.254' },
    { ip: NAT_PUBLIC[1], prefix: 128, gateway: '2001:db8:51::fe' },
  ],
};

/** Makes the machines and gives them to the lab, which takes them away with itself. Rejects where iptables is missing. */
export async function openEdge(lab: Lab): Promise<void> {
  for (const machine of [outside, cloud, natGateway]) await plug(lab, machine);
  await openInternet(lab);
}

/**
 * Addresses (one a family) that the world sends to this node by its primary ENI, and that the node may answer from: a load balancer's, or
 * those of a route. `which` tells several apart.
 */
export function externalIps(lab: Lab, node: string, which: number): readonly string[] {
  const last = 101 + 10 * which + lab.nodes.findIndex(({ name }) => name === node);
  const instance = lab.node(node).instanceId;
  const primary = lab.truth().enis.find((eni) => eni.instanceId === instance && eni.type === 'Primary');
  if (primary === undefined) throw new Error(`${node} has no primary ENI`);
  const ips = [`203.0.113.${last}`, `2001:db8:113::${last}`];
  for (const ip of ips) lab.router.assign(primary.eniId, ip);
  return ips;
}

async function plug(lab: Lab, { name, mac, addresses }: Machine): Promise<Guest> {
  const guest = Guest.create(name, name, `${lab.runDir}/netns/${name}`);
  lab.adopt(guest);
  lab.router.plug({ eniId: name, mac, gateways: addresses.map(({ gateway }) => gateway) }, guest.netns, PRIMARY_DEVICE);
  for (const { ip } of addresses) lab.router.assign(name, ip);
  await guest.boot(addresses);
  return guest;
}

async function openInternet(lab: Lab): Promise<void> {
  const guest = Guest.create(INTERNET, INTERNET, `${lab.runDir}/netns/${INTERNET}`);
  lab.adopt(guest);
  const gateway = lab.netnsOf(NAT_GATEWAY);
  if (gateway === null) throw new Error('the NAT gateway is not there');
  const netlink = new Netlink(openKoffiLibc(), gateway.fd);
  try {
    const peer = { name: PRIMARY_DEVICE, mac: '02:00:00:00:02:05', mtu: EDGE_MTU };
    const own = { name: NAT_DEVICE, mac: '02:00:00:00:02:04', mtu: EDGE_MTU };
    netlink.apply([createVeth({ ...own, peer, peerNetnsFd: guest.netns.fd })]);
    const linkIndex = netlink.linkByName(NAT_DEVICE)?.index ?? 0;
    netlink.apply([
      setLink(linkIndex, { up: true }),
      addAddr({ linkIndex, ip: '198.51.100.1', prefix: 24, noDad: true }),
      addAddr({ linkIndex, ip: '2001:db8:51::1', prefix: 64, noDad: true }),
    ]);
  } finally {
    netlink.close();
  }
  gateway.run(() => {
    writeSysctl('net/ipv4/ip_forward', '1');
    writeSysctl('net/ipv6/conf/all/forwarding', '1');
  });
  await runInside(gateway, 'iptables', ['-t', 'nat', '-A', 'POSTROUTING', '-o', NAT_DEVICE, '-j', 'MASQUERADE']);
  lab.router.routeTo(NAT_GATEWAY, parseCidr('198.51.100.0/24'), NAT_PUBLIC[0]);
  lab.router.routeTo(NAT_GATEWAY, parseCidr('2001:db8:51::/64'), NAT_PUBLIC[1]);
  await guest.boot([
    { ip: '198.51.100.9', prefix: 24, gateway: NAT_PUBLIC[0] },
    { ip: '2001:db8:51::9', prefix: 64, gateway: NAT_PUBLIC[1] },
  ]);
}
