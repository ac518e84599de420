/** Pods stay known: to ADDs without a round trip, while the API server is away, and for an hour after they are gone, over restarts too. */
import t from 'tap';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { copyOf, POD_COPY_MS, parsePodCopy } from '../../src/core/pod-copy.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import { backendOver } from '../../src/daemon/backend.ts';
import { GONE_MAX, PodCopies } from '../../src/daemon/pod-copies.ts';
import type { Pod } from '../../src/ports/kubernetes.ts';
import type { Store } from '../../src/ports/store.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { settle } from '../../src/simulation/virtual-clock.ts';
import { allThere, FakeAllocator, podP } from './fakes.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const podS: Pod = { ...podP, name: 's-0', uid: 'uid-s', ownerKind: 'StatefulSet' };
const refOf = ({ namespace, name, uid }: Pod, named: string | null = uid) => ({ namespace, name, uid: named });

async function rig(disk: MemoryDisk = new Map(), store: Store = memoryStore(disk)) {
  const server = new FakeKubernetes();
  const clock = { now: 1_000, nowMs: () => clock.now };
  const told: unknown[] = [];
  const log = {
    ...silent,
    info: (fields: object, message: string) => void (/forgotten/.test(message) && told.push(fields)),
  };
  const copies = new PodCopies({ store, kubernetes: server, nodeName: 'node-1', clock, log });
  const end = new AbortController();
  const following = copies.follow(end.signal);
  await settle();
  const asked: string[] = [];
  let away = false;
  const kubernetes = {
    ...podsOf(server),
    getPod: async (namespace: string, name: string, signal: AbortSignal) => {
      asked.push(name);
      if (away) throw new EnactorError('kubernetes', 'GET pods: ECONNREFUSED');
      return await server.getPod(namespace, name, signal);
    },
  };
  const allocator = new FakeAllocator();
  const parts = {
    allocator,
    kubernetes,
    sandboxes: allThere,
    copies,
    nodeName: 'node-1',
    serviceCidr: null,
    reservations: defaultSettings,
  };
  const backend = backendOver(parts);
  let sandboxes = 0;
  const add = ({ namespace, name, uid }: Pod, named = true) => {
    sandboxes += 1;
    const ofPod = { K8sPodNamespace: namespace, K8sPodName: name, ...(named ? { PodUid: uid } : {}) };
    const request = { ...ofPod, K8sPodInfraContainerId: `c${sandboxes}`, Netns: '/n', IfName: 'eth0' };
    return backend.AllocIP(request, { signal: new AbortController().signal, untilMs: 9 });
  };
  const stop = async (): Promise<void> => {
    end.abort();
    await following;
  };
  const cut = (): void => {
    away = true;
  };
  return { server, clock, copies, add, asked, allocator, stop, cut, disk, told };
}

const podsOf = (server: FakeKubernetes) => ({
  listNodePods: server.listNodePods.bind(server),
  watchNodePods: server.watchNodePods.bind(server),
  getNode: server.getNode.bind(server),
  countNodes: server.countNodes.bind(server),
  unready: server.unready.bind(server),
  watchNode: server.watchNode.bind(server),
  watchConfigMap: server.watchConfigMap.bind(server),
  recordEvent: server.recordEvent.bind(server),
});

t.test('pod copies: a pod that the watch has told of costs no question, if its uid is named', async (t) => {
  const { server, add, asked, cut, stop } = await rig();
  server.putPod(podP);
  await settle();
  await add(podP);
  t.strictSame(asked, []);
  await add(podP, false);
  t.strictSame(asked, ['p'], 'another one may have its name by now');
  await t.rejects(add({ ...podP, uid: 'uid-new' }), { code: 'podUnknown', detail: /has uid uid-p/ });
  t.equal(asked.length, 2);
  cut();
  await add(podP);
  await t.rejects(add(podS), { code: 'kubernetes' }, 'nobody can vouch for one that was never seen');
  server.putPod({ ...podP, labels: { 'k8s.aliyun.com/ignore-by-terway': 'true' } });
  await settle();
  await t.rejects(add(podP), { code: 'podUnknown', detail: /ignore-by-terway/ }, 'the same is asked of a copy');
  await stop();
});

t.test('pod copies: the address of a pod that is gone stays its for an hour, and others’ ends at once', async (t) => {
  const first = await rig();
  first.server.putPod(podP);
  first.server.putPod(podS);
  await settle();
  first.server.deletePod('default', 'p');
  first.server.deletePod('default', 's-0');
  await settle();
  await first.add(podS);
  t.match(first.allocator.allocated, [{ reserveMs: defaultSettings.reserveMs }]);
  await first.add(podS, false);
  await t.rejects(first.add({ ...podS, uid: 'uid-other' }), { code: 'podUnknown', detail: /does not exist/ });
  await t.rejects(first.add(podP), { code: 'podUnknown', detail: /does not exist/ });
  await first.stop();

  // The next life hears nothing of it from the API server.
  const next = await rig(first.disk);
  next.clock.now = 1_000 + POD_COPY_MS - 1;
  await next.copies.tidy();
  await next.add(podS);
  next.clock.now += 1;
  await t.rejects(next.add(podS), { code: 'podUnknown' }, 'an hour after it was found gone, not after the restart');
  await next.copies.tidy();
  t.strictSame([...(next.disk.get('pods')?.keys() ?? [])], []);
  await next.stop();
});

t.test('pod copies: whoever went while nobody looked is gone from the first list on', async (t) => {
  const first = await rig();
  first.server.putPod(podS);
  await settle();
  await first.stop();
  const next = await rig(first.disk);
  next.clock.now = 50_000;
  await settle();
  t.equal(next.copies.there(refOf(podS)), null);
  t.match(next.copies.gone(refOf(podS)), { uid: 'uid-s' });
  next.server.putPod({ ...podS, uid: 'uid-s2' });
  await settle();
  t.match(next.copies.there(refOf(podS, 'uid-s2')), { uid: 'uid-s2' });
  t.equal(next.copies.gone(refOf(podS)), null, 'its name is another one’s');
  await next.stop();
});

t.test(
  'pod copies: of those that went only so many are known, the last ones, and never fewer that are there',
  async (t) => {
    const first = await rig();
    first.server.putPod(podP);
    const nthOf = (nth: number): Pod => ({ ...podS, name: `s-${nth}`, uid: `uid-${nth}` });
    const known = () =>
      Array.from({ length: GONE_MAX + 3 }, (_, nth) => nth).filter(
        (nth) => first.copies.gone(refOf(nthOf(nth))) !== null,
      );
    for (let nth = 0; nth < GONE_MAX + 3; nth += 1) {
      first.clock.now += 1;
      first.server.putPod(nthOf(nth));
      await settle();
      first.server.deletePod('default', `s-${nth}`);
      await settle();
      if (nth === GONE_MAX - 1) t.equal(known()[0], 0, 'as many as there may be');
    }
    t.equal(known().length, GONE_MAX);
    t.equal(known()[0], 3, 'those gone longest went first');
    t.match(first.copies.there(refOf(podP)), { uid: 'uid-p' });
    t.equal(first.disk.get('pods')?.size, GONE_MAX + 1, 'nor does the disk know more');
    await first.copies.tidy();
    await first.copies.tidy();
    t.strictSame(first.told, [{ pods: 3 }], 'told once');
    await first.stop();
  },
);

t.test('pod copies: a store that cannot be used yet costs nothing but the memory of earlier lives', async (t) => {
  const disk: MemoryDisk = new Map();
  const inner = memoryStore(disk);
  const foreign = copyOf({ ...podP, name: 'x', nodeName: 'node-2' });
  await inner.write([
    { type: 'put', in: 'pods', key: 'default/s-0', value: { ...copyOf(podS), goneAtMs: 900 } },
    { type: 'put', in: 'pods', key: 'default/x', value: foreign },
    { type: 'put', in: 'pods', key: 'default/y', value: 'what is this' },
  ]);
  let failing = true;
  const fails = () => {
    if (failing) throw new EnactorError('store', 'no room');
  };
  const store: Store = {
    ...inner,
    read: async (name) => {
      fails();
      return await inner.read(name);
    },
    write: async (ops, options) => {
      fails();
      await inner.write(ops, options);
    },
  };
  const { server, copies, stop } = await rig(disk, store);
  server.putPod(podP);
  await settle();
  t.match(copies.there(refOf(podP)), { uid: 'uid-p' });
  t.equal(copies.gone(refOf(podS)), null);
  failing = false;
  await copies.tidy();
  t.match(copies.gone(refOf(podS)), { uid: 'uid-s' });
  t.strictSame(
    [...(disk.get('pods')?.keys() ?? [])].sort(),
    ['default/p', 'default/s-0'],
    'another node’s are none of ours',
  );
  await stop();
});

t.test('pod copies: what is kept is small, and what is no copy is not taken for one', (t) => {
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(9_000),
    'k8s.aliyun.com/pod-ip-reservation': 'true',
    'kubernetes.io/config.hash': 'h',
    'kubernetes.io/egress-bandwidth': '1M',
  };
  const copy = copyOf({ ...podP, annotations, labels: { app: 'a', 'k8s.aliyun.com/ignore-by-terway': 'true' } });
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations;
  t.strictSame(copy.pod.annotations, kept);
  t.strictSame(copy.pod.labels, { 'k8s.aliyun.com/ignore-by-terway': 'true' });
  t.notOk('podIPs' in copy.pod || 'phase' in copy.pod, 'what changes often is no reason to write');
  t.strictSame(parsePodCopy(JSON.parse(JSON.stringify(copy))), copy);
  for (const broken of [null, 3, {}, { ...copy, version: 9 }, { ...copy, pod: null }, { ...copy, goneAtMs: 'x' }])
    t.equal(parsePodCopy(broken), null);
  t.end();
});
