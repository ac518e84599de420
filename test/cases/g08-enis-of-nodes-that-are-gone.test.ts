/**
 * G8: nodes die and leave ENIs behind, which hold addresses of the vSwitch for ever. `enactor eni sweep` takes away those whose instance is
 * gone by the API's word, twice; never one that is attached, of another cluster, or of a node that exists.
 */
import { spawn } from 'node:child_process';
import t, { type Test } from 'tap';
import { LAB_ACCESS_KEY } from '../../src/lab/cloud/keys.ts';
import { type RunningCloud, runCloud } from '../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';

t.setTimeout(120_000);
t.jobs = 3;

type Ids = Readonly<Record<'live' | 'attached' | 'gone' | 'gone2' | 'foreign' | 'untold', string>>;

/** Three nodes of which two are released; what was attached to those went with them. */
async function world(t: Test): Promise<{ cloud: RunningCloud; ids: Ids }> {
  const cloud = await runCloud({
    listen: '127.0.0.1:0',
    profile: 'fast',
    topology: defaultTopology('ecs.g7.xlarge', 3),
  });
  t.teardown(() => cloud.close());
  const eni = (node: number | null, attached: boolean, cluster = 'prod'): string => {
    const instance = node === null ? {} : { 'enactor/instance': `i-lab-node-${node}` };
    const [id = ''] = cloud.model.change(
      {
        ...{ change: 'createEni', vSwitchId: 'vsw-lab-1', securityGroupIds: ['sg-lab'], secondaries: 2, ipv6: 0 },
        ...{ instanceId: attached ? `i-lab-node-${node}` : null, serviceManaged: false },
        tags: { creator: 'enactor', 'enactor/cluster': cluster, ...instance },
      },
      Date.now(),
    );
    return id;
  };
  const ids = {
    ...{ live: eni(1, false), attached: eni(1, true), gone: eni(2, false), gone2: eni(3, false) },
    ...{ foreign: eni(2, false, 'test'), untold: eni(null, false) },
  };
  for (const node of [2, 3])
    cloud.model.change({ change: 'releaseInstance', instanceId: `i-lab-node-${node}` }, Date.now());
  cloud.live.touched();
  return { cloud, ids };
}

type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function sweep(
  cloud: RunningCloud,
  ...more: readonly string[]
): Promise<Run> & { heard: (text: string) => Promise<void> } {
  const { host } = new URL(cloud.url);
  const place = ['--region', 'cn-lab', '--ecs-endpoint', host, '--vpc-endpoint', host, '--scheme', 'http'];
  const child = spawn(process.execPath, ['dist/enactor.js', 'eni', 'sweep', '--cluster', 'prod', ...place, ...more], {
    env: {
      ...process.env,
      ALIBABA_CLOUD_ACCESS_KEY_ID: LAB_ACCESS_KEY.accessKeyId,
      ALIBABA_CLOUD_ACCESS_KEY_SECRET: LAB_ACCESS_KEY.accessKeySecret,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const ended = new Promise<Run>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  const heard = async (text: string) => {
    while (!stderr.includes(text) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  return Object.assign(ended, { heard });
}

const left = (cloud: RunningCloud): string[] =>
  cloud.model
    .truth(Date.now())
    .enis.flatMap((eni) => (eni.type === 'Primary' || eni.status === 'Deleting' ? [] : [eni.eniId]));
const without = (ids: Ids, ...names: readonly (keyof Ids)[]): string[] =>
  Object.entries(ids).flatMap(([name, id]) => (names.includes(name as keyof Ids) ? [] : [id]));

t.test('G8: shown first, then taken away; everything else stays', { buffered: true }, async (t) => {
  const { cloud, ids } = await world(t);
  const free = () =>
    cloud.model.truth(Date.now()).vSwitches.find((one) => one.vSwitchId === 'vsw-lab-1')?.availableAddresses;
  const before = free() ?? 0;
  const shown = await sweep(cloud);
  t.equal(shown.code, 0, shown.stderr);
  t.match(shown.stdout, /2 would be deleted: say --yes/);
  t.match(shown.stdout, new RegExp(`${ids.gone} +would go .*i-lab-node-2 is gone`));
  t.match(shown.stdout, new RegExp(`${ids.attached} +kept .*attached to i-lab-node-1`));
  t.notMatch(shown.stdout, ids.foreign, 'another cluster’s is not even looked at');
  t.strictSame(left(cloud).sort(), without(ids).sort(), 'nothing was touched');

  const swept = await sweep(cloud, '--yes', '--between', '300ms', '-o', 'json');
  t.equal(swept.code, 0, swept.stderr);
  const { deleted } = JSON.parse(swept.stdout) as { readonly deleted: readonly string[] };
  t.strictSame([...deleted].sort(), [ids.gone, ids.gone2].sort());
  t.strictSame(left(cloud).sort(), without(ids, 'gone', 'gone2').sort());
  while (cloud.model.truth(Date.now()).enis.some((eni) => eni.status === 'Deleting'))
    await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(free(), before + 6, 'their addresses are the vSwitch’s again');
  const apis = new Set(cloud.live.gateway.ledger.read(0, null).map(({ api }) => api as string));
  t.strictSame([...apis].sort(), ['DeleteNetworkInterface', 'DescribeInstances', 'DescribeNetworkInterfaces']);
  t.match(await sweep(cloud, '--yes', '--between', '0'), { code: 0, stdout: /0 deleted/ }, 'nothing is left to do');
});

t.test(
  'G8: what somebody takes between the looks stays, and an instance that was only not seen saves its ENIs',
  { buffered: true },
  async (t) => {
    const { cloud, ids } = await world(t);
    const running = sweep(cloud, '--yes', '--between', '3s');
    await running.heard('looked at again');
    cloud.model.change({ change: 'attachEni', eniId: ids.gone, instanceId: 'i-lab-node-1' }, Date.now());
    const { code, stderr } = await running;
    t.equal(code, 0, stderr);
    t.strictSame(left(cloud).sort(), without(ids, 'gone2').sort());
  },
);

t.test('G8: a key that may not see instances deletes nothing', { buffered: true }, async (t) => {
  const { cloud, ids } = await world(t);
  const none = { Instances: { Instance: [] }, RequestId: 'none', TotalCount: 0, NextToken: '' };
  const planted = await fetch(`${cloud.adminUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify([{ api: 'DescribeInstances', effect: 'reply', body: JSON.stringify(none), times: 10 }]),
  });
  t.equal(planted.ok, true, await planted.text());
  const blind = await sweep(cloud, '--yes', '--between', '0');
  t.equal(blind.code, 1);
  t.match(blind.stderr, /nothing is deleted: the cloud denies i-lab-node-1/);
  t.strictSame(left(cloud).sort(), without(ids).sort());
});

t.test(
  'G8: where no node is left a person has to say so; the cloud’s refusals are told',
  { buffered: true },
  async (t) => {
    const { cloud, ids } = await world(t);
    cloud.model.change({ change: 'releaseInstance', instanceId: 'i-lab-node-1' }, Date.now());
    const careful = await sweep(cloud, '--yes', '--between', '0');
    t.equal(careful.code, 1);
    t.match(careful.stderr, /no ENI of the cluster is attached to any instance/);
    await fetch(`${cloud.adminUrl}/faults`, {
      method: 'POST',
      body: JSON.stringify([{ api: 'DeleteNetworkInterface', effect: 'fail', code: 'InternalError', times: 1 }]),
    });
    const all = await sweep(cloud, '--yes', '--between', '0', '--all-gone');
    t.equal(all.code, 1);
    t.match(all.stdout, /InternalError/);
    const again = await sweep(cloud, '--yes', '--between', '0', '--all-gone');
    t.equal(again.code, 0, again.stderr);
    t.ok(left(cloud).includes(ids.untold), 'whose node is not told stays');
    t.ok(left(cloud).includes(ids.foreign));
    t.notOk(left(cloud).some((id) => [ids.live, ids.gone, ids.gone2].includes(id)));
  },
);

t.test('G8: bad input is named', { buffered: true }, async (t) => {
  const { cloud } = await world(t);
  t.match(await sweep(cloud, '--between', 'soon'), { code: 2, stderr: /--between .*a duration, such as 10m/ });
});
