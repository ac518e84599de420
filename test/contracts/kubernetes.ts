/** What port Kubernetes promises, run against the real adapter on the lab's API server and against its fake. */
import type { Test } from 'tap';
import type { Kubernetes, PodWatchEvent } from '../../src/ports/kubernetes.ts';

export type ControllerPods = { readonly wanted: number; readonly ready: number; readonly oneByOne?: boolean };

export type ClusterUnderTest = {
  readonly kubernetes: Kubernetes;
  readonly createPod: (name: string, nodeName: string) => Promise<void>;
  readonly deletePod: (name: string) => Promise<void>;
  readonly createNode: (name: string, podCidr: string, internalIp: string) => Promise<void>;
  readonly cordon: (name: string) => Promise<void>;
  /** In namespace default; null deletes it. */
  readonly putConfigMap: (name: string, data: Record<string, string> | null) => Promise<void>;
  /** In namespace default. `oneByOne`: what a StatefulSet does that is told nothing else; the others cannot. */
  readonly putController: (kind: string, name: string, pods: ControllerPods) => Promise<void>;
  /** Reason and count of each event there is. */
  readonly events: () => Promise<
    readonly { readonly reason: string; readonly message: string; readonly count: number }[]
  >;
};

const never = new AbortController().signal;

async function until(met: () => boolean): Promise<void> {
  const endMs = Date.now() + 30_000;
  while (!met()) {
    if (Date.now() > endMs) throw new Error(`never met: ${met}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const said = (event: PodWatchEvent): string =>
  event.type === 'synced' ? `synced ${event.pods.map((pod) => pod.name).join(' ')}` : `${event.type} ${event.pod.name}`;

export function kubernetesContract(t: Test, name: string, newCluster: (t: Test) => Promise<ClusterUnderTest>): void {
  t.test(`${name}: pods and nodes are read as values, and those that are not there are null`, async (t) => {
    const { kubernetes, createPod, createNode } = await newCluster(t);
    await createPod('a', 'n1');
    await createPod('b', 'n1');
    await createPod('elsewhere', 'n2');
    t.equal(await kubernetes.countNodes(never), 0);
    await createNode('n1', '10.1.0.0/24', '192.168.0.9');
    const { uid, ...pod } = (await kubernetes.getPod('default', 'a', never)) ?? { uid: '' };
    t.not(uid, '');
    t.strictSame(pod, {
      namespace: 'default',
      name: 'a',
      nodeName: 'n1',
      phase: 'Pending',
      hostNetwork: false,
      labels: {},
      annotations: {},
      podIPs: [],
      deletionMs: null,
      ownerKind: null,
    });
    t.equal(await kubernetes.getPod('default', 'nobody', never), null);
    t.equal(await kubernetes.getPod('other', 'a', never), null);
    t.strictSame((await kubernetes.listNodePods('n1', never)).map((one) => one.name).sort(), ['a', 'b']);
    t.strictSame(await kubernetes.listNodePods('n3', never), []);
    t.match(await kubernetes.getNode('n1', never), { podCidrs: ['10.1.0.0/24'], internalIps: ['192.168.0.9'] });
    t.equal(await kubernetes.getNode('n9', never), null);
    for (const more of ['n2', 'n3']) await createNode(more, '10.1.0.0/24', '192.168.0.8');
    t.equal(await kubernetes.countNodes(never), 3);
  });

  t.test(
    `${name}: a controller tells how many of its pods are not ready, and one that is not there is null`,
    async (t) => {
      const { kubernetes, putController } = await newCluster(t);
      const unready = (kind: string, name: string) => kubernetes.unready(kind, 'default', name, never);
      for (const kind of ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job']) {
        t.equal(await unready(kind, 'web'), null, `there is no ${kind} yet`);
        await putController(kind, 'web', { wanted: 1_000, ready: 20 });
        await putController(kind, 'all', { wanted: 3, ready: 3 });
        await putController(kind, 'fewer', { wanted: 1, ready: 3 });
        t.equal(await unready(kind, 'web'), 980, kind);
        t.equal(await unready(kind, 'all'), 0, kind);
        t.equal(await unready(kind, 'fewer'), 0, 'never fewer than none');
        t.equal(await unready(kind, 'other'), null);
        t.equal(await kubernetes.unready(kind, 'kube-system', 'web', never), null);
      }
      for (const [ready, rest] of [
        [20, 1],
        [1_000, 0],
      ] as const) {
        await putController('StatefulSet', `by-one-${ready}`, { wanted: 1_000, ready, oneByOne: true });
        t.equal(await unready('StatefulSet', `by-one-${ready}`), rest, 'the others wait for the one before');
      }
      t.equal(await unready('CloneSet', 'web'), null, 'a kind that tells nothing');
      await t.rejects(kubernetes.unready('Job', 'default', 'web', AbortSignal.abort()), { name: 'AbortError' });
    },
  );

  t.test(
    `${name}: a watch begins with all pods, tells each change in order, one at a time, and ends with its signal`,
    async (t) => {
      const { kubernetes, createPod, deletePod } = await newCluster(t);
      await createPod('a', 'n1');
      await createPod('elsewhere', 'n2');
      const seen: string[] = [];
      let inside = 0;
      const stopping = new AbortController();
      const watching = kubernetes.watchNodePods(
        'n1',
        async (event) => {
          inside += 1;
          t.equal(inside, 1, 'the one before has been taken');
          await new Promise((resolve) => setTimeout(resolve, 5));
          seen.push(said(event));
          inside -= 1;
        },
        stopping.signal,
      );
      await until(() => seen.length === 1);
      await createPod('b', 'n1');
      await createPod('c', 'n2');
      await deletePod('a');
      await until(() => seen.length === 3);
      t.strictSame(seen, ['synced a', 'changed b', 'gone a']);
      stopping.abort();
      await watching;
      await createPod('late', 'n1');
      await new Promise((resolve) => setTimeout(resolve, 20));
      t.equal(seen.length, 3, 'nothing is told after its end');
    },
  );

  t.test(
    `${name}: one node and one config map are followed: what is there, each change, and that there is none`,
    async (t) => {
      const { kubernetes, createNode, cordon, putConfigMap } = await newCluster(t);
      const stopping = new AbortController();
      const nodes: (boolean | null)[] = [];
      const maps: (string | null)[] = [];
      const watching = [
        kubernetes.watchNode('n1', (node) => void nodes.push(node?.unschedulable ?? null), stopping.signal),
        kubernetes.watchConfigMap('default', 'c', (data) => void maps.push(data?.eni_conf ?? null), stopping.signal),
      ];
      await until(() => nodes.length === 1 && maps.length === 1);
      await createNode('n2', '10.2.0.0/24', '192.168.0.8');
      await createNode('n1', '10.1.0.0/24', '192.168.0.9');
      await putConfigMap('other', { eni_conf: 'x' });
      await putConfigMap('c', { eni_conf: '{}' });
      await until(() => nodes.length === 2 && maps.length === 2);
      await cordon('n1');
      await putConfigMap('c', { eni_conf: '{"mtu":1400}' });
      await until(() => nodes.length === 3 && maps.length === 3);
      await putConfigMap('c', null);
      await until(() => maps.length === 4);
      t.strictSame(nodes, [null, false, true]);
      t.strictSame(maps, [null, '{}', '{"mtu":1400}', null]);
      stopping.abort();
      await Promise.all(watching);
    },
  );

  t.test(`${name}: a reader that throws does not end the watch`, async (t) => {
    const { kubernetes, createPod } = await newCluster(t);
    const seen: string[] = [];
    const stopping = new AbortController();
    const watching = kubernetes.watchNodePods(
      'n1',
      (event) => {
        seen.push(said(event));
        if (seen.length === 1) throw new Error('the reader stumbles');
      },
      stopping.signal,
    );
    await until(() => seen.length >= 1);
    await createPod('b', 'n1');
    await until(() => seen.some((line) => line.includes('b')));
    stopping.abort();
    await watching;
    t.ok(seen.at(-1)?.includes('b'));
  });

  t.test(`${name}: an event that repeats is counted, and a long message is cut at a character`, async (t) => {
    const { kubernetes, createNode, events } = await newCluster(t);
    await createNode('n1', '10.1.0.0/24', '192.168.0.9');
    const target = { kind: 'node', name: 'n1', uid: null } as const;
    const event = { target, type: 'Warning', reason: 'AllocIPFailed', message: 'no address' } as const;
    await kubernetes.recordEvent(event, never);
    await kubernetes.recordEvent(event, never);
    await kubernetes.recordEvent({ ...event, message: 'no address, request 7', times: 3 }, never);
    await kubernetes.recordEvent({ ...event, reason: 'Long', message: 'ü'.repeat(900) }, never);
    const found = await events();
    t.strictSame(found.map(({ reason, count }) => `${reason} ${count}`).sort(), ['AllocIPFailed 5', 'Long 1']);
    t.equal(
      found.find(({ reason }) => reason !== 'Long')?.message,
      'no address, request 7',
      'the newest message stands',
    );
    const long = found.find(({ reason }) => reason === 'Long')?.message ?? '';
    t.ok(Buffer.byteLength(long) <= 1_024);
    t.match(long, /^ü+…$/);
  });

  t.test(`${name}: an aborted call rejects with AbortError`, async (t) => {
    const { kubernetes } = await newCluster(t);
    await t.rejects(kubernetes.getPod('default', 'a', AbortSignal.abort()), { name: 'AbortError' });
    await t.rejects(kubernetes.listNodePods('n1', AbortSignal.abort()), { name: 'AbortError' });
    let told = 0;
    const count = (): void => {
      told += 1;
    };
    await kubernetes.watchNodePods('n1', count, AbortSignal.abort());
    t.equal(told, 0);
  });
}
