/**
 * B65: after weeks of pods that come and go, actors that had ended were still their parents' children, caches kept deleted pods, and descriptors
 * and timers were never let go; a sandbox whose name came again met an actor that existed already.
 *
 * The actors of one node over the real SDK, 200 pod names that repeat, every tenth ADD failing in the store, every twentieth left by its
 * caller; then the watch of the pods, cut again and again while pods change. In CI a part of it, at life's speed (`npm run soak`) 20,000 pods
 * and 500 cuts. The whole daemon's heap and memory over 20,000 pods: `npm run bench -- memory`; processes that are left: B61 and `npm run soak`.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import type { AnyActorRef } from 'xstate';
import { connectKubernetes } from '../../src/adapters/kubernetes/kubernetes-api.ts';
import { NodePods } from '../../src/daemon/node-pods.ts';
import { LEASES } from '../../statecharts/receptionist.ts';
import { eventually, oneNode, sandbox } from '../actors/one-node.ts';
import { cluster, podBody, until } from '../lab/apiserver/client.ts';
import { SPEED } from './speed.ts';

t.setTimeout(1_800_000);
const LONG = SPEED === 1;
const NAMES = LONG ? 200 : 40;
const CYCLES = LONG ? 20_000 : 240;
/** From here on nothing may grow. */
const COUNTED_AFTER = LONG ? 2_000 : 80;
const AT_ONCE = 8;
const CUTS = LONG ? 500 : 20;
/** Of a heap that holds this test too. */
const HEAP_MORE_MIB = LONG ? 16 : 8;
/** Connections that are kept open, and timers of theirs. */
const FEW = 12;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const fds = (): number => readdirSync('/proc/self/fd').length;
const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

async function heapMiB(): Promise<number> {
  for (let nth = 0; nth < 3; nth += 1) {
    collect();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

t.test('b65: nothing is left of pods that have come and gone, failed or been given up', async (t) => {
  let leases: AnyActorRef | null = null;
  const lab = await oneNode({
    settings: { coolDownMs: 0, minIdle: 10, maxIdle: 30, leftoverGraceMs: 50, kernelPeriodMs: 200 },
    instanceType: 'ecs.g7.xlarge',
    inspect: ({ actorRef }) => {
      if ('id' in actorRef && actorRef.id === LEASES) leases = actorRef as AnyActorRef;
    },
  });
  t.teardown(() => lab.stop());
  await lab.serving();
  const told = { served: 0, failed: 0, left: 0 };
  const cycle = async (nth: number): Promise<void> => {
    const name = `pod-${nth % NAMES}`;
    const caller = new AbortController();
    if (nth % 10 === 0) lab.failWrites(1);
    const answer = lab.add(name, Date.now() + 20_000, caller.signal).then(
      () => 'served' as const,
      () => (caller.signal.aborted ? ('left' as const) : ('failed' as const)),
    );
    if (nth % 20 === 5) caller.abort();
    told[await answer] += 1;
    await lab.del(name).catch(() => lab.del(name)); // the store may have failed this one instead
  };
  let next = 0;
  const until = async (end: number): Promise<void> => {
    const worker = async (): Promise<void> => {
      for (let nth = next++; nth < end; nth = next++) await cycle(nth);
      next = end;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await eventually('all leases are gone', () => lab.report().leases.length === 0);
    await eventually('the pool is at rest', () => (lab.report().pool?.counts.cooling ?? 1) === 0);
  };
  const children = (): number => Object.keys(leases?.getSnapshot().children ?? { none: 0 }).length;
  const records = (): string =>
    ['leases', 'intents', 'reservations', 'leftovers'].map((name) => `${name} ${lab.disk.get(name)?.size ?? 0}`).join();
  const look = async () => ({
    ...{ heap: await heapMiB(), fds: fds(), timers: timers(), children: children() },
    ...{ records: records(), coolDowns: lab.disk.get('coolDowns')?.size ?? 0 },
  });

  await until(COUNTED_AFTER);
  const early = await look();
  await until(CYCLES);
  const left = (name: 'intents' | 'leftovers'): number => lab.disk.get(name)?.size ?? 0;
  await eventually('intents are closed, and the host is tidied', () => left('intents') + left('leftovers') === 0);
  const late = await look();
  t.comment(JSON.stringify({ early, late, told }));
  t.ok(told.served > CYCLES / 2 && told.failed > 0 && told.left > 0, 'of each kind there were some');
  t.equal(late.children, 0, 'no actor of a lease is its supervisor’s child any more');
  t.equal(late.records, 'leases 0,intents 0,reservations 0,leftovers 0', 'nothing of them is on disk');
  t.ok(late.coolDowns <= 45, `cool-downs are an address’s, not a pod’s: ${late.coolDowns}`);
  t.ok(late.fds <= early.fds + FEW, `descriptors: ${early.fds}, later ${late.fds}`);
  t.ok(late.timers <= early.timers + FEW, `timers: ${early.timers}, later ${late.timers}`);
  t.ok(late.heap <= early.heap + HEAP_MORE_MIB, `heap: ${early.heap.toFixed(1)} MiB, later ${late.heap.toFixed(1)}`);
  const again = await lab.add('pod-1');
  t.equal(again.sandbox.containerId, sandbox('pod-1').containerId, 'and a name that was there so often comes again');
});

t.test('b65: a watch that is cut again and again keeps no pod that is gone, and no connection', async (t) => {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const { api, server } = await cluster(t, { kubeconfigPath });
  const pace = { firstPauseMs: 1, maxPauseMs: 5, steadyMs: 1 };
  const kubernetes = await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1', pace });
  const pods = new NodePods({ nowMs: Date.now });
  const known = new Set<string>();
  const end = new AbortController();
  t.teardown(() => end.abort());
  const following = kubernetes.watchNodePods(
    'n1',
    (event) => {
      pods.take(event);
      if (event.type === 'synced') known.clear();
      for (const { name } of event.type === 'synced' ? event.pods : [event.pod]) {
        if (event.type === 'gone') known.delete(name);
        else known.add(name);
      }
    },
    end.signal,
  );
  let early = 0;
  for (let cut = 0; cut < CUTS; cut += 1) {
    const name = `pod-${cut % 5}`;
    await api.createNamespacedPod({ namespace: 'default', body: podBody(name, { nodeName: 'n1' }) });
    await until(() => known.has(name));
    server.admin.endWatches();
    await api.deleteNamespacedPod({ name, namespace: 'default', gracePeriodSeconds: 0 });
    await until(() => !known.has(name));
    if (cut === Math.floor(CUTS / 4)) early = fds();
  }
  t.equal(pods.census()?.wanting ?? 0, 0, 'no deleted pod is kept');
  t.ok(fds() <= early + FEW, `descriptors: ${early}, later ${fds()}`);
  end.abort();
  await following;
});
