import { test } from 'tap';
import { measurement, quantile, table } from './measurement.ts';

test('quantile: is always a sample that was measured', async (t) => {
  const samples = [5, 1, 4, 2, 3];
  t.equal(quantile(samples, 0.5), 3);
  t.equal(quantile(samples, 0.95), 5);
  t.equal(quantile(samples, 0), 1);
  t.equal(quantile([7], 0.5), 7);
  t.throws(() => quantile([], 0.5), RangeError);
  t.same(samples, [5, 1, 4, 2, 3], 'the samples are left in their order');
});

test('measurement: an aim is met at most at its value, and none is neither met nor missed', async (t) => {
  t.equal(measurement('b', 'm', 2.5, 'x', 2.5).met, true);
  t.equal(measurement('b', 'm', 2.51, 'x', 2.5).met, false);
  t.equal(measurement('b', 'm', 2.51, 'x').met, null);
});

test('table: one row a measurement below the heads', async (t) => {
  const lines = table([measurement('b', 'ratio', 3, 'x', 2.5), measurement('b', 'median', 7.126, 'ms')]).split('\n');
  t.equal(lines.length, 3);
  t.match(lines[1], /^b {6}ratio {4}3\.00 {2}x {5}<= 2\.5 {2}NO$/);
  t.match(lines[2], /^b {6}median {3}7\.13 {2}ms$/);
});
