/** How many nodes need addresses at once: what a node's waiting pods' controllers tell of the cluster, and that nobody waits for it long. */
import t from 'tap';
import { KubernetesError } from '../../src/adapters/kubernetes/kubernetes-error.ts';
import { IGNORE_LABEL } from '../../src/core/pod-copy.ts';
import { Crowd } from '../../src/daemon/crowd.ts';
import { NodePods } from '../../src/daemon/node-pods.ts';
import type { Kubernetes, Pod } from '../../src/ports/kubernetes.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { podP } from './fakes.ts';

const { signal: never } = new AbortController();
const FLEET = 1_000;
// A time limit alone keeps no process.
const alive = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(alive));

const of = (kind: string, name: string, more: Partial<Pod> = {}): Pod => ({
  ...podP,
  ownerKind: kind,
  ownerName: name,
  ...more,
});
const served: Partial<Pod> = { podIPs: ['10.0.0.5'], phase: 'Running' };

/** Each pod gets a name of its own. */
function rig(pods: readonly Pod[], fleet = FLEET) {
  const here = new NodePods({ nowMs: () => 0 });
  here.take({ type: 'synced', pods: pods.map((pod, index) => ({ ...pod, name: `p${index}` })) });
  const server = new FakeKubernetes();
  const asked: string[] = [];
  const said: string[] = [];
  const log = {
    ...{ debug() {}, info() {}, error() {} },
    warn: (_: object, message: string) => void said.push(message),
  };
  let unready: Kubernetes['unready'] = server.unready.bind(server);
  const kubernetes: Pick<Kubernetes, 'unready'> = {
    unready: (kind, namespace, name, signal) => {
      asked.push(`${kind} ${namespace}/${name}`);
      return unready(kind, namespace, name, signal);
    },
  };
  const crowd = new Crowd({ kubernetes, pods: here, fleet: () => fleet, log, answerMs: 50 });
  const answer = (by: Kubernetes['unready']): void => {
    unready = by;
  };
  return { here, server, asked, said, crowd, answer, count: () => crowd.count(never) };
}
const times = (count: number, pod: Pod): Pod[] => Array.from({ length: count }, () => pod);

t.test('crowd: the pods of the cluster for each one that is here', async (t) => {
  const { server, count, asked } = rig([...times(10, of('ReplicaSet', 'web')), ...times(2, of('Job', 'batch'))]);
  server.putController('ReplicaSet', 'default', 'web', { wanted: 5_200, ready: 200 });
  server.putController('Job', 'default', 'batch', { wanted: 40, ready: 0 });
  t.equal(await count(), 5_040 / 12);
  t.strictSame(asked, ['ReplicaSet default/web', 'Job default/batch']);
});

t.test('crowd: pods of the same name of owner, of another kind or namespace, are others', async (t) => {
  const elsewhere = of('ReplicaSet', 'web', { namespace: 'other' });
  const { server, count } = rig([of('ReplicaSet', 'web'), of('StatefulSet', 'web'), elsewhere]);
  server.putController('ReplicaSet', 'default', 'web', { wanted: 7, ready: 0 });
  server.putController('ReplicaSet', 'other', 'web', { wanted: 13, ready: 0 });
  server.putController('StatefulSet', 'default', 'web', { wanted: 90, ready: 0, oneByOne: true });
  t.equal(await count(), (7 + 13 + 1) / 3);
});

t.test('crowd: where nothing waits nobody is asked', async (t) => {
  const web = (more: Partial<Pod>) => of('ReplicaSet', 'web', more);
  const { server, count, asked, here } = rig([
    web(served),
    web({ hostNetwork: true }),
    web({ phase: 'Succeeded' }),
    web({ phase: 'Failed' }),
    web({ deletionMs: 5 }),
    web({ labels: { [IGNORE_LABEL]: 'true' } }),
  ]);
  server.putController('ReplicaSet', 'default', 'web', { wanted: 500, ready: 0 });
  t.equal(await count(), null);
  t.strictSame(asked, []);
  const late = web({ name: 'late' });
  here.take({ type: 'changed', pod: late });
  t.equal(await count(), 250, 'of two that are not ready here one waits');
  here.take({ type: 'gone', pod: late });
  t.equal(await count(), null);
  t.equal(asked.length, 1);
  t.equal(await new Crowd({ ...rigged(new NodePods({ nowMs: () => 0 })) }).count(never), null, 'before the watch');
});

const rigged = (pods: NodePods) => ({
  kubernetes: new FakeKubernetes(),
  pods,
  fleet: () => FLEET,
  log: { debug() {}, info() {}, warn() {}, error() {} },
});

t.test(
  'crowd: pods that are not ready count on both sides, also when they have their address; ready ones on none',
  async (t) => {
    const { server, count } = rig([
      ...times(2, of('ReplicaSet', 'web')),
      ...times(6, of('ReplicaSet', 'web', served)),
      ...times(50, of('ReplicaSet', 'web', { ...served, ready: true })),
    ]);
    server.putController('ReplicaSet', 'default', 'web', { wanted: 6_000, ready: 5_200 });
    t.equal(await count(), 100);
  },
);

t.test('crowd: pods of nobody, and of controllers of which nothing is told, are all there are of them', async (t) => {
  const { server, count, asked, here } = rig([
    ...times(4, podP),
    ...times(3, of('CloneSet', 'clones')),
    ...times(20, of('CloneSet', 'clones', served)),
    ...times(2, of('ReplicaSet', 'gone')),
    of('ReplicaSet', 'web'),
  ]);
  t.equal(await count(), null, 'of no owner anything is known');
  server.putController('ReplicaSet', 'default', 'web', { wanted: 991, ready: 0 });
  t.equal(await count(), 100);
  t.strictSame(asked.slice(2), ['ReplicaSet default/gone', 'ReplicaSet default/web']);
  here.take({ type: 'synced', pods: times(4, podP) });
  t.equal(await count(), null);
});

t.test('crowd: of many owners the three with most pods are asked, at once', async (t) => {
  const sets = [1, 4, 3, 2].flatMap((pods) => times(pods, of('ReplicaSet', `of-${pods}`)));
  const { server, count, asked, answer } = rig(sets);
  for (const pods of [1, 2, 3, 4])
    server.putController('ReplicaSet', 'default', `of-${pods}`, { wanted: 100, ready: 0 });
  let inside = 0;
  let most = 0;
  answer(async (...args) => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside -= 1;
    return await server.unready(...args);
  });
  t.equal(await count(), 300 / 9, 'the fourth counts on no side');
  t.strictSame(asked, ['ReplicaSet default/of-4', 'ReplicaSet default/of-3', 'ReplicaSet default/of-2']);
  t.equal(most, 3);
});

t.test('crowd: it is no larger than the fleet, and no smaller than this node', async (t) => {
  const many = rig([of('ReplicaSet', 'web')], 300);
  many.server.putController('ReplicaSet', 'default', 'web', { wanted: 5_000, ready: 0 });
  t.equal(await many.count(), 300);
  const behind = rig([...times(5, of('ReplicaSet', 'web')), of('ReplicaSet', 'other')]);
  behind.server.putController('ReplicaSet', 'default', 'web', { wanted: 3, ready: 3 });
  behind.server.putController('ReplicaSet', 'default', 'other', { wanted: 7, ready: 0 });
  t.equal(await behind.count(), 2, 'a controller that has not seen what happens here hides no other');
  const unknown = rig([of('ReplicaSet', 'web')], 0);
  unknown.server.putController('ReplicaSet', 'default', 'web', { wanted: 9, ready: 0 });
  t.equal(await unknown.count(), 1);
});

t.test(
  'crowd: an API server that refuses or does not answer is nothing known; a role of before is told once',
  async (t) => {
    const { server, count, answer, said } = rig([...times(3, of('ReplicaSet', 'web')), of('Job', 'batch')]);
    server.putController('Job', 'default', 'batch', { wanted: 20, ready: 3 });
    answer(() => Promise.reject(new KubernetesError('GET: HTTP 500', 500, 'InternalError')));
    t.equal(await count(), null);
    t.strictSame(said, []);
    answer(() => Promise.reject(new KubernetesError('GET: HTTP 403 Forbidden', 403, 'Forbidden')));
    t.equal(await count(), null);
    t.equal(await count(), null);
    t.equal(said.length, 1);
    t.match(said[0], /deploy\/base\/permissions\.yaml/);
    answer(() => {
      throw new Error('at once');
    });
    t.equal(await count(), null);
    answer(() => new Promise(() => {}));
    t.equal(await count(), null, 'it hears of no signal');
    answer((kind, ...rest) => (kind === 'Job' ? server.unready(kind, ...rest) : new Promise(() => {})));
    t.equal(await count(), 5, 'who has answered is heard');
  },
);

t.test('crowd: a second is enough, and the caller may give up before', async (t) => {
  const { here } = rig([of('ReplicaSet', 'web')]);
  const signals: AbortSignal[] = [];
  const unready: Kubernetes['unready'] = (...args) => {
    signals.push(args[3]);
    return new Promise(() => {});
  };
  const crowd = new Crowd({ ...rigged(here), kubernetes: { unready } });
  const startMs = performance.now();
  t.equal(await crowd.count(never), null);
  const tookMs = performance.now() - startMs;
  t.ok(tookMs > 900 && tookMs < 20_000, `${tookMs} ms`);
  t.ok(signals[0]?.aborted, 'the call ends too');
  const giving = new AbortController();
  const counting = crowd.count(giving.signal);
  giving.abort();
  t.equal(await counting, null);
  t.ok(signals[1]?.aborted);
  t.equal(await crowd.count(AbortSignal.abort()), null);
});
