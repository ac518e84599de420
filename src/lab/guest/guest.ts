/**
 * A machine in the VPC as far as its own operating system configures it: a namespace with `lo`, the metadata address on it, and
 * the primary ENI as eth0 with its address and a default route to the vSwitch's gateway.
 *
 * Secondary ENIs appear in it down and bare, as they do on a real instance.
 */

import { FROM_POD_PRIORITY, TO_POD_PRIORITY } from '../../adapters/datapath/pod-plan.ts';
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { TABLE_MAIN } from '../../adapters/netlink/route.ts';
import { addAddr } from '../../adapters/netlink/wire/addr.ts';
import { deleteLink, setLink } from '../../adapters/netlink/wire/link.ts';
import { addRoute } from '../../adapters/netlink/wire/route.ts';
import { deleteRule } from '../../adapters/netlink/wire/rule.ts';
import { familyOf } from '../../core/ip.ts';
import { Netns } from '../netns/netns.ts';
import { writeSysctl } from '../netns/sysctl.ts';
import { EchoSocket } from '../probe/echo-socket.ts';

/** Where an instance finds its metadata service. Source: ECS instance metadata. */
export const METADATA_IP = '100.100.100.200';
const SCOPE_HOST = 254;
const POD_PRIORITIES: readonly number[] = [TO_POD_PRIORITY, FROM_POD_PRIORITY];
export const PRIMARY_DEVICE = 'eth0';

export type GuestAddress = { readonly ip: string; readonly prefix: number; readonly gateway: string };

export class Guest {
  readonly name: string;
  readonly instanceId: string;
  readonly netns: Netns;
  #echo: EchoSocket | null = null;
  #ips: readonly string[] = [];

  private constructor(name: string, instanceId: string, netns: Netns) {
    this.name = name;
    this.instanceId = instanceId;
    this.netns = netns;
  }

  /** Makes the namespace at `path`; the primary ENI is not there yet. */
  static create(name: string, instanceId: string, path: string): Guest {
    const guest = new Guest(name, instanceId, Netns.create(path));
    guest.#configure((netlink) => {
      const linkIndex = indexOf(netlink, 'lo');
      netlink.apply([
        setLink(linkIndex, { up: true }),
        // Of host scope: else the kernel would pick it, as the first of all, for packets to pods, whose devices have none.
        addAddr({ linkIndex, ip: METADATA_IP, prefix: 32, scope: SCOPE_HOST }),
      ]);
    });
    // The fabric answers for every address, so duplicate detection would only cost a second.
    guest.netns.run(() => writeSysctl('net/ipv6/conf/default/accept_dad', '0'));
    return guest;
  }

  /** What the instance's DHCP client would do once eth0 is there; then the guest can be probed. */
  async boot(addresses: readonly GuestAddress[]): Promise<void> {
    this.#configure((netlink) => {
      const linkIndex = indexOf(netlink, PRIMARY_DEVICE);
      netlink.apply([
        setLink(linkIndex, { up: true }),
        ...addresses.map(({ ip, prefix }) => addAddr({ linkIndex, ip, prefix, noDad: true })),
        ...addresses.map(({ ip, prefix, gateway }) =>
          addRoute({
            family: familyOf(ip),
            destination: null,
            table: TABLE_MAIN,
            gateway,
            linkIndex,
            onLink: familyOf(ip) === 6 || prefix === 32,
          }),
        ),
      ]);
    });
    this.#ips = addresses.map(({ ip }) => ip);
    this.#echo = await EchoSocket.open(this.netns, [4, 6], this.name);
  }

  /** What a kernel does not keep over a reboot: the rules and routes that others made, and the devices of pods. */
  forgetPods(): void {
    this.#configure((netlink) => {
      for (const link of netlink.links()) if (link.name.startsWith('cali')) netlink.apply([deleteLink(link)]);
      for (const family of [4, 6] as const) {
        const rules = netlink.rules(family).filter(({ priority }) => POD_PRIORITIES.includes(priority));
        netlink.apply(rules.map(deleteRule));
      }
    });
  }

  /** Those of eth0 since `boot`. */
  get ips(): readonly string[] {
    return this.#ips;
  }

  /** Throws before `boot`. */
  get echo(): EchoSocket {
    if (this.#echo === null) throw new Error(`${this.name} is not booted`);
    return this.#echo;
  }

  /** Idempotent. */
  async remove(): Promise<void> {
    await this.#echo?.close();
    this.netns.remove();
  }

  #configure(work: (netlink: Netlink) => void): void {
    const netlink = new Netlink(openKoffiLibc(), this.netns.fd);
    try {
      work(netlink);
    } finally {
      netlink.close();
    }
  }
}

function indexOf(netlink: Netlink, name: string): number {
  const link = netlink.linkByName(name);
  if (link === null) throw new Error(`device ${name} is not there`);
  return link.index;
}
