/** A host with one ENI that the daemon's hand has set up, on which the plugin's hand makes and removes pods: the kernel is real, the namespaces are the test's own. */
import type { Test } from 'tap';
import { HostKernel, type HostKernelOptions } from '../../src/adapters/datapath/host-kernel.ts';
import { PodNamespace } from '../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../src/adapters/datapath/pod-network.ts';
import { type PodPlan, podPlan } from '../../src/adapters/datapath/pod-plan.ts';
import type { Libc } from '../../src/adapters/netlink/libc.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import type { HostKept, HostWanted } from '../../src/ports/kernel.ts';
import { libc as plainLibc, TestNamespace } from '../adapters/netlink/namespaces.ts';

const MAC = '00:16:3e:00:00:07';
const subnet = { cidr: '192.168.0.0/16', gateway: '192.168.255.253', ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fff7' };
const ENI = { mac: MAC, subnet, nodeIp: '10.0.0.5', mtu: 1_400 };
const never = new AbortController().signal;

export type HostPod = { readonly name: string; readonly ips: readonly string[]; readonly namespace: TestNamespace };

export class SharedHost {
  readonly netns: TestNamespace;
  readonly kernel: HostKernel;
  readonly routeTable: number;
  readonly #libc: Libc;
  readonly #network: PodNetwork;

  private constructor(netns: TestNamespace, kernel: HostKernel, routeTable: number, libc: Libc) {
    this.netns = netns;
    this.kernel = kernel;
    this.routeTable = routeTable;
    this.#libc = libc;
    this.#network = new PodNetwork(libc);
  }

  /** `replyPaths`: with the node's own table of nftables, and a default route for it to be about. `netns`: what is on the host already. */
  static async make(
    t: Test,
    libc: Libc,
    { replyPaths = false, netns = new TestNamespace(t, 'host') } = {},
  ): Promise<SharedHost> {
    if (replyPaths) {
      netns.ip('link', 'add', 'ens5', 'type', 'veth', 'peer', 'name', 'ens5far');
      for (const device of ['ens5', 'ens5far']) netns.ip('link', 'set', device, 'up');
      netns.ip('route', 'add', 'default', 'dev', 'ens5');
    }
    netns.ip('link', 'add', 'eth1', 'address', MAC, 'type', 'veth', 'peer', 'name', 'eth1far');
    netns.ip('link', 'set', 'eth1far', 'up');
    const kernel = new HostKernel(libc, { eniKinds: ['veth'], pollMs: 20, replyPaths, ipv6: true });
    await netns.run(() => kernel.prepareHost());
    const { routeTable } = await netns.run(() => kernel.setUpEni({ ...ENI, routeTable: null }, never));
    return new SharedHost(netns, kernel, routeTable, libc);
  }

  /** The same host by the hands of a daemon that has just started; the ENI's table is what its store says. */
  async afterRestart(options: HostKernelOptions): Promise<SharedHost> {
    const kernel = new HostKernel(this.#libc, { eniKinds: ['veth'], pollMs: 20, ipv6: true, ...options });
    await this.netns.run(() => kernel.prepareHost());
    const wanted = { ...ENI, routeTable: this.routeTable };
    const { routeTable } = await this.netns.run(() => kernel.setUpEni(wanted, never));
    return new SharedHost(this.netns, kernel, routeTable, this.#libc);
  }

  /** Links, rules and routes of all tables, in one text: what must be the same before and after. Less what the kernel itself makes for IPv6, a moment later. */
  state(): string {
    const netlink = this.netns.run(() => new Netlink(plainLibc));
    try {
      const links = netlink.links().map(({ name, index, mac, up }) => ({ name, index, mac, up }));
      const rules = ([4, 6] as const).flatMap((family) => netlink.rules(family));
      const routes = ([4, 6] as const).flatMap((family) => netlink.routes(family));
      const lines = [...links, ...rules, ...routes].map((one) => JSON.stringify(one));
      return lines
        .filter((line) => !/"(fe80:|ff00:)/.test(line))
        .sort()
        .join('\n');
    } finally {
      netlink.close();
    }
  }

  /** Not attached yet. */
  pod(t: Test, at: number): HostPod {
    const ips = [`192.168.${at >> 8}.${at & 255}`, `fd00::${at.toString(16)}`];
    return { name: `web-${at}`, ips, namespace: new TestNamespace(t, `pod${at}`) };
  }

  attach(pod: HostPod): string {
    return this.#within(pod, (namespace) => this.#network.attach(this.#planOf(pod), namespace)).hostName;
  }

  /** null, or what is missing. */
  verify(pod: HostPod): string | null {
    return this.#within(pod, (namespace) => this.#network.verify(this.#planOf(pod), namespace));
  }

  detach(pod: HostPod): void {
    this.netns.run(() => this.#network.detach(sandboxOf(pod), pod.ips));
  }

  /** A thorough look at the host, as the daemon takes it, with these pods made and the addresses of `free` nobody's. */
  keep(
    pods: readonly HostPod[],
    free: readonly HostPod[] = [],
    heldOff: ReadonlySet<string> = new Set(),
  ): Promise<HostKept> {
    const { routeTable } = this;
    const freeIps = free.flatMap(({ ips }) => ips);
    const ips = [...pods.flatMap((pod) => pod.ips), ...freeIps];
    const wanted: HostWanted = {
      enis: [{ ...ENI, routeTable, ips, freeIps }],
      pods: pods.map((pod) => ({ sandbox: sandboxOf(pod), ips: pod.ips, routeTable, standing: 'seen' as const })),
      claimed: new Set(pods.map((pod) => sandboxKey(sandboxOf(pod)))),
      dead: [],
      heldOff,
      thorough: true,
    };
    return this.netns.run(() => this.kernel.keep(wanted));
  }

  /** Rules about the pod's addresses, by the program `ip`. */
  rulesOf({ ips }: HostPod): readonly string[] {
    const all = [this.netns.ip('rule'), this.netns.ip('-6', 'rule')].join('\n').split('\n');
    return all.filter((line) => ips.some((ip) => line.split(/\s+/).includes(ip)));
  }

  #planOf(pod: HostPod): PodPlan {
    const { ips } = pod;
    return podPlan({ sandbox: sandboxOf(pod), ips, routeTable: this.routeTable, mtu: 1_400, defaultRoute: true });
  }

  #within<T>(pod: HostPod, work: (namespace: PodNamespace) => T): T {
    const namespace = new PodNamespace(this.#libc, pod.namespace.path);
    try {
      return this.netns.run(() => work(namespace));
    } finally {
      namespace.close();
    }
  }
}

const sandboxOf = ({ name, namespace }: HostPod) => ({
  ...{ containerId: `sandbox-${name}`, ifName: 'eth0', netns: namespace.path, network: 'net' },
  pod: { namespace: 'default', name, uid: null },
});
