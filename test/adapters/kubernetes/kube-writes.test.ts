import { join } from 'node:path';
import { type Test, test } from 'tap';
import { connectKubernetes } from '../../../src/adapters/kubernetes/kubernetes-api.ts';
import type { KubeWrites } from '../../../src/ports/kube-writes.ts';
import { type Cluster, cluster, podBody } from '../../lab/apiserver/client.ts';

const { signal: never } = new AbortController();
const FULL = { key: 'enactor/full', effect: 'NoSchedule' } as const;

async function lab(t: Test): Promise<Cluster & { readonly writes: KubeWrites }> {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const made = await cluster(t, { kubeconfigPath });
  const { writes } = await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1' });
  const taints = [
    { key: 'a', value: '1', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' },
    { key: 'enactor/full', effect: 'NoExecute' },
  ];
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: '2026-01-01T00:00:00Z' };
  const status = { capacity: { cpu: '4', pods: '110' }, conditions: [ready] };
  const metadata = { name: 'n1', annotations: { theirs: 'x' } };
  await made.api.createNode({ body: { metadata, spec: { taints }, status } as never });
  return { ...made, writes };
}

test('kube writes: a condition and a capacity are written beside the others, and are read back', async (t) => {
  const { api, writes } = await lab(t);
  const transitionMs = Date.parse('2026-02-03T04:05:06Z');
  const condition = { type: 'SufficientIP', status: 'False', reason: 'InsufficientIP', message: 'none', transitionMs };
  await writes.setCondition('n1', { ...condition, status: 'False' }, transitionMs + 60_000, never);
  await writes.setCondition('n1', { ...condition, status: 'True' }, transitionMs + 120_000, never);
  await writes.setCapacity('n1', 'example.com/address', 12, never);
  await writes.annotateNode('n1', { ours: '1' }, never);
  const { status, metadata } = await api.readNode({ name: 'n1' });
  t.match(status?.conditions, [
    { type: 'Ready', status: 'True', reason: 'KubeletReady' },
    { type: 'SufficientIP', status: 'True' },
  ]);
  t.equal(status?.conditions?.[1]?.lastHeartbeatTime?.toISOString(), '2026-02-03T04:07:06.000Z');
  t.strictSame(status?.capacity, { cpu: '4', pods: '110', 'example.com/address': '12' });
  t.strictSame(metadata?.annotations, { theirs: 'x', ours: '1' });
  t.match(await writes.readNode('n1', never), {
    annotations: { ours: '1' },
    conditions: [{ type: 'Ready' }, { type: 'SufficientIP', status: 'True', transitionMs }],
    capacity: { 'example.com/address': '12' },
    taints: [{ key: 'a' }, { key: 'enactor/full', effect: 'NoExecute' }],
  });
  t.equal(await writes.readNode('nobody', never), null);
});

test('kube writes: taints of others stay as they are, also those that come while ours is written', async (t) => {
  const { api, server, writes } = await lab(t);
  const taints = async () => (await api.readNode({ name: 'n1' })).spec?.taints ?? [];
  const before = await taints();
  await writes.setTaint('n1', FULL, true, never);
  t.strictSame((await taints()).slice(0, 2), before, 'one of our key and another effect is not ours either');
  t.match((await taints())[2], FULL);
  const patches = () => server.admin.ledger.filter(({ verb }) => verb === 'patch').length;
  const written = patches();
  await writes.setTaint('n1', FULL, true, never);
  t.equal(patches(), written, 'what is there is not written again');

  // Somebody else writes between our read and our patch.
  const slow = server.admin.delay(2_000, { verb: 'patch', resource: 'nodes' }); // long for two calls on a busy machine
  const reads = () => server.admin.ledger.filter(({ verb }) => verb === 'get').length;
  const read = reads();
  const going = writes.setTaint('n1', FULL, false, never);
  while (reads() === read) await new Promise((resolve) => setTimeout(resolve, 5));
  const now = await api.readNode({ name: 'n1' });
  const more = [...(now.spec?.taints ?? []), { key: 'b', effect: 'NoSchedule' }];
  await api.replaceNode({ name: 'n1', body: { ...now, spec: { ...now.spec, taints: more } } });
  slow();
  await going;
  t.strictSame(
    (await taints()).map(({ key, effect }) => `${key} ${effect}`),
    ['a NoSchedule', 'enactor/full NoExecute', 'b NoSchedule'],
  );
});

test('kube writes: a pod of the same name that is another one is not annotated', async (t) => {
  const { api, writes } = await lab(t);
  const made = await api.createNamespacedPod({ namespace: 'default', body: podBody('p') });
  const pod = { namespace: 'default', name: 'p', uid: made.metadata?.uid ?? '' };
  await writes.annotatePod(pod, { 'k8s.aliyun.com/pod-ips': '10.0.0.1' }, never);
  const stale = writes.annotatePod({ ...pod, uid: 'of-another' }, { 'k8s.aliyun.com/pod-ips': '10.0.0.2' }, never);
  await t.rejects(stale, { code: 'kubernetes', status: 409 });
  const read = await api.readNamespacedPod({ namespace: 'default', name: 'p' });
  t.strictSame(read.metadata?.annotations, { 'k8s.aliyun.com/pod-ips': '10.0.0.1' });
});
