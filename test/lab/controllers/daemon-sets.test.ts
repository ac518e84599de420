/** DaemonSets that are applied become pods on the nodes, are rolled out a few at a time, can go back, and take what they made with them. */
import { type Test, test } from 'tap';
import type { ApiServer } from '../../../src/lab/apiserver/api-server.ts';
import { at, type JsonObject, type KubeObject } from '../../../src/lab/apiserver/kube-object.ts';
import { known } from '../../../src/lab/apiserver/resource.ts';
import { startControllers } from '../../../src/lab/controllers/controllers.ts';
import { isEnding, nodeOf, planDaemonSet } from '../../../src/lab/controllers/daemon-set-plan.ts';
import { Kubectl, kubectlVersion } from '../../runtime/kubectl.ts';
import { cluster, until } from '../apiserver/client.ts';

const NAMESPACE = 'kube-system';
const LINUX = { 'kubernetes.io/os': 'linux' };
const now = { gracePeriodSeconds: 0, uid: null, resourceVersion: null };

const daemonSet = (image: string, maxUnavailable: string | number = 1): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: NAMESPACE },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: { nodeSelector: LINUX, containers: [{ name: 'main', image }] },
    },
  },
});

async function stage(t: Test, nodes: number) {
  const { server } = await cluster(t, { endGrace: false });
  for (let nth = 1; nth <= nodes; nth += 1)
    server.lifecycle.create(known('nodes'), null, { metadata: { name: `n${nth}`, labels: LINUX } });
  t.teardown(startControllers(server));
  const pods = () => server.store.list(known('pods'), NAMESPACE);
  return { server, pods, set: () => server.store.get(known('daemonsets'), NAMESPACE, 'agent') };
}

/** Pods are ready as soon as they are there, and end as soon as they are told to: until the test is over. `most`: the greatest number that was away. */
function kubelets(t: Test, { store, lifecycle }: ApiServer, desired: number) {
  const seen = { most: 0 };
  const ready = (pod: KubeObject) => at(pod, 'status.phase') === 'Running' && !isEnding(pod);
  const timer = setInterval(() => {
    const pods = store.list(known('pods'), NAMESPACE);
    seen.most = Math.max(seen.most, desired - pods.filter(ready).length);
    for (const pod of pods) {
      if (isEnding(pod)) lifecycle.delete(known('pods'), pod, now);
      else if (!ready(pod)) {
        const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
        lifecycle.update(known('pods'), pod, { ...pod, status }, 'status');
      }
    }
  }, 5);
  t.teardown(() => clearInterval(timer));
  return seen;
}

const imagesOf = (pods: readonly KubeObject[]) =>
  pods.map((pod) => {
    const [container] = at(pod, 'spec.containers') as readonly { image: string }[];
    return container?.image;
  });

test('daemon sets: each node that is selected gets one pod, a node that comes later too, and others none', async (t) => {
  const { server, pods, set } = await stage(t, 2);
  server.lifecycle.create(known('nodes'), null, {
    metadata: { name: 'win', labels: { 'kubernetes.io/os': 'windows' } },
  });
  server.lifecycle.create(known('daemonsets'), NAMESPACE, daemonSet('a:1'));
  await until(() => pods().length === 2);
  server.lifecycle.create(known('nodes'), null, { metadata: { name: 'n3', labels: LINUX } });
  await until(() => pods().length === 3);
  t.strictSame(pods().map(nodeOf).sort(), ['n1', 'n2', 'n3']);
  t.match(set()?.status, { desiredNumberScheduled: 3, numberReady: 0, numberUnavailable: 3, observedGeneration: 1 });
  t.equal(server.store.get(known('configmaps'), NAMESPACE, 'kube-root-ca.crt')?.data !== undefined, true);
});

test('daemon sets: another template is rolled out as many at a time as may be away', async (t) => {
  const { server, pods, set } = await stage(t, 5);
  const away = kubelets(t, server, 5);
  server.lifecycle.create(known('daemonsets'), NAMESPACE, daemonSet('a:1', '30%'));
  await until(() => at(set() ?? {}, 'status.numberAvailable') === 5);
  away.most = 0;
  const before = set();
  if (before === null) throw new Error('the set is there');
  server.lifecycle.update(known('daemonsets'), before, daemonSet('a:2', '30%'), null);
  const status = (key: string) => at(set() ?? {}, `status.${key}`);
  await until(
    () =>
      status('observedGeneration') === 2 && status('updatedNumberScheduled') === 5 && status('numberAvailable') === 5,
  );
  t.strictSame(imagesOf(pods()), Array(5).fill('a:2'));
  t.equal(away.most, 2, '30 % of 5, rounded up');
});

test('daemon sets: what is not ready is replaced at once, and never stands in the way', (t) => {
  const meta = (name: string) => ({ name, uid: name, resourceVersion: '1', creationTimestamp: '' });
  const nodes = ['n1', 'n2'].map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: meta(name) }));
  const pod = (nodeName: string, status: string): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: meta(nodeName), spec: { nodeName } },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const set = { ...daemonSet('a:1'), metadata: meta('agent') } as unknown as KubeObject;
  const bare = { ...set, spec: { updateStrategy: (set.spec as JsonObject).updateStrategy } } as KubeObject;
  const removed = (one: string, two: string) =>
    planDaemonSet(bare, nodes, [pod('n1', one), pod('n2', two)], 'new').remove.map(nodeOf);
  t.strictSame(removed('True', 'True'), ['n1']);
  t.strictSame(removed('True', 'False'), ['n2'], 'one is away already');
  t.strictSame(removed('False', 'False'), ['n1', 'n2']);
  t.end();
});

test('daemon sets: kubectl waits for a roll-out, goes back by the history, and deletes the pods with the set', async (t) => {
  if (kubectlVersion() === null)
    return void t.pass('', { skip: 'NOT RUN: there is no kubectl (Debian: kubernetes-client)' });
  const { server, pods, set } = await stage(t, 2);
  kubelets(t, server, 2);
  const kubectl = new Kubectl(server, t.testdir());
  const roll = (...words: string[]) => kubectl.run('-n', NAMESPACE, 'rollout', ...words, 'ds/agent');
  server.lifecycle.create(known('daemonsets'), NAMESPACE, daemonSet('a:1'));
  t.match(await roll('status'), /successfully rolled out/);
  const before = set();
  if (before === null) throw new Error('the set is there');
  server.lifecycle.update(known('daemonsets'), before, daemonSet('a:2'), null);
  t.match(await roll('status'), /successfully rolled out/);
  t.strictSame(imagesOf(pods()), ['a:2', 'a:2']);
  t.match(await roll('undo'), /rolled back/);
  t.match(await roll('status'), /successfully rolled out/);
  t.strictSame(imagesOf(pods()), ['a:1', 'a:1']);
  t.match(
    await kubectl.run('-n', NAMESPACE, 'get', 'ds,pods', '-o', 'wide'),
    /DESIRED +CURRENT +READY.*\n.*agent +2 +2 +2 +2 +2 +\d+s\n\n.*NODE.*\npod\/agent-\S+ +1\/1 +Running +\d+s +<none> +n[12]/,
    'as a table',
  );
  t.match(await roll('history'), /\n2 .*\n3 /, 'the first revision is the newest now');
  await kubectl.run('-n', NAMESPACE, 'delete', 'ds/agent');
  await until(() => pods().length === 0);
  t.strictSame(server.store.list(known('controllerrevisions'), null), []);
});
