/**
 * The whole path with the real runtime: containerd asks our plugin through the conflist that the daemon installed, and what it
 * then shows of a pod is what the lease says. Two nodes, so many pods on one that they need two ENIs, all made over CRI.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { missingForContainerd } from './containerd.ts';
import { CriNode, type CriPod } from './cri-node.ts';
import { leftBehind } from './left-behind.ts';

const TEST_TIMEOUT_MS = 180_000;
const SETTLE_TIMEOUT_MS = 20_000;
/** More than the four addresses of one ENI of the lab's instance type. */
const PODS_ON_FIRST_NODE = 5;

t.setTimeout(TEST_TIMEOUT_MS);
const missing = missingForContainerd();
const skip = missing.length > 0 && `containerd cannot run here: ${missing.join(', ')}`;

async function report(node: LabNode): Promise<NodeReport> {
  const read = await node.report();
  if (read === null) throw new Error(`${node.name}: the daemon cannot be asked`);
  return read;
}

/** What the report says of a sandbox's lease; undefined when it has none. */
const leaseOf = (of: NodeReport, pod: CriPod) =>
  of.leases.find((lease) => lease.sandbox.containerId === pod.sandboxId && lease.sandbox.ifName === 'eth0');

const addressIn = (of: NodeReport, ip: string) =>
  of.enis.flatMap((eni) => eni.addresses).find((address) => address.ipv4 === ip);

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + SETTLE_TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
    await sleep(100);
  }
}

/** Host ends of pods, their routes and rules, in the node's namespace. */
function podTraces(node: LabNode): readonly string[] {
  const show = (...args: readonly string[]) => {
    const { command, args: inside } = node.guest.netns.command('ip', args);
    return execFileSync(command, inside, { encoding: 'utf8' }).split('\n');
  };
  return [
    ...show('-o', 'link', 'show').filter((line) => line.includes('cali')),
    ...show('route', 'show', 'table', 'all').filter((line) => line.includes('cali')),
    ...show('rule', 'show').filter((line) => /^(512|2048):/.test(line)),
  ];
}

async function startNodes(lab: Lab): Promise<readonly CriNode[]> {
  const nodes: CriNode[] = [];
  for (const node of lab.nodes) nodes.push(await CriNode.start(lab, node));
  return nodes;
}

t.test(
  'runtime: pods made over CRI have the addresses of their leases, reach each other and give back',
  { skip },
  async (t) => {
    const lab = await startLab({ nodes: 2 });
    const nodes: CriNode[] = [];
    t.teardown(async () => {
      if (!t.passing()) {
        for (const { containerd } of nodes) t.comment(await containerd.logTail());
        for (const node of lab.nodes) t.comment((await node.daemon?.logTail(40))?.join('\n'));
      }
      for (const { containerd } of nodes) await containerd.stop().catch((error) => t.comment(`${error}`));
      await lab.stop();
    });
    nodes.push(...(await startNodes(lab)));
    const [first, second] = nodes;
    if (!first || !second) throw new Error('the lab has two nodes');

    await t.test(
      'the conflist that the daemon installed is the shipped one, with the paths of this node',
      async (t) => {
        const shipped = JSON.parse(readFileSync('deploy/10-enactor.conflist', 'utf8'));
        for (const { node } of nodes) {
          t.same(readdirSync(node.confDir), ['10-enactor.conflist']);
          t.match(
            shipped,
            { cniVersion: '1.0.0', cniVersions: ['1.0.0', '1.1.0'] },
            'P6: one that old runtimes load too',
          );
          const [plugin] = shipped.plugins;
          const here = { ...plugin, daemonSocket: node.jsonSocket, dataDir: node.dataDir };
          const installed = JSON.parse(readFileSync(join(node.confDir, '10-enactor.conflist'), 'utf8'));
          t.same(installed, { ...shipped, plugins: [here] });
        }
      },
    );

    const names = Array.from({ length: PODS_ON_FIRST_NODE }, (_, index) => `web-${index + 1}`);
    const ours = await Promise.all(names.map((name) => first.startPod(name)));
    const far = await second.startPod('web-far');

    await t.test('the address in the sandbox status is the lease’s', async (t) => {
      const all = [...ours.map((pod) => ({ pod, on: first })), { pod: far, on: second }];
      for (const { pod, on } of all) {
        const now = await report(on.node);
        const lease = leaseOf(now, pod);
        t.equal(lease?.grant.address.ipv4, pod.ip);
        t.match(lease?.sandbox.pod, { namespace: 'default', name: pod.name });
        t.match(addressIn(now, pod.ip), { state: 'bound', pod: `default/${pod.name}` });
      }
      t.equal(new Set(all.map(({ pod }) => pod.ip)).size, all.length, 'no address twice');
      const enis = new Set((await report(first.node)).leases.map((lease) => lease.grant.eni.eniId));
      t.ok(enis.size >= 2, `the pods of one node are on ${enis.size} ENIs`);
    });

    await t.test(
      'containers reach each other, on one node and across, and are seen by their own address',
      async (t) => {
        const [one] = ours;
        if (!one) throw new Error('there are pods');
        for (const other of ours.slice(1)) {
          t.equal(await first.sourceSeen(one, other), one.ip, `${one.name} to ${other.name}`);
          t.equal(await first.sourceSeen(other, one), other.ip, `${other.name} to ${one.name}`);
        }
        for (const pod of ours) {
          t.equal(await first.sourceSeen(pod, far), pod.ip, `${pod.name} to the other node`);
          t.equal(await second.sourceSeen(far, pod), far.ip, `the other node to ${pod.name}`);
        }
        t.equal(lab.refused().routingFault, 0, 'no packet left by the wrong ENI');
      },
    );

    await t.test('stopping a sandbox gives its address back; stopping it again is no error', async (t) => {
      const [one, ...others] = ours;
      if (!one) throw new Error('there are pods');
      await first.stopPod(one);
      const after = await report(first.node);
      t.equal(leaseOf(after, one), undefined, 'the lease is gone');
      t.equal(addressIn(after, one.ip)?.state, 'cooling', 'the address rests');
      t.equal(after.leases.length, others.length, 'the other leases stay');
      t.notOk(podTraces(first.node).some((line) => new RegExp(`\\b${one.ip.replaceAll('.', '\\.')}\\b`).test(line)));
      await first.stopPod(one);
      await first.removePod(one);
      const [two] = others;
      if (!two) throw new Error('there are more pods');
      t.equal(await first.sourceSeen(two, far), two.ip, 'the neighbours do not notice');
      await until(`${one.ip} is idle or given back`, async () => {
        const state = addressIn(await report(first.node), one.ip)?.state;
        return state === undefined || state === 'idle';
      });
    });

    await t.test(
      'after all pods are gone nothing of them is left on the nodes, and nothing of the runtimes',
      async (t) => {
        for (const pod of ours.slice(1)) {
          await first.stopPod(pod);
          await first.removePod(pod);
        }
        // The last one is still running when its runtime is taken down.
        for (const { containerd } of nodes) await containerd.stop();
        for (const { node } of nodes) {
          t.same((await report(node)).leases, []);
          t.same(podTraces(node), []);
          t.same(await leftBehind(join(node.dir, 'cri')), { processes: [], mounts: [], cgroups: [] });
        }
      },
    );
    t.same(await lab.stop(), [], 'the lab went down in order');
  },
);
