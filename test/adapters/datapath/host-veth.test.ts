import { test } from 'tap';
import { addressesBehind, routeTo } from '../../../src/adapters/datapath/host-veth.ts';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();

test('host veth: the route to an address is found whatever way a packet would take, and nothing less exact', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  const netlink = new Netlink(libc, host.fd);
  t.teardown(() => netlink.close());
  host.ip('link', 'set', 'lo', 'up');
  host.ip('link', 'add', 'cali1', 'type', 'veth', 'peer', 'name', 'other1');
  host.ip('link', 'set', 'cali1', 'up');
  host.ip('link', 'set', 'other1', 'up');
  host.ip('route', 'add', '10.3.0.0/24', 'dev', 'cali1');
  host.ip('route', 'add', '10.3.0.7/32', 'dev', 'cali1');
  host.ip('route', 'add', 'default', 'dev', 'other1');
  host.ip('-6', 'route', 'add', 'fd00::7/128', 'dev', 'cali1');
  const link = netlink.linkByName('cali1');
  if (link === null) throw new Error('no cali1');
  const destination = (ip: string) => routeTo(netlink, ip)?.destination ?? null;

  t.strictSame(destination('10.3.0.7'), { ip: '10.3.0.7', prefix: 32 });
  t.equal(routeTo(netlink, '10.3.0.7')?.linkIndex, link.index);
  t.strictSame(destination('fd00::7'), { ip: 'fd00::7', prefix: 128 });
  t.equal(destination('10.3.0.8'), null, 'the subnet’s route is not it');
  t.equal(destination('10.9.0.1'), null, 'nor is the default one');
  t.equal(destination('fd00::8'), null);

  // Somebody's rule sends packets elsewhere, or nowhere, before the main table is asked.
  host.ip('route', 'add', 'default', 'dev', 'other1', 'table', '77');
  host.ip('rule', 'add', 'to', '10.3.0.7', 'lookup', '77', 'priority', '100');
  t.strictSame(destination('10.3.0.7'), { ip: '10.3.0.7', prefix: 32 });
  host.ip('rule', 'del', 'to', '10.3.0.7', 'lookup', '77', 'priority', '100');
  host.ip('rule', 'add', 'to', '10.3.0.7', 'unreachable', 'priority', '100');
  t.strictSame(destination('10.3.0.7'), { ip: '10.3.0.7', prefix: 32 });

  t.strictSame(addressesBehind(netlink, link), ['10.3.0.7', 'fd00::7'], 'of that device, and single addresses alone');
  const other = netlink.linkByName('other1');
  t.strictSame(other === null ? null : addressesBehind(netlink, other), []);
  t.end();
});
