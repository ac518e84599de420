import { spawnSync } from 'node:child_process';
import { test } from 'tap';
import type { MachineFacts } from './machine-facts.ts';
import type { Measurement } from './measurement.ts';

const own = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
const allowed = spawnSync('unshare', [...own, '--net', '--mount', 'true']).status === 0;
const skip = !allowed && 'no namespaces may be made here';

test('cni-add: makes the same objects as ip does, and prints the machine and one figure a line', {
  skip,
}, async (t) => {
  const args = ['test/bench/main.ts', 'cni-del', '--json', '--rounds', '1'];
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/bun', args, { encoding: 'utf8', timeout: 120_000 });
  // Exit code 0 says more than it seems: the bench compares what both sides made, and that it went, before it prints.
  t.equal(status, 0, stderr);
  const [first, ...lines] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  const { machine } = first as { machine: MachineFacts };
  t.match(machine, { node: /^v\d+\./, kernel: /\d/, cpu: /./ });
  const rows = lines as Measurement[];
  t.equal(rows.length, 16);
  for (const row of rows) {
    t.match(row.bench, /^cni-(add|del)$/);
    t.ok(row.value > 0, row.metric);
    t.equal(row.met === null, row.aim === null);
  }
  t.same(
    rows.filter((row) => row.aim !== null).map((row) => [row.bench, row.metric, row.aim]),
    [
      ['cni-add', 'empty node, against ip -batch', { atMost: 1.8 }],
      ['cni-add', 'crowded against empty node, plugin', { atMost: 1.15 }],
      ['cni-del', 'empty node, against ip -batch', { atMost: 1.3 }],
      ['cni-del', 'crowded against empty node, plugin', { atMost: 1.15 }],
    ],
  );
});
