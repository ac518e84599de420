/**
 * Mode ENIOnly (VPCENI): each pod has an ENI of its own, whose device is in the pod. Services, the node and what comes through the node take the
 * pair (F1); the device returns with the DEL, and serves the next pod; a pod that keeps its address keeps its ENI.
 */
import './in-box.ts';

import t, { type Test } from 'tap';
import { OUTSIDE } from '../../src/lab/edge/edge.ts';
import type { Lab } from '../../src/lab/lab.ts';
import { SERVICE_PORT } from '../../src/lab/services/publish-service.ts';
import { badPaths, created, killed, rested, type Services, skip, withOwnEnis, withServices } from './own-eni-stage.ts';

t.setTimeout(150_000);
const FAR = { clusterIps: ['172.21.0.10', 'fd00:21::10'], nodePort: 30_701 } as const;
const SERVICES: Services = { far: FAR };
const STAYS = { annotations: { 'k8s.aliyun.com/pod-ip-reservation': 'true' } };

t.test('mode ENIOnly: all paths, services, and ENIs that come back', { skip }, (t) =>
  withOwnEnis(t, { mode: 'ENIOnly' }, (lab) => lived(t, lab)),
);

async function lived(t: Test, lab: Lab): Promise<void> {
  const add = (name: string, node: string) => lab.addPod(name, node, { labels: { pod: name } });
  await Promise.all([add('a', 'node-1'), add('b', 'node-1'), add('far', 'node-2')]);
  const held = lab.truth().enis.filter((eni) => eni.type !== 'Primary' && eni.status === 'InUse');
  const eniOf = (name: string) =>
    lab.truth().enis.find((eni) => eni.ipv4.includes(lab.pods.get(name)?.ips[0] ?? 'none'))?.eniId;
  t.equal(new Set(['a', 'b', 'far'].map(eniOf)).size, 3);
  t.ok(
    held.every(({ ipv4 }) => ipv4.length === 1),
    'an ENI has one address',
  );
  t.strictSame(await badPaths(lab), [], 'every path, each seen as itself');
  await services(t, lab);

  t.equal(await killed(lab), 2);
  t.strictSame(await badPaths(lab), [], 'after kill -9 of the daemon');

  const before = created(lab);
  for (const round of [1, 2, 3]) {
    await lab.removePod('a');
    await rested();
    await add('a', 'node-1');
    t.strictSame(await badPaths(lab), [], `round ${round}: on the ENI that came back`);
  }
  t.equal(created(lab), before, 'no ENI was made for them');

  await lab.addPod('stays', 'node-1', STAYS);
  const [ips, eniId] = [lab.pods.get('stays')?.ips, eniOf('stays')];
  await lab.removePod('stays');
  await rested();
  await lab.removePod('a');
  await add('other', 'node-1');
  t.not(eniOf('other'), eniId, 'an ENI that is kept is nobody else’s');
  t.equal(await killed(lab), 2);
  await lab.addPod('stays', 'node-1', STAYS);
  t.strictSame([lab.pods.get('stays')?.ips, eniOf('stays')], [ips, eniId], 'and is there when its pod comes back');
  t.strictSame(await badPaths(lab), []);
}

async function services(t: Test, lab: Lab): Promise<void> {
  await withServices(lab, SERVICES, async ({ seen, at }) => {
    for (const family of [4, 6] as const) {
      const clusterIp = FAR.clusterIps[family === 4 ? 0 : 1];
      const node1 = at('node-1', family);
      t.equal(await seen('a', clusterIp, SERVICE_PORT), node1, `F1: ClusterIP elsewhere, IPv${family}`);
      t.equal(await seen('far', clusterIp, SERVICE_PORT), at('node-2', family), `P20: itself, IPv${family}`);
      for (const node of ['node-1', 'node-2'])
        t.equal(
          await seen(OUTSIDE, at(node, family), FAR.nodePort),
          at(node, family),
          `NodePort of ${node}, IPv${family}`,
        );
    }
  });
}
