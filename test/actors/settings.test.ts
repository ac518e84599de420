/** A configuration that changes under a running node: what is taken at once, over the real SDK and the simulated cloud. */
import t from 'tap';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { eventually, oneNode } from './one-node.ts';

const never = new AbortController().signal;
const two = ['vsw-lab-1', 'vsw-lab-2'];

t.test(
  'settings: marks, tags, vSwitches and groups reach what is done next, and nothing that is there is touched',
  async (t) => {
    const topology = defaultTopology('ecs.g7.xlarge', 1);
    const other = { securityGroupId: 'sg-other', vpcId: topology.vpcs[0]?.vpcId ?? '', type: 'normal' } as const;
    const lab = await oneNode({
      settings: { minIdle: 0, maxIdle: 0, coolDownMs: 20 },
      topology: { ...topology, securityGroups: [...topology.securityGroups, other] },
    });
    t.teardown(lab.stop);
    await lab.serving();
    const [first] = [await lab.add('a')];
    t.equal(lab.truth().length, 1);
    const before = lab.truth()[0];

    const changed = {
      ...lab.settings,
      ...{ minIdle: 3, maxIdle: 5, minEnis: 0, vSwitchIds: ['vsw-lab-2'], securityGroupIds: ['sg-other'] },
      eniTags: { team: 'x' },
    };
    await lab.node.changeSettings(changed, never);
    await eventually('the pool is filled to the new low mark', () => (lab.report().pool?.counts.idle ?? 0) >= 3);
    t.match(lab.report().pool, { minIdle: 3, maxIdle: 5, why: 'min_pool_size' });
    t.equal(lab.truth().length, 1, 'there was room on the ENI there is');
    t.match(lab.truth()[0], { vSwitchId: before?.vSwitchId, securityGroupIds: before?.securityGroupIds });

    const pods = Array.from({ length: 20 }, (_, n) => `p${n}`);
    await Promise.all(pods.map((name) => lab.add(name)));
    const made = lab.truth().find((eni) => eni.eniId !== before?.eniId);
    t.match(made, { vSwitchId: 'vsw-lab-2', securityGroupIds: ['sg-other'], tags: { team: 'x', creator: 'enactor' } });
    t.equal(
      lab.report().leases.find(({ sandbox }) => sandbox.pod.name === 'a')?.grant.address.ipv4,
      first?.grant.address.ipv4,
    );

    await lab.node.changeSettings({ ...changed, minIdle: 0, maxIdle: 0, coolDownMs: 0 }, never);
    for (const name of pods) await lab.del(name);
    await eventually('what is too much goes', () => {
      const counts = lab.report().pool?.counts;
      // The primary address of an ENI with pods stays.
      return counts !== undefined && counts.idle <= 1 && counts.cooling === 0 && counts.leaving === 0;
    });
    const { inputs } = lab.node.introspection.journal({ since: 0, limit: 1_000 });
    const told = inputs.filter(({ event }) => event.type === 'settings');
    t.strictSame(
      told.map(({ actor }) => actor),
      ['node', 'node'],
      'it is an input of the node, and of nobody else',
    );
  },
);

t.test('settings: what does not fit the instance, or cannot be looked up, changes nothing', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2 } });
  t.teardown(lab.stop);
  await t.rejects(lab.node.changeSettings(lab.settings, never), { code: 'notReady' });
  await lab.serving();
  const nowhere = { ...lab.settings, vSwitchIds: ['vsw-nowhere'], maxIdle: 6, minIdle: 6 };
  await t.rejects(lab.node.changeSettings(nowhere, never), {
    code: 'invalidArgument',
    detail: /none of the vSwitches vsw-nowhere is in zone/,
  });
  lab.away.cloud = true;
  await t.rejects(lab.node.changeSettings({ ...lab.settings, vSwitchIds: two, maxIdle: 6 }, never), {
    code: 'cloudUnreachable',
  });
  t.match(lab.report().pool, { minIdle: 1, maxIdle: 2 });
  await lab.node.changeSettings({ ...lab.settings, minIdle: 2 }, never);
  t.match(lab.report().pool, { minIdle: 2, maxIdle: 2 }, 'of the marks the cloud knows nothing');
  lab.away.cloud = false;
});

t.test('settings: a cap below what is there lets no more be opened', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 0, maxIdle: 2 }, instanceType: 'ecs.g7.large' });
  t.teardown(lab.stop);
  await lab.serving();
  const pods = Array.from({ length: 8 }, (_, n) => `p${n}`);
  await Promise.all(pods.map((name) => lab.add(name)));
  t.equal(lab.truth().length, 2);
  await lab.node.changeSettings({ ...lab.settings, maxEnis: 1 }, never);
  await lab.del('p0');
  t.equal(lab.report().pool?.capacity, 6);
  const more = await Promise.allSettled(Array.from({ length: 6 }, (_, n) => lab.add(`q${n}`, Date.now() + 1_500)));
  t.ok(
    more.some(({ status }) => status === 'fulfilled'),
    'what the ENIs hold is given out',
  );
  t.equal(lab.truth().length, 2, 'and nothing was opened or taken away');
});

t.test('settings: for a cordoned node nothing is kept, and pods that come all the same are served', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 3, maxIdle: 4, coolDownMs: 0 } });
  t.teardown(lab.stop);
  lab.node.cordon(true);
  await lab.serving();
  t.match(lab.report().pool, { minIdle: 0, maxIdle: 4, why: 'paused: the node is cordoned' });
  await lab.add('daemon-set');
  t.equal(lab.calls('CreateNetworkInterface').length, 1);
  t.equal(lab.calls('AssignPrivateIpAddresses').length, 0);
  lab.node.cordon(false);
  await eventually('it is filled', () => (lab.report().pool?.counts.idle ?? 0) >= 3);
  await lab.node.changeSettings({ ...lab.settings, pausesWhenCordoned: false }, never);
  lab.node.cordon(true);
  t.match(lab.report().pool, { minIdle: 3, why: 'min_pool_size' });
});
