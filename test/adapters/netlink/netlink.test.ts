import { test } from 'tap';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import { NetlinkError } from '../../../src/adapters/netlink/netlink-error.ts';
import { BATCH_MAX_REQUESTS } from '../../../src/adapters/netlink/netlink-socket.ts';
import { SCOPE_LINK, TABLE_MAIN } from '../../../src/adapters/netlink/route.ts';
import { addAddr, deleteAddr, ensureAddr } from '../../../src/adapters/netlink/wire/addr.ts';
import { createVeth, deleteLink, setLink } from '../../../src/adapters/netlink/wire/link.ts';
import { deleteNeighbour, setNeighbour } from '../../../src/adapters/netlink/wire/neighbour.ts';
import { addRoute, deleteRoute, replaceRoute } from '../../../src/adapters/netlink/wire/route.ts';
import { addRule, deleteRule } from '../../../src/adapters/netlink/wire/rule.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from './namespaces.ts';

const skip = cannotMakeNamespaces();
const mac = { host: '02:00:00:00:00:01', pod: '02:00:00:00:00:02' };

test('netlink: a veth with its peer in another namespace, as `ip` sees it', { skip }, (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const netlink = new Netlink(libc, host.fd);
  const inPod = new Netlink(libc, pod.fd);
  t.teardown(() => [netlink, inPod].map((each) => each.close()));
  netlink.apply([
    createVeth({
      name: 'cali0',
      mac: mac.host,
      mtu: 1400,
      peer: { name: 'eth0', mac: mac.pod, mtu: 1400 },
      peerNetnsFd: pod.fd,
    }),
  ]);
  t.match(host.ip('-o', 'link', 'show', 'cali0'), /mtu 1400.*link\/ether 02:00:00:00:00:01/);
  t.match(pod.ip('-o', 'link', 'show', 'eth0'), /mtu 1400.*link\/ether 02:00:00:00:00:02/);
  const link = netlink.linkByName('cali0');
  const peer = inPod.linkByName('eth0');
  t.match(link, { name: 'cali0', mac: mac.host, mtu: 1400, up: false, kind: 'veth', peerIndex: peer?.index });
  t.equal(netlink.linkByIndex(link?.index ?? 0)?.name, 'cali0');
  t.equal(netlink.linkByName('absent'), null);
  t.strictSame(
    netlink.links().map(({ name, loopback }) => [name, loopback]),
    [
      ['lo', true],
      ['cali0', false],
    ],
  );
  netlink.apply([setLink(link?.index ?? 0, { up: true, mtu: 1300, alias: 'pod a/b' })]);
  t.match(host.ip('link', 'show', 'cali0'), /UP.*mtu 1300[\s\S]*alias pod a\/b/);
  t.equal(netlink.linkByName('cali0')?.alias, 'pod a/b');
  netlink.apply([
    setLink(link?.index ?? 0, { up: false }),
    setLink(link?.index ?? 0, { name: 'other', netnsFd: pod.fd }),
  ]);
  t.equal(netlink.linkByName('cali0'), null);
  const moved = inPod.linkByName('other');
  t.ok(moved);
  if (moved !== null) inPod.apply([deleteLink(moved)]);
  t.equal(inPod.linkByName('eth0'), null, 'the other end goes along');
  t.end();
});

test('netlink: addresses, routes of any table, rules and neighbours, added, listed and deleted', { skip }, (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const netlink = new Netlink(libc, host.fd);
  t.teardown(() => netlink.close());
  const end = { mac: mac.host, mtu: 1500 };
  const peer = { name: 'eth0', mac: mac.pod, mtu: 1500 };
  netlink.apply([createVeth({ ...end, name: 'cali0', peer, peerNetnsFd: pod.fd })]);
  pod.ip('link', 'set', 'eth0', 'up');
  const linkIndex = netlink.linkByName('cali0')?.index ?? 0;
  const before = host.state();

  const v4 = { linkIndex, ip: '10.1.0.2', prefix: 32 };
  const v6 = { linkIndex, ip: 'fd00::2', prefix: 128, noDad: true };
  netlink.apply([setLink(linkIndex, { up: true }), addAddr(v4), addAddr(v6)]);
  t.match(host.ip('addr', 'show', 'cali0'), /inet 10\.1\.0\.2\/32[\s\S]*inet6 fd00::2\/128 scope global nodad/);
  t.match(netlink.addrs(4, linkIndex), [{ ip: '10.1.0.2', prefix: 32, scope: 0 }]);
  t.ok(netlink.addrs(6, linkIndex).some(({ ip, prefix }) => ip === 'fd00::2' && prefix === 128));
  t.throws(() => netlink.apply([addAddr(v4)]), { code: 'EEXIST', operation: 'add address' });
  netlink.apply([ensureAddr(v4)]);

  const routes = [
    { family: 4, destination: { ip: '10.1.0.9', prefix: 32 }, table: TABLE_MAIN, linkIndex, scope: SCOPE_LINK },
    { family: 4, destination: null, table: 1234, linkIndex, gateway: '10.9.9.9', onLink: true },
    { family: 6, destination: { ip: 'fd00::9', prefix: 128 }, table: TABLE_MAIN, linkIndex },
    { family: 6, destination: null, table: 1234, linkIndex, gateway: 'fe80::1', onLink: true },
  ] as const;
  netlink.apply(routes.map(addRoute));
  t.match(host.ip('route'), /10\.1\.0\.9 dev cali0 scope link/);
  t.match(host.ip('route', 'show', 'table', '1234'), /default via 10\.9\.9\.9 dev cali0 onlink/);
  t.match(host.ip('-6', 'route', 'show', 'table', '1234'), /default via fe80::1 dev cali0 .*onlink/);
  t.match(netlink.routes(4, 1234), [{ destination: null, gateway: '10.9.9.9', linkIndex, onLink: true, table: 1234 }]);
  t.match(netlink.routes(6, 1234), [{ destination: null, gateway: 'fe80::1', linkIndex, table: 1234 }]);
  t.ok(
    netlink.routes(4).some(({ table }) => table === 255),
    'all tables, the local one included',
  );
  t.strictSame(netlink.routes(4, 4321), [], 'a table that does not exist is empty');
  t.throws(() => netlink.apply([addRoute(routes[0])]), { code: 'EEXIST' });
  netlink.apply([replaceRoute(routes[0])]);

  const rules = [
    { family: 4, priority: 512, destination: { ip: '10.1.0.9', prefix: 32 }, table: TABLE_MAIN },
    { family: 4, priority: 2048, source: { ip: '10.1.0.9', prefix: 32 }, table: 1234, incoming: 'cali0' },
    { family: 6, priority: 2048, source: { ip: 'fd00::9', prefix: 128 }, table: 1234 },
  ] as const;
  netlink.apply(rules.map(addRule));
  t.match(
    host.ip('rule'),
    /512:\s+from all to 10\.1\.0\.9 lookup main\n2048:\s+from 10\.1\.0\.9 iif cali0 lookup 1234/,
  );
  t.match(host.ip('-6', 'rule'), /2048:\s+from fd00::9 lookup 1234/);
  t.ok(netlink.rules(4).some((rule) => rule.priority === 2048 && rule.incoming === 'cali0' && rule.table === 1234));
  t.throws(() => netlink.apply([addRule(rules[0])]), { code: 'EEXIST' });

  netlink.apply([
    setNeighbour({ linkIndex, ip: '10.1.0.9', mac: mac.pod }),
    setNeighbour({ linkIndex, ip: 'fd00::9', mac: mac.pod }),
  ]);
  t.match(host.ip('neigh'), /10\.1\.0\.9 dev cali0 lladdr 02:00:00:00:00:02 PERMANENT/);
  t.match(netlink.neighbours(4, linkIndex), [{ ip: '10.1.0.9', mac: mac.pod, permanent: true }]);

  netlink.apply([
    deleteNeighbour({ linkIndex, ip: '10.1.0.9' }),
    deleteNeighbour({ linkIndex, ip: 'fd00::9' }),
    ...rules.map(({ family, priority, table }) => deleteRule({ family, priority, table })),
    ...routes.map(deleteRoute),
    deleteAddr(v4),
    deleteAddr(v6),
    setLink(linkIndex, { up: false }),
  ]);
  t.equal(host.state(), before, 'nothing is left');
  t.throws(() => netlink.apply([deleteRule({ family: 4, priority: 512 })]), { code: 'ENOENT' });
  t.throws(() => netlink.apply([deleteRoute(routes[0])]), { code: 'ESRCH' });
  t.end();
});

test('netlink: a batch tries every request, tells each outcome, and errors carry the kernel’s sentence', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  const netlink = new Netlink(libc, host.fd);
  t.teardown(() => netlink.close());
  const rule = (index: number) => ({ family: 4, priority: 100 + index, table: 1000 + index }) as const;
  const outcomes = netlink.execute([
    addRule(rule(1)),
    deleteLink({ index: 4242, name: 'absent' }),
    addRoute({
      family: 4,
      destination: { ip: '10.0.0.1', prefix: 32 },
      table: 254,
      linkIndex: 1,
      gateway: '192.0.2.1',
    }),
    addRule(rule(2)),
  ]);
  t.strictSame(
    outcomes.map(({ error }) => error?.code ?? null),
    [null, 'ENODEV', 'ENETUNREACH', null],
  );
  const refused = outcomes[2]?.error;
  t.ok(refused instanceof NetlinkError);
  t.equal(refused?.detail, 'Nexthop has invalid gateway');
  t.equal(
    refused?.message,
    'add route 10.0.0.1/32 via 192.0.2.1 dev 1 table 254: ENETUNREACH (Nexthop has invalid gateway)',
  );
  const many = Array.from({ length: BATCH_MAX_REQUESTS * 3 + 1 }, (_, index) => rule(10 + index));
  t.ok(
    netlink.execute(many.map(addRule)).every(({ error }) => error === null),
    'more than fit one send',
  );
  t.equal(netlink.rules(4).filter(({ priority }) => priority >= 110 && priority < 1000).length, many.length);
  t.end();
});

test('netlink: a namespace that is none is refused, and the thread is back where it was', { skip }, (t) => {
  const host = new TestNamespace(t, 'host');
  host.ip('link', 'add', 'mark', 'type', 'veth', 'peer', 'name', 'kram');
  t.throws(
    () =>
      new TestNamespace(t, 'pod').run(() => {
        throw new Error('inside');
      }),
    /inside/,
  );
  const outside = new Netlink(libc);
  t.teardown(() => outside.close());
  t.equal(outside.linkByName('mark'), null);
  t.ok(
    host.run(() => {
      const here = new Netlink(libc);
      try {
        return here.linkByName('mark');
      } finally {
        here.close();
      }
    }),
  );
  t.end();
});
