import { join } from 'node:path';
import { type Test, test } from 'tap';
import { connectKubernetes } from '../../../src/adapters/kubernetes/kubernetes-api.ts';
import { startApiServer } from '../../../src/lab/apiserver/api-server.ts';
import type { PodWatchEvent } from '../../../src/ports/kubernetes.ts';
import { type Cluster, cluster, podBody, until } from '../../lab/apiserver/client.ts';

const ns = { namespace: 'default' };
const onN1 = (name: string) => ({ ...ns, body: podBody(name, { nodeName: 'n1' }) });

type Watched = Cluster & {
  readonly seen: string[];
  readonly troubles: string[];
  readonly watches: () => number;
  readonly stop: () => Promise<void>;
};

function said(event: PodWatchEvent): string {
  return event.type === 'synced'
    ? `synced ${event.pods.map((pod) => pod.name).join(' ')}`.trim()
    : `${event.type} ${event.pod.name}`;
}

async function watched(t: Test, onEvent?: (event: PodWatchEvent) => void | Promise<void>): Promise<Watched> {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const made = await cluster(t, { kubeconfigPath });
  const pace = { firstPauseMs: 10, maxPauseMs: 200, steadyMs: 1_000, fraction: () => 1 };
  const kubernetes = await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1', pace });
  const seen: string[] = [];
  const troubles: string[] = [];
  const stopping = new AbortController();
  await made.api.createNamespacedPod(onN1('a'));
  await made.api.createNamespacedPod({ ...ns, body: podBody('elsewhere', { nodeName: 'n2' }) });
  const take = (event: PodWatchEvent) => {
    seen.push(said(event));
    return onEvent?.(event);
  };
  const running = kubernetes.watchNodePods('n1', take, stopping.signal, (why) => {
    if (why !== null) troubles.push(why);
  });
  const stop = () => {
    stopping.abort();
    return running;
  };
  t.teardown(stop);
  const watches = () => made.server.admin.ledger.filter(({ verb }) => verb === 'watch').length;
  return { ...made, seen, troubles, watches, stop };
}

test('pod watch: it begins with all pods of the node and tells each change, then stops with its signal', async (t) => {
  const { api, server, seen, troubles, stop } = await watched(t);
  await until(() => server.admin.openWatches === 1);
  await api.createNamespacedPod(onN1('b'));
  await api.createNamespacedPod({ ...ns, body: podBody('c', { nodeName: 'n2' }) });
  await api.deleteNamespacedPod({ ...ns, name: 'a', gracePeriodSeconds: 0 });
  await until(() => seen.length === 3);
  t.same(seen, ['synced a', 'changed b', 'gone a']);
  await stop();
  await until(() => server.admin.openWatches === 0);
  t.same(troubles, []);
});

test('pod watch: closed and torn connections lose nothing and repeat nothing', async (t) => {
  const { api, server, seen, watches } = await watched(t);
  const names = ['b', 'c', 'd', 'e'];
  for (const [index, name] of names.entries()) {
    await until(() => server.admin.openWatches === 1 && watches() === index + 1);
    if (index % 2 === 0) server.admin.endWatches();
    else server.admin.cutWatches();
    await api.createNamespacedPod(onN1(name));
    await until(() => seen.length === index + 2);
  }
  t.same(seen, ['synced a', 'changed b', 'changed c', 'changed d', 'changed e']);
});

test('pod watch: a version that is gone, told either way, brings everything anew', async (t) => {
  const { api, server, seen, troubles } = await watched(t);
  await until(() => server.admin.openWatches === 1);
  server.admin.expireWatches();
  await until(() => seen.length === 2);
  await until(() => server.admin.openWatches === 1);
  server.admin.failNext({ count: 1, code: 410, match: { verb: 'watch' } });
  server.admin.endWatches();
  await api.deleteNamespacedPod({ ...ns, name: 'a', gracePeriodSeconds: 0 });
  await until(() => seen.length === 3);
  t.same(seen, ['synced a', 'synced a', 'synced'], 'the pod that went in the gap is missing from the second');
  t.match(troubles.join('\n'), /410 Expired/);
});

test('pod watch: a server that closes every watch at once is asked ever more rarely', async (t) => {
  const { server, seen, watches } = await watched(t);
  server.admin.failNext({ count: 1_000, code: 'reset', match: { verb: 'watch' } });
  await until(() => server.admin.openWatches === 1 || watches() > 0);
  server.admin.endWatches();
  const before = watches();
  // Pauses of 20, 40, 80, 160, 200, 200... ms: ten watches take over a second, a busy loop takes a few milliseconds.
  const startMs = performance.now();
  await until(() => watches() >= before + 10);
  t.ok(performance.now() - startMs > 1_000, 'there was a pause between any two');
  server.admin.clearFaults();
  await until(() => server.admin.openWatches === 1);
  t.same(seen, ['synced a']);
});

test('pod watch: a server that is behind our version, restored from a backup, is listed anew', async (t) => {
  const { server, seen, troubles } = await watched(t);
  await until(() => server.admin.openWatches === 1);
  server.admin.failNext({ count: 1, code: 504, message: 'Too large resource version', match: { verb: 'watch' } });
  server.admin.endWatches();
  await until(() => seen.length === 2);
  t.same(seen, ['synced a', 'synced a']);
  t.match(troubles, [/504 Timeout Too large/]);
});

test('pod watch: a server that is away, then another one in its place, is trouble and nothing else', async (t) => {
  const { server, seen, troubles } = await watched(t);
  await until(() => server.admin.openWatches === 1);
  const port = Number(new URL(server.url).port);
  await server.close();
  await until(() => troubles.some((why) => why.includes('ECONNREFUSED')));
  const stranger = await startApiServer({ listen: { port } });
  t.teardown(() => stranger.close());
  await until(() => troubles.some((why) => /certificate|signature/.test(why)));
  t.same(seen, ['synced a'], 'its pods are not taken for gone');
});

test('pod watch: a reader that is slow is waited for, one that fails gets everything anew', async (t) => {
  let inside = 0;
  let most = 0;
  let failures = 1;
  const { api, server, seen, troubles } = await watched(t, async (event) => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inside -= 1;
    if (event.type === 'changed' && failures > 0) {
      failures -= 1;
      throw new Error('the reader fell over');
    }
  });
  await until(() => server.admin.openWatches === 1);
  for (const name of ['b', 'c', 'd']) await api.createNamespacedPod(onN1(name));
  await until(() => seen.length >= 3 && seen.some((line) => line === 'synced a b c d' || line === 'changed d'));
  t.equal(most, 1);
  t.same(troubles, ['the reader fell over']);
  t.equal(seen[1], 'changed b');
  t.match(seen[2], /^synced a b/);
});
