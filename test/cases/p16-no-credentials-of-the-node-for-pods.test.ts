/** P16: what a pod sends to the metadata service ends in the host, and nothing else of it does; the node itself is answered. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { HostView } from '../../src/adapters/datapath/host-view.ts';
import { NodeFilter } from '../../src/adapters/datapath/node-filter.ts';
import { installTable } from '../../src/adapters/netlink/filter-table.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { parseConfig } from '../../src/core/config.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';

const METADATA = '100.100.100.200';
const OTHER = '100.100.100.201';
const skip = cannotMakeNamespaces();

/** Asks with TCP, since whoever answers refuses at once and whoever drops does not. */
const CONNECT = `const s=require('net').connect({host:process.argv[1],port:9});
s.on('error',e=>{console.log(e.code);process.exit()});setTimeout(()=>{console.log('nothing');process.exit()},1500)`;

t.test('P16: a pod behind a pair reaches other addresses, and not the metadata service', { skip }, async (t) => {
  const [pod, host, cloud] = ['pod', 'host', 'cloud'].map((role) => new TestNamespace(t, role));
  if (!pod || !host || !cloud) throw new Error('three');
  host.batch([
    `link add cali1 type veth peer name eth0 netns ${pod.name}`,
    `link add up0 type veth peer name eth0 netns ${cloud.name}`,
    ...['link set cali1 up', 'link set up0 up', 'addr add 169.254.1.1/32 dev cali1', 'addr add 192.168.0.1/24 dev up0'],
    'route add 10.0.0.4/32 dev cali1',
    `route add 100.100.100.0/24 via 192.168.0.2`,
  ]);
  pod.batch([
    'addr add 10.0.0.4/32 dev eth0',
    'link set eth0 up',
    'route add 169.254.1.1 dev eth0',
    'route add default via 169.254.1.1',
  ]);
  cloud.batch([
    ...['addr add 192.168.0.2/24 dev eth0', 'link set eth0 up', 'route add default via 192.168.0.1'],
    ...[METADATA, OTHER].map((ip) => `addr add ${ip}/32 dev lo`),
  ]);
  const inside = (of: TestNamespace, ...command: readonly string[]) =>
    spawnSync('ip', ['netns', 'exec', of.name, ...command], { encoding: 'utf8', timeout: 30_000 }).stdout.trim();
  inside(host, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  const asks = (from: TestNamespace, ip: string) => inside(from, process.execPath, '-e', CONNECT, ip);
  t.equal(asks(pod, METADATA), 'ECONNREFUSED', 'without the option a pod reaches it');

  host.run(() => {
    const filter = new NodeFilter(libc, []);
    filter.keepFromMetadata();
    const netlink = new Netlink(libc);
    try {
      for (const { filter: table } of filter.fixes(new HostView(netlink), new Set()))
        if (table) installTable(libc, table);
      t.strictSame(filter.fixes(new HostView(netlink), new Set()), [], 'what is there is not put there again');
    } finally {
      netlink.close();
    }
  });
  t.equal(asks(pod, METADATA), 'nothing', 'dropped');
  t.equal(asks(pod, OTHER), 'ECONNREFUSED', 'its neighbour is reached');
  t.equal(asks(host, METADATA), 'ECONNREFUSED', 'the node itself asks as ever');
});

t.test('P16: pods whose traffic does not pass the host are led through it for this address', async (t) => {
  const config = (more: object) => parseConfig(JSON.stringify({ service_cidr: '172.16.0.0/16', ...more }), 'n1');
  t.strictSame(config({}).hostStackCidrs, ['169.254.20.10/32']);
  t.notOk(config({}).blockPodMetadata, 'an installation that is there keeps what it has');
  t.strictSame(config({ block_pod_metadata: true }).hostStackCidrs, ['169.254.20.10/32', `${METADATA}/32`]);
  const own = ['10.1.0.0/16', `${METADATA}/32`];
  t.strictSame(config({ block_pod_metadata: true, host_stack_cidrs: own }).hostStackCidrs, own, 'not twice');
});
