/**
 * B33: an ENI whose device has the index of a reserved table. B36: what an earlier holder of the address left. B37: a host whose reverse-path filters are
 * strict, on which others make and delete devices all the time. On the kernel of this machine, in namespaces of the test's own.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { PodNamespace } from '../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../src/adapters/datapath/pod-network.ts';
import { podPlan } from '../../src/adapters/datapath/pod-plan.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fff7' };
const never = new AbortController().signal;
const kernelOf = () => new HostKernel(libc, { eniKinds: ['veth'], pollMs: 20, replyPaths: false, ipv6: true });
const macOf = (index: number): string =>
  `00:16:3e:${index
    .toString(16)
    .padStart(6, '0')
    .replace(/(..)(..)(..)/, '$1:$2:$3')}`;

function plugIn(host: TestNamespace, index: number, name = `eni${index}`): void {
  host.ip(
    'link',
    'add',
    'name',
    name,
    'index',
    `${index}`,
    'address',
    macOf(index),
    'type',
    'veth',
    'peer',
    'name',
    `${name}far`,
  );
  host.ip('link', 'set', `${name}far`, 'up');
}

const wantedOf = (index: number) => ({ mac: macOf(index), subnet, nodeIp: '10.0.0.5', mtu: 1_400, routeTable: null });

function attach(host: TestNamespace, inPod: TestNamespace, routeTable: number, ips: readonly string[]) {
  const sandbox = {
    ...{ containerId: `sandbox-${ips[0]}`, ifName: 'eth0', netns: inPod.path, network: 'net' },
    pod: { namespace: 'default', name: `web-${ips[0]?.split('.').at(-1)}`, uid: null },
  };
  const namespace = new PodNamespace(libc, inPod.path);
  try {
    const plan = podPlan({ sandbox, ips, routeTable, mtu: 1_400, defaultRoute: true });
    return { sandbox, ...host.run(() => new PodNetwork(libc).attach(plan, namespace)) };
  } finally {
    namespace.close();
  }
}

test('B33: the table of an ENI is never a reserved one, nor another’s, whatever index its device has', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  const kernel = kernelOf();
  const indexes = [252, 253, 254, 255, 256, 1_002, 70_000];
  host.ip('link', 'set', 'lo', 'up');
  host.ip('route', 'add', '10.7.0.0/16', 'dev', 'lo', 'table', '2002'); // somebody's, where 1,002 would have its own
  // Less the devices' own; a table that has nothing is none to `ip`.
  const reserved = () =>
    host
      .ip('route', 'show', 'table', 'all')
      .split('\n')
      .filter((line) => !/ table \d+ /.test(line) && !line.includes(' dev eni'));
  const before = reserved();
  for (const index of indexes) plugIn(host, index);
  const tables: number[] = [];
  for (const index of indexes) {
    const { routeTable } = await host.run(() => kernel.setUpEni(wantedOf(index), never));
    tables.push(routeTable);
    t.match(
      host.ip('route', 'show', 'table', `${routeTable}`),
      new RegExp(`^default via 192.168.0.253 dev eni${index} `),
      `${index}: its own`,
    );
    t.match(host.ip('link', 'show', `eni${index}`), /state UP/, `${index}: up`);
  }
  t.equal(new Set(tables).size, tables.length, `two never share one: ${tables}`);
  t.notOk(
    tables.some((table) => table < 1_000 || table === 2_002),
    'none reserved, none of somebody’s',
  );
  t.strictSame(reserved(), before, 'main, local and default are what they were');
  host.ip('link', 'del', 'eni256');
  plugIn(host, 256, 'eth7');
  const again = await host.run(() => kernelOf().setUpEni({ ...wantedOf(256), mac: macOf(256) }, never));
  t.notOk(
    tables.filter((_, at) => indexes[at] !== 256).includes(again.routeTable),
    'an index that comes back takes nobody’s table',
  );
});

test('B36: what an earlier holder of the address left gives way, and nothing of it stays', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host, 7);
  const { routeTable } = await host.run(() => kernelOf().setUpEni(wantedOf(7), never));
  host.ip('link', 'add', 'calidead0000001', 'type', 'veth', 'peer', 'name', 'gone');
  host.ip('link', 'set', 'calidead0000001', 'up');
  const leftovers: readonly (readonly [string, string, readonly string[]])[] = [
    ['a route to a dead pod’s device', '192.168.0.10', ['route', 'add', '192.168.0.10/32', 'dev', 'calidead0000001']],
    ['a blackhole', '192.168.0.11', ['route', 'add', 'blackhole', '192.168.0.11/32']],
    [
      'a rule to another ENI’s table',
      '192.168.0.12',
      ['rule', 'add', 'from', '192.168.0.12', 'priority', '2048', 'table', '1999'],
    ],
    ['a rule pair', '192.168.0.13', ['rule', 'add', 'to', '192.168.0.13', 'priority', '512', 'table', 'main']],
    [
      'a neighbour on the ENI',
      '192.168.0.14',
      ['neigh', 'add', '192.168.0.14', 'lladdr', '02:00:00:00:00:99', 'dev', 'eni7', 'nud', 'permanent'],
    ],
  ];
  for (const [what, ip, command] of leftovers) {
    host.ip(...command);
    const inPod = new TestNamespace(t, `pod${ip.split('.').at(-1)}`);
    const { hostName, sandbox } = attach(host, inPod, routeTable, [ip]);
    t.equal(
      // The pod's end is up; that the host's has a carrier then it learns a moment later.
      host.ip('route', 'show', ip).replace('linkdown', '').trim().replaceAll(/ +/g, ' '),
      `${ip} dev ${hostName} scope link`,
      `${what}: one route, the pod’s`,
    );
    const rules = host
      .ip('rule')
      .split('\n')
      .filter((line) => line.includes(`${ip} `));
    t.equal(rules.length, 2, `${what}: one pair of rules`);
    t.ok(
      rules.some((line) => line.includes(`lookup ${routeTable}`)),
      `${what}: to the ENI’s table`,
    );
    t.match(host.ip('route', 'get', ip), new RegExp(`dev ${hostName} `), `${what}: and packets go there`);
    host.run(() => new PodNetwork(libc).detach(sandbox, [ip]));
    t.equal(host.ip('route', 'show', ip), '', `${what}: nothing after DEL`);
    t.notMatch(host.ip('rule'), new RegExp(`${ip.replaceAll('.', '\\.')} `), what);
  }
});

test('B37: on a strict host only devices of ours are loose, and others’ that vanish fail no ADD', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host, 7);
  host.ip('link', 'add', 'ens5', 'type', 'veth', 'peer', 'name', 'ens5far');
  const path = (device: string) => `/proc/sys/net/ipv4/conf/${device}/rp_filter`;
  host.run(() => {
    for (const device of ['all', 'default', 'ens5']) writeFileSync(path(device), '1');
    writeFileSync('/proc/sys/net/ipv4/conf/default/forwarding', '0');
  });
  const kernel = kernelOf();
  await host.run(() => kernel.prepareHost());
  const { routeTable } = await host.run(() => kernel.setUpEni(wantedOf(7), never));
  const read = (device: string) => host.run(() => readFileSync(path(device), 'utf8').trim());
  for (let at = 10; at < 30; at += 1) {
    // As somebody does all the time: there when the list is read, gone when its settings are.
    host.ip('link', 'add', `other${at}`, 'type', 'veth', 'peer', 'name', `other${at}far`);
    if (at > 10) host.ip('link', 'del', `other${at - 1}`);
    const inPod = new TestNamespace(t, `pod${at}`);
    const { hostName } = attach(host, inPod, routeTable, [`192.168.0.${at}`]);
    if (at === 10) t.equal(read(hostName), '2', 'the pod’s is loose, which wins over a strict `all`');
  }
  t.equal(read('eni7'), '2', 'the ENI’s too');
  for (const device of ['all', 'default', 'ens5']) t.equal(read(device), '1', `${device} is the host’s`);
});
