import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FleetSize } from '../../src/daemon/fleet-size.ts';

const never = new AbortController().signal;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const counting = (nodes: number) => ({ countNodes: async () => nodes });

t.test('fleet size: what was counted is known to the next life, before anybody is asked', async (t) => {
  const dir = t.testdir();
  const fleet = new FleetSize(dir, log);
  t.equal(fleet.nodes, 1);
  await fleet.count(counting(1_000), never);
  t.equal(fleet.nodes, 1_000);
  t.equal(new FleetSize(dir, log).nodes, 1_000);
  await fleet.count({ countNodes: () => Promise.reject(new Error('away')) }, never);
  t.equal(fleet.nodes, 1_000, 'one that fails tells nothing');
  await fleet.count(counting(1_020), never);
  t.equal(new FleetSize(dir, log).nodes, 1_000, 'a few more are not worth a write');
  await fleet.count(counting(2), never);
  t.equal(new FleetSize(dir, log).nodes, 2);
});

t.test('fleet size: a file that says nothing is one node', (t) => {
  const dir = t.testdir();
  for (const text of ['', '[]', '{"nodes":0}', '{"nodes":"many"}', '{"nodes":1.5}']) {
    writeFileSync(join(dir, 'fleet.json'), text);
    t.equal(new FleetSize(dir, log).nodes, 1, text);
  }
  t.end();
});

t.test('fleet size: a directory that cannot be written costs nothing but the memory', async (t) => {
  const fleet = new FleetSize(join(t.testdir(), 'gone'), log);
  await fleet.count(counting(300), never);
  t.equal(fleet.nodes, 300);
});
