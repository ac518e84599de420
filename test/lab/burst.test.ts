import './in-box.ts';

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Lab, type LabOptions, startLab } from '../../src/lab/lab.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import { differences, type HostSnapshot, snapshotMachine, snapshotNetns, without } from './host-snapshot.ts';

const SETTLE_MS = 60_000;

/** Waits until every node is at rest; a failure shows what each daemon said last. */
async function allAtRest(t: Test, lab: Lab, what: string): Promise<void> {
  const endMs = performance.now() + SETTLE_MS;
  while (!(await Promise.all(lab.nodes.map((node) => atRest(lab, node)))).every(Boolean)) {
    if (performance.now() > endMs) {
      for (const node of lab.nodes) t.comment(node.name, await node.report());
      throw new Error(`not within ${SETTLE_MS} ms: ${what}`);
    }
    await sleep(100);
  }
}

/** The managed ENIs as the cloud has them. */
const managed = (lab: Lab) => lab.truth().enis.filter((eni) => eni.type !== 'Primary');

/** Every pod gone from the daemon's books, idle within the marks, nothing in motion, cloud and daemon of one mind. */
async function atRest(lab: Lab, node: LabNode): Promise<boolean> {
  const report = await node.report();
  const pool = report?.pool ?? null;
  if (report === null || pool === null) return false;
  const { idle, offered, bound, cooling, leaving } = pool.counts;
  const up = report.enis.every((eni) => eni.state.startsWith('inUse') && eni.device !== null);
  const quiet = up && offered + bound + cooling + leaving === 0 && report.waiting.length === 0;
  const held = report.enis.flatMap((eni) => eni.addresses.map(({ ipv4 }) => ipv4)).sort();
  const enis = managed(lab).filter((eni) => eni.instanceId === node.instanceId);
  const truth = enis.flatMap((eni) => eni.ipv4).sort();
  const settled = enis.every((eni) => eni.status === 'InUse') && managed(lab).every((eni) => eni.instanceId !== null);
  return quiet && settled && idle >= pool.minIdle && idle <= pool.maxIdle && held.join() === truth.join();
}

/** The node but for its managed ENIs, which may be others than before. */
async function hostOf(node: LabNode): Promise<HostSnapshot> {
  const enis = (await node.report())?.enis ?? [];
  const devices = enis.flatMap(({ device }) => device ?? []);
  const tables = enis.flatMap(({ routeTable }) => routeTable ?? []);
  return without(snapshotNetns(node.guest.netns), devices, tables);
}

async function burst(t: Test, lab: Lab, count: number) {
  const names = Array.from({ length: count }, (_, index) => `burst-${index + 1}`);
  await allAtRest(t, lab, 'the pools are filled');
  const before = {
    hosts: await Promise.all(lab.nodes.map(hostOf)),
    machine: snapshotMachine(lab.runDir),
    enis: managed(lab).length,
  };
  const beginMs = performance.now();
  const pods = await Promise.all(names.map((name) => lab.addPod(name)));
  t.comment(`${count} pods run after ${Math.round(performance.now() - beginMs)} ms`);
  const ips = pods.flatMap((pod) => pod.ips);
  t.equal(ips.length, count, 'one address each');
  t.equal(new Set(ips).size, count, 'all distinct');
  const assigned = new Set(managed(lab).flatMap((eni) => eni.ipv4));
  t.strictSame(
    ips.filter((ip) => !assigned.has(ip)),
    [],
    'and each is on an ENI in the cloud’s truth',
  );
  for (const pod of pods) {
    const result = await lab.probe(pod.name, 'elsewhere', 4_000);
    if (!result.reached || result.sourceSeen !== pod.ips[0]) t.fail(`${pod.name} does not reach out`, { result });
  }
  const peak = managed(lab).flatMap((eni) => eni.ipv4).length;
  await Promise.all(names.map((name) => lab.removePod(name)));
  await allAtRest(t, lab, 'the pools are back at their marks');
  const left = managed(lab).flatMap((eni) => eni.ipv4).length;
  t.ok(left < peak, `addresses went back: ${peak} at most, ${left} on ${managed(lab).length} ENIs now`);
  for (const [index, node] of lab.nodes.entries()) {
    t.strictSame(differences(before.hosts[index] ?? {}, await hostOf(node)), [], `${node.name} is as before`);
  }
  t.strictSame(differences(before.machine, snapshotMachine(lab.runDir)), [], 'and so are mounts, files and processes');
  t.equal(lab.refused().routingFault, 0);
  return before;
}

/** The end of the lab is a part of the test: nothing may be left of it, whatever went before. */
async function withLab(t: Test, options: LabOptions, work: (lab: Lab) => Promise<void>): Promise<void> {
  const lab = await startLab(options);
  try {
    await work(lab);
  } finally {
    t.strictSame(await lab.stop(), [], 'a clean end');
  }
}

t.test('burst: 40 pods at once over two cold nodes, and all of them gone again', async (t) => {
  const options = {
    instanceType: 'ecs.g7.xlarge',
    config: { min_pool_size: 2, max_pool_size: 5, cool_down: '1s', pool_period: '1s' },
  };
  await withLab(t, options, async (lab) => {
    await burst(t, lab, 40);
    // What is left is what the marks allow, an ENI with nothing on it never.
    for (const node of lab.nodes) {
      const enis = managed(lab).filter((eni) => eni.instanceId === node.instanceId);
      const idle = enis.flatMap((eni) => eni.ipv4).length;
      t.ok(idle >= 2 && idle <= 5, `${node.name} keeps ${idle} idle addresses on ${enis.length} ENIs`);
    }
  });
});

t.test('burst: with marks of 0 the host is as before to the last ENI', async (t) => {
  const options = { config: { min_pool_size: 0, max_pool_size: 0, cool_down: '500ms', pool_period: '500ms' } };
  await withLab(t, options, async (lab) => {
    const bare = lab.nodes.map((node) => snapshotNetns(node.guest.netns));
    const { enis } = await burst(t, lab, 16);
    t.equal(enis, 0, 'a cold node had none');
    t.equal(managed(lab).length, 0, 'no ENI is left');
    for (const [index, node] of lab.nodes.entries()) {
      t.strictSame(differences(bare[index] ?? {}, snapshotNetns(node.guest.netns)), [], `${node.name}, every section`);
    }
  });
});
