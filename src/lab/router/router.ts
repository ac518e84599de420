/**
 * The VPC's fabric: a namespace that knows which address is on which ENI, sends packets there, and counts those it refuses.
 *
 * Every ENI is a veth whose far end is here. The router never asks who has an address: routes and permanent neighbours are written
 * as the cloud assigns, so a node that answers for others changes nothing. To the guests it answers for the gateway and, by
 * proxy ARP, for everything else, always with the MAC the VPC uses.
 *
 * Rules, in this order, decide by incoming device and source; the first that fits counts:
 *    90  iif <ENI> to <an address that its groups may not reach> -> the sink `security-group`
 *   100  iif <ENI> from <its address> -> main: addresses, then the sink `no-destination`
 *   300  from <address of some ENI>   -> the sink `routing-fault`
 *   400  from <address just released> -> the sink `just-released`, for a minute
 *   500  iif <ENI>                    -> the sink `unknown-source`
 *
 * Limits: one VPC (no overlapping addresses); of security groups what group-rules.ts tells; no bandwidth or multicast; the local table
 * comes first, so packets to a gateway's own address are taken whatever their source.
 */
import { closeSync } from 'node:fs';
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { SCOPE_LINK, TABLE_MAIN } from '../../adapters/netlink/route.ts';
import { addAddr } from '../../adapters/netlink/wire/addr.ts';
import { createVeth, deleteLink, setLink } from '../../adapters/netlink/wire/link.ts';
import type { Request } from '../../adapters/netlink/wire/message.ts';
import { deleteNeighbour, proxyNeighbour, setNeighbour } from '../../adapters/netlink/wire/neighbour.ts';
import { addRoute, deleteRoute } from '../../adapters/netlink/wire/route.ts';
import { addRule, deleteRule } from '../../adapters/netlink/wire/rule.ts';
import { type Cidr, familyOf } from '../../core/ip.ts';
import { packetSocket, sendFrame } from '../netns/libc.ts';
import { Netns } from '../netns/netns.ts';
import { writeSysctl } from '../netns/sysctl.ts';
import { addCountedSink, transmitted } from './counted-sink.ts';
import { GroupRules, type MayReach } from './group-rules.ts';
import type { RefusedCounts, RefusedKind } from './refused.ts';
import { routerAdvertisement } from './router-advertisement.ts';

/** What every neighbour in an Alibaba Cloud VPC seems to have. */
export const FABRIC_MAC = 'ee:ff:ff:ff:ff:ff';

const JUST_RELEASED_MS = 60_000;
const FORBIDDEN_PAIR = 90;
const RIGHT_SOURCE = 100;
const KNOWN_SOURCE = 300;
const RELEASED_SOURCE = 400;
const ANY_SOURCE = 500;
const DEFAULT_ENI_MTU = 1500;

const sinks: readonly { readonly kind: RefusedKind; readonly device: string; readonly table: number }[] = [
  { kind: 'noDestination', device: 'no-destination', table: TABLE_MAIN },
  { kind: 'routingFault', device: 'routing-fault', table: 1001 },
  { kind: 'justReleased', device: 'just-released', table: 1002 },
  { kind: 'unknownSource', device: 'unknown-source', table: 1003 },
];

const GROUP_SINK = { device: 'security-group', table: 1004 } as const;

export type PluggedEni = {
  readonly eniId: string;
  readonly mac: string;
  /** The gateway addresses of the ENI's vSwitch, which this end answers for. */
  readonly gateways: readonly string[];
};

type Port = {
  readonly device: string;
  readonly linkIndex: number;
  readonly mac: string;
  readonly addresses: Set<string>;
  groups: readonly string[] | null;
};

export class Router {
  readonly netns: Netns;
  readonly #netlink: Netlink;
  readonly #ports = new Map<string, Port>();
  readonly #releasedAtMs = new Map<string, number>();
  readonly #nowMs: () => number;
  readonly #mtu: number;
  readonly #groupRules: GroupRules;
  #mayReach: MayReach = () => true;
  #answersForIpv6 = false;
  #made = 0;

  private constructor(netns: Netns, netlink: Netlink, nowMs: () => number, mtu: number) {
    this.netns = netns;
    this.#netlink = netlink;
    this.#nowMs = nowMs;
    this.#groupRules = new GroupRules(netlink, FORBIDDEN_PAIR, GROUP_SINK.table);
    this.#mtu = mtu;
  }

  /** Makes the namespace at `path`. `nowMs` ages the just-released addresses; `mtu` is what ENIs come with. */
  static create(path: string, nowMs: () => number = Date.now, mtu = DEFAULT_ENI_MTU): Router {
    const netns = Netns.create(path);
    const netlink = new Netlink(openKoffiLibc(), netns.fd);
    netns.run(() => {
      writeSysctl('net/ipv4/ip_forward', '1');
      writeSysctl('net/ipv6/conf/all/forwarding', '1');
      // `all` decides about forwarding. A device of which it is true joins the routers' group, and its reports would be counted.
      writeSysctl('net/ipv6/conf/default/forwarding', '0');
      writeSysctl('net/ipv6/conf/default/accept_ra', '0');
      for (const group of ['all', 'default']) {
        writeSysctl(`net/ipv4/conf/${group}/rp_filter`, '0');
        writeSysctl(`net/ipv4/conf/${group}/send_redirects`, '0');
      }
    });
    // Without a local table, which comes with the first address, the kernel takes any gateway for invalid.
    const loopback = netlink.linkByName('lo');
    if (loopback !== null) netlink.apply([setLink(loopback.index, { up: true })]);
    for (const sink of [...sinks, GROUP_SINK]) addCountedSink(netns, netlink, sink.device, sink.table);
    return new Router(netns, netlink, nowMs, mtu);
  }

  /** Makes the ENI appear in `guest` as `device`, down, with its MAC; it has no address yet (`assign`). */
  plug(eni: PluggedEni, guest: Netns, device: string): void {
    this.#made += 1;
    const own = `eni${this.#made}`;
    this.#netlink.apply([
      createVeth({
        name: own,
        mac: FABRIC_MAC,
        mtu: this.#mtu,
        peer: { name: device, mac: eni.mac, mtu: this.#mtu },
        peerNetnsFd: guest.fd,
      }),
    ]);
    const linkIndex = this.#netlink.linkByName(own)?.index;
    if (linkIndex === undefined) throw new Error(`router: ${own} vanished`);
    this.netns.run(() => {
      writeSysctl(`net/ipv4/conf/${own}/proxy_arp`, '1');
      writeSysctl(`net/ipv4/neigh/${own}/proxy_delay`, '0'); // else answers take up to 0.8 s
    });
    this.#netlink.apply([
      setLink(linkIndex, { alias: eni.eniId, up: true }),
      ...eni.gateways.map((ip) => addAddr({ linkIndex, ip, prefix: bits(ip), noDad: true })),
      addRule({ family: 4, priority: ANY_SOURCE, incoming: own, table: tableOf('unknownSource') }),
      addRule({ family: 6, priority: ANY_SOURCE, incoming: own, table: tableOf('unknownSource') }),
    ]);
    if (this.#answersForIpv6) this.#letAnswer(own, linkIndex);
    this.#ports.set(eni.eniId, { device: own, linkIndex, mac: eni.mac, addresses: new Set(), groups: null });
  }

  /** Whether the device of the ENI is there yet: a namespace that ended may have taken it along. */
  isPlugged(eniId: string): boolean {
    const port = this.#ports.get(eniId);
    return port !== undefined && this.#netlink.linkByName(port.device)?.index === port.linkIndex;
  }

  /** From now on security groups are enforced, by this word on who reaches whom. */
  enforce(mayReach: MayReach): void {
    this.#mayReach = mayReach;
    this.#followGroups();
  }

  /** The groups that the ENI is in. Unknown ENIs are ignored. */
  setGroups(eniId: string, groups: readonly string[]): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) return;
    port.groups = groups;
    this.#followGroups();
  }

  /** Packets that security groups kept from passing since the router was made. */
  keptByGroups(): number {
    return transmitted(this.netns).get(GROUP_SINK.device) ?? 0;
  }

  #followGroups(): void {
    this.#groupRules.follow([...this.#ports.values()], this.#mayReach);
  }

  /** Takes the ENI's device away from its guest, with all that the router knew of it. Unknown ENIs are ignored. */
  unplug(eniId: string): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) return;
    for (const ip of [...port.addresses]) this.release(eniId, ip);
    this.#ports.delete(eniId);
    this.#followGroups();
    // A guest's namespace that has gone took both ends along.
    this.#netlink.apply([deleteLink({ index: port.linkIndex, name: port.device })], ['ENODEV']);
    this.#netlink.apply(
      ([4, 6] as const).map((family) => deleteRule({ family, priority: ANY_SOURCE, incoming: port.device })),
      ['ENOENT'],
    );
  }

  /** From now on the address is reached through this ENI, and may be a source coming out of it. Idempotent. */
  assign(eniId: string, ip: string): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) throw new Error(`router: ${eniId} is not plugged`);
    if (port.addresses.has(ip)) return;
    this.#forgetReleased(ip);
    const { linkIndex, mac, device } = port;
    const prefix = { ip, prefix: bits(ip) };
    const family = familyOf(ip);
    this.#netlink.apply([
      addRoute({
        family,
        destination: prefix,
        table: TABLE_MAIN,
        linkIndex,
        ...(family === 4 ? { scope: SCOPE_LINK } : {}),
      }),
      setNeighbour({ linkIndex, ip, mac }),
      addRule({ family, priority: RIGHT_SOURCE, source: prefix, incoming: device, table: TABLE_MAIN }),
      addRule({ family, priority: KNOWN_SOURCE, source: prefix, table: tableOf('routingFault') }),
    ]);
    port.addresses.add(ip);
    if (this.#answersForIpv6) this.#proxy([ip], this.#indexes());
    this.#followGroups();
  }

  /**
   * The range is reached through this port, by its address `gateway`, and what comes out of the port may have a source in it: what lies
   * behind a gateway of the VPC. For the router's life.
   */
  routeTo(eniId: string, range: Cidr, gateway: string): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) throw new Error(`router: ${eniId} is not plugged`);
    const { linkIndex, device } = port;
    const { family } = range;
    const prefix = { ip: range.network, prefix: range.prefix };
    this.#netlink.apply([
      addRoute({ family, destination: prefix, table: TABLE_MAIN, gateway, linkIndex, onLink: true }),
      addRule({ family, priority: RIGHT_SOURCE, source: prefix, incoming: device, table: TABLE_MAIN }),
      addRule({ family, priority: KNOWN_SOURCE, source: prefix, table: tableOf('routingFault') }),
    ]);
  }

  /**
   * From now on it answers for every IPv6 address too, where somebody asks for neighbours: guests with an ipvlan slave do, others send all to the
   * gateway. The kernel does so only on devices that forward, which join the routers' group for it.
   */
  answerForIpv6(): void {
    this.#answersForIpv6 = true;
    for (const { device, linkIndex } of this.#ports.values()) this.#letAnswer(device, linkIndex);
  }

  #letAnswer(device: string, linkIndex: number): void {
    this.netns.run(() => {
      writeSysctl(`net/ipv6/conf/${device}/forwarding`, '1');
      writeSysctl(`net/ipv6/conf/${device}/proxy_ndp`, '1');
      writeSysctl(`net/ipv6/neigh/${device}/proxy_delay`, '0');
    });
    this.#proxy(
      [...this.#ports.values()].flatMap(({ addresses }) => [...addresses]),
      [linkIndex],
    );
  }

  #proxy(ips: readonly string[], linkIndexes: readonly number[]): void {
    const ipv6 = ips.filter((ip) => familyOf(ip) === 6);
    this.#netlink.apply(
      linkIndexes.flatMap((linkIndex) => ipv6.map((ip) => proxyNeighbour({ linkIndex, ip }))),
      ['EEXIST'],
    );
  }

  #indexes(): readonly number[] {
    return [...this.#ports.values()].map((port) => port.linkIndex);
  }

  /** The address is nobody's any more. Unknown ones are ignored. */
  release(eniId: string, ip: string): void {
    const port = this.#ports.get(eniId);
    if (!port?.addresses.delete(ip)) return;
    this.#followGroups();
    const { linkIndex, device } = port;
    const prefix = { ip, prefix: bits(ip) };
    const family = familyOf(ip);
    this.#netlink.apply(
      [
        deleteRule({ family, priority: RIGHT_SOURCE, source: prefix, incoming: device }),
        deleteRule({ family, priority: KNOWN_SOURCE, source: prefix }),
        deleteRoute({ family, destination: prefix, table: TABLE_MAIN, linkIndex }),
        deleteNeighbour({ linkIndex, ip }),
      ],
      ['ENOENT', 'ESRCH', 'ENODEV'],
    );
    this.#sweep();
    this.#releasedAtMs.set(ip, this.#nowMs());
    this.#netlink.apply([releasedRule(ip, addRule)]);
  }

  /** Packets refused since the router was made. */
  refused(): RefusedCounts {
    this.#sweep();
    const sent = transmitted(this.netns);
    const count = (kind: RefusedKind) => sent.get(sinks.find((sink) => sink.kind === kind)?.device ?? '') ?? 0;
    return {
      routingFault: count('routingFault'),
      justReleased: count('justReleased'),
      unknownSource: count('unknownSource'),
      noDestination: count('noDestination'),
    };
  }

  /** What the way to this ENI holds from now on, on the router's side of it. Throws when it is not plugged. */
  setMtu(eniId: string, mtu: number): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) throw new Error(`router: ${eniId} is not plugged`);
    this.#netlink.apply([setLink(port.linkIndex, { mtu })]);
  }

  /** Tells the machine behind this ENI once that the fabric is a default router of IPv6 for so many seconds. Throws when it is not plugged. */
  advertise(eniId: string, lifetimeS: number): void {
    const port = this.#ports.get(eniId);
    if (port === undefined) throw new Error(`router: ${eniId} is not plugged`);
    const fd = this.netns.run(() => packetSocket(0));
    try {
      sendFrame(fd, port.linkIndex, routerAdvertisement(FABRIC_MAC, lifetimeS));
    } finally {
      closeSync(fd);
    }
  }

  /** ENIs plugged in, with the addresses routed to them. */
  routed(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#ports].map(([eniId, port]) => [eniId, [...port.addresses]]));
  }

  /** Removes the namespace and with it every ENI's device. Idempotent. */
  close(): void {
    for (const eniId of [...this.#ports.keys()]) this.unplug(eniId);
    this.#netlink.close();
    this.netns.remove();
  }

  #sweep(): void {
    const longAgo = this.#nowMs() - JUST_RELEASED_MS;
    for (const [ip, atMs] of this.#releasedAtMs) if (atMs <= longAgo) this.#forgetReleased(ip);
  }

  #forgetReleased(ip: string): void {
    if (this.#releasedAtMs.delete(ip)) this.#netlink.apply([releasedRule(ip, deleteRule)], ['ENOENT']);
  }
}

function releasedRule(ip: string, make: typeof addRule): Request {
  const source = { ip, prefix: bits(ip) };
  return make({ family: familyOf(ip), priority: RELEASED_SOURCE, source, table: tableOf('justReleased') });
}

function tableOf(kind: RefusedKind): number {
  return sinks.find((sink) => sink.kind === kind)?.table ?? TABLE_MAIN;
}

function bits(ip: string): number {
  return familyOf(ip) === 4 ? 32 : 128;
}
