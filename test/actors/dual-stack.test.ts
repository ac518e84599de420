/** Dual stack over the real SDK: where it cannot be had, and a node that turns to it with pods of its single-stack life. */
import t from 'tap';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { eventually, oneNode } from './one-node.ts';

const dual = { ipStack: 'dual' } as const;
const without = (...ids: readonly string[]) => {
  const topology = defaultTopology('ecs.g7.large', 1);
  const vSwitches = topology.vSwitches.map((one) => (ids.includes(one.vSwitchId) ? { ...one, ipv6Cidr: null } : one));
  return { ...topology, vSwitches };
};

t.test('dual stack: a node whose vSwitches have no IPv6 says so by name, and callers hear it', async (t) => {
  const lab = await oneNode({ settings: dual, topology: without('vsw-lab-1') });
  t.teardown(lab.stop);
  await eventually('the cause is told', () => /vsw-lab-1/.test(lab.report().missing.join()));
  t.match(lab.report().missing.join(), /ip_stack is dual, and no vSwitch has an IPv6 prefix: vsw-lab-1/);
  await t.rejects(lab.add('a', Date.now() + 300), /vsw-lab-1/);
  t.equal(lab.truth().length, 0);
});

t.test('dual stack: an instance type without IPv6 is refused', async (t) => {
  const lab = await oneNode({ settings: dual, instanceType: 'ecs.g5.xlarge' });
  t.teardown(lab.stop);
  await eventually('the cause is told', () => /ecs.g5.xlarge has no IPv6/.test(lab.report().missing.join()));
  t.match(lab.report().state, /starting/, 'and waits');
});

t.test(
  'dual stack: of several vSwitches those with IPv6 are used, and an ENI has no more than the smaller quota',
  async (t) => {
    const topology = without('vsw-lab-1');
    const [instance] = topology.instances;
    const lab = await oneNode({
      settings: { ...dual, vSwitchIds: ['vsw-lab-1', 'vsw-lab-2'], vSwitchPolicy: 'listed' },
      topology: {
        ...topology,
        instances: instance === undefined ? [] : [{ ...instance, instanceType: 'ecs.g6.large' }],
      },
    });
    t.teardown(lab.stop);
    await lab.serving();
    const lease = await lab.add('a');
    t.match(lease.grant.address.ipv6, /^2001:db8:0:101:/);
    t.equal(lab.truth()[0]?.vSwitchId, 'vsw-lab-2');
    await t.rejects(
      lab.add('b', Date.now() + 300),
      /1 held on 1 of 1 ENIs with 1 each/,
      'the type has one IPv6 an ENI',
    );
  },
);

t.test(
  'dual stack: pods of a single-stack life keep their leases; what is free is made whole or given back',
  async (t) => {
    const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 4, cloudPeriodMs: 400 } });
    t.teardown(lab.stop);
    await lab.serving();
    const old = await lab.add('old');
    await eventually('two are idle', () => (lab.report().pool?.counts.idle ?? 0) >= 2);
    await lab.restart(dual);
    const fresh = await lab.add('new');
    t.ok(fresh.grant.address.ipv6, 'a new pod has a pair');
    t.equal(fresh.grant.eni.eniId, old.grant.eni.eniId, 'on the same ENI, whose free addresses were completed');
    t.strictSame((await lab.add('old')).grant, old.grant, 'the old pod asks again and hears the same');
    t.equal(old.grant.address.ipv6, null);
    const [eni] = lab.truth();
    await lab.del('old');
    const even = () => {
      const [now] = lab.truth();
      return (
        now !== undefined && now.ipv4.length === now.ipv6.length && (lab.report().enis[0]?.halves ?? []).length === 0
      );
    };
    await eventually('as many of each family, and no half', even, 10_000);
    await lab.restart();
    t.strictSame((await lab.add('new')).grant.address, fresh.grant.address, 'the pair outlives a restart');
    t.equal(lab.truth()[0]?.eniId, eni?.eniId);
  },
);
