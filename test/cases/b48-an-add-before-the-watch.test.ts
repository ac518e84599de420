/**
 * B48: an ADD arrived before the watch had told of its pod, and the daemon failed it, took a pod of the same name that was another one, or fell over
 * one without annotations.
 *
 * The daemon's service with the real Kubernetes client against the lab's API server, whose watches come 10 s late; only the allocator is a fake
 * that grants everything and remembers what it was asked for.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { connectKubernetes } from '../../src/adapters/kubernetes/kubernetes-api.ts';
import { memoryStore } from '../../src/adapters/level/memory-store.ts';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import type { AllocIPRequest } from '../../src/core/wire.ts';
import { backendOver } from '../../src/daemon/backend.ts';
import { PodCopies } from '../../src/daemon/pod-copies.ts';
import { parsePodArgs } from '../../src/plugin/pod-args.ts';
import { allThere, FakeAllocator } from '../daemon/fakes.ts';
import { type Cluster, cluster, until } from '../lab/apiserver/client.ts';
import { sped } from './speed.ts';

const NODE = 'n1';
const { signal: never } = new AbortController();
const call = { signal: never, untilMs: Number.MAX_SAFE_INTEGER };

type Given = {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly annotations?: object;
  readonly labels?: object;
};

async function scene(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'enactor-b48-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfigPath = join(directory, 'kubeconfig');
  const made: Cluster = await cluster(t, { kubeconfigPath });
  const pace = { firstPauseMs: 1, maxPauseMs: 50 };
  const kubernetes = await connectKubernetes({
    kubeconfigPath,
    component: 'enactord',
    host: NODE,
    timeoutMs: 60_000,
    pace,
  });
  const allocator = new FakeAllocator();
  const store = memoryStore();
  const clock = { nowMs: Date.now };
  const copies = new PodCopies({ store, kubernetes, nodeName: NODE, clock, log: silentLog });
  const stopping = new AbortController();
  const following = copies.follow(stopping.signal);
  t.teardown(() => {
    stopping.abort();
    return following;
  });
  const reservations = { reserveMs: 60_000, statefulKinds: [] };
  const sandboxes = allThere;
  const backend = backendOver({
    allocator,
    kubernetes,
    sandboxes,
    copies,
    nodeName: NODE,
    serviceCidr: null,
    reservations,
  });
  /** Its uid. */
  const create = async (name: string, { nodeName = NODE, hostNetwork = false, annotations, labels }: Given = {}) => {
    const metadata = { name, ...(annotations && { annotations }), ...(labels && { labels }) } as object;
    const spec = { nodeName, hostNetwork, containers: [{ name: 'main', image: 'busybox' }] };
    const pod = await made.api.createNamespacedPod({ namespace: 'default', body: { metadata, spec } });
    return pod.metadata?.uid ?? '';
  };
  const add = (name: string, more: Partial<AllocIPRequest> = {}) => {
    const request = {
      K8sPodName: name,
      K8sPodNamespace: 'default',
      K8sPodInfraContainerId: `s-${name}`,
      Netns: '/n',
      IfName: 'eth0',
    };
    return backend.AllocIP({ ...request, ...more }, call);
  };
  return { ...made, allocator, copies, create, add };
}

t.test('B48: whatever the watch knows, the pod that is meant decides', async (t) => {
  const { api, server, allocator, copies, create, add } = await scene(t);
  const last = () => allocator.allocated.at(-1);
  await until(() => server.admin.openWatches === 1);
  const kept = 'k8s.aliyun.com/pod-ip-reservation';

  // The watch has this one, and then falls behind.
  const oldUid = await create('job-x', { annotations: { [kept]: 'true' } });
  const job = (uid: string) => copies.there({ namespace: 'default', name: 'job-x', uid });
  await until(() => job(oldUid) !== null);
  const late = server.admin.delay(sped(600_000), { verb: 'watch' });
  server.admin.endWatches();
  await until(() => server.admin.openWatches === 0);

  const uid = await create('fresh');
  await add('fresh', { PodUid: uid });
  t.match(
    last(),
    { sandbox: { pod: { name: 'fresh', uid } }, reserveMs: 0 },
    'a direct question fills the gap; no maps are no fault',
  );

  await api.deleteNamespacedPod({ namespace: 'default', name: 'job-x', gracePeriodSeconds: 0 });
  const newUid = await create('job-x');
  t.not(job(oldUid), null, 'the watch still has the old one');
  await add('job-x', { PodUid: newUid });
  t.match(last(), { sandbox: { pod: { name: 'job-x', uid: newUid } }, reserveMs: 0 }, 'what the new one says holds');

  const booked = allocator.allocated.length;
  const refused = async (name: string, detail: RegExp, more: Partial<AllocIPRequest> = {}) =>
    t.rejects(add(name, { K8sPodInfraContainerId: `other-${name}`, ...more }), { code: 'podUnknown', detail }, name);
  await refused('job-x', /the sandbox was made for uid-of-nobody/, { PodUid: 'uid-of-nobody' });
  await create('host', { hostNetwork: true });
  await refused('host', /uses the host's network/);
  await create('ignored', { labels: { 'k8s.aliyun.com/ignore-by-terway': 'true' } });
  await refused('ignored', /is labelled/);
  await create('elsewhere', { nodeName: 'n2' });
  await refused('elsewhere', /is on node n2/);
  await refused('nobody', /does not exist/);
  t.equal(allocator.allocated.length, booked, 'and none of these has booked anything');

  await add('job-x', { K8sPodInfraContainerId: 's2' });
  t.match(last(), { sandbox: { pod: { name: 'job-x', uid: newUid } } }, 'without a uid the pod there is counts');
  await create('mirror', {
    annotations: { 'kubernetes.io/config.hash': 'hash-1', 'kubernetes.io/config.mirror': 'hash-1' },
  });
  await add('mirror', { PodUid: 'hash-1' });
  t.match(last(), { sandbox: { pod: { name: 'mirror' } } }, 'a static pod, by the uid that the kubelet gives it');
  for (const [missing, detail] of [
    [{ K8sPodName: '' }, /K8sPodName: is missing/],
    [{ K8sPodNamespace: '' }, /K8sPodNamespace: is missing/],
  ] as const)
    await t.rejects(add('fresh', { K8sPodInfraContainerId: 's3', ...missing }), { code: 'invalidArgument', detail });
  late();
  server.admin.cutWatches();
});

t.test('B48: CNI_ARGS that kubelet, or somebody, may send', async (t) => {
  const pod = 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=p';
  t.match(parsePodArgs(`IgnoreUnknown=1;SOME_KEY=x;${pod};K8S_POD_UID=u`), {
    namespace: 'default',
    name: 'p',
    uid: 'u',
  });
  t.match(parsePodArgs(pod), { uid: null });
  for (const [args, msg] of [
    [`SOME_KEY=x;${pod}`, /unknown keys without IgnoreUnknown=1: SOME_KEY/],
    [`${pod};`, /CNI_ARGS holds "", which is not KEY=VALUE/],
    ['K8S_POD_NAMESPACE=;K8S_POD_NAME=p', /lacks K8S_POD_NAMESPACE/],
    ['', /lacks K8S_POD_NAMESPACE, K8S_POD_NAME/],
  ] as const)
    t.throws(() => parsePodArgs(args), { code: 4, message: msg }, args);
});
