import { readFile, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { test } from 'tap';
import { makeCertificates } from '../../../src/lab/apiserver/certificates.ts';
import { cluster, configOf, podBody, refusal, until } from './client.ts';

const ns = { namespace: 'default' };

test('api server: an object is created with uid, version, time and defaults, read back, listed and deleted', async (t) => {
  const { api } = await cluster(t, { now: () => Date.parse('2026-01-02T03:04:05Z') });
  const pod = await api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1', labels: { app: 'web' } }) });
  t.match(pod.metadata?.uid, /^[0-9a-f-]{36}$/);
  t.equal(pod.metadata?.creationTimestamp?.toISOString(), '2026-01-02T03:04:05.000Z');
  t.equal(pod.status?.phase, 'Pending');
  t.equal(pod.spec?.terminationGracePeriodSeconds, 30);
  const read = await api.readNamespacedPod({ ...ns, name: 'a' });
  t.same(read, pod);
  const list = await api.listNamespacedPod(ns);
  t.same(
    list.items.map((item) => item.metadata?.uid),
    [pod.metadata?.uid],
  );
  t.ok(Number(list.metadata?.resourceVersion) >= Number(pod.metadata?.resourceVersion));
  await api.deleteNamespacedPod({ ...ns, name: 'a', gracePeriodSeconds: 0 });
  t.match(await refusal(api.readNamespacedPod({ ...ns, name: 'a' })), { code: 404, reason: 'NotFound' });
});

test('api server: generateName makes distinct names; a name taken twice and a namespace that is not there are refused', async (t) => {
  const { api } = await cluster(t);
  const body = { metadata: { generateName: 'web-' }, spec: { containers: [{ name: 'm' }] } };
  const one = await api.createNamespacedPod({ ...ns, body });
  const two = await api.createNamespacedPod({ ...ns, body });
  t.match(one.metadata?.name, /^web-.{5}$/);
  t.not(one.metadata?.name, two.metadata?.name);
  await api.createNamespacedPod({ ...ns, body: podBody('a') });
  t.match(await refusal(api.createNamespacedPod({ ...ns, body: podBody('a') })), {
    code: 409,
    reason: 'AlreadyExists',
    message: 'pods "a" already exists',
  });
  const missing = api.createNamespacedPod({ namespace: 'nowhere', body: podBody('a') });
  t.match(await refusal(missing), { code: 404, message: 'namespaces "nowhere" not found' });
  await api.createNamespace({ body: { metadata: { name: 'nowhere' } } });
  await api.createNamespacedPod({ namespace: 'nowhere', body: podBody('a') });
  t.equal((await api.listPodForAllNamespaces({})).items.length, 4);
  await api.deleteNamespace({ name: 'nowhere' });
  t.equal((await api.listPodForAllNamespaces({})).items.length, 3, 'a namespace takes its pods with it');
});

test('api server: an update with an old version is a conflict, one that changes nothing takes no version', async (t) => {
  const { api } = await cluster(t);
  const made = await api.createNamespacedConfigMap({ ...ns, body: { metadata: { name: 'c' }, data: { k: '1' } } });
  const same = await api.replaceNamespacedConfigMap({ ...ns, name: 'c', body: made });
  t.equal(same.metadata?.resourceVersion, made.metadata?.resourceVersion);
  const next = await api.replaceNamespacedConfigMap({ ...ns, name: 'c', body: { ...made, data: { k: '2' } } });
  t.ok(Number(next.metadata?.resourceVersion) > Number(made.metadata?.resourceVersion));
  t.equal(next.metadata?.uid, made.metadata?.uid);
  const stale = await refusal(
    api.replaceNamespacedConfigMap({ ...ns, name: 'c', body: { ...made, data: { k: '3' } } }),
  );
  t.match(stale, { code: 409, reason: 'Conflict', message: /the object has been modified/ });
  t.same((await api.readNamespacedConfigMap({ ...ns, name: 'c' })).data, { k: '2' });
});

test('api server: what is no valid object is refused with 422 and the field', async (t) => {
  const { api } = await cluster(t);
  const bad = await refusal(api.createNamespacedPod({ ...ns, body: podBody('Not_A_Name') }));
  t.match(bad, {
    code: 422,
    reason: 'Invalid',
    message: /^Pod "Not_A_Name" is invalid: metadata\.name: Invalid value/,
  });
  const empty = await refusal(api.createNamespacedPod({ ...ns, body: { metadata: { name: 'a' } } }));
  t.match(empty, { code: 422, message: /spec\.containers: Required value/ });
  const pod = await api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  const moved = { ...pod, spec: { ...pod.spec, nodeName: 'n2', containers: [{ name: 'main', image: 'busybox' }] } };
  t.match(await refusal(api.replaceNamespacedPod({ ...ns, name: 'a', body: moved })), {
    code: 422,
    message: /spec: Forbidden: pod updates may not change fields/,
  });
});

test('api server: the status path changes status alone, the main path everything else', async (t) => {
  const { api } = await cluster(t);
  await api.createNode({ body: { metadata: { name: 'n1' }, status: { capacity: { pods: '10' } } } });
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const both = {
    metadata: { labels: { a: 'b' } },
    spec: { podCIDR: '10.0.0.0/24' },
    status: { capacity: { pods: '20' } },
  };
  const byStatus = await api.patchNodeStatus({ name: 'n1', body: both }, merge);
  t.same(byStatus.status?.capacity, { pods: '20' });
  t.equal(byStatus.spec?.podCIDR, undefined);
  const main = { ...both, status: { capacity: { pods: '30' } } };
  const byMain = await api.patchNode({ name: 'n1', body: main }, merge);
  t.same(byMain.status?.capacity, { pods: '20' });
  t.equal(byMain.spec?.podCIDR, '10.0.0.0/24');
  await api.createNamespacedPod({ ...ns, body: podBody('a') });
  const running = { status: { phase: 'Running', podIPs: [{ ip: '10.0.0.5' }] } };
  const pod = await api.patchNamespacedPodStatus({ ...ns, name: 'a', body: running }, merge);
  t.equal(pod.status?.phase, 'Running');
  t.equal(pod.spec?.containers[0]?.image, 'busybox');
});

test('api server: the three patch forms work, and others are refused with 415', async (t) => {
  const { api } = await cluster(t);
  const body = { metadata: { name: 'n1' }, spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
  await api.createNode({ body });
  const json = [
    { op: 'test', path: '/spec/taints/0/key', value: 'a' },
    { op: 'add', path: '/metadata/annotations', value: { x: '1' } },
  ];
  const viaJson = await api.patchNode(
    { name: 'n1', body: json },
    setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
  );
  t.same(viaJson.metadata?.annotations, { x: '1' });
  const failing = [{ op: 'test', path: '/spec/taints/0/key', value: 'z' }];
  const failed = api.patchNode(
    { name: 'n1', body: failing },
    setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
  );
  t.match(await refusal(failed), { code: 422, reason: 'Invalid' });
  const condition = { type: 'SufficientIP', status: 'True' };
  const strategic = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch);
  await api.patchNodeStatus({ name: 'n1', body: { status: { conditions: [condition] } } }, strategic);
  const ready = { type: 'Ready', status: 'True' };
  const node = await api.patchNodeStatus({ name: 'n1', body: { status: { conditions: [ready] } } }, strategic);
  t.same(
    node.status?.conditions?.map(({ type }) => type),
    ['SufficientIP', 'Ready'],
    'conditions are merged by type',
  );
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const gone = await api.patchNode({ name: 'n1', body: { metadata: { annotations: { x: null } } } }, merge);
  t.same(gone.metadata?.annotations, {});
  const old = { metadata: { resourceVersion: '1', labels: { a: 'b' } } };
  t.match(await refusal(api.patchNode({ name: 'n1', body: old }, merge)), { code: 409, reason: 'Conflict' });
  const apply = api.patchNode({ name: 'n1', body }, setHeaderOptions('Content-Type', 'application/apply-patch+yaml'));
  t.match(await refusal(apply), { code: 415, reason: 'UnsupportedMediaType' });
  t.match(await refusal(api.patchNode({ name: 'n2', body: {} }, merge)), { code: 404 });
});

test('api server: a pod on a node is marked first and goes when its grace is over; force goes at once', async (t) => {
  const { api, server } = await cluster(t);
  const kept = await cluster(t, { endGrace: false });
  for (const { api: each } of [{ api }, kept])
    await each.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  const marked = await api.deleteNamespacedPod({ ...ns, name: 'a', gracePeriodSeconds: 1 });
  t.match(marked, { metadata: { deletionGracePeriodSeconds: 1 } });
  t.ok((await api.readNamespacedPod({ ...ns, name: 'a' })).metadata?.deletionTimestamp instanceof Date);
  const { admin } = server;
  t.equal(admin.ledger.at(-1)?.verb, 'get');
  await until(
    () =>
      server.store.revision > Number((marked as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion),
  );
  t.match(await refusal(api.readNamespacedPod({ ...ns, name: 'a' })), { code: 404 });

  await kept.api.deleteNamespacedPod({ ...ns, name: 'a' });
  const waiting = await kept.api.readNamespacedPod({ ...ns, name: 'a' });
  t.equal(waiting.metadata?.deletionGracePeriodSeconds, 30);
  const other = { preconditions: { uid: 'not-this-one' } };
  t.match(await refusal(kept.api.deleteNamespacedPod({ ...ns, name: 'a', body: other })), {
    code: 409,
    reason: 'Conflict',
  });
  await kept.api.deleteNamespacedPod({ ...ns, name: 'a', gracePeriodSeconds: 0 });
  t.match(await refusal(kept.api.readNamespacedPod({ ...ns, name: 'a' })), { code: 404 });
});

test('api server: a finalizer holds a deleted object until it is taken away', async (t) => {
  const { api } = await cluster(t);
  const body = { metadata: { name: 'c', finalizers: ['enactor/hold'] } };
  await api.createNamespacedConfigMap({ ...ns, body });
  await api.deleteNamespacedConfigMap({ ...ns, name: 'c' });
  t.ok((await api.readNamespacedConfigMap({ ...ns, name: 'c' })).metadata?.deletionTimestamp);
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  await api.patchNamespacedConfigMap({ ...ns, name: 'c', body: { metadata: { finalizers: null } } }, merge);
  t.match(await refusal(api.readNamespacedConfigMap({ ...ns, name: 'c' })), { code: 404 });
});

test('api server: lists select by field and label, and refuse what cannot be selected on', async (t) => {
  const { api, server } = await cluster(t);
  await api.createNamespacedPod({
    ...ns,
    body: podBody('a', { nodeName: 'n1', labels: { app: 'web', tier: 'front' } }),
  });
  await api.createNamespacedPod({ ...ns, body: podBody('b', { nodeName: 'n2', labels: { app: 'web' } }) });
  await api.createNamespacedPod({ namespace: 'kube-system', body: podBody('c', { nodeName: 'n1' }) });
  const names = async (selectors: { fieldSelector?: string; labelSelector?: string }) =>
    (await api.listPodForAllNamespaces(selectors)).items.map((pod) => pod.metadata?.name);
  t.same(await names({ fieldSelector: 'spec.nodeName=n1' }), ['a', 'c']);
  t.same(await names({ fieldSelector: 'spec.nodeName==n1,metadata.namespace!=default' }), ['c']);
  t.same(await names({ fieldSelector: 'status.phase!=Pending' }), []);
  t.same(await names({ labelSelector: 'app=web,!tier' }), ['b']);
  t.same(await names({ labelSelector: 'app in (web, db),tier notin (back)' }), ['a', 'b']);
  t.same(await names({ labelSelector: 'app!=web' }), ['c']);
  t.match(await refusal(api.listPodForAllNamespaces({ fieldSelector: 'spec.color=red' })), {
    code: 400,
    message: 'field label not supported: spec.color',
  });
  t.match(await refusal(api.listPodForAllNamespaces({ labelSelector: 'a in web' })), { code: 400 });
  t.equal(server.admin.ledger.filter(({ verb }) => verb === 'list').length, 8);
});

test('api server: a list in pages shows one moment, and an old page answers 410', async (t) => {
  const { api, server } = await cluster(t);
  for (const name of ['a', 'b', 'c']) await api.createNamespacedPod({ ...ns, body: podBody(name) });
  const first = await api.listNamespacedPod({ ...ns, limit: 2 });
  t.equal(first.metadata?.remainingItemCount, 1);
  await api.createNamespacedPod({ ...ns, body: podBody('d') });
  const _continue = first.metadata?._continue ?? '';
  const second = await api.listNamespacedPod({ ...ns, limit: 2, _continue });
  t.same(
    [...first.items, ...second.items].map((pod) => pod.metadata?.name),
    ['a', 'b', 'c'],
  );
  t.equal(second.metadata?.resourceVersion, first.metadata?.resourceVersion);
  t.equal(second.metadata?._continue, undefined);
  server.admin.compact();
  t.match(await refusal(api.listNamespacedPod({ ...ns, limit: 2, _continue })), { code: 410, reason: 'Expired' });
});

test('api server: a token or a client certificate is asked for, by file as well', async (t) => {
  const path = join(t.testdir(), 'deep', 'kubeconfig');
  const { server } = await cluster(t, { kubeconfigPath: path });
  t.equal((await stat(path)).mode & 0o777, 0o600);
  for (const config of [server.certificateKubeconfig, JSON.parse(await readFile(path, 'utf8'))]) {
    const api = configOf(config).makeApiClient(CoreV1Api);
    t.equal((await api.listNamespace()).items.length, 4);
  }
  const wrong = configOf(JSON.parse(JSON.stringify(server.kubeconfig).replace(server.token, 'nonsense')));
  t.match(await refusal(wrong.makeApiClient(CoreV1Api).listNamespace()), { code: 401 });
  const { certificate, key } = await otherCertificate();
  const foreign = JSON.parse(JSON.stringify(server.certificateKubeconfig));
  foreign.users[0].user = { 'client-certificate-data': certificate, 'client-key-data': key };
  t.match(await refusal(configOf(foreign).makeApiClient(CoreV1Api).listNamespace()), { code: 401 });
  const stranger = JSON.parse(JSON.stringify(server.kubeconfig));
  stranger.clusters[0].cluster['certificate-authority-data'] = certificate;
  await t.rejects(configOf(stranger).makeApiClient(CoreV1Api).listNamespace(), /certificate|signature|self/);
});

test('api server: unknown paths, wrong methods, broken and foreign bodies get the Status a client expects', async (t) => {
  const { server } = await cluster(t);
  const call = async (method: string, path: string, body = '', headers: Record<string, string> = {}) => {
    const options = {
      method,
      ca: server.ca,
      agent: false,
      headers: { authorization: `Bearer ${server.token}`, ...headers },
    };
    const response = await new Promise<{ code: number; type: string; text: string }>((resolve, reject) => {
      const sent = request(`${server.url}${path}`, options, (message) => {
        let text = '';
        message.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        message.on('end', () =>
          resolve({ code: message.statusCode ?? 0, type: `${message.headers['content-type']}`, text }),
        );
      });
      sent.on('error', reject).end(body);
    });
    return { ...response, ...(response.type === 'application/json' ? JSON.parse(response.text) : {}) };
  };
  const pods = '/api/v1/namespaces/default/pods';
  t.match(await call('GET', '/apis/apps/v1/deployments'), { code: 404, kind: 'Status', reason: 'NotFound' });
  t.match(await call('GET', '/api/v1/secrets'), { code: 404, reason: 'NotFound' });
  t.match(await call('GET', '/api/v1/endpointslices'), { code: 404 }, 'a resource of another group');
  t.match(await call('GET', '/apis/discovery.k8s.io/v1/endpointslices'), { code: 200, kind: 'EndpointSliceList' });
  for (const [group, plural, kind] of [
    ['apps', 'replicasets', 'ReplicaSetList'],
    ['apps', 'statefulsets', 'StatefulSetList'],
    ['batch', 'jobs', 'JobList'],
  ])
    t.match(await call('GET', `/apis/${group}/v1/${plural}`), { code: 200, kind });
  t.match(await call('GET', '/apis/apps/v1/jobs'), { code: 404 });
  t.match(await call('PUT', pods), { code: 405, reason: 'MethodNotAllowed' });
  t.match(await call('POST', `${pods}/a/status`, '{}'), { code: 405 });
  t.match(await call('POST', pods, '{"kind"'), { code: 400, reason: 'BadRequest' });
  t.match(await call('POST', pods, '[]'), { code: 400, reason: 'BadRequest' });
  t.match(await call('POST', pods, '{"kind":"Node"}'), { code: 400, message: /cannot be handled as a Pod/ });
  t.match(await call('POST', pods, 'a: b', { 'content-type': 'application/yaml' }), { code: 415 });
  t.match(await call('POST', pods, `"${'x'.repeat(3 << 20)}"`), { code: 413, reason: 'RequestEntityTooLarge' });
  t.match(await call('GET', pods, '', { accept: 'application/vnd.kubernetes.protobuf' }), { code: 406 });
  t.match(await call('GET', pods, '', { authorization: '' }), { code: 401, reason: 'Unauthorized' });
  t.match(await call('GET', '/healthz', '', { authorization: '' }), { code: 200, text: 'ok' });
  t.match(await call('GET', '/api/v1'), { code: 200, kind: 'APIResourceList' });
  t.match(await call('GET', `${pods}?resourceVersion=99999`), { code: 504, reason: 'Timeout' });
});

test('api server: an unscheduled pod is bound to a node once', async (t) => {
  const { api } = await cluster(t);
  await api.createNamespacedPod({ ...ns, body: podBody('a') });
  const binding = { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n1' } };
  await api.createNamespacedPodBinding({ ...ns, name: 'a', body: binding });
  t.equal((await api.readNamespacedPod({ ...ns, name: 'a' })).spec?.nodeName, 'n1');
  t.match(await refusal(api.createNamespacedPodBinding({ ...ns, name: 'a', body: binding })), { code: 409 });
});

test('api server: planted faults answer n requests, and a torn connection may have done the work', async (t) => {
  const { api, server } = await cluster(t);
  server.admin.failNext({ count: 2, code: 503, match: { verb: 'list', resource: 'nodes' } });
  server.admin.failNext({ count: 1, code: 'resetAfter', match: { verb: 'create', resource: 'pods' } });
  t.match(await refusal(api.listNode()), { code: 503, reason: 'ServiceUnavailable' });
  t.equal((await api.listNamespacedPod(ns)).items.length, 0);
  t.match(await refusal(api.listNode()), { code: 503 });
  t.equal((await api.listNode()).items.length, 0);
  await t.rejects(api.createNamespacedPod({ ...ns, body: podBody('a') }), /socket hang up|ECONNRESET/);
  t.equal((await api.listNamespacedPod(ns)).items.length, 1);
});

test('api server: a caller may wrap the binding of the socket, and closing frees the port for the next server', async (t) => {
  let isInside = false;
  const within = (bind: () => void) => {
    isInside = true;
    bind();
    isInside = false;
  };
  const first = await cluster(t, { within, hosts: ['10.9.8.7'] });
  t.notOk(isInside);
  t.equal((await first.api.listNamespace()).items.length, 4);
  const port = Number(new URL(first.server.url).port);
  await first.server.close();
  await first.server.close();
  const second = await cluster(t, { listen: { port } });
  t.equal(second.server.url, first.server.url);
  await t.rejects(first.api.listNamespace(), 'its CA is another one');
});

/** Of another CA that names the same user; base64 as a kubeconfig has it. */
async function otherCertificate(): Promise<{ certificate: string; key: string }> {
  const { client } = await makeCertificates([], 'enactor-lab-admin', 'system:masters');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return { certificate: base64(client.certificate), key: base64(client.key) };
}
