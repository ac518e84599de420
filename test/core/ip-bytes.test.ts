import ipaddr from 'ipaddr.js';
import { test } from 'tap';
import { formatIp, parseIp } from '../../src/core/ip-bytes.ts';

/** What the library makes of a text, in our terms. */
function byLibrary(text: string): string | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text).toString();
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return null;
  return ipaddr.IPv6.parse(text).toRFC5952String();
}

function ours(text: string): string | null {
  const bytes = parseIp(text);
  return bytes === null ? null : formatIp(bytes);
}

/** A small generator of our own, so that a failure can be repeated. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('ip bytes: valid and broken texts are read as ipaddr.js reads them', (t) => {
  const fixed = [
    '',
    '.',
    ':',
    '::',
    '::1',
    '1::',
    ':::',
    '1:::2',
    '::1::',
    '1.2.3',
    '1.2.3.4',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.4.5',
  ];
  const more = [
    '::ffff:1.2.3.4',
    '1.2.3.4::',
    '::1.2.3',
    'fe80::1%eth0',
    'FD00::A',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7',
  ];
  const last = [
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:1.2.3.4',
    '::12345',
    '::g',
    ' ::1',
    '1:2:3:4:5:6:7::',
    '0:0:1:0:0:0:1:0',
    ':1',
    '1:',
    '1.2.3.4 ',
  ];
  for (const text of [...fixed, ...more, ...last]) t.equal(ours(text), byLibrary(text), JSON.stringify(text));
  const below = sequence(7);
  const differing: string[] = [];
  for (let index = 0; index < 5_000; index += 1) {
    const groups = Array.from({ length: 8 }, () => (below(3) === 0 ? '0' : below(65_536).toString(16)));
    const from = below(8);
    const text =
      below(2) === 0
        ? groups.join(':')
        : `${groups.slice(0, from).join(':')}::${groups.slice(from + 1 + below(8 - from)).join(':')}`;
    if (ours(text) !== byLibrary(text)) differing.push(text);
  }
  t.strictSame(differing, []);
  t.end();
});

test('ip bytes: network order, 4 or 16 of them', (t) => {
  t.strictSame([...(parseIp('10.1.2.3') ?? [])], [10, 1, 2, 3]);
  t.equal(ours('::1.2.3.4'), '::102:304', 'which ipaddr.js refuses as deprecated');
  t.strictSame([...(parseIp('fd00::2') ?? [])], [0xfd, ...new Array(14).fill(0), 2]);
  t.end();
});
