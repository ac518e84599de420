/**
 * B62, P7, B43 and reboots, over HTTP with the real SDK: what the store does not tell is told by the host and the API server, and until
 * then nobody gets it. The damage itself is in test/adapters/level; the daemon as a process in b62-real-daemon.test.ts.
 */
import t, { type Test } from 'tap';
import { letHeldBackGo } from '../../actors/held-back.ts';
import { memoryStore } from '../../src/adapters/level/memory-store.ts';
import { heldBackLease, isHeldBack } from '../../src/core/held-back.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { HostPod } from '../../src/ports/host.ts';
import type { Pod } from '../../src/ports/kubernetes.ts';
import { eventually, type OneNode, oneNode } from '../actors/one-node.ts';

const ip = (lease: Lease): string => lease.grant.address.ipv4;
const never = new AbortController().signal;

async function start(t: Test, settings: Parameters<typeof oneNode>[0]['settings'] = {}): Promise<OneNode> {
  const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 4, coolDownMs: 50, ...settings } });
  t.teardown(() => lab.stop());
  await lab.serving();
  return lab;
}

/** What the plugin left on the host for a lease. */
const onHost = ({ sandbox, grant }: Lease, mark = true): HostPod => ({
  device: `cali-${sandbox.pod.name}`,
  ips: [grant.address.ipv4],
  routeTable: grant.eni.device.routeTable,
  sandbox: mark ? { containerId: sandbox.containerId, ifName: sandbox.ifName, pod: sandbox.pod } : null,
});

const podWith = (name: string, podIPs: readonly string[], more: Partial<Pod> = {}) =>
  ({ namespace: 'default', name, phase: 'Running', hostNetwork: false, podIPs, ...more }) as Pod;

/** One pass with these pods at the API server; null: it does not answer. */
function pass(lab: OneNode, pods: readonly Pod[] | null): Promise<number> {
  const listNodePods = async () => {
    if (pods === null) throw new Error('no route to host');
    return [...pods];
  };
  const { allocator, introspection } = lab.node;
  return letHeldBackGo(
    {
      allocator,
      introspection,
      host: lab.host,
      kubernetes: { listNodePods } as unknown as Parameters<typeof letHeldBackGo>[0]['kubernetes'],
      store: memoryStore(lab.disk),
      nodeName: 'node-1',
      log: { debug() {}, info() {}, warn() {}, error() {} },
    },
    never,
  );
}

const held = (lab: OneNode): string[] =>
  lab
    .report()
    .leases.filter(({ sandbox }) => isHeldBack(sandbox))
    .map(ip)
    .sort();
const owned = (lab: OneNode): string[] =>
  lab
    .truth()
    .flatMap((eni) => eni.ipv4)
    .sort();
const wholeOnDisk = (lab: OneNode): unknown => JSON.parse(lab.disk.get('meta')?.get('store') ?? '{}').whole;

t.test('B62: a store that is gone is had again from the host, and nothing is given out twice', async (t) => {
  const lab = await start(t);
  const leases = [await lab.add('a'), await lab.add('b'), await lab.add('c')];
  const [a, b, c] = leases as [Lease, Lease, Lease];
  await eventually('the pool is full again', () => owned(lab).length >= leases.length + 2);
  await lab.node.stop();
  lab.disk.clear();
  // a and b as our plugin made them; of c only its route and rules tell, and of d the API server alone.
  lab.host.podsThere = [onHost(a), onHost(b), onHost(c, false)];
  await lab.restart();

  t.match(lab.node.allocator.lease('c-a', 'eth0'), { sandbox: { pod: a.sandbox.pod }, grant: a.grant });
  t.match(lab.node.allocator.lease('c-b', 'eth0'), { grant: { address: b.grant.address } });
  const others = owned(lab).filter((one) => one !== ip(a) && one !== ip(b));
  t.strictSame(held(lab), others, 'all the others are held back');
  t.ok(others.includes(ip(c)));
  t.equal(wholeOnDisk(lab), false);
  t.strictSame(await lab.add('a'), lab.node.allocator.lease('c-a', 'eth0'), 'the same sandbox gets its own');

  const fresh = await lab.add('e');
  t.notOk(others.includes(ip(fresh)), 'a new pod gets an address of after the loss');

  t.equal(await pass(lab, null), others.length, 'without the API server nothing is let go');
  const [ofD] = others.filter((one) => one !== ip(c)) as [string];
  t.equal(await pass(lab, [podWith('c', [ip(c)]), podWith('d', [ofD])]), 2, 'what a pod has stays held');
  t.strictSame(held(lab), [ip(c), ofD].sort());

  // A second loss of power in the middle of it: nothing is free yet that was not.
  await lab.restart();
  t.ok(held(lab).includes(ofD), 'held back again after another start');
  t.equal(wholeOnDisk(lab), false);

  lab.host.podsThere = [onHost(a), onHost(b)];
  t.equal(
    await pass(lab, [podWith('c', [ip(c)], { phase: 'Succeeded' }), podWith('node', [ofD], { hostNetwork: true })]),
    0,
  );
  t.strictSame(held(lab), []);
  t.equal(wholeOnDisk(lab), true);
  t.not(await lab.del('a'), null, 'a DEL of a lease that was had again');
  await lab.restart();
  t.strictSame(held(lab), [], 'now every address is known');
  t.strictSame(
    lab
      .report()
      .leases.map((lease) => lease.sandbox.pod.name)
      .sort(),
    ['b', 'e'],
  );
});

t.test('B62: one lease that is lost from a store that seems whole is had again too', async (t) => {
  const lab = await start(t);
  const a = await lab.add('a');
  const b = await lab.add('b');
  await lab.del('b');
  await lab.node.stop();
  lab.disk.get('leases')?.delete('c-a/eth0');
  // The host shows b yet: its release is on disk, so its address is nobody's.
  lab.host.podsThere = [onHost(a), onHost(b)];
  await lab.restart();
  t.match(lab.node.allocator.lease('c-a', 'eth0'), { grant: a.grant });
  t.equal(lab.node.allocator.lease('c-b', 'eth0'), null);
  t.strictSame(held(lab), []);
  t.ok(lab.disk.get('leases')?.has('c-a/eth0'), 'and is on disk again');
});

t.test(
  'B62: a lease that cannot be read is had again from the host, and then nothing is held back for it',
  async (t) => {
    const lab = await start(t);
    const a = await lab.add('a');
    await lab.node.stop();
    lab.disk.get('leases')?.set('c-a/eth0', '{"half":');
    lab.host.podsThere = [onHost(a)];
    await lab.restart();
    t.match(lab.node.allocator.lease('c-a', 'eth0'), { grant: { address: a.grant.address } });
    t.equal(lab.report().pool?.counts.bound, 1);
  },
);

t.test('P7: of the store of another instance nothing is used, and no call names its ENIs', async (t) => {
  const lab = await start(t);
  const a = await lab.add('a');
  await lab.node.stop();
  // The data directory as another node has it: its id, a lease and an open intent on an ENI of its own.
  const theirs = { ...a, grant: { ...a.grant, eni: { ...a.grant.eni, eniId: 'eni-theirs' } } };
  lab.disk.set(
    'leases',
    new Map([['c-theirs/eth0', JSON.stringify({ ...theirs, sandbox: { ...a.sandbox, containerId: 'c-theirs' } })]]),
  );
  const intent = { version: 1, id: 'eni-theirs', slot: 0, atMs: 1, kind: 'delete', eniId: 'eni-theirs' };
  lab.disk.set('intents', new Map([['eni-theirs', JSON.stringify(intent)]]));
  lab.disk.set(
    'meta',
    new Map([['store', JSON.stringify({ version: 1, readableFrom: 1, instanceId: 'i-original', whole: true })]]),
  );
  const before = lab.cloud.live.gateway.ledger.lastSeq;
  lab.host.podsThere = [onHost(a)];
  await lab.restart();
  t.match(lab.report().store, { setAside: { why: /instance i-original, this is i-lab-node-1/ } });
  t.match(lab.node.allocator.lease('c-a', 'eth0'), { grant: { address: a.grant.address } }, 'our own pod is found');
  t.equal(lab.node.allocator.lease('c-theirs', 'eth0'), null);
  const calls = JSON.stringify(lab.cloud.live.gateway.ledger.read(before, null));
  t.notMatch(calls, /eni-theirs/);
});

t.test(
  'leases of an earlier boot are dead: their addresses rest and are used again, DELs of theirs succeed',
  async (t) => {
    const lab = await start(t);
    const before = [await lab.add('a'), await lab.add('b')];
    t.equal(JSON.parse(lab.disk.get('leases')?.get('c-a/eth0') ?? '{}').bootId, 'boot-1');
    await lab.restart();
    t.equal(lab.report().leases.length, 2, 'the same boot: all stay');
    lab.host.boot = 'boot-2';
    await lab.restart();
    await eventually('both are gone', () => lab.report().leases.length === 0 && lab.disk.get('leases')?.size === 0);
    t.ok(before.every((lease) => lab.disk.get('coolDowns')?.has(ip(lease))));
    t.equal(await lab.del('a'), null);
    const again = await lab.add('a2');
    t.match(JSON.parse(lab.disk.get('leases')?.get('c-a2/eth0') ?? '{}'), { bootId: 'boot-2', grant: again.grant });
    lab.host.boot = 'boot-2';
    await lab.restart();
    t.equal(lab.report().leases.length, 1, 'that of this boot stays');
  },
);

t.test(
  'B43: an ENI that is gone costs its own leases alone; addresses that moved to another are held back',
  async (t) => {
    const lab = await start(t, { minIdle: 0, maxIdle: 0 });
    const leases: Lease[] = [];
    for (const name of ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7']) leases.push(await lab.add(name));
    const [eniA, eniB] = [...new Set(leases.map((lease) => lease.grant.eni.eniId))] as [string, string];
    t.ok(eniB, 'two ENIs');
    const onA = leases.filter((lease) => lease.grant.eni.eniId === eniA);
    const onB = leases.filter((lease) => lease.grant.eni.eniId === eniB);
    await lab.node.stop();
    // The same addresses on an ENI of another name, as when somebody made it anew: told by the disk, since the cloud gives no address twice.
    for (const [key, text] of lab.disk.get('leases') ?? []) {
      const lease = JSON.parse(text) as Lease;
      if (lease.grant.eni.eniId !== eniB) continue;
      const eni = { ...lease.grant.eni, eniId: 'eni-before' };
      lab.disk.get('leases')?.set(key, JSON.stringify({ ...lease, grant: { ...lease.grant, eni } }));
    }
    lab.host.podsThere = leases.map((lease) => onHost(lease));
    await lab.restart();
    t.strictSame(
      lab
        .report()
        .leases.filter((lease) => lease.grant.eni.eniId === eniA)
        .map(ip)
        .sort(),
      onA.map(ip).sort(),
      'those of the other ENI are intact',
    );
    t.strictSame(held(lab), onB.map(ip).sort());
    t.equal(lab.report().invalidLeases?.length, onB.length, 'their pods are flagged');
    for (const { sandbox } of onB) t.not(await lab.del(sandbox.pod.name), null, 'a DEL of theirs works');
    t.equal(await pass(lab, []), onB.length, 'the host shows their pods yet');
    lab.host.podsThere = onA.map((lease) => onHost(lease));
    t.equal(await pass(lab, []), 0);
    await eventually(
      'they are free',
      () => (lab.report().pool?.counts.idle ?? 0) + (lab.report().pool?.counts.cooling ?? 0) > 0,
    );
  },
);

t.test('B43: of two full ENIs one was deleted meanwhile: the other keeps its six, and six new pods fit', async (t) => {
  const lab = await start(t, { minIdle: 0, maxIdle: 0 });
  const leases = await Promise.all(Array.from({ length: 12 }, (_, index) => lab.add(`p${index}`)));
  const on = (eniId: string) => leases.filter((lease) => lease.grant.eni.eniId === eniId);
  const [a = '', b = '', ...more] = new Set(leases.map((lease) => lease.grant.eni.eniId));
  t.strictSame([on(a).length, on(b).length, more], [6, 6, []]);
  await lab.node.stop();
  for (const change of ['detachEni', 'deleteEni']) await lab.change({ change, eniId: b });
  lab.host.podsThere = leases.map((lease) => onHost(lease));
  await lab.restart();
  for (const { sandbox, grant } of on(a))
    t.strictSame(lab.node.allocator.lease(sandbox.containerId, 'eth0')?.grant, grant, `${sandbox.pod.name} is intact`);
  t.strictSame((lab.report().invalidLeases ?? []).map(ip).sort(), on(b).map(ip).sort(), 'pods of b are flagged');
  for (const { sandbox } of on(b)) t.not(await lab.del(sandbox.pod.name), null, `a DEL of ${sandbox.pod.name} works`);
  lab.host.podsThere = on(a).map((lease) => onHost(lease));
  const fresh = await Promise.all(Array.from({ length: 6 }, (_, index) => lab.add(`new-${index}`)));
  const there = lab.truth().flatMap((eni) => (eni.status === 'InUse' ? eni.ipv4 : []));
  t.ok(
    fresh.every((lease) => there.includes(ip(lease))),
    'each new address is on an ENI here',
  );
  t.equal(new Set([...on(a), ...fresh].map(ip)).size, 12, 'and nobody else’s');
});

t.test('what is held back names no pod that could exist', (t) => {
  const eni = { eniId: 'e', mac: '', subnet: { cidr: '', gateway: '', ipv6Cidr: null, ipv6Gateway: null } };
  const lease = heldBackLease(
    '192.0.2.7',
    null,
    { ...eni, device: { name: '', ifindex: 0, routeTable: 0, mtu: 0 } },
    5,
  );
  t.ok(isHeldBack(lease.sandbox));
  t.notMatch(lease.sandbox.pod.namespace, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
  t.notOk(isHeldBack({ containerId: 'c1' }));
  t.end();
});
