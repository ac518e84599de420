/** Port EniDevices over this host: what the daemon does for its ENIs, done for those of another daemon. */
import { type EniKind, findEniLink, onlyEniLink, prepareEniLink } from '../adapters/datapath/eni-device.ts';
import { hostSettings } from '../adapters/datapath/host-drift.ts';
import { nodeAddresses } from '../adapters/datapath/node-addresses.ts';
import { ROUTE_TABLE_BASE } from '../adapters/datapath/route-table.ts';
import { ensureSysctls } from '../adapters/datapath/sysctl.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import { Netlink } from '../adapters/netlink/netlink.ts';
import { familyOf } from '../core/ip.ts';
import type { EniAsTold, EniDevices } from './terway-daemon.ts';

/** As long as Terway's plugin looks for it. */
const DEVICE_WAIT_MS = 10_000;
const LOOK_MS = 100;

export function eniDevices(libc: Libc, kinds: readonly EniKind[], mtu: number): EniDevices {
  return {
    async ready(eni, signal) {
      const host = new Netlink(libc);
      try {
        for (let leftMs = DEVICE_WAIT_MS; ; leftMs -= LOOK_MS) {
          const table = readyNow(host, eni, kinds, mtu);
          if (table !== null) return table;
          if (leftMs <= 0 || signal?.aborted === true)
            throw new Error(`no device of this node has the MAC ${eni.mac} of the pod's ENI`);
          await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        }
      } finally {
        host.close();
      }
    },
    tableOf(mac) {
      const host = new Netlink(libc);
      try {
        const link = findEniLink(host, mac, kinds);
        return link === null ? null : ROUTE_TABLE_BASE + link.index;
      } finally {
        host.close();
      }
    },
  };
}

/** null while no such device exists. */
function readyNow(host: Netlink, eni: EniAsTold, kinds: readonly EniKind[], mtu: number): number | null {
  const link = onlyEniLink(host, eni.mac, kinds);
  if (link === null) return null;
  const nodeIp = nodeAddresses(host).find((ip) => familyOf(ip) === 4);
  if (nodeIp === undefined) throw new Error('the node has no IPv4 default route, and so no address');
  const table = ROUTE_TABLE_BASE + link.index;
  const other = [4 as const, 6 as const]
    .flatMap((family) => host.routes(family, table))
    .find(({ linkIndex }) => linkIndex !== link.index);
  if (other !== undefined) throw new Error(`routing table ${table} of ${link.name} has routes over another device`);
  const { mac, gateway, ipv6Gateway } = eni;
  ensureSysctls(hostSettings(ipv6Gateway !== null));
  const subnet = { cidr: '', gateway, ipv6Cidr: null, ipv6Gateway };
  prepareEniLink(host, link, { mac, subnet, nodeIp, mtu, routeTable: table }, table);
  return table;
}
