/**
 * B13 over a real daemon and kernel: an ENI is detached by somebody else, its device vanishes from the node, and the cloud is not to be compared
 * for minutes. No pod gets an address of it: the kernel told at once. It is attached again for the pod that holds one.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { call, machine } from '../daemon/machine.ts';

t.setTimeout(120_000);

const ipOf = (body: unknown): string =>
  (body as { NetConfs?: { BasicInfo: { PodIP: { IPv4: string } } }[] }).NetConfs?.[0]?.BasicInfo.PodIP.IPv4 ?? '';

t.test('B13: an ENI whose device has vanished is looked at at once, and gives out nothing meanwhile', async (t) => {
  const here = await machine(t, {
    cloud_period: '1h',
    kernel_period: '1h',
    kernel_gather: '20ms',
    min_pool_size: 4,
    max_pool_size: 6,
    backoff: '100ms',
  });
  for (let nth = 0; nth < 5; nth += 1) here.addPod(`p${nth}`);
  const daemon = here.start();
  await daemon.serving();
  await daemon.until(async () => ((await daemon.report()).pool?.counts.idle ?? 0) >= 4);
  t.equal((await call(here.paths.jsonSocket, 'AllocIP', 'p0')).status, 200);
  const { leases, enis } = await daemon.report();
  const eniId = leases[0]?.grant.eni.eniId ?? '';
  t.ok((enis.find((eni) => eni.eniId === eniId)?.addresses.length ?? 0) > 1, 'it has idle ones too');
  const { model, live } = here.cloud;
  // The attach that mends it is held back, so that the ENI stays away while pods come.
  const { call: carriedOut } = live;
  const waiting: (() => void)[] = [];
  live.call = async (wanted) => {
    if (wanted.api === 'AttachNetworkInterface' && wanted.params.NetworkInterfaceId === eniId)
      await new Promise<void>((resolve) => waiting.push(resolve));
    return Reflect.apply(carriedOut, live, [wanted]);
  };
  model.change({ change: 'detachEni', eniId }, live.nowMs());
  live.touched();
  await daemon.until(async () =>
    (await daemon.report()).enis.some((eni) => !/^inUse\.(resting|looking)/.test(eni.state)),
  );
  for (const pod of ['p1', 'p2', 'p3']) {
    const answer = await call(here.paths.jsonSocket, 'AllocIP', pod);
    t.equal(answer.status, 200, pod);
    const owner = model.truth(live.nowMs()).enis.find((eni) => eni.ipv4.includes(ipOf(answer.body)));
    t.match(owner, { status: 'InUse' }, `${pod} has an address that works`);
    t.not(owner?.eniId, eniId);
  }
  t.match(daemon.log, /the device of an ENI is gone: the cloud is asked what became of it/);
  await daemon.until(async () => waiting.length > 0);
  live.call = carriedOut;
  for (const go of waiting) go();
  await daemon.until(async () =>
    (await daemon.report()).enis.some((eni) => eni.eniId === eniId && eni.state.startsWith('inUse.resting')),
  );
  t.equal((await call(here.paths.jsonSocket, 'AllocIP', 'p4')).status, 200);
});

t.test('B13: a device that is only renamed, or back in a moment, costs nothing', async (t) => {
  const here = await machine(t, { kernel_gather: '20ms', cloud_period: '1h', backoff: '100ms' });
  here.addPod('p');
  const daemon = here.start();
  await daemon.serving();
  const granted = await call(here.paths.jsonSocket, 'AllocIP', 'p');
  t.equal(granted.status, 200);
  const device = (await daemon.report()).enis[0]?.device ?? '';
  const since = here.cloud.live.gateway.ledger.lastSeq;
  for (const words of [
    ['link', 'set', device, 'down'],
    ['link', 'set', device, 'name', 'ethx'],
    ['link', 'set', 'ethx', 'up'],
  ])
    execFileSync('ip', words);
  await daemon.until(async () => /default via/.test(routes('ethx')));
  const report = await daemon.report();
  t.match(report.enis[0]?.state, /^inUse\.resting/);
  t.strictSame(
    here.cloud.live.gateway.ledger.read(since, null).filter(({ changed }) => changed),
    [],
  );
  t.strictSame(await call(here.paths.jsonSocket, 'AllocIP', 'p'), granted);
});

const routes = (device: string): string =>
  execFileSync('ip', ['route', 'show', 'table', 'all', 'dev', device], { encoding: 'utf8' });
