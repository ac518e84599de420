/**
 * B16, B17 (A to E): pods that a list lacks, that finished, that linger, and pods of a StatefulSet, over the real SDK and HTTP. Whether
 * a namespace is there is said by the fake of its port; what the real one looks at is tried in
 * test/adapters/datapath/host-sandboxes.test.ts.
 */
import t from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import type { Pod } from '../../src/ports/kubernetes.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { eventually, oneNode, sandbox } from '../actors/one-node.ts';
import { atLeast } from './speed.ts';

const PERIOD_MS = atLeast(150, 10_000);
const RESERVE_MS = atLeast(2_500, 300_000);
const never = new AbortController().signal;

const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  ...{ namespace: 'default', name, uid: `u-${name}`, nodeName: 'node-1', phase: 'Running', hostNetwork: false },
  ...{ labels: {}, annotations: {}, podIPs: [], deletionMs: null, ownerKind: null },
  ...more,
});

/** Lists that are short, or fail, as long as this says so. */
class Server extends FakeKubernetes {
  lists = 0;
  listed: ((pods: Pod[]) => Pod[]) | null = null;
  silent = false;

  override async listNodePods(nodeName: string, signal: AbortSignal): Promise<Pod[]> {
    this.lists += 1;
    const pods = await super.listNodePods(nodeName, signal);
    return this.listed?.(pods) ?? pods;
  }

  override async getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod | null> {
    if (this.silent) throw new EnactorError('kubernetes', 'no answer');
    return await super.getPod(namespace, name, signal);
  }
}

const settings = { gcPeriodMs: PERIOD_MS, gcGraceMs: PERIOD_MS, reserveMs: RESERVE_MS, coolDownMs: 50 };

t.test('B16: no list of pods, however wrong, costs a pod its address; nor does a server that is silent', async (t) => {
  const kubernetes = new Server();
  const lab = await oneNode({ settings, kubernetes, instanceType: 'ecs.g7.xlarge' });
  t.teardown(lab.stop);
  await lab.serving();
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
  for (const name of names) kubernetes.putPod(pod(name));
  await Promise.all(names.map((name) => lab.add(name)));
  // The kernel would save them: it is to be the API server's word alone that counts.
  for (const name of names) lab.sandboxes.gone.add(`c-${name}`);
  const foreign = [pod('x', { nodeName: 'node-2' })];
  const fails = () => {
    throw new EnactorError('kubernetes', 'HTTP 500');
  };
  const wrong: ((pods: Pod[]) => Pod[])[] = [() => [], (pods) => pods.slice(3), fails, () => foreign];
  for (const listed of wrong) {
    kubernetes.listed = listed;
    const before = kubernetes.lists;
    await eventually('three passes with a wrong list', () => kubernetes.lists >= before + 3, 30_000);
    t.equal(lab.report().leases.length, 8);
  }
  kubernetes.silent = true;
  for (const name of names) kubernetes.deletePod('default', name);
  const before = kubernetes.lists;
  await eventually('three passes without an answer', () => kubernetes.lists >= before + 3, 30_000);
  t.equal(lab.report().leases.length, 8, 'whoever cannot be asked about stays');
  t.match(lab.report().gc?.kept[0]?.why, /did not tell: no answer/);
  kubernetes.silent = false;
  await eventually('all of them released', () => lab.report().leases.length === 0, 30_000);
  t.equal(lab.report().gc?.collected, 8);
});

t.test('B17: who is gone loses the address, who runs keeps it, and whoever comes back has it again', async (t) => {
  const kubernetes = new Server();
  const lab = await oneNode({ settings, kubernetes, instanceType: 'ecs.g7.xlarge' });
  t.teardown(lab.stop);
  await lab.serving();
  for (const name of ['a', 'b', 'c']) kubernetes.putPod(pod(name));
  const ip = Object.fromEntries(
    await Promise.all(['a', 'b', 'c'].map(async (name) => [name, (await lab.add(name)).grant.address.ipv4] as const)),
  );
  const addSet = (container: string, name: string) =>
    lab.node.allocator.allocate(
      {
        sandbox: { ...sandbox(container), pod: { namespace: 'default', name, uid: `u-${container}` } },
        untilMs: Date.now() + 10_000,
        reserveMs: RESERVE_MS,
      },
      never,
    );
  kubernetes.putPod(pod('d', { uid: 'u-d1' }));
  kubernetes.putPod(pod('e', { uid: 'u-e1' }));
  const [d, e] = await Promise.all([addSet('d1', 'd'), addSet('e1', 'e')]);
  const stateOf = (address: string) =>
    lab
      .report()
      .enis.flatMap((eni) => eni.addresses)
      .find((one) => one.ipv4 === address)?.state;
  kubernetes.putPod(pod('a', { phase: 'Succeeded' }));
  lab.sandboxes.gone.add('c-a');
  kubernetes.putPod(pod('b', { phase: 'Failed' }));
  kubernetes.putPod(pod('c', { deletionMs: Date.now() - 3_600_000 }));
  for (const name of ['d', 'e']) kubernetes.deletePod('default', name);
  const deletedMs = Date.now();
  for (const container of ['d1', 'e1']) await lab.del(container);
  t.equal(stateOf(d.grant.address.ipv4), 'reserved');
  await lab.restart();
  t.equal(stateOf(d.grant.address.ipv4), 'reserved', 'also after a restart');
  kubernetes.putPod(pod('e', { uid: 'u-e2' }));
  t.equal((await addSet('e2', 'e')).grant.address.ipv4, e.grant.address.ipv4, 'E has its address again');
  kubernetes.putPod(pod('e', { uid: 'u-e3' }));
  t.equal((await addSet('e3', 'e')).grant.address.ipv4, e.grant.address.ipv4, 'and a new sandbox takes it over');
  t.equal(await lab.del('e2'), null, 'the late DEL of the old one is success and changes nothing');
  t.equal(stateOf(e.grant.address.ipv4), 'bound');
  await eventually('A released', () => lab.node.allocator.lease('c-a', 'eth0') === null, 30_000);
  t.ok(lab.node.allocator.lease('c-b', 'eth0'), 'B runs');
  t.ok(lab.node.allocator.lease('c-c', 'eth0'), 'C runs');
  t.not(ip.b, ip.a);
  await eventually('D free', () => stateOf(d.grant.address.ipv4) !== 'reserved', RESERVE_MS + 10_000);
  t.ok(Date.now() - deletedMs >= RESERVE_MS, 'not before its time');
});
