/**
 * B32: an ENI's device is found by its MAC, whatever else has it, whatever it is called and however late it comes. Here ENIs are veths, as in the lab; a
 * network card among devices that have its MAC is test/vm/f02-b32-eni-devices.long.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'tap';
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { atLeast } from './speed.ts';

const skip = cannotMakeNamespaces();
const never = new AbortController().signal;
const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: null, ipv6Gateway: null };
const macOf = (at: number) => `00:16:3e:00:00:0${at}`;
/** In capitals, as the cloud may answer. */
const wantedOf = (at: number) => ({
  ...{ mac: macOf(at).toUpperCase(), subnet, nodeIp: '10.0.0.5', mtu: 1_400, routeTable: null },
});
const kernelOf = () => new HostKernel(libc, { eniKinds: ['veth'], pollMs: 20, retryMs: 60, replyPaths: false });

function plugIn(host: TestNamespace, name: string, at: number): void {
  host.ip('link', 'add', name, 'address', macOf(at), 'type', 'veth', 'peer', 'name', `${name}far`);
  host.ip('link', 'set', `${name}far`, 'up');
}

const bridge = (host: TestNamespace, name: string, at: number) =>
  host.ip('link', 'add', name, 'address', macOf(at), 'type', 'bridge');

test('B32: the ENI among others with its MAC, under any name, is the one of the right kind', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  bridge(host, 'before', 1);
  plugIn(host, 'eth9', 1);
  bridge(host, 'after', 1);
  const { name, routeTable } = await host.run(() => kernelOf().setUpEni(wantedOf(1), never));
  t.equal(name, 'eth9');
  t.match(host.ip('route', 'show', 'table', `${routeTable}`), /^default via 192\.168\.0\.253 dev eth9 onlink/);
  for (const other of ['before', 'after'])
    t.notMatch(host.ip('addr', 'show', other), /10\.0\.0\.5/, `${other} is nobody’s`);
});

test('B32: two that may be it: neither is touched, and both are named', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  for (const name of ['eth1', 'eth2']) plugIn(host, name, 1);
  const before = host.state();
  await t.rejects(
    host.run(() => kernelOf().setUpEni(wantedOf(1), never)),
    { code: 'device', message: /ENI 00:16:3E:00:00:01: eth[12] and eth[12] have its MAC/ },
  );
  t.equal(host.state(), before);
  host.ip('link', 'del', 'eth1');
  t.match(await host.run(() => kernelOf().setUpEni(wantedOf(1), never)), { name: 'eth2' });
});

test('B32: two ENIs that have swapped their names keep their own tables', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  plugIn(host, 'eth1', 1);
  plugIn(host, 'eth2', 2);
  const kernel = kernelOf();
  const set = async (by: HostKernel, at: number) => host.run(() => by.setUpEni(wantedOf(at), never));
  const [one, two] = [await set(kernel, 1), await set(kernel, 2)];
  for (const [from, to] of [
    ['eth1', 'ethx'],
    ['eth2', 'eth1'],
    ['ethx', 'eth2'],
  ] as const) {
    host.ip('link', 'set', from, 'down');
    host.ip('link', 'set', from, 'name', to);
  }
  t.strictSame(await set(kernel, 1), { ...one, name: 'eth2' });
  t.strictSame(await set(kernel, 2), { ...two, name: 'eth1' });
  t.match(host.ip('route', 'show', 'table', `${one.routeTable}`), /dev eth2 /);
  t.match(host.ip('route', 'show', 'table', `${two.routeTable}`), /dev eth1 /);
});

test('B32: a device that comes four seconds late is waited for; of one that never comes the MAC is told', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  const waiting = host.run(() => kernelOf().setUpEni(wantedOf(1), never));
  await sleep(atLeast(60, 4_000));
  plugIn(host, 'eth1', 1);
  t.match(await waiting, { name: 'eth1' });
  await t.rejects(
    host.run(() => kernelOf().setUpEni(wantedOf(2), AbortSignal.timeout(80))),
    { name: 'AbortError', message: /00:16:3E:00:00:02/ },
  );
});
