/**
 * B45: a watch whose connection dies silently delivers nothing for ever; one that ends at once is opened again thousands of times a second.
 *
 * The real client against the lab's API server, by a door that can swallow what is under way. (a) Swallowed after the first list: three
 * deletions and a changed ConfigMap are noticed within the bound that object-watch.ts tells. (b) Each watch closed at once, torn or in order;
 * (c) 410 as HTTP status and as an event: requests are counted over what is half a minute in life. (d) Nobody gets through for two minutes, then
 * all is whole, and the gap was told. Also after 401, 403 and 500, and with a service account's token that rotates.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { connectKubernetes } from '../../src/adapters/kubernetes/kubernetes-api.ts';
import { NodePods } from '../../src/daemon/node-pods.ts';
import type { JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import type { PodWatchEvent } from '../../src/ports/kubernetes.ts';
import { TcpDoor } from '../daemon/tcp-door.ts';
import { type Cluster, cluster, podBody, until } from '../lab/apiserver/client.ts';
import { pause, SPEED, sped } from './speed.ts';

t.setTimeout(300_000);

const ns = { namespace: 'default' };
/** In life: watches of 300 s, 30 s more until one is dead, pauses from 0.1 to 30 s. */
const MINUTE_MS = 60_000;
/** Lists and watches that half a minute of failures may cost: eight pauses by the back-off, each before a watch and perhaps a list. */
const HALF_A_MINUTE = 24;

type Watched = Cluster & {
  readonly door: TcpDoor;
  readonly names: () => readonly string[];
  readonly overlay: () => string | undefined;
  readonly pods: NodePods;
  readonly requests: () => number;
};

async function watched(t: Test, kubeconfigOf = (kubeconfig: JsonObject): JsonObject => kubeconfig): Promise<Watched> {
  const made = await cluster(t);
  const door = await TcpDoor.to(made.server.url);
  t.teardown(() => door.close());
  const directory = mkdtempSync(join(tmpdir(), 'enactor-b45-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfigPath = join(directory, 'kubeconfig');
  const text = JSON.stringify(kubeconfigOf(made.server.kubeconfig));
  writeFileSync(kubeconfigPath, text.replaceAll(new URL(made.server.url).host, `127.0.0.1:${door.port}`));
  const pace = {
    ...{ firstPauseMs: 100 / (MINUTE_MS / sped(MINUTE_MS)), maxPauseMs: sped(30_000), steadyMs: sped(10_000) },
    // A server counts whole seconds.
    ...{ watchSeconds: SPEED > 1 ? 1 : 300, silenceMarginMs: sped(30_000) },
  };
  const kubernetes = await connectKubernetes({
    kubeconfigPath,
    component: 'enactord',
    host: 'n1',
    timeoutMs: 1_000,
    pace,
  });
  const names = new Set<string>();
  const pods = new NodePods({ nowMs: Date.now });
  let config: string | undefined;
  const stopping = new AbortController();
  const take = (event: PodWatchEvent): void => {
    pods.take(event);
    if (event.type === 'synced') names.clear();
    for (const pod of event.type === 'synced' ? event.pods : [event.pod])
      if (event.type === 'gone') names.delete(pod.name);
      else names.add(pod.name);
  };
  for (const name of ['a', 'b', 'c', 'd'])
    await made.api.createNamespacedPod({ ...ns, body: podBody(name, { nodeName: 'n1' }) });
  await made.api.createNamespacedConfigMap({
    ...ns,
    body: { metadata: { name: 'overlay' }, data: { eni_conf: 'old' } },
  });
  const read = (data: Readonly<Record<string, string>> | null): void => {
    config = data?.eni_conf;
  };
  const running = [
    kubernetes.watchNodePods('n1', take, stopping.signal, (why) => pods.trouble(why)),
    kubernetes.watchConfigMap('default', 'overlay', read, stopping.signal),
  ];
  t.teardown(async () => {
    stopping.abort();
    await Promise.all(running);
  });
  await until(() => names.size === 4 && config === 'old' && made.server.admin.openWatches === 2);
  const asked = () => made.server.admin.ledger.filter(({ resource, verb }) => resource === 'pods' && verb !== 'create');
  return { ...made, door, pods, names: () => [...names].sort(), overlay: () => config, requests: () => asked().length };
}

const drop = (api: Cluster['api'], ...names: readonly string[]) =>
  Promise.all(names.map((name) => api.deleteNamespacedPod({ ...ns, name, gracePeriodSeconds: 0 })));

t.test('B45 (a): a connection that falls silent costs minutes, not for ever', async (t) => {
  const { api, door, names, overlay } = await watched(t);
  door.swallow();
  await drop(api, 'a', 'b', 'c');
  await api.replaceNamespacedConfigMap({
    ...ns,
    name: 'overlay',
    body: { metadata: { name: 'overlay' }, data: { eni_conf: 'new' } },
  });
  await pause(MINUTE_MS);
  t.equal(names().length, 4, 'nothing came through');
  const startMs = performance.now();
  await until(() => names().length === 1 && overlay() === 'new');
  t.ok(performance.now() - startMs < sped(400_000) + 20_000, 'noticed within the bound');
  t.strictSame(names(), ['d']);
});

t.test('B45 (b), (c): watches that end at once, in whatever way, are not asked for in a busy loop', async (t) => {
  const { api, server, names, requests } = await watched(t);
  const { admin } = server;
  const every = (work: () => void): (() => void) => {
    const timer = setInterval(work, 1);
    return () => clearInterval(timer);
  };
  const always = (code: number | 'reset') => (): (() => void) => {
    admin.failNext({ count: 1_000_000, code, match: { verb: 'watch' } });
    admin.cutWatches();
    return () => admin.clearFaults();
  };
  const ways: Readonly<Record<string, () => () => void>> = {
    'torn at once': always('reset'),
    'ended in order at once': () => every(() => void admin.endWatches()),
    '410 as the status': always(410),
    '410 as an event': () => every(() => void admin.expireWatches()),
    'refused with 401': always(401),
    'refused with 403': always(403),
    'refused with 500': always(500),
  };
  let nth = 0;
  for (const [how, begin] of Object.entries(ways)) {
    // A watch that has lived for a while was no failure: pauses begin anew.
    await pause(MINUTE_MS / 4);
    const end = begin();
    const before = requests();
    await pause(MINUTE_MS / 2);
    const made = requests() - before;
    t.ok(made <= HALF_A_MINUTE, `${how}: ${made} lists and watches in half a minute`);
    t.ok(made >= 2, `${how}: and it is tried again`);
    end();
    nth += 1;
    await api.createNamespacedPod({ ...ns, body: podBody(`new-${nth}`, { nodeName: 'n1' }) });
    await until(() => names().includes(`new-${nth}`));
    await until(() => admin.openWatches === 2);
  }
});

t.test('B45 (d): two minutes without the API server: what went meanwhile is gone, and the gap is told', async (t) => {
  const { api, door, names, pods } = await watched(t);
  t.match(pods.watch(), { awaySinceMs: null, gaps: 0 });
  door.cut();
  await until(() => pods.watch().awaySinceMs !== null);
  await drop(api, 'b', 'd');
  await pause(2 * MINUTE_MS);
  t.match(pods.watch(), { gaps: 1, why: /GET \/api\/v1\/pods: / });
  t.equal(pods.census()?.wanting, 4, 'what is not heard is not guessed');
  door.mend();
  await until(() => names().length === 2 && pods.watch().awaySinceMs === null);
  t.strictSame(names(), ['a', 'c']);
  t.equal(pods.census()?.wanting, 2);
});

t.test('B45: a token that rotates is read anew when the server refuses the old one', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'enactor-b45-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const tokenFile = join(directory, 'token');
  let first = '';
  const { server, names } = await watched(t, (kubeconfig) => {
    const [entry] = kubeconfig.users as JsonObject[];
    if (entry === undefined) throw new Error('no user');
    first = String((entry.user as JsonObject).token);
    writeFileSync(tokenFile, first);
    const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
    return { ...kubeconfig, users: [{ name: String(entry.name), user }] };
  });
  const rotated = server.rotateToken();
  t.not(rotated, first);
  writeFileSync(tokenFile, rotated);
  server.admin.endWatches();
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'busybox' }] };
  const pods = resourceNamed('pods');
  if (pods === null) throw new Error('no pods');
  server.lifecycle.create(pods, 'default', { metadata: { name: 'after' }, spec });
  await until(() => names().includes('after'));
});
