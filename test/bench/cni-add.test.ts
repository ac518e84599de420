import { spawnSync } from 'node:child_process';
import { test } from 'tap';
import type { Measurement } from './measurement.ts';

const own = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
const allowed = spawnSync('unshare', [...own, '--net', '--mount', 'true']).status === 0;
const skip = !allowed && 'no namespaces may be made here';

test('cni-add: makes the same objects as ip does, and prints one figure a line', { skip }, async (t) => {
  const args = ['test/bench/main.ts', 'cni-add', '--json', '--rounds', '1'];
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/bun', args, { encoding: 'utf8', timeout: 120_000 });
  // Exit code 0 says more than it seems: the bench compares what both sides made, and that it went, before it prints.
  t.equal(status, 0, stderr);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Measurement);
  t.equal(rows.length, 20);
  for (const row of rows) {
    t.equal(row.bench, 'cni-add');
    t.ok(row.value > 0, row.metric);
    t.equal(row.met === null, row.aim === null);
  }
  t.same(
    rows.filter((row) => row.aim !== null).map((row) => [row.metric, row.aim]),
    [
      ['ADD 0 pods, ratio of medians', 2.5],
      ['ADD 200 pods, ratio of medians', 2.5],
    ],
  );
});
