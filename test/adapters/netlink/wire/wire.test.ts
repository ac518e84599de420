/** Byte for byte. The kernel's own reading is tried in netlink.test.ts; here the layout is pinned without one. */
import { test } from 'tap';
import { addAddr, decodeAddr } from '../../../../src/adapters/netlink/wire/addr.ts';
import {
  attribute,
  attributes,
  textAttribute,
  textOf,
  u32Attribute,
  u32Of,
} from '../../../../src/adapters/netlink/wire/attribute.ts';
import { createVeth, decodeLink, deleteLink, dumpLinks, setLink } from '../../../../src/adapters/netlink/wire/link.ts';
import { decodeMessages, encodeRequest, isDump, type Request } from '../../../../src/adapters/netlink/wire/message.ts';
import { decodeNeighbour, setNeighbour } from '../../../../src/adapters/netlink/wire/neighbour.ts';
import { addRoute, decodeRoute, deleteRoute } from '../../../../src/adapters/netlink/wire/route.ts';
import { addRule, decodeRule, deleteRule } from '../../../../src/adapters/netlink/wire/rule.ts';

const v4Route = {
  family: 4,
  destination: { ip: '10.1.0.9', prefix: 32 },
  table: 254,
  linkIndex: 7,
  scope: 253,
} as const;

function hex(...parts: string[]): string {
  return parts.join('').replaceAll(' ', '');
}

function bodyOf(request: Request): string {
  return Buffer.from(request.body).toString('hex');
}

test('attribute: length without padding, type, payload, zeros to four bytes', (t) => {
  t.equal(attribute(3, Buffer.from('abcde')).toString('hex'), hex('0900 0300', '6162636465', '000000'));
  t.equal(textAttribute(3, 'lo').toString('hex'), hex('0700 0300', '6c6f00', '00'));
  t.equal(u32Attribute(15, 0x01020304).toString('hex'), hex('0800 0f00', '04030201'));
  t.end();
});

test('attributes: read back by type, flags in the type ignored, a cut list read as far as it goes', (t) => {
  const bytes = Buffer.concat([
    attribute(3 | 0x8000, Buffer.from('abc\0')),
    u32Attribute(4, 9),
    Buffer.from('ff000100', 'hex'),
  ]);
  const found = attributes(bytes);
  t.strictSame([...found.keys()], [3, 4]);
  t.equal(textOf(found.get(3)), 'abc');
  t.equal(u32Of(found.get(4)), 9);
  t.equal(textOf(undefined), null);
  t.equal(u32Of(Buffer.from('01')), null);
  t.strictSame(
    [...attributes(Buffer.from('0000 0000'.replace(' ', ''), 'hex')).keys()],
    [],
    'a length below its header ends it',
  );
  t.end();
});

test('message: header of a request, with an acknowledgement unless it is a dump', (t) => {
  const request = deleteLink({ index: 7, name: 'x' });
  t.equal(
    encodeRequest(request, 5).toString('hex'),
    hex('20000000 1100 0500 05000000 00000000', '0000 0000 07000000 00000000 00000000'),
  );
  t.notOk(isDump(request));
  t.ok(isDump(dumpLinks()));
  t.equal(encodeRequest(dumpLinks(), 1).readUInt16LE(6), 0x301);
  t.notOk(
    isDump({ ...addRoute(v4Route), flags: 0x700 }),
    'REPLACE and EXCLUSIVE together are the dump bits, but not on NEW',
  );
  t.end();
});

test('message: acknowledgement, error with the kernel’s sentence, data, end of an interrupted dump', (t) => {
  const echoed = '20000000 1100 0500 05000000 00000000';
  const sentence = textAttribute(1, 'No such thing');
  const error = (errno: string, flags: string, rest: Buffer = Buffer.alloc(0)): Buffer => {
    const body = Buffer.concat([Buffer.from(hex(errno, echoed), 'hex'), rest]);
    const header = Buffer.from(hex('00000000 0200', flags, '05000000 00000000'), 'hex');
    header.writeUInt32LE(16 + body.length, 0);
    return Buffer.concat([header, body]);
  };
  const datagram = Buffer.concat([
    error('00000000', '0001'),
    error('edffffff', '0003', sentence), // -19, capped and with attributes
    Buffer.from(hex('14000000 1000 1200 06000000 00000000', '01020304'), 'hex'),
    Buffer.from(hex('14000000 0300 1200 06000000 00000000', '00000000'), 'hex'),
  ]);
  const messages = decodeMessages(datagram);
  t.match(messages, [
    { kind: 'ack', sequence: 5, errno: 0, detail: '' },
    { kind: 'ack', sequence: 5, errno: 19, detail: 'No such thing' },
    { kind: 'data', sequence: 6, type: 16, interrupted: true },
    { kind: 'done', sequence: 6, errno: 0, interrupted: true },
  ]);
  const uncapped = error('edffffff', '0002', Buffer.concat([Buffer.alloc(16), sentence]));
  t.match(decodeMessages(uncapped), [{ errno: 19, detail: 'No such thing' }], 'after the whole echoed request');
  t.strictSame(decodeMessages(Buffer.from('ffff0000', 'hex')), [], 'a header that is cut');
  t.strictSame(decodeMessages(Buffer.alloc(32)), [], 'a length below the header');
  t.end();
});

test('link: a veth pair with names, MACs, MTUs and the namespace of its peer', (t) => {
  const end = { mac: '02:00:00:00:00:01', mtu: 1500 };
  const request = createVeth({ ...end, name: 'cali1', peer: { ...end, name: 'eth0' }, peerNetnsFd: 9 });
  const ifinfo = '00'.repeat(16);
  const mac = '0a00 0100 020000000001 0000';
  const mtu = '0800 0400 dc050000';
  const peer = hex(ifinfo, '0900 0300 6574683000 000000', mac, mtu, '0800 1c00 09000000');
  t.equal(
    bodyOf(request),
    hex(
      ...[ifinfo, '0a00 0300 63616c693100 0000', mac, mtu],
      '5000 1200', // IFLA_LINKINFO
      '0900 0100 7665746800 000000', // IFLA_INFO_KIND veth
      '4000 0200', // IFLA_INFO_DATA
      '3c00 0100', // VETH_INFO_PEER
      peer,
    ),
  );
  t.equal(request.flags, 0x600, 'create, exclusive');
  t.end();
});

test('link: changes name only what changes', (t) => {
  t.equal(bodyOf(setLink(3, { up: true })), hex('00000000 03000000 01000000 01000000'));
  t.equal(
    bodyOf(setLink(3, { up: false, mtu: 1400 })),
    hex('00000000 03000000 00000000 01000000', '0800 0400 78050000'),
  );
  t.equal(bodyOf(setLink(3, { netnsFd: 5 })), hex('00000000 03000000 00000000 00000000', '0800 1c00 05000000'));
  const long = setLink(3, { alias: 'x'.repeat(400) }).body;
  t.equal(Buffer.from(long).readUInt16LE(16), 4 + 255, 'an alias is cut to what the kernel takes');
  t.equal(setLink(3, { up: true, mtu: 9 }).object, '3 up=true mtu=9');
  t.end();
});

test('link: decoding tells kind, peer, alias and state, and lives without them', (t) => {
  const body = Buffer.concat([
    Buffer.from('00000403 0b000000 43100100 00000000'.replaceAll(' ', ''), 'hex'),
    textAttribute(3, 'eth1'),
    attribute(1, Buffer.from('00163e000001', 'hex')),
    u32Attribute(4, 1500),
    u32Attribute(5, 12),
    attribute(18, textAttribute(1, 'veth')),
    textAttribute(20, 'of a pod'),
  ]);
  t.strictSame(decodeLink(body), {
    index: 11,
    name: 'eth1',
    mac: '00:16:3e:00:00:01',
    mtu: 1500,
    up: true,
    loopback: false,
    kind: 'veth',
    peerIndex: 12,
    alias: 'of a pod',
    group: 0,
  });
  t.match(decodeLink(Buffer.alloc(16)), { mac: null, kind: null, peerIndex: null, alias: null, up: false, name: '' });
  t.end();
});

test('address: /32 on a device, and IPv6 without duplicate detection', (t) => {
  t.equal(
    bodyOf(addAddr({ linkIndex: 7, ip: '10.1.0.2', prefix: 32 })),
    hex('02 20 00 00 07000000', '0800 0200 0a010002', '0800 0100 0a010002'),
  );
  const v6 = addAddr({ linkIndex: 7, ip: 'fd00::2', prefix: 128, noDad: true });
  const bytes = 'fd000000000000000000000000000002';
  t.equal(bodyOf(v6), hex('0a 80 00 00 07000000', `1400 0200 ${bytes}`, `1400 0100 ${bytes}`, '0800 0800 02000000'));
  t.strictSame(decodeAddr(Buffer.from(v6.body)), {
    linkIndex: 7,
    ip: 'fd00::2',
    prefix: 128,
    scope: 0,
    dynamic: true, // a request does not say IFA_F_PERMANENT: the kernel adds it where there is no lifetime
  });
  t.end();
});

test('route: a host route, and a default route in a table above 255 with a gateway on link', (t) => {
  t.equal(
    bodyOf(addRoute(v4Route)),
    hex('02 20 00 00 fe 03 fd 01 00000000', '0800 0100 0a010009', '0800 0400 07000000', '0800 0f00 fe000000'),
  );
  const defaultRoute = {
    family: 4,
    destination: null,
    table: 1007,
    linkIndex: 7,
    gateway: '192.168.0.253',
    onLink: true,
  } as const;
  const request = addRoute(defaultRoute);
  t.equal(
    bodyOf(request),
    hex('02 00 00 00 00 03 00 01 04000000', '0800 0500 c0a800fd', '0800 0400 07000000', '0800 0f00 ef030000'),
  );
  t.strictSame(decodeRoute(Buffer.from(request.body)), { ...defaultRoute, scope: 0, protocol: 3, metric: 0 });
  t.equal(
    bodyOf(deleteRoute(v4Route)).slice(0, 24),
    hex('02 20 00 00 fe 00 ff 00 00000000'),
    'any scope, protocol and type',
  );
  const cached = Buffer.from(request.body);
  cached.writeUInt32LE(0x200, 8);
  t.equal(decodeRoute(cached), null, 'no cache entries');
  t.end();
});

test('rule: from a pod to a table, with its priority', (t) => {
  const rule = { family: 4, priority: 2048, source: { ip: '10.1.0.9', prefix: 32 }, table: 1007 } as const;
  t.equal(
    bodyOf(addRule(rule)),
    hex('02 00 20 00 00 00 00 01 00000000', '0800 0200 0a010009', '0800 0600 00080000', '0800 0f00 ef030000'),
  );
  t.strictSame(decodeRule(Buffer.from(addRule(rule).body)), {
    ...{ ...rule, destination: null, incoming: null, mark: null, narrower: false },
  });
  t.equal(
    bodyOf(deleteRule({ family: 4, priority: 512, destination: { ip: '10.1.0.9', prefix: 32 } })),
    hex('02 20 00 00 00 00 00 00 00000000', '0800 0100 0a010009', '0800 0600 00020000'),
    'a deletion without a table fits any',
  );
  t.equal(addRule({ ...rule, incoming: 'cali0' }).object, '2048 from 10.1.0.9/32 iif cali0 lookup 1007');
  t.equal(decodeRule(Buffer.from('020000000000000600000000', 'hex')), null, 'a blackhole rule looks up nothing');
  t.end();
});

test('neighbour: permanent', (t) => {
  const request = setNeighbour({ linkIndex: 7, ip: '169.254.1.1', mac: '02:00:00:00:00:01' });
  t.equal(bodyOf(request), hex('02000000 07000000 8000 00 00', '0800 0100 a9fe0101', '0a00 0200 020000000001 0000'));
  t.strictSame(decodeNeighbour(Buffer.from(request.body)), {
    linkIndex: 7,
    ip: '169.254.1.1',
    mac: '02:00:00:00:00:01',
    permanent: true,
  });
  t.throws(() => setNeighbour({ linkIndex: 7, ip: '169.254.1.1', mac: 'nonsense' }), RangeError);
  t.end();
});
