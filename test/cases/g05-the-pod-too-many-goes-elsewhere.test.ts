/**
 * G5: the kubelet takes more pods than the node has addresses, so the scheduler sends pods that can only fail. The real daemon against the lab's
 * API server, and a toy scheduler that looks at taints and extended resources as the real one does, and prefers this node.
 *
 * By the taint first (pods ask for nothing), then by the extended resource with the taint switched off, while the daemon runs. What the daemon tells is looked at on
 * the way: condition, annotations, events of pods and node; and that nobody else's taint or condition is touched. (B30: full, and well.)
 */
import '../lab/in-box.ts';

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Json, JsonObject, KubeObject } from '../../src/lab/apiserver/kube-object.ts';
import { type Resource, resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type DaemonRun, type Machine, machine, NODE } from '../daemon/machine.ts';

t.setTimeout(180_000);

const OTHER_NODE = 'node-2';
const OTHERS_TAINT = { key: 'example.com/theirs', value: 'x', effect: 'PreferNoSchedule' };
const OTHERS_CONDITION = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is well' };
const ADDRESS = 'example.com/address';

const resource = (plural: string): Resource => {
  const found = resourceNamed(plural);
  if (found === null) throw new Error(`no ${plural}`);
  return found;
};
const nodes = resource('nodes');
const pods = resource('pods');

function node(here: Machine, name = NODE): KubeObject & { readonly [part: string]: Json | undefined } {
  const found = here.api.store.get(nodes, null, name);
  if (found === null) throw new Error(`no node ${name}`);
  return found;
}

const part = (object: JsonObject, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);

type Named = { readonly key?: string; readonly type?: string; readonly status?: string; readonly effect?: string };
const taintsOf = (object: JsonObject) => (part(object, 'spec', 'taints') ?? []) as readonly Named[];
const conditionOf = (object: JsonObject, type: string) =>
  ((part(object, 'status', 'conditions') ?? []) as readonly Named[]).find((one) => one.type === type);
const annotationsOf = (object: KubeObject) => object.metadata.annotations ?? {};

/** Where the real one would put the pod: no NoSchedule taint, and enough of the resource it asks for. */
function schedule(here: Machine, name: string, asks: boolean): string {
  const assigned = here.api.store.list(pods, null);
  const fits = (candidate: string): boolean => {
    const object = node(here, candidate);
    if (taintsOf(object).some(({ effect }) => effect === 'NoSchedule')) return false;
    const capacity = Number(part(object, 'status', 'capacity', ADDRESS) ?? 0);
    const used = assigned.filter((pod) => part(pod, 'spec', 'nodeName') === candidate).filter(isAsking).length;
    return !asks || used < capacity;
  };
  const nodeName = [NODE, OTHER_NODE].find(fits);
  if (nodeName === undefined) throw new Error(`${name}: fits nowhere`);
  const resources = asks ? { resources: { limits: { [ADDRESS]: '1' } } } : {};
  const containers = [{ name: 'main', image: 'busybox', ...resources }];
  here.api.lifecycle.create(pods, 'default', { metadata: { name }, spec: { nodeName, containers } });
  return nodeName;
}

const isAsking = (pod: JsonObject): boolean => JSON.stringify(pod).includes(ADDRESS);

function eventsOf(here: Machine, about: string): readonly JsonObject[] {
  const events = here.api.store.list(resource('events'), null);
  return events.filter((event) => part(event, 'involvedObject', 'name') === about);
}

const says = (here: Machine, about: string, reason: string): string =>
  eventsOf(here, about)
    .filter((event) => event.reason === reason)
    .map((event) => String(event.message))
    .join('\n');

async function add(here: Machine, pod: string) {
  const uid = here.api.store.get(pods, 'default', pod)?.metadata.uid ?? '';
  return await call(here.paths.jsonSocket, 'AllocIP', pod, { PodUid: uid });
}

/** Until `capacity` pods of this prefix are here, then one more. */
async function fill(t: Test, here: Machine, daemon: DaemonRun, prefix: string, asks: boolean): Promise<string[]> {
  const capacity = (await daemon.report()).pool?.capacity ?? 0;
  const here1: string[] = [];
  for (let nth = 0; nth < capacity; nth += 1) {
    const name = `${prefix}-${nth}`;
    t.equal(schedule(here, name, asks), NODE);
    t.equal((await add(here, name)).status, 200, `${name} has an address`);
    here1.push(name);
  }
  return here1;
}

function withNodes(here: Machine): void {
  const status = { capacity: { pods: '64', cpu: '4' }, conditions: [OTHERS_CONDITION] };
  here.api.lifecycle.create(nodes, null, { metadata: { name: NODE }, spec: { taints: [OTHERS_TAINT] }, status });
  const elsewhere = { ...status, capacity: { ...status.capacity, [ADDRESS]: '99' } };
  here.api.lifecycle.create(nodes, null, { metadata: { name: OTHER_NODE }, status: elsewhere });
}

const quick = {
  ...{ cool_down: '0s', max_pool_size: 2, min_pool_size: 1, backoff: '50ms', backoff_max: '200ms' },
  ...{ node_write_interval: '20ms', node_period: '500ms', full_node_hold: '300ms' },
};

t.test('G5: a full node is tainted, says so, and the pod too many goes elsewhere', async (t) => {
  const here = await machine(t, quick, { topology: defaultTopology('lab.small', 1) });
  withNodes(here);
  const daemon = here.start();
  await daemon.serving();
  await daemon.until(async () => conditionOf(node(here), 'SufficientIP')?.status === 'True');
  const capacity = (await daemon.report()).pool?.capacity ?? 0;
  t.ok(capacity > 2);
  await daemon.until(async () => annotationsOf(node(here))['k8s.aliyun.com/max-available-ip'] === String(capacity));
  await daemon.until(async () => says(here, NODE, 'MaxPodsExceedAddresses') !== '');
  t.match(says(here, NODE, 'MaxPodsExceedAddresses'), new RegExp(`takes 64 pods, 0 of them .* ${capacity} addresses`));

  const mine = await fill(t, here, daemon, 'web', false);
  await daemon.until(async () => taintsOf(node(here)).some(({ key }) => key === 'enactor/full'));
  await daemon.until(async () => conditionOf(node(here), 'SufficientIP')?.status === 'False');
  t.match(conditionOf(node(here), 'SufficientIP'), {
    reason: 'InsufficientIP',
    message: `node has insufficient IP: ${capacity} pods for ${capacity} addresses`,
  });
  t.match(taintsOf(node(here)), [OTHERS_TAINT, { key: 'enactor/full', effect: 'NoSchedule' }], 'theirs is there yet');
  t.match(conditionOf(node(here), 'Ready'), OTHERS_CONDITION, 'B30: full is not NotReady');
  t.equal(schedule(here, 'web-too-many', false), OTHER_NODE, 'the pod too many goes elsewhere');

  // One that came all the same, as a DaemonSet's with a toleration does.
  const spec = { nodeName: NODE, containers: [{ name: 'main', image: 'busybox' }] };
  here.api.lifecycle.create(pods, 'default', { metadata: { name: 'tolerant' }, spec });
  t.match(await add(here, 'tolerant'), { body: { code: 'resource_exhausted' } });
  await daemon.until(async () => says(here, 'tolerant', 'AllocIPFailed') !== '');
  here.removePod('tolerant');
  const [first = '', second = ''] = mine;
  await daemon.until(async () => says(here, first, 'AllocIPSucceed') !== '');
  t.match(says(here, first, 'AllocIPSucceed'), /^Alloc IP 192\.168\.\d+\.\d+\/\d+ took \d+(\.\d)?m?s$/);
  const lease = (await daemon.report()).leases.find(({ sandbox }) => sandbox.pod.name === first);
  await daemon.until(
    async () => part(here.api.store.get(pods, 'default', first) ?? {}, 'metadata', 'annotations') !== undefined,
  );
  const annotated = here.api.store.get(pods, 'default', first);
  t.equal(annotated?.metadata.annotations?.['k8s.aliyun.com/pod-ips'], lease?.grant.address.ipv4);
  t.match(says(here, NODE, 'InsufficientIP'), /node has insufficient IP/);

  // Somebody takes the taint away: it comes back. Room: it goes, and theirs stays.
  here.api.lifecycle.update(nodes, node(here), { ...node(here), spec: { taints: [OTHERS_TAINT] } }, null);
  await daemon.until(async () => taintsOf(node(here)).some(({ key }) => key === 'enactor/full'));
  const writes = () => here.api.admin.ledger.filter(({ verb, resource }) => verb === 'patch' && resource === 'nodes');
  for (const pod of [first, second]) {
    t.equal((await call(here.paths.jsonSocket, 'ReleaseIP', pod)).status, 200);
    here.removePod(pod);
  }
  await daemon.until(async () => !taintsOf(node(here)).some(({ key }) => key === 'enactor/full'));
  await daemon.until(async () => conditionOf(node(here), 'SufficientIP')?.status === 'True');
  t.strictSame(taintsOf(node(here)), [OTHERS_TAINT]);
  t.match(conditionOf(node(here), 'Ready'), OTHERS_CONDITION);
  t.equal(schedule(here, 'web-again', false), NODE, 'and pods come here again');
  const before = writes().length;
  const reads = here.api.admin.ledger.filter(({ verb, resource }) => verb === 'get' && resource === 'nodes').length;
  await daemon.until(
    async () =>
      here.api.admin.ledger.filter(({ verb, resource }) => verb === 'get' && resource === 'nodes').length > reads + 1,
  );
  t.ok(writes().length - before <= 3, 'at rest only the condition is refreshed');

  // Now by the resource alone.
  for (const pod of [...mine.slice(2), 'web-again']) {
    await call(here.paths.jsonSocket, 'ReleaseIP', pod);
    here.removePod(pod);
  }
  const conf = join(here.dir, 'eni_conf');
  const other = { ...JSON.parse(readFileSync(conf, 'utf8')), full_node: 'ignore', address_resource: ADDRESS };
  writeFileSync(conf, JSON.stringify(other)); // under the running daemon
  const offered = () => part(node(here), 'status', 'capacity', ADDRESS);
  await daemon.until(async () => offered() === String(capacity));
  t.equal(part(node(here), 'status', 'capacity', 'pods'), '64', 'other capacities stay');
  await fill(t, here, daemon, 'counted', true);
  await daemon.until(async () => conditionOf(node(here), 'SufficientIP')?.status === 'False');
  t.strictSame(taintsOf(node(here)), [OTHERS_TAINT], 'no taint where it is switched off');
  t.equal(schedule(here, 'counted-too-many', true), OTHER_NODE, 'the pod too many goes elsewhere');
  // A kubelet that registers anew zeroes what it does not know.
  const { status } = node(here) as JsonObject;
  const zeroed = { ...(status as JsonObject), capacity: { pods: '64', cpu: '4', [ADDRESS]: '0' } };
  here.api.lifecycle.update(nodes, node(here), { ...node(here), status: zeroed }, 'status');
  await daemon.until(async () => offered() === String(capacity));
});
