/** An instance whose type was changed to one that allows less: nothing is taken from a pod, nobody new comes to what is too much, and it goes. */
import t from 'tap';
import { eventually, oneNode } from './one-node.ts';

t.setTimeout(120_000);

t.test('resized: a node with less than it had drains to its new quota', async (t) => {
  // Three ENIs of 15 beside the primary one; then one of 6.
  const lab = await oneNode({
    instanceType: 'ecs.g7.xlarge',
    settings: { minIdle: 2, maxIdle: 40, coolDownMs: 20, poolPeriodMs: 200, cloudPeriodMs: 60_000 },
  });
  t.teardown(() => lab.stop());
  await lab.serving();
  const pods = Array.from({ length: 33 }, (_, nth) => `pod-${nth}`);
  const ips = new Map<string, string>();
  for (const lease of await Promise.all(pods.map((name) => lab.add(name))))
    ips.set(lease.sandbox.pod.name, lease.grant.address.ipv4);
  await eventually('three ENIs', () => lab.truth().length === 3);
  for (const name of pods.slice(0, 13)) await lab.del(name);
  const owned = (): number => lab.truth().reduce((sum, { ipv4 }) => sum + ipv4.length, 0);

  await lab.change({ change: 'resizeInstance', instanceId: 'i-lab-node-1', instanceType: 'ecs.g6.large' });
  await lab.restart();
  const living = pods.slice(13);
  const held = () => lab.report().leases.map(({ sandbox, grant }) => [sandbox.pod.name, grant.address.ipv4]);
  t.strictSame(new Map(held() as [string, string][]), new Map(living.map((name) => [name, ips.get(name) ?? ''])));
  const asked = lab.calls('CreateNetworkInterface').length + lab.calls('AssignPrivateIpAddresses').length;
  await eventually('idle addresses have gone, but for primary ones', () => owned() <= living.length + 3);
  t.ok(living.every((name) => lab.truth().some((eni) => eni.ipv4.includes(ips.get(name) ?? ''))));

  for (const name of living.slice(0, 16)) await lab.del(name);
  await eventually(
    'pods that are left keep one ENI or more, the empty ones go',
    () => owned() <= 4 + lab.truth().length + 2,
  );
  for (const name of living.slice(16)) await lab.del(name);
  await eventually('the new quota', () => lab.truth().length <= 1 && owned() <= 6);
  t.equal(
    lab.calls('CreateNetworkInterface').length + lab.calls('AssignPrivateIpAddresses').length <= asked + 1,
    true,
    'hardly anything new was asked for on the way',
  );
  const again = await Promise.all(['new-1', 'new-2', 'new-3'].map((name) => lab.add(name)));
  t.equal(new Set(again.map(({ grant }) => grant.eni.eniId)).size, 1, 'and the node serves, within what it may have');
  t.ok(lab.truth().length <= 1 && owned() <= 6);
});

t.test('resized: a pod that comes while there is too much is not put where it would keep it', async (t) => {
  const lab = await oneNode({
    instanceType: 'ecs.g7.large', // two ENIs of 6; then one
    settings: { coolDownMs: 20, poolPeriodMs: 200, maxIdle: 12 },
  });
  t.teardown(() => lab.stop());
  await lab.serving();
  const leases = await Promise.all(Array.from({ length: 8 }, (_, nth) => lab.add(`pod-${nth}`)));
  const ofEni = (eniId: string): string[] =>
    leases.filter(({ grant }) => grant.eni.eniId === eniId).map(({ sandbox }) => sandbox.pod.name);
  const [fewer = '', more = ''] = lab
    .truth()
    .map(({ eniId }) => eniId)
    .sort((a, b) => ofEni(a).length - ofEni(b).length);
  const [gone = ''] = ofEni(more);
  await lab.del(gone);
  await lab.change({ change: 'resizeInstance', instanceId: 'i-lab-node-1', instanceType: 'ecs.g6.large' });
  await lab.restart();
  const why = () => lab.node.introspection.why('default/nobody');
  const late = await lab.add('late');
  t.equal(late.grant.eni.eniId, more, 'the ENI that stays has room');
  t.match(
    why().considered.find(({ what }) => what.includes(fewer)),
    { verdict: 'refuses', why: /one more than the instance type allows/ },
  );
  for (const name of ofEni(fewer)) await lab.del(name);
  await eventually('it has gone', () => !lab.truth().some(({ eniId }) => eniId === fewer));
});
