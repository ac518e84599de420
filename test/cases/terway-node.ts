/**
 * A node as Terway left it: ENIs that it made, and pods in namespaces of their own with the devices, routes and rules of one of its versions.
 * Source: Terway, plugin/driver/drivers.go (v1.0.10, v1.2), plugin/datapath/policy_router_linux.go; daemon/resource_manager.go, types/daemon/res.go.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { ecsCloud } from '../../src/adapters/ecs/ecs-cloud.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { labCredentials } from '../adapters/credentials/lab-credentials.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';

export type Layout = 'current' | 'v1.2' | 'v1.0.10';

/** Of a pod; `ip` reaches it by name. */
export type PodNamespace = Pick<TestNamespace, 'name' | 'path' | 'ip' | 'batch' | 'remove'>;

export type TerwayPod = {
  readonly name: string;
  readonly ip: string;
  readonly eni: CloudEni;
  readonly layout: Layout;
  readonly containerId: string;
  readonly namespace: PodNamespace;
  readonly sticky: boolean;
};

/** Where its plugin ran. */
export type TerwayHost = {
  readonly nodeIp: string;
  /** Before a program's name, so that it runs there: `nsenter` and its arguments; nothing: here. */
  readonly enter: readonly string[];
  /** Makes one that is removed with the test. */
  readonly namespace: (role: string) => PodNamespace;
};

const INSTANCE = 'i-lab-node-1';
const GATEWAY = '192.168.0.253';
const STICK_NS = 300 * 1e9;

export const here = (t: Test): TerwayHost => ({
  nodeIp: '192.168.0.1',
  enter: [],
  namespace: (role) => new TestNamespace(t, role),
});

const runIp = ({ enter }: Pick<TerwayHost, 'enter'>, args: readonly string[], input = ''): string => {
  const [program = '', ...rest] = [...enter, 'ip', ...args];
  return execFileSync(program, rest, { encoding: 'utf8', input });
};

export const ip = (...args: string[]): string => runIp({ enter: [] }, args);

const batch = (host: TerwayHost, lines: readonly string[]): void => {
  runIp(host, ['-batch', '-'], `${lines.join('\n')}\n`);
};

/** As many, attached, with so many addresses each, 20 if not told. `url`: the lab's cloud. */
export async function terwayEnis(url: string, count: number, each = 20): Promise<readonly CloudEni[]> {
  const endpoint = new URL(url).host;
  const cloud = ecsCloud({
    ...{ credentials: labCredentials(), timeoutMs: 10_000, rateLimits: {}, minuteMs: 60 },
    ...{ region: async () => 'cn-lab', ecsEndpoint: endpoint, vpcEndpoint: endpoint, scheme: 'http' },
  });
  const signal = AbortSignal.timeout(60_000);
  const when = async (eniId: string, status: CloudEni['status']): Promise<CloudEni> => {
    for (;;) {
      const [eni] = await cloud.describeEnis({ eniIds: [eniId] }, signal);
      if (eni?.status === status) return eni;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const enis: CloudEni[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const wanted = {
      vSwitchId: 'vsw-lab-1',
      securityGroupIds: ['sg-lab'],
      ipv4Count: Math.min(each, 10),
      ipv6Count: 0,
    };
    const tags = { creator: 'terway' };
    const { eniId } = await cloud.createEni(
      { ...wanted, tags, description: 'interface create by terway', clientToken: randomUUID() },
      signal,
    );
    await when(eniId, 'Available');
    if (each > 10) await cloud.assignIpv4(eniId, each - 10, randomUUID(), signal);
    await cloud.attachEni(eniId, INSTANCE, signal);
    enis.push(await when(eniId, 'InUse'));
  }
  return enis;
}

/** A pod for each address of the ENI, or for the first of them, the first `sticky` of a StatefulSet. */
export function terwayPods(
  host: TerwayHost,
  layout: Layout,
  eni: CloudEni,
  { sticky = 0, pods = eni.ipv4.length } = {},
): TerwayPod[] {
  const table = setUpEni(host, eni, layout);
  return eni.ipv4.slice(0, pods).map((ip, index) => {
    const name = `${layout.replaceAll('.', '-')}-${index}`;
    const namespace = host.namespace('pod');
    const pod = { name, ip, eni, layout, containerId: `c-${name}`, namespace, sticky: index < sticky };
    connect(host, pod, table);
    return pod;
  });
}

function setUpEni(host: TerwayHost, { mac }: CloudEni, layout: Layout): number {
  const [, index = '', name = ''] = new RegExp(`(\\d+): (\\S+)@.*${mac}`).exec(runIp(host, ['-o', 'link'])) ?? [];
  const table = 1000 + Number(index);
  runIp(host, ['addr', 'flush', 'dev', name]);
  batch(host, [
    `link set ${name} up mtu 1500`,
    `addr add ${layout === 'v1.0.10' ? '169.254.1.1' : host.nodeIp}/32 dev ${name}`,
    `route replace default via ${GATEWAY} dev ${name} onlink table ${table}`,
  ]);
  return table;
}

function connect(host: TerwayHost, { name, ip: address, layout, namespace }: TerwayPod, table: number): void {
  const veth = hostVethName({ namespace: 'default', name }, 'eth0');
  runIp(host, ['link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace.name]);
  const mac = /link\/ether (\S+)/.exec(runIp(host, ['-o', 'link', 'show', veth]))?.[1] ?? '';
  namespace.batch([
    'link set eth0 up',
    `addr add ${address}/32 dev eth0`,
    'route add default via 169.254.1.1 dev eth0 onlink',
    `neigh add 169.254.1.1 lladdr ${mac} dev eth0 nud permanent`,
  ]);
  batch(host, [
    `link set ${veth} up`,
    `route add ${address}/32 dev ${veth} scope link`,
    ...rulesOf(address, veth, layout, table),
  ]);
}

function rulesOf(address: string, veth: string, layout: Layout, table: number): string[] {
  if (layout === 'v1.0.10')
    return [
      `route add ${address}/32 dev ${veth} scope link table ${table}`,
      `rule add to ${address}/32 lookup ${table}`,
      `rule add from ${address}/32 lookup ${table}`,
    ];
  const iif = layout === 'v1.2' ? `iif ${veth} ` : '';
  return [
    `rule add to ${address}/32 lookup main priority 512`,
    `rule add from ${address}/32 ${iif}lookup ${table} priority 2048`,
  ];
}

/** As that version’s daemon wrote it. */
export function recordOf(pod: TerwayPod): string {
  const { name, ip: address, eni, layout, containerId, namespace, sticky } = pod;
  const mac = eni.mac.toLowerCase();
  const podInfo = {
    Name: name,
    Namespace: 'default',
    PodNetworkType: 'ENIMultiIP',
    IPStickTime: sticky ? STICK_NS : 0,
  };
  const item = { type: 'eniIp', id: `${mac}.${address}` };
  if (layout === 'v1.0.10') return JSON.stringify({ Resources: [item], PodInfo: { ...podInfo, PodIP: address } });
  if (layout === 'v1.2') return JSON.stringify({ Resources: [item], PodInfo: podInfo, NetNs: namespace.path });
  const whole = { ...item, eni_id: eni.eniId, eni_mac: mac, ipv4: address, ipv6: '' };
  const info = { ...podInfo, PodIPs: { IPv4: address, IPv6: '' }, PodUID: '' };
  return JSON.stringify({ Resources: [whole], PodInfo: info, NetNs: namespace.path, ContainerID: containerId });
}
