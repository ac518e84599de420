import t from 'tap';
import { atRest, troubles } from './at-rest.ts';
import { eventually, oneNode } from './one-node.ts';

t.test('node: the first pod takes the primary address of a new ENI, without an Assign', async (t) => {
  const lab = await oneNode({});
  t.teardown(lab.stop);
  await lab.serving();
  const lease = await lab.add('a');
  const [eni, ...others] = lab.truth();
  t.equal(others.length, 0, 'one ENI was made');
  t.equal(lease.grant.address.ipv4, eni?.primaryIp);
  t.equal(lab.calls('AssignPrivateIpAddresses').length, 0);
  t.equal(lab.report().leases.length, 1);
  t.ok(lab.disk.get('leases')?.has('c-a/eth0'), 'the lease is on disk before it is answered');
});

t.test('node: the same sandbox asking again gets the same answer, also while the first is under way', async (t) => {
  const lab = await oneNode({});
  t.teardown(lab.stop);
  await lab.serving();
  const [one, two] = await Promise.all([lab.add('a'), lab.add('a')]);
  const three = await lab.add('a');
  t.equal(one?.grant.address.ipv4, two?.grant.address.ipv4);
  t.equal(one?.grant.address.ipv4, three.grant.address.ipv4);
  t.equal(lab.report().pool?.counts.bound, 1);
});

t.test('node: requests that arrive during a call form the next one', async (t) => {
  const lab = await oneNode({ instanceType: 'ecs.g7.xlarge' });
  t.teardown(lab.stop);
  await lab.serving();
  const leases = await Promise.all(Array.from({ length: 12 }, (_, i) => lab.add(`p${i}`)));
  t.equal(new Set(leases.map((lease) => lease.grant.address.ipv4)).size, 12, 'distinct addresses');
  t.equal(lab.truth().length, 1, 'one ENI holds them all');
  t.ok(lab.calls('AssignPrivateIpAddresses').length <= 3, `${lab.calls('AssignPrivateIpAddresses').length} Assigns`);
});

t.test('node: when the last address of an ENI is free and rested, the ENI goes', async (t) => {
  const lab = await oneNode({});
  t.teardown(lab.stop);
  await lab.serving();
  await lab.add('a');
  await lab.add('b');
  await lab.del('a');
  await lab.del('b');
  await eventually('no ENI of ours in the truth', () => lab.truth().length === 0);
  await eventually('no ENI actor', () => lab.report().enis.length === 0);
  t.equal(lab.report().leases.length, 0);
  t.equal(lab.kernel.devices.size, 0, 'the device was torn down');
});

t.test('idlePool: fills to the low water mark and sheds above the high one', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 3, maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  const idle = () => lab.report().pool?.counts.idle ?? 0;
  await eventually('three idle addresses', () => idle() === 3);
  t.equal(lab.calls('CreateNetworkInterface').length, 1, 'made with the ENI, in one call');
  t.equal(lab.calls('AssignPrivateIpAddresses').length, 0);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => lab.add(name)));
  await eventually('filled again', () => idle() === 3);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => lab.del(name)));
  await eventually('within the marks again', () => {
    const counts = lab.report().pool?.counts;
    return counts !== undefined && counts.idle >= 3 && counts.idle <= 4 && counts.cooling === 0 && counts.leaving === 0;
  });
  const rest = lab.calls('UnassignPrivateIpAddresses').length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.equal(lab.calls('UnassignPrivateIpAddresses').length, rest, 'no churn at rest');
  const owned = lab.truth().reduce((sum, eni) => sum + eni.ipv4.length, 0);
  t.equal(owned, idle(), 'the truth has what the book says');
});

t.test('idlePool: a burst leaves exactly the low water mark, however its orders cross with it', async (t) => {
  const lab = await oneNode({ instanceType: 'ecs.g7.xlarge', settings: { minIdle: 5, maxIdle: 40 } });
  t.teardown(lab.stop);
  await lab.serving();
  for (const size of [1, 7, 3, 12]) {
    await Promise.all(Array.from({ length: size }, (_, i) => lab.add(`b${size}-${i}`)));
    await atRest(lab);
    t.equal(lab.report().pool?.counts.idle, 5, `after ${size} pods at once`);
  }
  t.same(troubles(lab), []);
});

t.test('node: a full node refuses with the numbers, and serves again when a pod goes', async (t) => {
  const lab = await oneNode({ instanceType: 'ecs.g6.large' });
  t.teardown(lab.stop);
  await lab.serving();
  const names = Array.from({ length: 8 }, (_, i) => `p${i}`);
  const results = await Promise.allSettled(names.map((name) => lab.add(name)));
  const served = results.filter((result) => result.status === 'fulfilled');
  t.equal(served.length, 6, 'one ENI of six');
  for (const result of results) {
    if (result.status === 'rejected')
      t.match(result.reason.message, /IPNotAllocated.*6 held on 1 of 1 ENIs with 6 each/);
  }
  const first = names.find((_, i) => results[i]?.status === 'fulfilled') ?? '';
  await lab.del(first);
  const lease = await lab.add('late');
  t.ok(lease.grant.address.ipv4, 'a cooling address is better than none on a node that cannot grow');
});

t.test('node: a caller that leaves costs nothing', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 0, maxIdle: 2 } });
  t.teardown(lab.stop);
  await lab.serving();
  const caller = new AbortController();
  const gone = lab.add('a', Date.now() + 10_000, caller.signal);
  await eventually('an ENI is being made', () => lab.report().enis.length === 1);
  caller.abort();
  await t.rejects(gone, { code: 'cancelled' });
  await eventually('the address came to rest', () => (lab.report().pool?.counts.idle ?? 0) === 1);
  t.equal(lab.report().leases.length, 0);
  t.same([...(lab.disk.get('leases')?.keys() ?? [])], []);
});

t.test('node: leases survive a restart, and their addresses are not given to others', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 10 } });
  t.teardown(lab.stop);
  await lab.serving();
  const before = await Promise.all(['a', 'b', 'c'].map((name) => lab.add(name)));
  await lab.restart();
  await eventually('the ENI is in use', () => lab.report().enis[0]?.state.startsWith('inUse') ?? false);
  t.equal(lab.report().pool?.counts.bound, 3);
  const again = await lab.add('a');
  t.equal(again.grant.address.ipv4, before[0]?.grant.address.ipv4, 'the same sandbox, the same address');
  const fresh = await lab.add('d');
  t.notOk(before.some((lease) => lease.grant.address.ipv4 === fresh.grant.address.ipv4));
  t.equal(lab.truth().length, 1, 'no second ENI was made');
});

t.test('eni: a Create that is refused is told to the caller with the code of the cloud', async (t) => {
  const lab = await oneNode({});
  t.teardown(lab.stop);
  await lab.serving();
  const fault = await fetch(`${lab.cloud.adminUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify({ effect: 'fail', api: 'CreateNetworkInterface', code: 'Forbidden.RAM', times: 1 }),
  });
  t.ok(fault.ok, await fault.text());
  await t.rejects(lab.add('a'), { code: 'permission', message: /Forbidden\.RAM/ });
  // What the credentials may not do is not asked again at once.
  const served = async () => await lab.add('b').catch(() => null);
  let lease = await served();
  for (let tries = 0; lease === null && tries < 100; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    lease = await served();
  }
  t.ok(lease?.grant.address.ipv4, 'the next one is served, once it may be asked again');
});
