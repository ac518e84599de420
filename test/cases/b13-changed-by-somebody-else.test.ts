/**
 * B13: somebody removed an address, or a whole ENI, outside the daemon. Release then failed for ever with "not found", the slot stayed
 * taken, and the dead address was given to the next pod.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, periodMs, watchForeign } from './invariants.ts';
import { CAPACITY, ipOf, names, PER_ENI, PERIOD_MS, type Rig, rig } from './rig.ts';
import { atLeast } from './speed.ts';

/** Within one period, as it is written; a busy machine's calls take their time on top. */
const HICCUP_MS = 6_000;
const settings = { maxIdle: CAPACITY, coolDownMs: 1_000, cloudPeriodMs: PERIOD_MS };
const within = () => periodMs() + HICCUP_MS;

t.jobs = 4;

const stateOf = (lab: Rig, ip: string): string | null =>
  lab
    .report()
    .enis.flatMap((eni) => eni.addresses)
    .find((one) => one.ipv4 === ip)?.state ?? null;

const errorsOf = (lab: Rig, ip: string) =>
  lab.lines.filter((line) => line.level === 'error' && JSON.stringify(line.fields).includes(`"${ip}"`));

/** Six addresses on one ENI: four in use by pod0 to pod3, two idle. */
async function fourAndTwo(t: Parameters<typeof rig>[0]) {
  const lab = await rig(t, { settings });
  await lab.adds(names('pod', PER_ENI));
  const { report } = lab;
  // The ENI's own primary address cannot be taken from it.
  const primary = lab.truth()[0]?.primaryIp;
  const leases = [...report().leases].sort((a, b) => Number(ipOf(b) === primary) - Number(ipOf(a) === primary));
  for (const lease of leases.slice(4)) await lab.del(lease.sandbox.pod.name);
  await eventually('two are idle', () => lab.counts().idle === 2);
  const eniId = lab.truth()[0]?.eniId ?? '';
  return { lab, eniId, used: leases.slice(0, 4), idle: leases.slice(4).map(ipOf) };
}

async function fills(t: Parameters<typeof rig>[0], lab: Rig): Promise<void> {
  await eventually(
    'no ENI is on its way',
    () => lab.report().enis.every((eni) => eni.state.startsWith('inUse')),
    15_000,
  );
  const { errors } = await lab.adds(names('fill', CAPACITY - lab.report().leases.length));
  t.strictSame(errors, []);
  t.equal(new Set(lab.report().leases.map(ipOf)).size, CAPACITY, 'full capacity is reachable again');
}

t.test('B13: an idle address that was removed is not offered any more', { buffered: true }, async (t) => {
  const { lab, eniId, idle } = await fourAndTwo(t);
  const untouched = watchForeign(lab);
  await lab.change({ change: 'unassign', eniId, ips: idle.slice(0, 1) });
  await eventually('it left the book within one period', () => stateOf(lab, idle[0] ?? '') === null, within());
  await fills(t, lab);
  checkLeases(t, lab);
  await checkRest(t, lab);
  untouched(t);
});

t.test(
  'B13: an address in use that was removed is told once, and its pod kept until it goes',
  { buffered: true },
  async (t) => {
    const { lab, eniId, used } = await fourAndTwo(t);
    const untouched = watchForeign(lab);
    const lease = used[1];
    const [ip, pod] = [lease === undefined ? '' : ipOf(lease), lease?.sandbox.pod.name ?? ''];
    await lab.change({ change: 'unassign', eniId, ips: [ip] });
    await eventually('it is told as invalid within one period', () => stateOf(lab, ip) === 'invalid', within());
    t.ok(
      lab.report().leases.some((one) => ipOf(one) === ip),
      'the pod is not torn down',
    );
    t.equal(ipOf(await lab.add(pod)), ip, 'its sandbox asking again is told the same');
    await new Promise((resolve) => setTimeout(resolve, 4 * periodMs()));
    t.equal(errorsOf(lab, ip).length, 1, 'an error, once');
    t.match(errorsOf(lab, ip), [{ fields: { pod: `default/${pod}`, eni: eniId } }]);
    await lab.del(pod);
    t.equal(stateOf(lab, ip), null, 'gone with its pod, and not offered');
    await fills(t, lab);
    checkLeases(t, lab);
    await checkRest(t, lab);
    t.strictSame(
      lab.mutations().filter((call) => /NotFound|IpUnassigned/.test(call)),
      [],
      'nothing was asked in vain',
    );
    untouched(t);
  },
);

t.test('B13: an address in use comes back', { buffered: true }, async (t) => {
  const { lab, eniId, used } = await fourAndTwo(t);
  const ip = used[1] === undefined ? '' : ipOf(used[1]);
  await lab.change({ change: 'unassign', eniId, ips: [ip] });
  await eventually('it is told as invalid', () => stateOf(lab, ip) === 'invalid', within());
  await lab.change({ change: 'assign', eniId, ips: [ip] });
  await eventually('it is the pod’s again', () => stateOf(lab, ip) === 'bound', within());
  await checkRest(t, lab);
});

t.test(
  'B13: an unknown address on our ENI is adopted, or released when it is too much',
  { buffered: true },
  async (t) => {
    for (const maxIdle of [CAPACITY, 1]) {
      const { lab, eniId, idle } = await fourAndTwo(t);
      const untouched = watchForeign(lab);
      await lab.change({ change: 'unassign', eniId, ips: idle });
      await eventually('room for one more', () => lab.counts().idle === 0, within());
      await lab.restart({ maxIdle });
      const added = (await lab.change({ change: 'assign', eniId, count: maxIdle === 1 ? 2 : 1 })).flat();
      if (maxIdle > 1) await eventually('adopted', () => stateOf(lab, added[0] ?? '') === 'idle', within());
      else
        await eventually(
          'one is adopted, the other released',
          () => lab.counts().idle === 1 && lab.truth()[0]?.ipv4.length === 5,
          within() + HICCUP_MS,
        );
      await lab.restart({ maxIdle: CAPACITY });
      await fills(t, lab);
      await checkRest(t, lab);
      untouched(t);
    }
  },
);

t.test('B13: an idle ENI that was detached goes, one under pods is attached again', { buffered: true }, async (t) => {
  const lab = await rig(t, { settings });
  const untouched = watchForeign(lab);
  await lab.adds(names('pod', CAPACITY));
  const [idleEni, usedEni] = lab.truth().map((eni) => eni.eniId);
  const there = lab.report().leases.filter((lease) => lease.grant.eni.eniId === idleEni);
  for (const lease of there) await lab.del(lease.sandbox.pod.name);
  await eventually('one ENI is idle', () => lab.counts().idle === PER_ENI);
  await lab.change({ change: 'detachEni', eniId: idleEni }, { change: 'detachEni', eniId: usedEni });
  // No waiting for the period: pods come at any time. What they get must be attached by the time they are told.
  await eventually(
    'the idle one is gone',
    () => !lab.truth().some((eni) => eni.eniId === idleEni),
    within() + HICCUP_MS,
  );
  await eventually(
    'the one under pods is back',
    () => lab.truth().some((eni) => eni.eniId === usedEni && eni.status === 'InUse'),
    within() + HICCUP_MS,
  );
  t.equal(lab.counts().bound, PER_ENI, 'its pods have their addresses');
  await fills(t, lab);
  checkLeases(t, lab);
  await checkRest(t, lab);
  untouched(t);
});

t.test(
  'B13: an ENI that was deleted under pods is told, and goes with the last of them',
  { buffered: true },
  async (t) => {
    const { lab, eniId, used } = await fourAndTwo(t);
    await lab.change({ change: 'deleteEni', eniId });
    await eventually(
      'all four are invalid',
      () => used.every((lease) => stateOf(lab, ipOf(lease)) === 'invalid'),
      within() + HICCUP_MS,
    );
    t.equal(lab.counts().idle, 0, 'nothing on it is offered');
    const other = await lab.add('other');
    t.not(other.grant.eni.eniId, eniId);
    for (const lease of used) await lab.del(lease.sandbox.pod.name);
    await eventually('its slot is free', () => !lab.report().enis.some((eni) => eni.eniId === eniId), 10_000);
    await fills(t, lab);
    await checkRest(t, lab);
  },
);

for (const form of ['InvalidIp.IpUnassigned', 'HTTP 404']) {
  t.test(`B13: an address to be released is not there, and the cloud says ${form}`, { buffered: true }, async (t) => {
    // No comparison comes first: the pool gives back what somebody removed while it cooled.
    const lab = await rig(t, { settings: { ...settings, maxIdle: 0, coolDownMs: 20_000, cloudPeriodMs: 3_600_000 } });
    const untouched = watchForeign(lab);
    await lab.adds(names('pod', PER_ENI));
    const [eni] = lab.truth();
    const gone = lab
      .report()
      .leases.filter((lease) => ipOf(lease) !== eni?.primaryIp)
      .slice(0, 2);
    for (const lease of gone) await lab.del(lease.sandbox.pod.name);
    await lab.change({ change: 'unassign', eniId: eni?.eniId, ips: gone.map(ipOf) });
    const html = { status: 404, contentType: 'text/html', body: '<h1>404 Not Found</h1>' };
    if (form === 'HTTP 404')
      await lab.plant({ api: 'UnassignPrivateIpAddresses', effect: 'reply', carriedOut: false, ...html });
    await eventually(
      'both have left the book',
      () => gone.every((lease) => stateOf(lab, ipOf(lease)) === null),
      atLeast(6_000, 60_000),
    );
    t.ok(lab.mutations().some((call) => /^Unassign.*:(InvalidIp.IpUnassigned|NotCarriedOut)/.test(call)));
    await checkRest(t, lab, 'after the release');
    t.equal(lab.report().enis[0]?.lastFailure ?? null, null, 'nothing is left failing');
    await lab.restart({ maxIdle: CAPACITY });
    await fills(t, lab);
    await checkRest(t, lab);
    untouched(t);
  });
}

for (const code of ['InvalidEniId.NotFound', 'HTTP 404']) {
  t.test(`B13: Detach and Delete of what is not there answer ${code}`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    await lab.adds(names('pod', 3));
    for (const name of names('pod', 3)) await lab.del(name);
    await eventually('all idle', () => lab.counts().idle === 3);
    const eniId = lab.truth()[0]?.eniId ?? '';
    const html = { status: 404, contentType: 'text/html', body: '<h1>404 Not Found</h1>' };
    for (const api of ['DetachNetworkInterface', 'DeleteNetworkInterface'])
      await lab.plant(
        code === 'HTTP 404'
          ? { api, effect: 'reply', carriedOut: true, ...html }
          : {
              api,
              effect: 'reply',
              carriedOut: true,
              status: 404,
              body: JSON.stringify({ Code: code, RequestId: 'R' }),
            },
      );
    await lab.restart({ maxIdle: 0 });
    await eventually('the ENI is gone', () => !lab.truth().some((eni) => eni.eniId === eniId), 10_000);
    await eventually('and its slot free', () => lab.report().enis.length === 0, 10_000);
    await lab.restart({ maxIdle: CAPACITY });
    await fills(t, lab);
    await checkRest(t, lab);
    untouched(t);
  });
}
