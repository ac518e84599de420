import t from 'tap';
import {
  addressAt,
  canonicalIp,
  cidrContains,
  cidrSize,
  cidrText,
  familyOf,
  ipBytes,
  ipFromBytes,
  parseCidr,
  vSwitchGateway,
} from '../../src/core/ip.ts';

t.test('ip: equal addresses are equal strings, and what is no address is null', async (t) => {
  const table: [string, string | null][] = [
    ['192.168.0.1', '192.168.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::', '::'],
    ['::1', '::1'],
    ['::ffff:10.0.0.1', canonicalIp('::ffff:a00:1')],
    ['', null],
    ['10.0.0', null],
    ['10.0.0.256', null],
    ['10.0.0.1.', null],
    ['0x0a.0.0.1', null],
    ['167772161', null],
    [' 10.0.0.1', null],
    ['10.0.0.1/24', null],
    ['fe80::1%eth0', null],
    ['2001:db8::1::2', null],
    ['g::1', null],
    ['localhost', null],
  ];
  for (const [text, canonical] of table) t.equal(canonicalIp(text), canonical, `'${text}'`);
  t.equal(familyOf('10.0.0.1'), 4);
  t.equal(familyOf('::1'), 6);
});

t.test('ip: a leading zero is never read as octal', async (t) => {
  for (const text of ['010.0.0.1', '10.0.0.08', '10.00.0.1']) {
    const read = canonicalIp(text);
    t.ok(read === null || read === text.split('.').map(Number).join('.'), `${text} -> ${read}`);
  }
});

t.test('ip: bytes and back', async (t) => {
  for (const ip of ['0.0.0.0', '192.168.1.254', '::', '2001:db8::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'])
    t.equal(ipFromBytes(ipBytes(ip)), ip);
  t.same([...ipBytes('10.0.0.1')], [10, 0, 0, 1]);
  t.equal(ipBytes('::1').length, 16);
  t.throws(() => ipBytes('nonsense'), RangeError);
});

t.test('ip: a prefix loses its host bits, whatever its length', async (t) => {
  const table: [string, string][] = [
    ['192.168.1.77/24', '192.168.1.0/24'],
    ['192.168.1.77/32', '192.168.1.77/32'],
    ['192.168.1.77/0', '0.0.0.0/0'],
    ['10.255.255.255/9', '10.128.0.0/9'],
    ['2001:db8:0:1ff::5/56', '2001:db8:0:100::/56'],
    ['2001:db8::5/128', '2001:db8::5/128'],
    ['2001:db8::5/0', '::/0'],
  ];
  for (const [text, canonical] of table) t.equal(cidrText(parseCidr(text)), canonical, text);
  for (const text of [
    '',
    '/',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    'x/8',
    '10.0.0.0/8 ',
  ])
    t.throws(() => parseCidr(text), RangeError, `'${text}'`);
});

t.test('ip: a prefix holds its own addresses, and none of the other family', async (t) => {
  const four = parseCidr('192.168.1.0/26');
  t.ok(cidrContains(four, '192.168.1.0'));
  t.ok(cidrContains(four, '192.168.1.63'));
  t.notOk(cidrContains(four, '192.168.1.64'));
  t.notOk(cidrContains(four, '::ffff:192.168.1.1'));
  const all = parseCidr('0.0.0.0/0');
  t.ok(cidrContains(all, '255.255.255.255'));
  t.notOk(cidrContains(all, '::'));
  const six = parseCidr('2001:db8::/64');
  t.ok(cidrContains(six, '2001:db8::ffff:ffff:ffff:ffff'));
  t.notOk(cidrContains(six, '2001:db8:0:1::'));
});

t.test('ip: addresses are counted from either end', async (t) => {
  const cidr = parseCidr('192.168.1.0/24');
  t.equal(cidrSize(cidr), 256n);
  t.equal(cidrSize(parseCidr('::/0')), 1n << 128n);
  t.equal(addressAt(cidr, 0), '192.168.1.0');
  t.equal(addressAt(cidr, 255), '192.168.1.255');
  t.equal(addressAt(cidr, -1), '192.168.1.255');
  t.equal(addressAt(parseCidr('2001:db8::/64'), -1), '2001:db8::ffff:ffff:ffff:ffff');
  for (const offset of [256, -257]) t.throws(() => addressAt(cidr, offset), RangeError);
});

t.test('ip: the gateway of a vSwitch is the third address from the end', async (t) => {
  t.equal(vSwitchGateway(parseCidr('192.168.0.0/24')), '192.168.0.253');
  t.equal(vSwitchGateway(parseCidr('192.168.0.0/16')), '192.168.255.253');
  t.equal(vSwitchGateway(parseCidr('192.168.0.8/29')), '192.168.0.13');
});
