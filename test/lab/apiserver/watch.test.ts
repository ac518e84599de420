import { type KubernetesObject, makeInformer, Watch } from '@kubernetes/client-node';
import { type Test, test } from 'tap';
import { type Cluster, cluster, podBody, until } from './client.ts';

const ns = { namespace: 'default' };
const PODS = '/api/v1/pods';

type Seen = { readonly type: string; readonly object: KubernetesObject & { code?: number } };
type Watched = { readonly seen: Seen[]; readonly ends: unknown[]; names(): string[] };

async function watch(
  t: Test,
  { config }: Cluster,
  query: Record<string, string | number | boolean>,
  path = PODS,
): Promise<Watched> {
  const seen: Seen[] = [];
  const ends: unknown[] = [];
  const request = await new Watch(config).watch(
    path,
    query,
    (type, object) => void seen.push({ type, object }),
    (error) => void ends.push(error),
  );
  t.teardown(() => request.abort());
  return { seen, ends, names: () => seen.map(({ type, object }) => `${type} ${object.metadata?.name}`) };
}

test('watch: without a version it begins with what is there, and goes on with every change', async (t) => {
  const lab = await cluster(t);
  await lab.api.createNamespacedPod({ ...ns, body: podBody('a') });
  const watched = await watch(t, lab, {});
  await lab.api.createNamespacedPod({ ...ns, body: podBody('b') });
  await lab.api.createNode({ body: { metadata: { name: 'n1' } } });
  await lab.api.deleteNamespacedPod({ ...ns, name: 'a' });
  await until(() => watched.seen.length >= 3);
  t.same(watched.names(), ['ADDED a', 'ADDED b', 'DELETED a']);
});

test('watch: from a version it tells what has happened since, and nothing twice', async (t) => {
  const lab = await cluster(t);
  await lab.api.createNamespacedPod({ ...ns, body: podBody('a') });
  const resourceVersion = (await lab.api.listNamespacedPod(ns)).metadata?.resourceVersion ?? '';
  await lab.api.createNamespacedPod({ ...ns, body: podBody('b') });
  await lab.api.deleteNamespacedPod({ ...ns, name: 'b' });
  const watched = await watch(t, lab, { resourceVersion });
  await lab.api.createNamespacedPod({ ...ns, body: podBody('c') });
  await until(() => watched.seen.length >= 3);
  t.same(watched.names(), ['ADDED b', 'DELETED b', 'ADDED c']);
  const versions = watched.seen.map(({ object }) => Number(object.metadata?.resourceVersion));
  t.same(
    versions,
    [...versions].sort((left, right) => left - right),
  );
  t.ok((versions[0] ?? 0) > Number(resourceVersion));
});

test('watch: an object that begins or ceases to match is added or deleted', async (t) => {
  const lab = await cluster(t);
  const watched = await watch(t, lab, { fieldSelector: 'spec.nodeName=n1,status.phase!=Failed' });
  await lab.api.createNamespacedPod({ ...ns, body: podBody('a') });
  const binding = { metadata: { name: 'a' }, target: { name: 'n1' } };
  await lab.api.createNamespacedPodBinding({ ...ns, name: 'a', body: binding });
  const pod = await lab.api.readNamespacedPod({ ...ns, name: 'a' });
  await lab.api.replaceNamespacedPodStatus({ ...ns, name: 'a', body: { ...pod, status: { phase: 'Running' } } });
  const running = await lab.api.readNamespacedPod({ ...ns, name: 'a' });
  await lab.api.replaceNamespacedPodStatus({ ...ns, name: 'a', body: { ...running, status: { phase: 'Failed' } } });
  await until(() => watched.seen.length >= 3);
  t.same(watched.names(), ['ADDED a', 'MODIFIED a', 'DELETED a']);
});

test('watch: bookmarks come to those who asked, and the end comes after timeoutSeconds', async (t) => {
  const lab = await cluster(t);
  const asked = await watch(t, lab, { allowWatchBookmarks: true, timeoutSeconds: 1 });
  const unasked = await watch(t, lab, {}, '/api/v1/nodes');
  await lab.api.createNode({ body: { metadata: { name: 'n1' } } });
  lab.server.admin.bookmark();
  await until(() => asked.ends.length > 0);
  t.same(
    asked.seen.map(({ type }) => type),
    ['BOOKMARK', 'BOOKMARK'],
    'one now, one before the end',
  );
  t.equal(asked.seen[0]?.object.metadata?.resourceVersion, String(lab.server.store.revision));
  t.same(asked.ends, [null]);
  t.same(unasked.names(), ['ADDED n1']);
  t.same(unasked.ends, []);
});

test('watch: a version that was compacted away is refused with 410, in the stream or as the status', async (t) => {
  const lab = await cluster(t);
  await lab.api.createNamespacedPod({ ...ns, body: podBody('a') });
  lab.server.admin.compact();
  const inStream = await watch(t, lab, { resourceVersion: '1' });
  await until(() => inStream.ends.length > 0);
  t.match(inStream.seen, [{ type: 'ERROR', object: { code: 410, reason: 'Expired', kind: 'Status' } }]);
  t.same(inStream.ends, [null]);
  lab.server.admin.compact('status');
  const asStatus = await watch(t, lab, { resourceVersion: '1' });
  await until(() => asStatus.ends.length > 0);
  t.match(asStatus.ends, [{ statusCode: 410 }]);
  t.same(asStatus.seen, []);
  const current = await watch(t, lab, { resourceVersion: String(lab.server.store.revision) });
  await lab.api.createNamespacedPod({ ...ns, body: podBody('b') });
  await until(() => current.seen.length > 0);
  t.same(current.names(), ['ADDED b']);
});

test('watch: a cut and an expired watch end, and the server forgets them; a client that leaves is forgotten too', async (t) => {
  const lab = await cluster(t);
  const first = await watch(t, lab, {});
  t.equal(lab.server.admin.cutWatches(), 1);
  await until(() => first.ends.length > 0);
  const second = await watch(t, lab, {});
  t.equal(lab.server.admin.expireWatches(), 1);
  await until(() => second.ends.length > 0);
  t.match(second.seen, [{ type: 'ERROR', object: { code: 410 } }]);
  const request = await new Watch(lab.config).watch(
    PODS,
    {},
    () => {},
    () => {},
  );
  t.equal(lab.server.admin.openWatches, 1);
  request.abort();
  await until(() => lab.server.admin.openWatches === 0);
});

test('watch: the real informer follows through cuts and a compaction', async (t) => {
  const lab = await cluster(t);
  await lab.api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  const informer = makeInformer(lab.config, PODS, () => lab.api.listPodForAllNamespaces({}));
  let isOver = false;
  t.teardown(() => {
    isOver = true;
    return informer.stop();
  });
  const names = () =>
    informer
      .list()
      .map((pod) => pod.metadata?.name)
      .sort();
  informer.on('error', () => void setTimeout(() => isOver || informer.start(), 20));
  await informer.start();
  await until(() => lab.server.admin.openWatches === 1);
  t.same(names(), ['a']);
  await lab.api.createNamespacedPod({ ...ns, body: podBody('b') });
  await until(() => names().length === 2);
  lab.server.admin.endWatches();
  await lab.api.createNamespacedPod({ ...ns, body: podBody('c') });
  await until(() => names().length === 3);
  lab.server.admin.cutWatches();
  await lab.api.deleteNamespacedPod({ ...ns, name: 'b' });
  await until(() => names().length === 2);
  lab.server.admin.compact();
  lab.server.admin.expireWatches();
  await lab.api.createNamespacedPod({ ...ns, body: podBody('d') });
  await until(() => names().length === 3);
  t.same(names(), ['a', 'c', 'd']);
});
