/** What the plugin leaves on a host for a pod, made by hand for tests that need the daemon alone: host end, route, rule pair. */
import { closeSync, openSync } from 'node:fs';
import { podRules } from '../../src/adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../../src/adapters/datapath/sandbox-device.ts';
import type { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { SCOPE_LINK, TABLE_MAIN } from '../../src/adapters/netlink/route.ts';
import { createVeth, setLink } from '../../src/adapters/netlink/wire/link.ts';
import { replaceRoute } from '../../src/adapters/netlink/wire/route.ts';
import { addRule } from '../../src/adapters/netlink/wire/rule.ts';
import type { Sandbox } from '../../src/core/sandbox.ts';

/** `marked: false`: as another plugin would, under the same kind of name. */
export function podOnHost(
  host: Netlink,
  sandbox: Pick<Sandbox, 'containerId' | 'ifName' | 'pod'>,
  ipv4: string,
  routeTable: number,
  marked = true,
): void {
  const device = sandboxDevice(sandbox);
  const [name] = device.hostNames;
  const here = openSync('/proc/self/ns/net', 'r');
  const mac = marked ? device.hostMac : `02${device.podMac.slice(2, -2)}aa`;
  const peer = { name: `pod${name.slice(-8)}`, mac: device.podMac, mtu: 1500 };
  host.apply([createVeth({ name, mac, mtu: 1500, peer, peerNetnsFd: here })]);
  closeSync(here);
  const link = host.linkByName(name);
  if (link === null) throw new Error(`${name} was not made`);
  host.apply([setLink(link.index, { up: true, ...(marked ? { alias: device.alias } : {}) })]);
  const destination = { ip: ipv4, prefix: 32 };
  host.apply([
    replaceRoute({ family: 4, destination, table: TABLE_MAIN, linkIndex: link.index, scope: SCOPE_LINK }),
    ...podRules(ipv4, routeTable).map(addRule),
  ]);
}
