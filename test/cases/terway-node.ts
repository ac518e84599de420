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
import { parseCidr, vSwitchGateway } from '../../src/core/ip.ts';
import { labCredentials } from '../adapters/credentials/lab-credentials.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';

export type Layout = 'current' | 'v1.2' | 'v1.0.10';

/** Of a pod; `ip` reaches it by name. */
export type PodNamespace = Pick<TestNamespace, 'name' | 'path' | 'ip' | 'batch' | 'remove'>;

export type TerwayPod = {
  readonly name: string;
  readonly ip: string;
  /** null: it has none, as all of v1.0.10's. */
  readonly ip6: string | null;
  readonly eni: CloudEni;
  readonly layout: Layout;
  readonly containerId: string;
  readonly namespace: PodNamespace;
  readonly sticky: boolean;
};

/** Where its plugin ran. */
export type TerwayHost = {
  readonly nodeIp: string;
  /** null: no pod has IPv6. */
  readonly nodeIp6: string | null;
  /** Before a program's name, so that it runs there: `nsenter` and its arguments; nothing: here. */
  readonly enter: readonly string[];
  /** Makes one that is removed with the test. */
  readonly namespace: (role: string) => PodNamespace;
};

const INSTANCE = 'i-lab-node-1';
const GATEWAY = '192.168.0.253';
const GATEWAY_6 = vSwitchGateway(parseCidr('2001:db8:0:100::/64'));
const STICK_NS = 300 * 1e9;

export const here = (t: Test): TerwayHost => ({
  nodeIp: '192.168.0.1',
  nodeIp6: null,
  enter: [],
  namespace: (role) => new TestNamespace(t, role),
});

const runIp = ({ enter }: Pick<TerwayHost, 'enter'>, args: readonly string[], input = ''): string => {
  const [program = '', ...rest] = [...enter, 'ip', ...args];
  return execFileSync(program, rest, { encoding: 'utf8', input });
};

export const ip = (...args: string[]): string => runIp({ enter: [] }, args);

/** What is about IPv6 comes last. */
const batch = (host: TerwayHost, lines: readonly string[]): void => {
  const isSix = (line: string): boolean => line.includes('2001:db8:');
  for (const [family, its] of [
    ['-4', lines.filter((line) => !isSix(line))],
    ['-6', lines.filter(isSix)],
  ] as const)
    if (its.length > 0) runIp(host, [family, '-batch', '-'], `${its.join('\n')}\n`);
};

/** As many, attached, with so many addresses each, 20 if not told. `url`: the lab's cloud. */
export async function terwayEnis(
  url: string,
  count: number,
  each = 20,
  { creator = 'terway', dual = false } = {},
): Promise<readonly CloudEni[]> {
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
      ipv6Count: dual ? each : 0,
    };
    const tags = { creator };
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
    const ip6 = host.nodeIp6 === null || layout === 'v1.0.10' ? null : (eni.ipv6[index] ?? null);
    const pod = { name, ip, ip6, eni, layout, containerId: `c-${name}`, namespace, sticky: index < sticky };
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
    ...(host.nodeIp6 === null || layout === 'v1.0.10'
      ? []
      : [
          `addr add ${host.nodeIp6}/128 dev ${name} nodad`,
          `route replace ${GATEWAY_6}/128 dev ${name} scope link`,
          `route replace ::/0 via ${GATEWAY_6} dev ${name} table ${table}`,
        ]),
  ]);
  return table;
}

function connect(host: TerwayHost, { name, ip: ipv4, ip6, layout, namespace }: TerwayPod, table: number): void {
  const veth = hostVethName({ namespace: 'default', name }, 'eth0');
  runIp(host, ['link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace.name]);
  const mac = /link\/ether (\S+)/.exec(runIp(host, ['-o', 'link', 'show', veth]))?.[1] ?? '';
  const both = [`${ipv4}/32`, ...(ip6 === null ? [] : [`${ip6}/128`])];
  namespace.batch([
    'link set eth0 up',
    ...both.map((address) => `addr add ${address} dev eth0 ${address.includes(':') ? 'nodad' : ''}`),
    'route add default via 169.254.1.1 dev eth0 onlink',
    `neigh add 169.254.1.1 lladdr ${mac} dev eth0 nud permanent`,
    ...(ip6 === null
      ? []
      : ['route add ::/0 via fe80::1 dev eth0 onlink', `neigh add fe80::1 lladdr ${mac} dev eth0 nud permanent`]),
  ]);
  batch(host, [
    `link set ${veth} up`,
    ...both.flatMap((address) => [
      `route add ${address} dev ${veth} scope link`,
      ...rulesOf(address, veth, layout, table),
    ]),
  ]);
}

/** `address` with its prefix. */
function rulesOf(address: string, veth: string, layout: Layout, table: number): string[] {
  if (layout === 'v1.0.10')
    return [
      `route add ${address} dev ${veth} scope link table ${table}`,
      `rule add to ${address} lookup ${table}`,
      `rule add from ${address} lookup ${table}`,
    ];
  const iif = layout === 'v1.2' ? `iif ${veth} ` : '';
  return [
    `rule add to ${address} lookup main priority 512`,
    `rule add from ${address} ${iif}lookup ${table} priority 2048`,
  ];
}

/** As that version’s daemon wrote it. */
export function recordOf(pod: TerwayPod): string {
  const { name, ip: address, ip6, eni, layout, containerId, namespace, sticky } = pod;
  const mac = eni.mac.toLowerCase();
  const podInfo = {
    Name: name,
    Namespace: 'default',
    PodNetworkType: 'ENIMultiIP',
    IPStickTime: sticky ? STICK_NS : 0,
  };
  const item = { type: 'eniIp', id: `${mac}.${address}${ip6 === null ? '' : `-${ip6}`}` };
  if (layout === 'v1.0.10') return JSON.stringify({ Resources: [item], PodInfo: { ...podInfo, PodIP: address } });
  if (layout === 'v1.2') return JSON.stringify({ Resources: [item], PodInfo: podInfo, NetNs: namespace.path });
  const whole = { ...item, eni_id: eni.eniId, eni_mac: mac, ipv4: address, ipv6: ip6 ?? '' };
  const info = { ...podInfo, PodIPs: { IPv4: address, IPv6: ip6 ?? '' }, PodUID: '' };
  return JSON.stringify({ Resources: [whole], PodInfo: info, NetNs: namespace.path, ContainerID: containerId });
}
