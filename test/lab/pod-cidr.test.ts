/** Mode VPC: pods have addresses of their node's pod CIDR, without a call to the cloud, and bear the node's address where theirs is not routed. */
import './in-box.ts';

import t, { type Test } from 'tap';
import { removeTable } from '../../src/adapters/netlink/filter-table.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { pathsOf } from '../../src/lab/checks/path-plan.ts';
import { tryPaths } from '../../src/lab/checks/try-paths.ts';
import { OUTSIDE, openEdge } from '../../src/lab/edge/edge.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';

t.setTimeout(120_000);
const missing = missingForServices();

t.test(
  'mode VPC: all paths of a dual-stack cluster, restarts, and addresses in turn',
  {
    skip: missing !== null && `NOT RUN: ${missing}`,
  },
  async (t) => {
    const config = { ip_stack: 'dual', cool_down: '500ms', kernel_period: '1s' };
    const lab = await startLab({ topology: labTopology(2, 'lab.small', true), mode: 'VPC', config });
    try {
      await openEdge(lab);
      await lived(t, lab);
    } finally {
      t.strictSame(await lab.stop(), [], 'nothing is left behind');
    }
  },
);

async function lived(t: Test, lab: Lab): Promise<void> {
  const pods = await Promise.all(['a', 'b', 'c'].map((name) => lab.addPod(name, name === 'c' ? 'node-2' : 'node-1')));
  t.strictSame(
    pods.map(({ ips }) => ips.length),
    [2, 2, 2],
  );
  t.match([...(pods[2]?.ips ?? [])], [/^10\.244\.1\./, /^2001:db8:244:1::/]);
  t.match(await lab.nodes[0]?.report(), { podRoute: null }, 'nobody has said who makes the routes of the lab');
  const tried = await tryPaths(lab, pathsOf(lab));
  t.strictSame(
    tried.filter(({ worked }) => !worked),
    [],
    `${tried.length} paths within the VPC, each seen as itself`,
  );
  t.ok(tried.some(({ family }) => family === 6));
  await outside(t, lab, 'masqueraded');

  const [node] = lab.nodes;
  if (node === undefined) throw new Error('no node');
  const rules = node.guest.netns.run(() => removeTable(openKoffiLibc(), 'enactor'));
  t.equal(rules, undefined);
  await until('the table is back', async () => (await seenBy(lab, 4)) === nodeIps(lab)[0]);

  const before = pods.map(({ ips }) => ips);
  node.daemon?.signal('SIGKILL');
  await node.daemon?.ended;
  node.startDaemon();
  await node.whenServing(30_000);
  t.strictSame(
    (await tryPaths(lab, pathsOf(lab))).filter(({ worked }) => !worked),
    [],
    'after kill -9 of the daemon',
  );
  t.strictSame(
    [...lab.pods.values()].map(({ ips }) => ips),
    before,
  );

  // In turn: what was just given back is the last to be given again.
  const [released] = lab.pods.get('a')?.ips ?? [];
  await lab.removePod('a');
  await new Promise((resolve) => setTimeout(resolve, 700));
  const again = await lab.addPod('a2', 'node-1');
  t.not(again.ips[0], released);
  t.strictSame(lab.cloud.live.gateway.ledger.read(0, null), [], 'the cloud was asked nothing');
  t.strictSame(lab.refused(), { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 });
}

const nodeIps = (lab: Lab): readonly string[] => lab.nodes[0]?.guest.ips ?? [];

async function seenBy(lab: Lab, family: 4 | 6): Promise<string | undefined> {
  const seen = await lab.probe('a', OUTSIDE, 2_000, family);
  return seen.reached ? seen.sourceSeen : undefined;
}

async function outside(t: Test, lab: Lab, words: string): Promise<void> {
  for (const family of [4, 6] as const)
    t.equal(await seenBy(lab, family), nodeIps(lab)[family === 4 ? 0 : 1], `${words} over IPv${family}`);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`${what}: not within 15 s`);
}
