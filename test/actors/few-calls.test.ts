/** Calls of the cloud that a node does without, since all nodes of an account share them. */
import t from 'tap';
import { defaultSettings } from '../../src/core/settings.ts';
import { eventually, oneNode } from './one-node.ts';

t.setTimeout(120_000);

t.test('few calls: a restart asks the cloud for its ENIs alone, and asks anew what may have changed', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 4, cloudPeriodMs: defaultSettings.cloudPeriodMs } });
  t.teardown(() => lab.stop());
  await lab.serving();
  await lab.add('pod');
  await eventually('the pool is full', () => (lab.report().pool?.counts.idle ?? 0) >= 2);
  await eventually('no intent is open', () => (lab.disk.get('intents')?.size ?? 0) === 0);
  const looks = () =>
    ['DescribeNetworkInterfaces', 'DescribeInstanceTypes', 'DescribeVSwitches'].map((api) => lab.calls(api).length);
  const asked = async (restart: () => Promise<void>): Promise<readonly number[]> => {
    const before = looks();
    await restart();
    return looks().map((count, nth) => count - (before[nth] ?? 0));
  };
  t.strictSame(await asked(() => lab.restart()), [2, 0, 0]);
  t.match(lab.report(), { leases: [{}], enis: [{}] });
  const resized = async () => {
    await lab.change({ change: 'resizeInstance', instanceId: 'i-lab-node-1', instanceType: 'ecs.g7.xlarge' });
    await lab.restart();
  };
  t.strictSame(await asked(resized), [2, 1, 0], 'another type has other limits');
  t.strictSame(await asked(() => lab.restart({ vSwitchIds: ['vsw-lab-1', 'vsw-lab-2'] })), [2, 0, 2], 'or vSwitches');
  const cloud = lab.disk.get('meta')?.get('cloud') ?? '{}';
  for (const strange of [
    { version: 9 },
    { instanceId: 'i-other' },
    { of: 'pod-cidr' },
    { atMs: 0 },
    { limits: null },
  ]) {
    lab.disk.get('meta')?.set('cloud', JSON.stringify({ ...JSON.parse(cloud), ...strange }));
    t.strictSame(await asked(() => lab.restart()), [2, 1, 2], JSON.stringify(strange));
  }
  lab.disk
    .get('intents')
    ?.set('eni-x', JSON.stringify({ version: 1, id: 'eni-x', kind: 'delete', slot: 0, eniId: 'eni-x', atMs: 0 }));
  t.strictSame(await asked(() => lab.restart()), [4, 0, 0], 'what was begun is looked up in all ways');
});

t.test('few calls: an Assign that was turned away for its number is not looked after', async (t) => {
  const lab = await oneNode({ settings: { cloudPeriodMs: defaultSettings.cloudPeriodMs } });
  t.teardown(() => lab.stop());
  await lab.serving();
  const { eniId } = (await lab.add('first')).grant.eni;
  await lab.refuse('AssignPrivateIpAddresses', 'Throttling.User');
  const before = lab.calls('DescribeNetworkInterfaces').length;
  const [second, third] = await Promise.all([lab.add('second'), lab.add('third')]);
  t.not(second?.grant.address.ipv4, third?.grant.address.ipv4);
  t.match(lab.calls('AssignPrivateIpAddresses'), [{ outcome: 'Throttling.User' }, { outcome: 'ok' }]);
  const looked = lab.calls('DescribeNetworkInterfaces').slice(before);
  t.notOk(looked.some(({ params }) => Object.values(params).includes(eniId)));
  await eventually('no intent is open', () => (lab.disk.get('intents')?.size ?? 0) === 0);
});
