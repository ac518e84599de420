import t from 'tap';
import { parseTerwayRecord } from '../../src/core/terway-record.ts';

t.test('terway records: of the current version', async (t) => {
  const value = {
    Resources: [
      {
        type: 'eniIp',
        id: 'x',
        eni_id: 'eni-1',
        eni_mac: '00:16:3E:00:00:01',
        ipv4: '192.168.0.20',
        ipv6: '2001:DB8::20',
      },
    ],
    PodInfo: { Name: 'web-0', Namespace: 'default', PodUID: 'u', IPStickTime: 300_000_000_000 },
    ...{ NetNs: '/var/run/netns/a', ContainerID: 'c-0', NetConf: '[]' },
  };
  t.strictSame(parseTerwayRecord('default/web-0', JSON.stringify(value)), {
    pod: { namespace: 'default', name: 'web-0', uid: 'u' },
    ...{ containerId: 'c-0', netns: '/var/run/netns/a', kind: 'eniIp' },
    ...{
      eni: { mac: '00:16:3e:00:00:01', eniId: 'eni-1' },
      ipv4: '192.168.0.20',
      ipv6: '2001:db8::20',
      reserveMs: 300_000,
    },
  });
});

t.test('terway records: of older versions, whose items are an id alone', async (t) => {
  const of = (id: string, type = 'eniIp') =>
    parseTerwayRecord(
      'a/b',
      JSON.stringify({
        Resources: [
          { type: 'veth', id: 'v' },
          { type, id },
        ],
      }),
    );
  t.match(of('00:16:3e:00:00:02.192.168.0.21'), {
    eni: { mac: '00:16:3e:00:00:02', eniId: null },
    ipv4: '192.168.0.21',
    ipv6: null,
  });
  t.match(of('00:16:3e:00:00:02.192.168.0.21-2001:db8::21'), { ipv4: '192.168.0.21', ipv6: '2001:db8::21' });
  t.match(of('00:16:3e:00:00:03', 'eni'), { kind: 'eni', eni: { mac: '00:16:3e:00:00:03' }, ipv4: null });
  t.match(of('who knows'), { kind: 'eniIp', eni: null, ipv4: null }, 'an id that is none is no address');
  t.match(of(''), { pod: { namespace: 'a', name: 'b', uid: null }, containerId: '', reserveMs: 0 });
});

t.test('terway records: a controller’s ENI is nothing of the daemon’s', async (t) => {
  t.match(parseTerwayRecord('a/b', '{"Resources":null,"PodInfo":{"PodENI":true}}'), { kind: 'podEni', eni: null });
});

t.test('terway records: what cannot be read is named', async (t) => {
  t.throws(() => parseTerwayRecord('a/b', '{'), { message: 'record a/b: it is no JSON' });
  t.throws(() => parseTerwayRecord('a/b', '{"NetNs":7}'), { message: /record a\/b: NetNs: / });
  t.throws(() => parseTerwayRecord('a/b', '[]'), { message: /record a\/b: it: / });
});
