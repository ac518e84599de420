import { test } from 'tap';
import { compared, measurement, quantile, sampled, table } from './measurement.ts';
import { ownTimes } from './profile.ts';
import { withFigures } from './readme-table.ts';

test('quantile: is always a sample that was measured', async (t) => {
  const samples = [5, 1, 4, 2, 3];
  t.equal(quantile(samples, 0.5), 3);
  t.equal(quantile(samples, 0.95), 5);
  t.equal(quantile(samples, 0), 1);
  t.equal(quantile([7], 0.5), 7);
  t.throws(() => quantile([], 0.5), RangeError);
  t.same(samples, [5, 1, 4, 2, 3], 'the samples are left in their order');
});

test('measurement: an aim is met at its value, whichever side of it is good, and none is neither met nor missed', async (t) => {
  t.equal(measurement('b', 'm', 2.5, 'x', 2.5).met, true);
  t.equal(measurement('b', 'm', 2.51, 'x', 2.5).met, false);
  t.equal(measurement('b', 'm', 0.45, 'x', { atLeast: 0.45 }).met, true);
  t.equal(measurement('b', 'm', 0.44, 'x', { atLeast: 0.45 }).met, false);
  t.equal(measurement('b', 'm', 2.51, 'x').met, null);
});

test('sampled: the median with its quartiles; a single figure has none', async (t) => {
  const row = sampled('b', 'm', [4, 1, 3, 2, 100], 'ms');
  t.match(row, { value: 3, spread: [2, 4], samples: 5 });
  t.match(measurement('b', 'm', 3, 'ms'), { spread: null, samples: 1 });
});

test('compared: the ratios of rounds, so that what disturbed both sides of a round cancels out', async (t) => {
  const row = compared('b', 'm', [2, 40, 6], [1, 20, 3], 1.9);
  t.match(row, { value: 2, unit: 'x', met: false });
  t.throws(() => compared('b', 'm', [1, 2], [1]), RangeError);
});

test('table: one row a measurement below the heads', async (t) => {
  const rows = [measurement('b', 'ratio', 3, 'x', 2.5), sampled('b', 'median', [7.126, 7.126, 9], 'ms')];
  const lines = table(rows).split('\n');
  t.equal(lines.length, 3);
  t.match(lines[1], /^b {6}ratio {4}3\.00 {2}x {19}<= 2\.5 {2}NO$/);
  t.match(lines[2], /^b {6}median {3}7\.13 {2}ms {4}7\.13 to 9\.00$/);
});

test('README’s table: rows of benches that ran are put in the place of the old ones, the others stay', async (t) => {
  const [begin, end] = ['<!-- npm run bench -- --readme -->', '<!-- end of the benches -->'];
  const first = withFigures(
    `above\n${begin}\n${end}\nbelow\n`,
    [
      sampled('two', 'ratio', [1, 1.2, 1.4], 'x', 1.3),
      measurement('one', 'shown only', 5, 'ms'),
      measurement('one', 'share', 0.4, 'x', { atLeast: 0.45 }),
    ],
    'a machine',
  );
  t.match(first, /^above\n/);
  t.match(first, /\nbelow\n$/);
  t.match(first, 'a machine');
  t.notMatch(first, 'shown only');
  t.match(
    first,
    '| `one` | share | 0.4x |  | >= 0.45 | **no** |\n| `two` | ratio | 1.2x | 1 to 1.4 | <= 1.3 | yes |\n',
  );
  const second = withFigures(first, [measurement('one', 'share', 0.5, 'x', { atLeast: 0.45 })], 'another');
  t.match(second, '| `one` | share | 0.5x |  | >= 0.45 | yes |\n| `two` | ratio | 1.2x |');
  t.notMatch(second, '0.4x');
  t.notMatch(second, 'a machine');
  t.throws(() => withFigures('nothing', [], 'a machine'), /README has no/);
});

test('a profile: own times by place, most first, and waiting counts for nothing', async (t) => {
  const frame = (functionName: string, lineNumber: number) => ({ functionName, url: 'file:///a/b.js', lineNumber });
  const text = ownTimes({
    nodes: [
      { id: 1, callFrame: { functionName: '(idle)', url: '', lineNumber: -1 } },
      { id: 2, callFrame: frame('quick', 6) },
      { id: 3, callFrame: frame('slow', 9) },
      { id: 4, callFrame: frame('quick', 6) },
    ],
    samples: [1, 2, 3, 4, 3],
    timeDeltas: [9_000, 1_000, 2_000, 1_000, 4_000],
  });
  t.same(
    text.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' ')),
    ['75.0 % 6.0 ms slow b.js:10', '25.0 % 2.0 ms quick b.js:7'],
  );
});
