/**
 * Run inside the virtual machine, compiled by Bun: the daemon's hand for an ENI, and the plugin's for pods, on the devices that are there.
 * Each argument is one thing to do: `eni KIND…` (which kinds may be an ENI), `pod NAME CONNECTION ADDRESS…`, `check NAME CONNECTION ADDRESS…`,
 * `del NAME ADDRESS…`. Prints `argument: result` for each.
 */
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { openBunLibc } from '../../src/adapters/netlink/libc-bun.ts';
import { hostDatapath } from '../../src/plugin/host-datapath.ts';
import type { PodWanted } from '../../src/plugin/pod-datapath.ts';

const MAC = '00:16:3E:00:00:07'; // upper case, as the cloud may answer
const TABLE = 1_500;
const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fd' };
const libc = openBunLibc();

const sandboxOf = (name: string) => ({
  ...{ containerId: `sandbox-${name}`, ifName: 'eth0', netns: `/run/netns/${name}`, network: 'net' },
  pod: { namespace: 'default', name, uid: null },
});

function wantedOf([name = '', connection = '', ...ips]: readonly string[]): PodWanted {
  const onEni = {
    ...{ mac: MAC, gateways: [subnet.gateway, subnet.ipv6Gateway], subnets: [subnet.cidr, subnet.ipv6Cidr] },
    throughHost: ['172.21.0.0/20', 'fd00:21::/112', '169.254.20.10/32'],
  };
  const common = { sandbox: sandboxOf(name), ips, routeTable: TABLE, mtu: 1_400, defaultRoute: true };
  return { ...common, connection: connection === 'ipvlan' ? { kind: 'ipvlan', ...onEni } : { kind: 'veth' } };
}

function inPod<T>(name: string, work: (pod: ReturnType<ReturnType<typeof hostDatapath>['open']>) => T): T {
  const pod = hostDatapath(libc).open(`/run/netns/${name}`);
  try {
    return work(pod);
  } finally {
    pod.close();
  }
}

async function said(verb: string, rest: readonly string[]): Promise<string> {
  switch (verb) {
    case 'eni': {
      const kinds = [...rest] as ('device' | 'veth' | 'dummy')[];
      const kernel = new HostKernel(libc, { eniKinds: kinds, ipv6: true, retryMs: 100 });
      kernel.masqueradeServices();
      await kernel.prepareHost();
      const wanted = { mac: MAC, subnet, nodeIp: '10.0.0.5', mtu: 1_400, routeTable: TABLE };
      const { name, routeTable } = await kernel.setUpEni(wanted, AbortSignal.timeout(500));
      return `${name} ${routeTable}`;
    }
    case 'pod':
      return inPod(rest[0] ?? '', (pod) => {
        const { vethInstead = 'as wanted', podMac } = pod.attach(wantedOf(rest));
        return `${vethInstead} ${podMac.toLowerCase() === MAC.toLowerCase() ? 'the ENI’s MAC' : 'a MAC of its own'}`;
      });
    case 'check':
      return inPod(rest[0] ?? '', (pod) => pod.verify(wantedOf(rest)) ?? 'whole');
    default:
      hostDatapath(libc).detach(sandboxOf(rest[0] ?? ''), { ips: rest.slice(1), macs: [] });
      return 'gone';
  }
}

for (const wanted of process.argv.slice(2)) {
  const [verb = '', ...rest] = wanted.split(' ');
  const result = await said(verb, rest).catch((error: unknown) => `${error}`);
  console.log(`${wanted}: ${result}`);
}
