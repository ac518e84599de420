import t from 'tap';
import { readBucket } from '../../src/adapters/bolt/bolt-reader.ts';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { handover, type LeftToTell } from '../../src/core/handover.ts';
import { heldBackLease } from '../../src/core/held-back.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { LEASE_VERSION, type Lease } from '../../src/core/lease.ts';
import { RESERVATION_VERSION, type Reservation } from '../../src/core/reservation.ts';
import { unnamedContainerId } from '../../src/core/sandbox.ts';
import { parseTerwayRecord } from '../../src/core/terway-record.ts';

const subnet = {
  cidr: '192.168.0.0/24',
  gateway: '192.168.0.253',
  ipv6Cidr: '2001:db8::/64',
  ipv6Gateway: '2001:db8::fd',
};
const eni = {
  ...{ eniId: 'eni-1', mac: '00:16:3E:00:00:01', subnet },
  device: { name: 'eth1', ifindex: 3, routeTable: 1003, mtu: 1500 },
};

function lease(
  name: string,
  ipv4: string,
  more: Omit<Partial<Lease>, 'sandbox'> & { readonly sandbox?: object } = {},
): Lease {
  const sandbox = { containerId: `c-${name}`, ifName: 'eth0', netns: `/run/netns/${name}`, network: 'enactor' };
  const pod = { namespace: 'default', name, uid: `uid-${name}` };
  const base = { version: LEASE_VERSION, grant: { address: { ipv4, ipv6: null }, eni }, boundAtMs: 1_000 };
  return { ...base, ...more, sandbox: { ...sandbox, pod, ...more.sandbox } } as Lease;
}

const reservation = (pod: string, ipv4: string, eniId = 'eni-1', untilMs = 60_000): Reservation => ({
  ...{ version: RESERVATION_VERSION, pod, sandbox: 'c-old/eth0', address: { ipv4, ipv6: null }, eniId },
  ...{ untilMs, coolUntilMs: 0 },
});

const told = (more: Partial<LeftToTell>) => {
  const { records, refused } = handover({
    leases: [],
    reservations: [],
    macs: new Map([['eni-1', eni.mac]]),
    ...{ onHost: [], before: new Map(), nowMs: 10_000 },
    ...more,
  });
  return { refused, records, read: [...records].map(([key, text]) => parseTerwayRecord(key, text)) };
};

t.test('handover: a lease is a record as Terway’s daemon writes it, for old versions too', async (t) => {
  const pair = { address: { ipv4: '192.168.0.5', ipv6: '2001:db8::5' }, eni };
  const { read, refused, records } = told({ leases: [lease('web-0', '', { grant: pair, reserveMs: 300_000 })] });
  t.strictSame(refused, []);
  t.match(read, [
    {
      ...{ pod: { namespace: 'default', name: 'web-0', uid: 'uid-web-0' }, containerId: 'c-web-0', kind: 'eniIp' },
      ...{ netns: '/run/netns/web-0', eni: { mac: '00:16:3e:00:00:01', eniId: 'eni-1' } },
      ...{ ipv4: '192.168.0.5', ipv6: '2001:db8::5', reserveMs: 300_000 },
    },
  ]);
  const stored = JSON.parse(records.get('default/web-0') ?? '');
  t.equal(stored.Resources[0].id, '00:16:3e:00:00:01.192.168.0.5-2001:db8::5', 'by which versions before know it');
  t.equal(stored.PodInfo.IPStickTime, 300_000_000_000, 'nanoseconds, as a whole number');
  t.match(JSON.parse(stored.NetConf), [
    {
      BasicInfo: { PodIP: { IPv4: '192.168.0.5', IPv6: '2001:db8::5' }, GatewayIP: { IPv4: '192.168.0.253' } },
      ENIInfo: { MAC: '00:16:3e:00:00:01' },
      DefaultRoute: true,
    },
  ]);
});

t.test('handover: two sandboxes of a pod are one record of the younger, and both addresses stay taken', async (t) => {
  const older = lease('web-0', '192.168.0.5', { sandbox: { containerId: 'c-older' }, boundAtMs: 500 });
  const { read, records } = told({ leases: [older, lease('web-0', '192.168.0.6')] });
  t.match(read, [{ containerId: 'c-web-0', ipv4: '192.168.0.6' }]);
  t.match(JSON.parse(records.get('default/web-0') ?? '').Resources, [{ ipv4: '192.168.0.6' }, { ipv4: '192.168.0.5' }]);
});

t.test('handover: what Terway’s database cannot tell is refused, pod by pod', async (t) => {
  const { refused, records } = told({
    leases: [
      lease('own', '192.168.0.5', { sandbox: { ownEni: true } }),
      lease('net', '192.168.0.6', { sandbox: { ifName: 'net1' } }),
      heldBackLease('192.168.0.7', null, eni, 0),
      lease('fine', '192.168.0.8'),
    ],
    reservations: [reservation('default/web-1', '192.168.0.9', 'eni-unknown')],
  });
  t.strictSame([...records.keys()], ['default/fine']);
  t.match(
    refused.map(({ why }) => why),
    [/ENI of its own/, /eth0 alone, not net1/, /192\.168\.0\.7 is held back/, /the MAC of eni-unknown/],
  );
});

t.test('handover: an address that is kept stays kept for as long as it is, and no longer', async (t) => {
  const { read } = told({
    leases: [lease('web-2', '192.168.0.5')],
    reservations: [
      reservation('default/web-0', '192.168.0.6'),
      reservation('default/web-1', '192.168.0.7', 'eni-1', 9_000),
      reservation('default/web-2', '192.168.0.8'),
      reservation('default/web-3', '192.168.0.5'),
    ],
  });
  t.match(read, [
    { pod: { name: 'web-2' }, reserveMs: 0 },
    { pod: { name: 'web-0' }, ipv4: '192.168.0.6', reserveMs: 50_000, containerId: 'c-old' },
  ]);
  t.equal(read.length, 2, 'not one that is over, nor one of a pod that runs, nor one that somebody has');
});

t.test('handover: a sandbox without a name has none there either', async (t) => {
  const containerId = unnamedContainerId({ namespace: 'default', name: 'web-0' });
  const { records } = told({ leases: [lease('web-0', '192.168.0.5', { sandbox: { containerId } })] });
  t.equal(JSON.parse(records.get('default/web-0') ?? '').ContainerID, null, 'Terway compares none then');
});

t.test('handover: the file is read as it was written', async (t) => {
  const { records } = told({ leases: Array.from({ length: 200 }, (_, at) => lease(`web-${at}`, `192.168.0.${at}`)) });
  const file = bucketFile('relation', new Map([...records].map(([key, text]) => [key, Buffer.from(text)])));
  const back = [...(readBucket(file, 'relation') ?? [])].map(([key, value]) => [key, value.toString()]);
  t.strictSame(
    back,
    [...records].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
});

t.test(
  'handover: what Terway connected and we could not take over goes back with the record that it came with',
  async (t) => {
    const mac = '00:16:3e:00:00:09';
    const texts = {
      own: { Resources: [{ type: 'eni', id: mac }], PodInfo: { Name: 'own', Namespace: 'default' } },
      slave: { Resources: [{ type: 'eniIp', id: '00:16:3e:00:00:01.192.168.0.7' }] },
      controlled: { Resources: null, PodInfo: { PodENI: true } },
      ended: { Resources: [{ type: 'eniIp', id: '00:16:3e:00:00:01.192.168.0.8' }] },
    };
    const before = new Map(
      Object.entries(texts).map(([name, value]) => {
        const [key, text] = [`default/${name}`, JSON.stringify(value)];
        return [key, { text, record: parseTerwayRecord(key, text) }];
      }),
    );
    const own = (name: string, of: string) =>
      lease(name, '192.168.0.20', {
        sandbox: { ownEni: true },
        grant: { address: { ipv4: '192.168.0.20', ipv6: null }, eni: { ...eni, mac: of } },
      });
    const deviceOf = (name: string) => hostVethName({ namespace: 'default', name }, 'eth0');
    const onHost = [
      { device: 'ipvl_3', ips: ['192.168.0.7'] },
      { device: deviceOf('controlled'), ips: ['192.168.0.30'] },
      { device: deviceOf('own'), ips: ['192.168.0.20'] },
    ];
    const leases = [own('own', mac.toUpperCase()), lease('web', '192.168.0.8')];
    const { records, refused } = told({ leases, onHost, before });
    t.strictSame(refused, []);
    t.strictSame([...records.keys()].sort(), ['default/controlled', 'default/own', 'default/slave', 'default/web']);
    for (const name of ['own', 'slave', 'controlled'] as const)
      t.equal(records.get(`default/${name}`), JSON.stringify(texts[name]));

    const strange = [
      { device: 'ipvl_3', ips: ['192.168.0.77'] },
      { device: deviceOf('other'), ips: ['192.168.0.7'] },
    ];
    const not = told({ leases: [own('own', '00:16:3e:00:00:0a'), own('made-here', mac)], onHost: strange, before });
    t.match(not.refused, [
      { pod: 'default/own', why: /an ENI of its own, which we gave it/ },
      { pod: 'default/made-here', why: /an ENI of its own/ },
      { pod: '-', why: /leads 192\.168\.0\.77 to ipvl_3/ },
      { pod: '-', why: /leads 192\.168\.0\.7 to cali/ },
    ]);
    t.strictSame([...not.records], []);
  },
);
