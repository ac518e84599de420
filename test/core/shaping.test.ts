import { test } from 'tap';
import { bucketOf, shapingFromBits, shapingOf } from '../../src/core/shaping.ts';

const K = (direction: string, value: string) => ({ [`kubernetes.io/${direction}-bandwidth`]: value });
const A = (direction: string, value: string) => ({ [`k8s.aliyun.com/${direction}-bandwidth`]: value });

test('shaping: quantities of Kubernetes are bits per second', (t) => {
  const cases: [string, number][] = [
    ['10M', 1_250_000],
    ['1000k', 125_000],
    ['1k', 125],
    ['1Ki', 128],
    ['1.5G', 187_500_000],
    ['8e6', 1_000_000],
    ['1P', 125e12],
    ['100000', 12_500],
    [' 10M ', 1_250_000],
  ];
  for (const [text, bytes] of cases)
    t.strictSame(shapingOf(K('ingress', text)), { shaping: { ingress: bytes }, problems: [] }, text);
  t.strictSame(shapingOf({ ...K('egress', '1M'), ...K('ingress', '2M') }).shaping, {
    ingress: 250_000,
    egress: 125_000,
  });
  t.end();
});

test('shaping: those of before it are bytes per second, base 1024, with a unit', (t) => {
  const cases: [string, number][] = [
    ['10M', 10_485_760],
    ['1K', 1024],
    ['1KB', 1024],
    ['1KiB', 1024],
    ['1.5m', 1_572_864],
    ['2g', 2_147_483_648],
    ['1T', 1_099_511_627_776],
  ];
  for (const [text, bytes] of cases) t.strictSame(shapingOf(A('egress', text)).shaping, { egress: bytes }, text);
  t.strictSame(
    shapingOf({ ...A('egress', '1M'), ...K('egress', '8M') }).shaping,
    { egress: 1_000_000 },
    'the newer counts',
  );
  t.end();
});

test('shaping: what cannot be read limits nothing, and says so by name', (t) => {
  for (const text of ['', 'fast', '10 M', '-1M', '0', '999', '2P', '10MB', '1e', '0x10', 'Infinity', '١M']) {
    const { shaping, problems } = shapingOf({ ...K('egress', text), ...K('ingress', '10M') });
    t.strictSame(shaping, { ingress: 1_250_000 }, JSON.stringify(text));
    t.equal(problems.length, 1);
    t.match(problems[0], /^kubernetes\.io\/egress-bandwidth: .* no limit is set by it$/);
  }
  for (const text of ['10', '0M', '10Mbit', '-1M', '1e3M', '999999T'])
    t.strictSame(shapingOf(A('ingress', text)).shaping, {}, JSON.stringify(text));
  t.strictSame(
    shapingOf({ ...K('egress', 'x'), ...A('egress', '1K') }).shaping,
    { egress: 1024 },
    'the older one is left',
  );
  t.ok((shapingOf(K('egress', 'x'.repeat(300_000))).problems[0]?.length ?? 0) < 300, 'a long value is not repeated');
  t.strictSame(shapingOf({}), { shaping: {}, problems: [] });
  t.end();
});

test('shaping: a runtime’s bits, and the bucket that holds a rate', (t) => {
  t.strictSame(shapingFromBits({ ingress: 8_000_000, egress: 0 }), { ingress: 1_000_000 });
  t.strictSame(shapingFromBits({ egress: 1 }), { egress: 1 }, 'never 0, which would be no limit');
  t.strictSame(bucketOf(125_000, 1500), { rate: 125_000, burst: 3000, limit: 6125 });
  t.strictSame(bucketOf(125_000_000, 1500), { rate: 125_000_000, burst: 125_000, limit: 3_250_000 });
  t.strictSame(bucketOf(1, 8500), { rate: 1, burst: 10_000, limit: 10_000 });
  t.end();
});
