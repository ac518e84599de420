/** A pod that has an ENI for itself on a node whose other pods share theirs. Devices stay where they are here: the lab moves them. */
import t from 'tap';
import type { Lease } from '../../src/core/lease.ts';
import { atRest, troubles } from './at-rest.ts';
import { eventually, type OneNode, oneNode, sandbox } from './one-node.ts';

const addOwn = (lab: OneNode, name: string, withinMs = 10_000): Promise<Lease> =>
  lab.node.allocator.allocate(
    { sandbox: { ...sandbox(name), ownEni: true }, untilMs: Date.now() + withinMs },
    new AbortController().signal,
  );
const eniOf = (lease: Lease): string => lease.grant.eni.eniId;

t.test('own ENI: it is made for the pod, with one address, and nobody else gets one of it', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  const own = await addOwn(lab, 'own');
  const others = await Promise.all(['a', 'b', 'c'].map((name) => lab.add(name)));
  t.equal(lab.truth().find(({ eniId }) => eniId === eniOf(own))?.ipv4.length, 1);
  t.notOk(others.some((lease) => eniOf(lease) === eniOf(own)));
  t.match(own, { sandbox: { ownEni: true }, grant: { eni: { device: { routeTable: 254 } } } });
  await atRest(lab);
  t.strictSame(troubles(lab), []);
  lab.kernel.changed();
  const isLookedAt = () => lab.kernel.wanted?.pods.some((pod) => pod.sandbox.ownEni === true) === true;
  await eventually('the host is looked at', isLookedAt);
  t.ok((lab.kernel.wanted?.enis.length ?? 0) > 0, 'and the devices of shared ENIs');
  t.notOk(
    lab.kernel.wanted?.enis.some(({ mac }) => mac === own.grant.eni.mac),
    'nobody looks for its device on the host',
  );
});

t.test('own ENI: after a restart it is the pod’s as before, and its device is not waited for', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  const own = await addOwn(lab, 'own');
  lab.kernel.devices.delete(own.grant.eni.mac);
  lab.kernel.missing.add(own.grant.eni.mac);
  await lab.restart();
  t.equal(eniOf(await addOwn(lab, 'own')), eniOf(own), 'asked again it is the same');
  const other = await lab.add('a');
  t.not(eniOf(other), eniOf(own));
  await atRest(lab);
  t.equal(lab.truth().length, 2);
});

t.test('own ENI: once the pod has gone and the device is back it serves whoever comes', async (t) => {
  const lab = await oneNode({ instanceType: 'ecs.g6.large', settings: { maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  const own = await addOwn(lab, 'own');
  const { mac } = own.grant.eni;
  lab.kernel.devices.delete(mac);
  lab.kernel.missing.add(mac);
  await lab.del('own');
  const next = lab.add('next');
  await eventually('its device is waited for', () =>
    lab.report().enis.some(({ state }) => state.startsWith('settling')),
  );
  t.equal(lab.report().leases.length, 0, 'and nobody is served meanwhile');
  lab.kernel.missing.delete(mac);
  t.equal(eniOf(await next), eniOf(own));
  t.ok((await next).grant.eni.device.routeTable >= 1_000, 'by the table of the ENI');
  await lab.del('next');
  t.equal(eniOf(await addOwn(lab, 'again')), eniOf(own), 'and then a pod alone again, when nobody is left on it');
  t.equal(lab.calls('CreateNetworkInterface').length, 1);
});

t.test('own ENI: one whose device never comes back is let go', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  const own = await addOwn(lab, 'own');
  lab.kernel.missing.add(own.grant.eni.mac);
  lab.kernel.devices.delete(own.grant.eni.mac);
  await lab.del('own');
  await eventually('it is gone', () => lab.truth().length === 0);
});

t.test('own ENI: an ENI of the idle pool is taken with all that it has when no other can be opened', async (t) => {
  const lab = await oneNode({ instanceType: 'ecs.g6.large', settings: { minIdle: 3, maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  await eventually('three idle addresses', () => lab.report().pool?.counts.idle === 3);
  const own = await addOwn(lab, 'own');
  await eventually('the others left', () => lab.truth()[0]?.ipv4.length === 1);
  t.equal(own.grant.address.ipv4, lab.truth()[0]?.primaryIp, 'its own address is the pod’s');
  await t.rejects(addOwn(lab, 'two', 500), { code: 'noCapacity', detail: /the node has 1 of 1; 1 has one pod each/ });
  await t.rejects(lab.add('three', Date.now() + 500), { code: 'noCapacity', detail: /1 more has one pod each/ });
});

t.test('own ENI: whoever gives up leaves nothing that is taken', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 4 } });
  t.teardown(lab.stop);
  await lab.serving();
  lab.failWrites(1);
  await t.rejects(addOwn(lab, 'own'), { code: 'store' });
  await eventually('an ENI that anybody may use', () =>
    lab.report().enis.every(({ state }) => state.startsWith('inUse')),
  );
  const [a, b] = await Promise.all([lab.add('a'), lab.add('b')]);
  t.equal(a && eniOf(a), b && eniOf(b));
  await atRest(lab);
  t.strictSame(troubles(lab), []);
});
