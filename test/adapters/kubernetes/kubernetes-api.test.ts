import { join } from 'node:path';
import { type Test, test } from 'tap';
import { controllers } from '../../../src/adapters/kubernetes/controller-values.ts';
import { connectKubernetes, type KubernetesOptions } from '../../../src/adapters/kubernetes/kubernetes-api.ts';
import { known, resourceNamed } from '../../../src/lab/apiserver/resource.ts';
import { CONTROLLER_KINDS, type Kubernetes } from '../../../src/ports/kubernetes.ts';
import { type Cluster, cluster, podBody, until } from '../../lab/apiserver/client.ts';

const ns = { namespace: 'default' };
const { signal: never } = new AbortController();

type Lab = Cluster & { readonly kubernetes: Kubernetes };

async function lab(t: Test, options: Partial<KubernetesOptions> = {}): Promise<Lab> {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const made = await cluster(t, { kubeconfigPath });
  const source = { component: 'enactord', host: 'n1' };
  return { ...made, kubernetes: await connectKubernetes({ kubeconfigPath, ...source, ...options }) };
}

test('kubernetes: a pod is read as a value, and one that is not there is null', async (t) => {
  const { api, kubernetes } = await lab(t);
  const body = podBody('web-0', { nodeName: 'n1', labels: { app: 'web' } });
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'u0' },
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u1', controller: true },
  ];
  const metadata = { ...body.metadata, annotations: { 'k8s.aliyun.com/ingress-bandwidth': '1M' }, ownerReferences };
  const made = await api.createNamespacedPod({ ...ns, body: { ...body, metadata } });
  const status = { phase: 'Running', podIP: '10.0.0.5', podIPs: [{ ip: '10.0.0.5' }, { ip: 'fd00::5' }] };
  const isReady = (ready: string) => [
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', status: ready },
  ];
  const starting = { ...made, status: { ...status, conditions: isReady('False') } };
  const running = await api.replaceNamespacedPodStatus({ ...ns, name: 'web-0', body: starting });
  t.equal((await kubernetes.getPod('default', 'web-0', never))?.ready, undefined);
  const body2 = { ...running, status: { ...status, conditions: isReady('True') } };
  await api.replaceNamespacedPodStatus({ ...ns, name: 'web-0', body: body2 });
  const pod = await kubernetes.getPod('default', 'web-0', never);
  t.same(pod, {
    namespace: 'default',
    name: 'web-0',
    uid: made.metadata?.uid,
    nodeName: 'n1',
    phase: 'Running',
    hostNetwork: false,
    labels: { app: 'web' },
    annotations: { 'k8s.aliyun.com/ingress-bandwidth': '1M' },
    podIPs: ['10.0.0.5', 'fd00::5'],
    deletionMs: null,
    ownerKind: 'StatefulSet',
    ownerName: 'web',
    ready: true,
  });
  await api.deleteNamespacedPod({ ...ns, name: 'web-0', gracePeriodSeconds: 60 });
  const leaving = await kubernetes.getPod('default', 'web-0', never);
  t.ok(Math.abs((leaving?.deletionMs ?? 0) - Date.now() - 60_000) < 30_000);
  t.equal(await kubernetes.getPod('default', 'web-1', never), null);
});

test('kubernetes: the pods of one node are listed over many pages, or not at all', async (t) => {
  const { server, kubernetes } = await lab(t);
  const resource = resourceNamed('pods');
  if (resource === null) throw new Error('no pods');
  const spec = { containers: [{ name: 'm' }] };
  for (let index = 0; index < 1_101; index += 1) {
    const nodeName = index % 11 === 0 ? 'n2' : 'n1';
    server.lifecycle.create(resource, 'default', { metadata: { name: `p${index}` }, spec: { ...spec, nodeName } });
  }
  const found = await kubernetes.listNodePods('n1', never);
  t.equal(found.length, 1_000);
  t.ok(found.every((pod) => pod.nodeName === 'n1'));
  t.equal(new Set(found.map((pod) => pod.name)).size, 1_000);
  t.equal((await kubernetes.listNodePods('n3', never)).length, 0);
  server.admin.failNext({ count: 1, code: 503, match: { verb: 'list' } });
  await t.rejects(kubernetes.listNodePods('n1', never), {
    code: 'kubernetes',
    status: 503,
    detail: /GET \/api\/v1\/pods: HTTP 503/,
  });
});

test('kubernetes: the node is read with its addresses and prefixes', async (t) => {
  const { api, kubernetes } = await lab(t);
  const status = {
    addresses: [
      { type: 'InternalIP', address: '192.168.0.9' },
      { type: 'Hostname', address: 'n1' },
    ],
  };
  const spec = { podCIDR: '10.1.0.0/24', providerID: 'cn-hangzhou.i-1' };
  await api.createNode({ body: { metadata: { name: 'n1', labels: { 'terway-config': 'big' } }, spec, status } });
  t.match(await kubernetes.getNode('n1', never), {
    name: 'n1',
    labels: { 'terway-config': 'big' },
    podCidrs: ['10.1.0.0/24'],
    internalIps: ['192.168.0.9'],
    providerId: 'cn-hangzhou.i-1',
  });
  t.equal(await kubernetes.getNode('n2', never), null);
});

test('kubernetes: a controller whose status nobody has written yet has all its pods to come; of a kind that tells nothing nobody is asked', async (t) => {
  const { server, kubernetes } = await lab(t);
  const unready = (kind: string) => kubernetes.unready(kind, 'default', 'web', never);
  for (const [kind, spec, wanted] of [
    ['ReplicaSet', { replicas: 1_000 }, 1_000],
    ['StatefulSet', { replicas: 1_000 }, 1],
    ['DaemonSet', {}, 0],
    ['Job', { parallelism: 5 }, 0],
  ] as const) {
    server.lifecycle.create(known(`${kind.toLowerCase()}s`), 'default', { metadata: { name: 'web' }, spec });
    t.equal(await unready(kind), wanted, kind);
  }
  for (const { query } of server.admin.ledger) t.equal(query, 'resourceVersion=0', 'what is at hand will do');
  const before = server.admin.ledger.length;
  for (const kind of ['CloneSet', 'replicaset', 'constructor', '']) t.equal(await unready(kind), null, kind);
  t.equal(server.admin.ledger.length, before);
  server.admin.failNext({ count: 1, code: 403, match: { resource: 'replicasets' } });
  await t.rejects(unready('ReplicaSet'), { code: 'kubernetes', status: 403 });
});

test('kubernetes: the defaults of what a controller leaves out', (t) => {
  t.equal(controllers.get('ReplicaSet')?.unready({ spec: {} }), 1);
  t.equal(controllers.get('StatefulSet')?.unready({ spec: {}, status: null }), 1);
  t.equal(controllers.get('Job')?.unready({ status: { active: 4 } }), 4);
  t.throws(() => controllers.get('ReplicaSet')?.unready({ spec: { replicas: 'many' } }), {
    message: /not a replica set: spec.replicas/,
  });
  t.strictSame([...controllers.keys()].toSorted(), [...CONTROLLER_KINDS].toSorted());
  t.end();
});

test('kubernetes: calls end with the caller’s signal, with a timeout, and with what the server said', async (t) => {
  const { server, kubernetes } = await lab(t, { timeoutMs: 2_000 });
  server.admin.failNext({ count: 1, code: 403, message: 'no RBAC', match: { resource: 'nodes' } });
  await t.rejects(kubernetes.getNode('n1', never), {
    code: 'kubernetes',
    status: 403,
    reason: 'Forbidden',
    detail: /no RBAC/,
  });
  const undo = server.admin.delay(5_000);
  const aborting = new AbortController();
  const call = kubernetes.getPod('default', 'a', aborting.signal);
  await until(() => server.admin.ledger.length === 2);
  aborting.abort();
  await t.rejects(call, { name: 'AbortError' });
  await t.rejects(kubernetes.getPod('default', 'a', never), {
    code: 'kubernetes',
    status: 0,
    detail: /no answer within 2000 ms/,
  });
  undo();
  await server.close();
  await t.rejects(kubernetes.getPod('default', 'a', never), { code: 'kubernetes', detail: /ECONNREFUSED/ });
});

test('kubernetes: calls share connections', async (t) => {
  const { server, kubernetes } = await lab(t);
  let secured = 0;
  t.equal(server.admin.ledger.length, 0);
  server.onConnection(() => {
    secured += 1;
  });
  for (let index = 0; index < 5; index += 1) await kubernetes.getNode('n1', never);
  t.equal(secured, 1);
});

test('kubernetes: an event is found at its pod or node, and a repetition raises its count', async (t) => {
  let nowMs = Date.parse('2026-01-02T03:04:05Z');
  const { api, server, kubernetes } = await lab(t, { nowMs: () => nowMs });
  const pod = await api.createNamespacedPod({ ...ns, body: podBody('a') });
  const uid = pod.metadata?.uid ?? '';
  const event = {
    target: { kind: 'pod', namespace: 'default', name: 'a', uid },
    type: 'Warning',
    reason: 'AllocIPFailed',
    message: 'no address',
  } as const;
  await kubernetes.recordEvent(event, never);
  nowMs += 60_000;
  await kubernetes.recordEvent(event, never);
  const found = await api.listNamespacedEvent({ ...ns, fieldSelector: `involvedObject.uid=${uid}` });
  t.equal(found.items.length, 1);
  t.match(found.items[0], { reason: 'AllocIPFailed', message: 'no address', type: 'Warning', count: 2 });
  t.match(found.items[0]?.source, { component: 'enactord', host: 'n1' });
  t.equal(found.items[0]?.lastTimestamp?.toISOString(), '2026-01-02T03:05:05.000Z');
  await api.deleteNamespacedEvent({ ...ns, name: found.items[0]?.metadata.name ?? '' });
  await kubernetes.recordEvent(event, never);
  t.equal((await api.listNamespacedEvent(ns)).items[0]?.count, 1, 'one that the server forgot is made anew');
  nowMs += 11 * 60_000;
  await kubernetes.recordEvent(event, never);
  t.equal((await api.listNamespacedEvent(ns)).items.length, 2, 'much later it is an event of its own');

  const long = {
    target: { kind: 'node', name: 'n1', uid: null },
    type: 'Normal',
    reason: 'Sync',
    message: 'ü'.repeat(900),
  } as const;
  await kubernetes.recordEvent(long, never);
  const onNode = await api.listNamespacedEvent({
    ...ns,
    fieldSelector: 'involvedObject.kind=Node,involvedObject.uid=n1',
  });
  t.equal(onNode.items.length, 1);
  t.ok(Buffer.byteLength(onNode.items[0]?.message ?? '') <= 1_024);
  t.match(onNode.items[0]?.message, /^ü+…$/);
  server.admin.failNext({ count: 1, code: 500, match: { resource: 'events' } });
  await t.rejects(kubernetes.recordEvent(event, never), { code: 'kubernetes', status: 500 });
});

test('kubernetes: a configuration that is not there or names no server is refused with its path', async (t) => {
  const source = { component: 'enactord', host: 'n1' };
  const missing = connectKubernetes({ kubeconfigPath: '/nowhere/kubeconfig', ...source });
  await t.rejects(missing, { code: 'invalidArgument', detail: /\/nowhere\/kubeconfig.*ENOENT/ });
  const path = join(t.testdir({ empty: '{"clusters":[],"users":[],"contexts":[]}' }), 'empty');
  await t.rejects(connectKubernetes({ kubeconfigPath: path, ...source }), {
    code: 'invalidArgument',
    detail: /names no server/,
  });
  await t.rejects(connectKubernetes({ kubeconfigPath: null, ...source }), {
    code: 'invalidArgument',
    detail: /service account/,
  });
});
