/**
 * B02: an Assign was answered with fewer addresses than asked for, and the daemon's count of what is pending was wrong ever after.
 */
import t from 'tap';
import type { Settings } from '../../src/core/settings.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, ipOf, names, PER_ENI, PERIOD_MS, type Rig, rig } from './rig.ts';

/** A node whose one ENI has its primary address alone, in use. */
async function emptyEni(
  t: Parameters<typeof rig>[0],
  more: Partial<Settings> = {},
): Promise<{ lab: Rig; eniId: string }> {
  const lab = await rig(t, { settings: { maxIdle: CAPACITY, coolDownMs: 1_000, ...more } });
  await lab.add('first');
  return { lab, eniId: lab.truth()[0]?.eniId ?? '' };
}

function assigned(ips: readonly string[], eniId: string): string {
  const AssignedPrivateIpAddressesSet = {
    NetworkInterfaceId: eniId,
    PrivateIpSet: { PrivateIpAddress: ips },
  };
  return JSON.stringify({ RequestId: 'R-0', AssignedPrivateIpAddressesSet });
}

async function fillsUp(t: Parameters<typeof rig>[0], lab: Rig, untouched: (t: Parameters<typeof rig>[0]) => void) {
  await checkRest(t, lab, 'after the odd answer');
  for (const eni of lab.report().enis) t.equal(eni.waiting, 0, 'nothing is pending');
  const missing = CAPACITY - lab.report().leases.length;
  const { leases, errors } = await lab.adds(names('fill', missing + 2));
  t.equal(leases.length, missing, 'the node can still be filled to exactly its capacity');
  t.equal(errors.length, 2);
  t.equal(new Set(lab.report().leases.map(ipOf)).size, CAPACITY);
  await checkRest(t, lab, 'full');
  untouched(t);
}

t.test('B02: five asked for, two given: the missing ones are asked for again', async (t) => {
  const { lab, eniId } = await emptyEni(t);
  const untouched = watchForeign(lab);
  const touched = await lab.change({ change: 'assign', eniId, count: 2 });
  const body = assigned(touched.flat(), eniId);
  await lab.plant({ api: 'AssignPrivateIpAddresses', effect: 'reply', carriedOut: false, body });
  const { leases, errors } = await lab.adds(names('pod', 5));
  t.strictSame(errors, []);
  t.equal(new Set(leases.map(ipOf)).size, 5, 'five distinct addresses');
  t.equal(lab.truth().length, 1, 'on the one ENI');
  t.equal(lab.truth()[0]?.ipv4.length, PER_ENI);
  const calls = lab.calls('AssignPrivateIpAddresses');
  t.ok(calls.length > 1, 'more Assigns follow');
  const asked = calls.slice(1).reduce((sum, call) => sum + Number(call.params.SecondaryPrivateIpAddressCount), 0);
  t.equal(asked, 3, 'for the missing three');
  await fillsUp(t, lab, untouched);
});

t.test('B02: an address that was on the ENI already is not given to a second pod', async (t) => {
  const { lab, eniId } = await emptyEni(t);
  const untouched = watchForeign(lab);
  const known = lab.truth()[0]?.ipv4[0] ?? '';
  const touched = await lab.change({ change: 'assign', eniId, count: 1 });
  const body = assigned([known, ...touched.flat()], eniId);
  await lab.plant({ api: 'AssignPrivateIpAddresses', effect: 'reply', carriedOut: false, body });
  const { leases, errors } = await lab.adds(names('pod', 2));
  t.strictSame(errors, []);
  t.equal(new Set([known, ...leases.map(ipOf)]).size, 3);
  await fillsUp(t, lab, untouched);
});

t.test('B02: an answer in another order than the truth, and one that names an address twice', async (t) => {
  const { lab, eniId } = await emptyEni(t);
  const untouched = watchForeign(lab);
  const touched = await lab.change({ change: 'assign', eniId, count: 5 });
  const backwards = touched.flat().reverse();
  const body = assigned([...backwards, ...backwards.slice(0, 1)], eniId);
  await lab.plant({ api: 'AssignPrivateIpAddresses', effect: 'reply', carriedOut: false, body });
  const { leases, errors } = await lab.adds(names('pod', 5));
  t.strictSame(errors, []);
  t.strictSame(leases.map(ipOf).sort(), backwards.sort());
  t.equal(lab.calls('AssignPrivateIpAddresses').length, 1);
  await fillsUp(t, lab, untouched);
});

t.test('B02: in dual stack five of each family are asked for, and two IPv6 given', async (t) => {
  const { lab, eniId } = await emptyEni(t, { ipStack: 'dual' });
  const untouched = watchForeign(lab);
  const touched = await lab.change({ change: 'assign', eniId, family: 6, count: 2 });
  const body = JSON.stringify({
    RequestId: 'R-0',
    NetworkInterfaceId: eniId,
    Ipv6Sets: { Ipv6Address: touched.flat() },
    Ipv6PrefixSets: { Ipv6Prefix: [] },
  });
  await lab.plant({ api: 'AssignIpv6Addresses', effect: 'reply', carriedOut: false, body });
  const { leases, errors } = await lab.adds(names('pod', 5));
  t.strictSame(errors, []);
  t.equal(new Set(leases.map((lease) => lease.grant.address.ipv6)).size, 5, 'five distinct pairs');
  const ipv4 = lab.calls('AssignPrivateIpAddresses').map((call) => Number(call.params.SecondaryPrivateIpAddressCount));
  t.equal(
    ipv4.reduce((sum, count) => sum + count, 0),
    5,
    'what was had of IPv4 waits for its IPv6',
  );
  const calls = lab.calls('AssignIpv6Addresses');
  const asked = calls.slice(1).reduce((sum, call) => sum + Number(call.params.Ipv6AddressCount), 0);
  t.equal(asked, 3, 'the missing three are asked for');
  await fillsUp(t, lab, untouched);
});

t.test(
  'B02: in dual stack a pair whose IPv6 is gone is invalid, and what is left of it serves again as a whole',
  async (t) => {
    const lab = await rig(t, {
      settings: { ipStack: 'dual', maxIdle: CAPACITY, coolDownMs: 1_000, cloudPeriodMs: PERIOD_MS },
    });
    const untouched = watchForeign(lab);
    await lab.adds(names('pod', PER_ENI));
    const [eni] = lab.truth();
    await lab.change({ change: 'unassign', eniId: eni?.eniId, ips: eni?.ipv6.slice(4) });
    await lab.restart();
    t.equal(lab.report().leases.length, PER_ENI, 'no lease is lost with its IPv6');
    t.equal(lab.counts().invalid, 2, 'but their addresses are invalid');
    for (const name of names('pod', PER_ENI)) await lab.del(name);
    const { errors } = await lab.adds(names('again', PER_ENI));
    t.strictSame(errors, []);
    await checkRest(t, lab);
    untouched(t);
  },
);
