/** ENIs of others on the instance, over the real SDK: never touched, counted against the type's limit, noticed when a place is missing. */
import t from 'tap';
import { ownTags, REQUEST_TAG } from '../../actors/tags.ts';
import { atRest } from './at-rest.ts';
import { eventually, type OneNode, oneNode, sandbox } from './one-node.ts';

const PLACES = 2; // of ecs.g7.large, beside the primary ENI
const PER_ENI = 6;

const foreign = (tags: Record<string, string> = {}) => ({
  change: 'createEni',
  vSwitchId: 'vsw-lab-1',
  securityGroupIds: ['sg-lab'],
  instanceId: 'i-lab-node-1',
  secondaries: 2,
  tags,
});
const theirs = (lab: OneNode) => lab.truth().filter((eni) => eni.tags.creator !== 'enactor');
const addAll = (lab: OneNode, prefix: string, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, n) => lab.add(`${prefix}${n}`)));
const served = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.filter((one) => one.status === 'fulfilled').length;
const reasons = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));

for (const [name, tags, settings] of [
  ['blocked by its tags', { 'terway.alibabacloud.com/excluded': 'true' }, {}],
  ['not of the filter', { team: 'y' }, { eniTagFilter: { team: 'x' }, eniTags: { team: 'x' } }],
] as const)
  t.test(`foreign ENI: ${name}, it is left alone and its place is not ours`, async (t) => {
    const lab = await oneNode({ settings });
    t.teardown(lab.stop);
    await lab.change(foreign(tags));
    await lab.restart();
    const before = JSON.stringify(theirs(lab));
    t.equal(lab.report().pool?.capacity, (PLACES - 1) * PER_ENI);
    const results = await addAll(lab, 'p', PER_ENI + 2);
    t.equal(served(results), PER_ENI);
    for (const reason of reasons(results)) t.match(reason, /1 more ENIs here are not ours to use/);
    t.equal(lab.truth().length, 2, 'theirs and one of ours');
    for (let n = 0; n < PER_ENI + 2; n += 1) await lab.del(`p${n}`);
    await eventually('ours is gone', () => lab.truth().length === 1);
    t.equal(JSON.stringify(theirs(lab)), before);
    t.equal(lab.calls('AttachNetworkInterface').filter((call) => call.outcome !== 'ok').length, 0, 'no limit was met');
  });

t.test('foreign ENI: with tags that say nothing it is used, and never given back', async (t) => {
  const lab = await oneNode({});
  t.teardown(lab.stop);
  // A store that has never been whole would have all that is there held back until host and API server agree.
  await lab.serving();
  await lab.change(foreign());
  await lab.restart();
  t.equal(lab.report().pool?.capacity, PLACES * PER_ENI);
  const lease = await lab.add('a');
  t.ok(theirs(lab).some((eni) => eni.eniId === lease.grant.eni.eniId));
  await lab.del('a');
  await atRest(lab);
  t.equal(theirs(lab)[0]?.ipv4.length, 3);
});

t.test(
  'foreign ENI: one that comes while we run is noticed when a place is missing, and the pods are told',
  async (t) => {
    const lab = await oneNode({ settings: { quotaHoldMs: 400, holdDownMs: 300 } });
    t.teardown(lab.stop);
    await lab.serving();
    await addAll(lab, 'a', PER_ENI);
    await lab.change(foreign({ creator: 'alibabacloud-erdma-controller' }));
    t.equal(lab.report().pool?.capacity, PLACES * PER_ENI, 'nobody has told us');
    const results = await addAll(lab, 'b', 2);
    t.equal(served(results), 0);
    for (const reason of reasons(results)) t.match(reason, /not ours to use|EniPerInstanceLimitExceeded/);
    t.equal(lab.report().pool?.capacity, (PLACES - 1) * PER_ENI, 'now we know');
    await eventually('what was made in vain is gone', () => lab.truth().length === 2);
    const refused = () => lab.calls('AttachNetworkInterface').filter((call) => call.outcome !== 'ok').length;
    const before = refused();
    await addAll(lab, 'c', 2);
    t.equal(refused(), before, 'the cloud is not asked again for what is known');

    await lab.change({ change: 'detachEni', eniId: theirs(lab)[0]?.eniId });
    await eventually('its place is ours again', () => lab.report().pool?.capacity === PLACES * PER_ENI);
    t.equal(served(await addAll(lab, 'd', 2)), 2);
  },
);

t.test('foreign ENI: one that pods of ours live on stays in use whatever its tags say now', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 9 } });
  t.teardown(lab.stop);
  await lab.serving();
  const lease = await lab.add('a');
  await lab.restart({ eniTagFilter: { team: 'x' }, eniTags: { team: 'x' } });
  t.ok(lab.report().enis.some((eni) => eni.eniId === lease.grant.eni.eniId));
  const again = await lab.add('a');
  t.equal(again.grant.address.ipv4, lease.grant.address.ipv4);
  await lab.del('a');
  t.equal(lab.node.allocator.lease(sandbox('a').containerId, 'eth0'), null);
});

t.test(
  'quota: an ENI that has more addresses than we know is read anew, and pods go elsewhere meanwhile',
  async (t) => {
    const lab = await oneNode({ settings: { quotaHoldMs: 60_000 } });
    t.teardown(lab.stop);
    await lab.serving();
    const first = await lab.add('a');
    const { eniId } = first.grant.eni;
    await lab.change({ change: 'assign', eniId, family: 4, count: PER_ENI - 1 });
    const results = await addAll(lab, 'b', 3);
    t.equal(served(results), 3, reasons(results).join('; '));
    const refused = lab.calls('AssignPrivateIpAddresses').filter((call) => call.outcome !== 'ok');
    t.equal(refused.length, 1, 'one call met the limit');
    t.equal(refused[0]?.outcome, 'InvalidOperation.Ipv4CountExceeded');
    const known = () => lab.report().enis.find((eni) => eni.eniId === eniId)?.addresses.length;
    await eventually(
      'the book has what the cloud has',
      () => known() === lab.truth().find((eni) => eni.eniId === eniId)?.ipv4.length,
    );
  },
);

t.test('vSwitches: the list of the node’s zone, its own one when that zone has none', async (t) => {
  for (const [vSwitchIds, expected] of [
    [{ 'cn-lab-a': ['vsw-lab-2'], 'cn-lab-b': ['vsw-lab-1'] }, 'vsw-lab-2'],
    [{ 'cn-lab-b': ['vsw-lab-2'] }, 'vsw-lab-1'],
    [{}, 'vsw-lab-1'],
    [['vsw-lab-2'], 'vsw-lab-2'],
  ] as const) {
    const lab = await oneNode({ settings: { vSwitchIds } });
    await lab.serving();
    await lab.add('a');
    t.equal(lab.truth()[0]?.vSwitchId, expected, JSON.stringify(vSwitchIds));
    await lab.stop();
  }
});

t.test('vSwitches: one that is known to be too small comes last, and what it has is used in the end', async (t) => {
  const lab = await oneNode({ settings: { vSwitchPolicy: 'listed', vSwitchIds: ['vsw-lab-1', 'vsw-lab-2'] } });
  t.teardown(lab.stop);
  const free = lab.cloud.model.truth(Date.now()).vSwitches.find((one) => one.vSwitchId === 'vsw-lab-1');
  await lab.change({ change: 'withhold', vSwitchId: 'vsw-lab-1', addresses: (free?.availableAddresses ?? 0) - 3 });
  await lab.restart();
  t.equal(served(await addAll(lab, 'a', PER_ENI + 3)), PER_ENI + 3);
  t.same(
    lab
      .truth()
      .map((eni) => `${eni.vSwitchId} ${eni.ipv4.length}`)
      .sort(),
    ['vsw-lab-1 3', 'vsw-lab-2 6'],
  );
  t.equal(lab.calls('CreateNetworkInterface').filter((call) => call.outcome !== 'ok').length, 0, 'nothing was refused');
});

t.test(
  'cloudKeeper: an ENI of ours that nobody knows is finished off or used; that of another node is not touched',
  async (t) => {
    const lab = await oneNode({ settings: { maxIdle: 12, cloudPeriodMs: 400 } });
    t.teardown(lab.stop);
    await lab.serving();
    const own = { ...ownTags('', 'i-lab-node-1'), [REQUEST_TAG]: 'of-a-create-that-was-given-up' };
    const { instanceId: _, ...loose } = foreign(own);
    await lab.change(loose);
    await lab.change(foreign({ ...own, [REQUEST_TAG]: 'another' }));
    await lab.change({ ...loose, tags: ownTags('', 'i-lab-node-2') });
    await eventually('the loose one is gone', () => lab.truth().length === 2, 10_000);
    t.same(
      lab.truth().map(({ instanceId }) => instanceId),
      ['i-lab-node-1', null],
    );
    await eventually('the attached one serves', () => lab.report().enis.some(({ state }) => state.startsWith('inUse')));
    const lease = await lab.add('a');
    t.equal(lease.grant.eni.eniId, lab.truth()[0]?.eniId);
    t.equal(lab.calls('CreateNetworkInterface').length, 0);
    await atRest(lab);
  },
);

t.test('foreign ENI: two clusters in one account leave each other’s ENIs alone, attached or not', async (t) => {
  const lab = await oneNode({ settings: { clusterId: 'east', cloudPeriodMs: 50, maxIdle: 0 } });
  t.teardown(lab.stop);
  await lab.serving();
  const west = { creator: 'enactor', 'enactor/cluster': 'west', 'enactor/instance': 'i-lab-node-1' };
  const elsewhere = { ...west, 'enactor/instance': 'i-of-theirs' };
  await lab.change(foreign(west));
  await lab.change({ ...foreign(west), instanceId: null });
  await lab.change({ ...foreign(elsewhere), instanceId: null });
  const wests = () => lab.truth().filter((eni) => eni.tags['enactor/cluster'] === 'west');
  const before = JSON.stringify(wests());
  t.equal(wests().length, 3);
  await lab.restart();
  await lab.add('a');
  await lab.del('a');
  const looks = () => lab.calls('DescribeNetworkInterfaces').filter(({ params }) => 'Tag.1.Key' in params).length;
  const looked = looks();
  await eventually('the cloud keeper has looked often enough to act', () => looks() >= looked + 4, 20_000);
  t.equal(JSON.stringify(wests()), before, 'nothing of theirs is used up, detached or deleted');
  for (const api of ['DetachNetworkInterface', 'DeleteNetworkInterface'])
    t.notOk(
      lab.calls(api).some(({ params }) => before.includes(String(params.NetworkInterfaceId))),
      api,
    );
});
