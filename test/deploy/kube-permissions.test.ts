/** What RBAC grants is what the daemon asks: each feature is driven against an API server, whose ledger has the verbs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import t, { type Test } from 'tap';
import { connectKubernetes } from '../../src/adapters/kubernetes/kubernetes-api.ts';
import { kubePermissions } from '../../src/core/kube-permissions.ts';
import { Crowd } from '../../src/daemon/crowd.ts';
import { NodePods } from '../../src/daemon/node-pods.ts';
import type { JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import { groupOf, known } from '../../src/lab/apiserver/resource.ts';
import { CONTROLLER_KINDS } from '../../src/ports/kubernetes.ts';
import { cluster, podBody, until } from '../lab/apiserver/client.ts';

type Role = {
  readonly kind: string;
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
};
const objects = loadAllYaml(readFileSync('deploy/base/permissions.yaml', 'utf8')) as readonly Role[];
const all = Object.values(kubePermissions).flat();
type Asked = { readonly verb: string; readonly group: string; readonly resource: string };
const words = ({ verb, group, resource }: Asked) => `${verb} ${[resource, group].filter(Boolean).join('.')}`;
const granted = (kind: string) =>
  objects
    .filter((one) => one.kind === kind)
    .flatMap(({ rules = [] }) => rules)
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => words({ verb, group, resource }))),
      ),
    );

t.test('permissions: RBAC grants each verb that a feature needs, once, and nothing else', async (t) => {
  const namespaced = (resource: string) => resource === 'configmaps';
  t.strictSame(
    granted('ClusterRole').toSorted(),
    all
      .filter(({ resource }) => !namespaced(resource))
      .map(words)
      .toSorted(),
  );
  t.strictSame(
    granted('Role').toSorted(),
    all
      .filter(({ resource }) => namespaced(resource))
      .map(words)
      .toSorted(),
  );
  for (const { rules = [] } of objects) for (const { apiGroups } of rules) t.equal(apiGroups.length, 1);
});

type Connected = Awaited<ReturnType<typeof connectKubernetes>>;
const { signal: never } = new AbortController();
const pod = { namespace: 'default', name: 'web-1', uid: 'u1' };
const condition = {
  type: 'SufficientIP',
  status: 'True',
  reason: 'SufficientIP',
  message: '',
  transitionMs: 0,
} as const;
const taint = { key: 'enactor/full', effect: 'NoSchedule' } as const;
const event: Parameters<Connected['recordEvent']>[0] = {
  target: { kind: 'pod', ...pod },
  type: 'Normal',
  reason: 'AllocIPSucceed',
  message: 'took 3 ms',
};

/** Feature to what drives it; the ledger has to show its verbs, and those alone. */
const drive: Readonly<Record<keyof typeof kubePermissions, (kube: Connected, end: AbortSignal) => Promise<unknown>>> = {
  podLookup: (kube) => kube.getPod('default', 'web-1', never),
  nodePods: async (kube, end) => void kube.watchNodePods('n1', () => {}, end).catch(() => {}),
  podAnnotation: async (kube) => {
    const uid = (await kube.getPod('default', 'web-1', never))?.uid ?? '';
    await kube.writes.annotatePod({ ...pod, uid }, { 'k8s.aliyun.com/pod-ips': '10.0.0.4' }, never);
  },
  nodeLookup: (kube) => kube.getNode('n1', never),
  nodeWatch: async (kube, end) => {
    void kube.watchNode('n1', () => {}, end).catch(() => {});
    await kube.countNodes(never);
  },
  nodeWrites: async (kube) => {
    await kube.writes.annotateNode('n1', { 'k8s.aliyun.com/max-available-ip': '12' }, never);
    await kube.writes.setTaint('n1', taint, true, never);
  },
  nodeStatus: async (kube) => {
    await kube.writes.setCondition('n1', condition, 0, never);
    await kube.writes.setCapacity('n1', 'example.com/address', 12, never);
  },
  events: async (kube) => {
    await kube.recordEvent(event, never);
    await kube.recordEvent(event, never);
  },
  crowd: async (kube) => {
    for (const kind of CONTROLLER_KINDS) await kube.unready(kind, 'default', 'web', never);
  },
  overlay: async (kube, end) => void kube.watchConfigMap('kube-system', 'overlay', () => {}, end).catch(() => {}),
};
/** What is read on the way to a write has its own feature. */
const BESIDE: Readonly<Partial<Record<keyof typeof kubePermissions, readonly string[]>>> = {
  podAnnotation: ['get pods'],
  nodeWrites: ['get nodes'],
};

for (const [feature, needs] of Object.entries(kubePermissions))
  t.test(`permissions: ${feature} asks for ${needs.map(words).join(', ')}, and nothing else`, async (t) => {
    const kubeconfigPath = join(t.testdir(), 'kubeconfig');
    const { api, server } = await cluster(t, { kubeconfigPath });
    await api.createNode({ body: { metadata: { name: 'n1' }, status: {} } });
    await api.createNamespacedPod({ namespace: 'default', body: podBody('web-1', { nodeName: 'n1' }) });
    const before = server.admin.ledger.length;
    const asked = () =>
      server.admin.ledger.slice(before).map(({ verb, resource, subresource }) =>
        words({
          ...{ verb, group: groupOf(known(resource)) },
          resource: [resource, subresource].filter(Boolean).join('/'),
        }),
      );
    const kube = await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1' });
    const end = new AbortController();
    t.teardown(() => end.abort());
    await drive[feature as keyof typeof drive](kube, end.signal);
    await until(() => needs.every((one) => asked().includes(words(one))));
    const beside = BESIDE[feature as keyof typeof BESIDE] ?? [];
    t.strictSame([...new Set(asked())].filter((one) => !beside.includes(one)).toSorted(), needs.map(words).toSorted());
  });

/** The nodes that need addresses as a daemon of node n1 counts them, whose token has these roles, while 300 pods of a ReplicaSet are to come and 3 are here. */
async function crowdBy(t: Test, roles: readonly Role[]) {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const { server } = await cluster(t);
  for (const object of roles) {
    const resource = known(`${object.kind.toLowerCase()}s`);
    server.lifecycle.create(resource, resource.namespaced ? 'kube-system' : null, object as unknown as JsonObject);
  }
  const config = JSON.parse(JSON.stringify(server.kubeconfig));
  config.users[0].user = {
    token: server.issueToken({ namespace: 'kube-system', name: 'enactor', pod: 'enactor-x', node: 'n1' }),
  };
  writeFileSync(kubeconfigPath, JSON.stringify(config));
  server.lifecycle.create(known('replicasets'), 'default', {
    metadata: { name: 'web', uid: 'r' },
    spec: { replicas: 300 },
  });
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true };
  for (const name of ['web-1', 'web-2', 'web-3']) {
    const { metadata, spec } = podBody(name, { nodeName: 'n1' });
    const body = { metadata: { ...metadata, ownerReferences: [owner] }, spec } as unknown as JsonObject;
    server.lifecycle.create(known('pods'), 'default', body);
  }
  const kubernetes = await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1' });
  const pods = new NodePods({ nowMs: Date.now });
  pods.take({ type: 'synced', pods: await kubernetes.listNodePods('n1', never) });
  const told: string[] = [];
  const say = (_: object, message: string) => void told.push(message);
  const log = { debug() {}, info() {}, warn: say, error: say };
  const crowd = await new Crowd({ kubernetes, pods, fleet: () => 1_000, log, answerMs: 30_000 }).count(never);
  return { crowd, told, denied: server.admin.denied };
}

t.test(
  'permissions: they suffice to tell how many nodes need addresses; with those of an earlier version nothing else fails',
  async (t) => {
    t.strictSame(await crowdBy(t, objects), { crowd: 100, told: [], denied: [] });
    const isOfCore = ({ apiGroups }: { readonly apiGroups: readonly string[] }) => apiGroups.includes('');
    const before = objects.map((one) =>
      one.rules === undefined ? one : { ...one, rules: one.rules.filter(isOfCore) },
    );
    const { crowd, told, denied } = await crowdBy(t, before);
    t.equal(crowd, null);
    t.equal(told.length, 1);
    t.match(denied, [/cannot get resource "replicasets" in API group "apps" in the namespace "default"/]);
  },
);
