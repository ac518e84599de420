import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import { HostKernel } from '../../../src/adapters/datapath/host-kernel.ts';
import type { EniDeviceWanted } from '../../../src/ports/kernel.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const mac = '00:16:3e:00:00:07';

function wantedOf(more: Partial<EniDeviceWanted> = {}): EniDeviceWanted {
  const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: null, ipv6Gateway: null };
  return { mac: mac.toUpperCase(), subnet, nodeIp: '10.0.0.5', mtu: 1400, routeTable: null, ...more };
}

function plugIn(host: TestNamespace, name = 'eth1', address = mac): number {
  host.ip('link', 'add', name, 'address', address, 'type', 'veth', 'peer', 'name', `${name}far`);
  return Number(/^(\d+):/.exec(host.ip('-o', 'link', 'show', name))?.[1]);
}

const lab = { eniKinds: ['device', 'veth'], pollMs: 20 } as const;
const never = new AbortController().signal;

test('host kernel: an ENI’s device gets its MTU, the node’s address and a default route in its table', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  const ifindex = plugIn(host);
  host.ip('addr', 'add', '192.168.0.9/24', 'dev', 'eth1'); // what a DHCP client leaves
  const kernel = new HostKernel(libc, lab);
  const subnet = { ...wantedOf().subnet, ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fff7' };
  const device = await host.run(() => kernel.setUpEni(wantedOf({ subnet }), never));
  t.strictSame(device, { ifindex, name: 'eth1', routeTable: 1000 + ifindex });
  t.match(host.ip('addr', 'show', 'eth1'), /UP.*mtu 1400[\s\S]*inet 10\.0\.0\.5\/32/);
  t.notMatch(host.ip('addr', 'show', 'eth1'), /192\.168\.0\.9/, 'the ENI’s own address is a pod’s');
  const table = `${device.routeTable}`;
  t.match(host.ip('route', 'show', 'table', table), /^default via 192\.168\.0\.253 dev eth1 onlink( linkdown)?\s*$/);
  t.match(host.ip('-6', 'route', 'show', 'table', table), /^fd00::fff7 dev eth1[\s\S]*default via fd00::fff7 dev eth1/);
  const before = host.state();
  t.strictSame(await host.run(() => kernel.setUpEni(wantedOf({ subnet }), never)), device, 'again, the same');
  t.equal(host.state(), before);
  const after = new HostKernel(libc, lab);
  const readopted = await host.run(() => after.setUpEni(wantedOf({ subnet, routeTable: device.routeTable }), never));
  t.strictSame(readopted, device, 'and by a daemon that started anew');
});

test('host kernel: only allowed kinds of device are ENIs, and waiting can be aborted', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host);
  const kernel = new HostKernel(libc, { pollMs: 10 });
  await t.rejects(
    host.run(() => kernel.setUpEni(wantedOf(), AbortSignal.timeout(60))),
    { name: 'AbortError' },
  );
  t.match(host.ip('link', 'show', 'eth1'), /state DOWN/, 'the veth was left alone');
});

test('host kernel: a table that others use is passed over, a promised one too', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const first = plugIn(host);
  const second = plugIn(host, 'eth2', '00:16:3e:00:00:08');
  host.ip('link', 'set', 'lo', 'up');
  host.ip('route', 'add', '10.9.0.0/16', 'dev', 'lo', 'table', `${1000 + first}`);
  host.ip('rule', 'add', 'from', '10.8.0.1', 'priority', '2048', 'table', `${1001 + first}`);
  const kernel = new HostKernel(libc, lab);
  const one = await host.run(() => kernel.setUpEni(wantedOf(), never));
  t.equal(one.routeTable, 1002 + first, 'a route of others, then a rule to an empty table');
  const two = await host.run(() => kernel.setUpEni(wantedOf({ mac: '00:16:3e:00:00:08' }), never));
  t.not(two.routeTable, one.routeTable);
  t.ok(two.routeTable >= 1000 + second);
});

test('host kernel: tear-down empties the table and takes the rules to it', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host);
  const kernel = new HostKernel(libc, lab);
  const device = await host.run(() => kernel.setUpEni(wantedOf(), never));
  host.ip('rule', 'add', 'from', '192.168.0.10', 'priority', '2048', 'table', `${device.routeTable}`);
  for (const time of ['first', 'second']) {
    await host.run(() => kernel.tearDownEni({ mac, routeTable: device.routeTable }));
    t.notMatch(host.ip('rule'), /2048/, time);
    t.notMatch(host.ip('route', 'show', 'table', 'all'), new RegExp(`table ${device.routeTable}`), time);
  }
  await t.rejects(kernel.tearDownEni({ mac, routeTable: 254 }), /not an ENI/);
});

test('host kernel: a failing set-up says which ENI and why', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host);
  const kernel = new HostKernel(libc, { ...lab, retryMs: 0 });
  await t.rejects(
    host.run(() => kernel.setUpEni(wantedOf({ mtu: 100_000 }), never)),
    { code: 'device', message: /00:16:3e:00:00:07.*mtu=100000.*EINVAL/i },
  );
});

test('host kernel: forwarding is turned on, `all` rp_filter stays, advertised routes survive', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host);
  const path = (rest: string): string => `/proc/sys/net/${rest}`;
  host.run(() => {
    writeFileSync(path('ipv4/ip_forward'), '0');
    writeFileSync(path('ipv4/conf/all/rp_filter'), '1');
    writeFileSync(path('ipv6/conf/eth1/accept_ra'), '1');
  });
  await host.run(() => new HostKernel(libc, { ...lab, ipv6: true }).prepareHost());
  const read = (rest: string): string => host.run(() => readFileSync(path(rest), 'utf8').trim());
  t.equal(read('ipv4/ip_forward'), '1');
  t.equal(read('ipv4/conf/all/rp_filter'), '1');
  t.equal(read('ipv6/conf/all/forwarding'), '1');
  t.equal(read('ipv6/conf/eth1/accept_ra'), '2');
  await host.run(() => new HostKernel(libc, lab).setUpEni(wantedOf(), never));
  t.equal(read('ipv4/conf/eth1/rp_filter'), '2', 'loose, since `all` is strict');
});
