/** Who bears a pod's token may do what the applied roles and policies let it do, and nothing else. */
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { CoreV1Api, Exec, loadAllYaml, PatchStrategy, setHeaderOptions, type V1Status } from '@kubernetes/client-node';
import { test } from 'tap';
import type { JsonObject } from '../../../src/lab/apiserver/kube-object.ts';
import { known } from '../../../src/lab/apiserver/resource.ts';
import { cluster, configOf, podBody, refusal } from './client.ts';

const ns = { namespace: 'default' };
const DAEMON = { namespace: 'kube-system', name: 'enactor', pod: 'enactor-x', node: 'n1' };

async function withDaemon(t: Parameters<typeof cluster>[0], files: readonly string[]) {
  const { server, api } = await cluster(t);
  for (const file of files)
    for (const object of loadAllYaml(readFileSync(`deploy/base/${file}`, 'utf8')) as JsonObject[]) {
      const resource = known(`${object.kind}s`.toLowerCase().replace(/ys$/, 'ies'));
      server.lifecycle.create(resource, resource.namespaced ? 'kube-system' : null, object);
    }
  const as = (account: typeof DAEMON) => {
    const config = JSON.parse(JSON.stringify(server.kubeconfig));
    config.users[0].user = { token: server.issueToken(account) };
    return configOf(config).makeApiClient(CoreV1Api);
  };
  return { server, api, as };
}
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

test('api server: without roles a pod’s token may do nothing, with permissions.yaml what it says', async (t) => {
  const bare = await withDaemon(t, []);
  t.match(await refusal(bare.as(DAEMON).listPodForAllNamespaces()), {
    code: 403,
    reason: 'Forbidden',
    message:
      'pods is forbidden: User "system:serviceaccount:kube-system:enactor" cannot list resource "pods" in API group "" at the cluster scope',
  });
  const { api, as } = await withDaemon(t, ['permissions.yaml']);
  const daemon = as(DAEMON);
  await api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  t.equal((await daemon.listPodForAllNamespaces()).items.length, 1);
  t.equal((await daemon.readNamespacedPod({ ...ns, name: 'a' })).metadata?.name, 'a');
  const annotations = { 'k8s.aliyun.com/pod-ips': '10.0.0.4' };
  await daemon.patchNamespacedPod({ ...ns, name: 'a', body: { metadata: { annotations } } }, merge);
  t.equal((await daemon.listNamespacedConfigMap({ namespace: 'kube-system' })).items.length, 0, 'of its own namespace');
  for (const [what, call] of [
    ['delete', () => daemon.deleteNamespacedPod({ ...ns, name: 'a' })],
    [
      'status',
      () => daemon.patchNamespacedPodStatus({ ...ns, name: 'a', body: { status: { phase: 'Failed' } } }, merge),
    ],
    ['another namespace', () => daemon.listNamespacedConfigMap(ns)],
    ['a verb of the same kind', () => daemon.readNamespacedConfigMap({ namespace: 'kube-system', name: 'eni-config' })],
    ['namespaces', () => daemon.listNamespace()],
    ['another account', () => as({ ...DAEMON, name: 'web' }).listPodForAllNamespaces()],
  ] as const)
    t.match(await refusal(call()), { code: 403, reason: 'Forbidden' }, what);
});

test('api server: own-node-only.yaml is evaluated: a node’s token writes to its own pods alone', async (t) => {
  const { server, api, as } = await withDaemon(t, ['permissions.yaml', 'own-node-only.yaml']);
  await api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  const annotate = (by: CoreV1Api, key: string) =>
    by.patchNamespacedPod({ ...ns, name: 'a', body: { metadata: { annotations: { [key]: '10.0.0.4' } } } }, merge);
  await annotate(as(DAEMON), 'k8s.aliyun.com/pod-ips');
  t.match(await refusal(annotate(as({ ...DAEMON, node: 'n2' }), 'k8s.aliyun.com/pod-ips')), {
    code: 422,
    message: /enactor-own-node-only.* denied request: the pod is of another node/,
  });
  t.match(await refusal(annotate(as(DAEMON), 'theirs')), { message: /only the annotation/ });
  t.match(server.admin.denied, [/of another node/, /only the annotation/], 'both are kept for whoever looks');
  await annotate(api, 'theirs');
  t.pass('the administrator is none of its business');
  const binding = known('validatingadmissionpolicybindings');
  const bound = server.store.get(binding, null, 'enactor-own-node-only');
  if (bound !== null)
    server.lifecycle.delete(binding, bound, { gracePeriodSeconds: null, uid: null, resourceVersion: null });
  await annotate(as(DAEMON), 'mine');
  t.pass('a policy that is not bound refuses nothing');
});

test('api server: a command runs in a pod and its log is told, by the kubelet of its node', async (t) => {
  const { server, api } = await cluster(t);
  await api.createNamespacedPod({ ...ns, body: podBody('a', { nodeName: 'n1' }) });
  t.match(await refusal(api.readNamespacedPodLog({ ...ns, name: 'a' })), { code: 500, message: /no kubelet answers/ });
  server.registerKubelet('n1', {
    log: async (pod, container) => `${pod.metadata.name}/${container} said so\n`,
    exec: async (_, container, [program, ...words]) => ({
      stdout: `${container}: ${words.join(' ')}\n`,
      stderr: 'and so\n',
      exitCode: program === 'false' ? 3 : 0,
    }),
  });
  t.equal(await api.readNamespacedPodLog({ ...ns, name: 'a' }), 'a/main said so\n');
  const exec = new Exec(configOf(server.kubeconfig));
  const run = async (...command: string[]) => {
    const [out, err] = [new PassThrough(), new PassThrough()];
    const status = await new Promise<V1Status>((resolve, reject) => {
      exec.exec('default', 'a', 'main', command, out, err, null, false, resolve).catch(reject);
    });
    return { status, out: `${out.read()}`, err: `${err.read()}` };
  };
  t.match(await run('echo', 'a b'), { status: { status: 'Success' }, out: 'main: a b\n', err: 'and so\n' });
  const causes = [{ reason: 'ExitCode', message: '3' }];
  t.match(await run('false'), { status: { status: 'Failure', reason: 'NonZeroExitCode', details: { causes } } });
});
