/**
 * B50: a create or assign was carried out but its reply was lost, and the retry made a second ENI; tokens were made anew, used for
 * another request or thrown away; the error that a caller read had lost the cloud's reason.
 *
 * In dual stack an Assign is a call for each family, and what fails between the two must leave no half behind.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, IN_VAIN_MS, names, PER_ENI, PERIOD_MS, type Rig, rig } from './rig.ts';

const REQUEST_ID = /request [0-9A-F]{8}-[0-9A-F-]{27}/i;
const lost = ['close', 'cut', 'hang'] as const;
const settings = { maxIdle: CAPACITY, coolDownMs: 1_000, callTimeoutMs: 20_000 };

const dual = { ...settings, ipStack: 'dual' } as const;

t.jobs = 4;

const owned = (lab: Rig) => lab.truth().reduce((sum, eni) => sum + eni.ipv4.length, 0);
const entries = (lab: Rig, api: string) => lab.calls(api);

/** One pod alone, then four at once: a Create, an Attach and an Assign. */
async function fivePods(t: Parameters<typeof rig>[0], lab: Rig): Promise<void> {
  const first = await lab.add('first');
  t.ok(first.grant.address.ipv4);
  const { errors } = await lab.adds(names('pod', 4));
  t.strictSame(errors, []);
}

async function exactly(t: Parameters<typeof rig>[0], lab: Rig, addresses: number): Promise<void> {
  await checkRest(t, lab);
  t.equal(lab.truth().length, 1, 'one ENI in the truth');
  t.equal(owned(lab), addresses, 'and the exact number of addresses');
}

for (const api of ['CreateNetworkInterface', 'AttachNetworkInterface', 'AssignPrivateIpAddresses']) {
  for (const how of lost) {
    t.test(`B50: the first ${api} is carried out and its reply lost (${how})`, { buffered: true }, async (t) => {
      const lab = await rig(t, { settings });
      const untouched = watchForeign(lab);
      await lab.plant({ api, effect: 'drop', how });
      await fivePods(t, lab);
      await exactly(t, lab, 5);
      const created = entries(lab, 'CreateNetworkInterface');
      t.equal(new Set(created.map((call) => call.params.ClientToken)).size, 1, 'one token for one request');
      const assigns = entries(lab, 'AssignPrivateIpAddresses');
      const requests = new Map(assigns.map((call) => [call.params.ClientToken, call.params]));
      for (const call of assigns)
        t.equal(
          call.params.SecondaryPrivateIpAddressCount,
          requests.get(call.params.ClientToken)?.SecondaryPrivateIpAddressCount,
          'a token is never used for another request',
        );
      untouched(t);
    });
  }
}

for (const api of ['CreateNetworkInterface', 'AssignPrivateIpAddresses']) {
  t.test(`B50: ${api} answers IdempotentFailed once for no reason`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    await lab.plant({ api, effect: 'fail', code: 'IdempotentFailed' });
    await fivePods(t, lab);
    const calls = entries(lab, api);
    const failed = calls.findIndex((call) => call.outcome === 'IdempotentFailed');
    const [before, after] = [calls[failed], calls[failed + 1]];
    t.ok(after, 'it is asked again');
    t.not(after?.params.ClientToken, before?.params.ClientToken, 'as a new request');
    const looks = entries(lab, 'DescribeNetworkInterfaces').filter(
      (call) => call.seq > (before?.seq ?? 0) && call.seq < (after?.seq ?? 0),
    );
    t.ok(looks.length > 0, 'after a look at what exists');
    await exactly(t, lab, 5);
    untouched(t);
  });

  t.test(`B50: ${api} was carried out, its reply lost, and its token is refused`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    const body = JSON.stringify({ Code: 'IdempotentFailed', Message: 'failed before', RequestId: 'R-1' });
    await lab.plant({ api, effect: 'reply', status: 400, body, carriedOut: true });
    await fivePods(t, lab);
    await exactly(t, lab, 5);
    untouched(t);
  });

  t.test(`B50: ${api} answers InternalError five times`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    await lab.plant({ api, effect: 'fail', code: 'InternalError', times: 5 });
    await fivePods(t, lab);
    // After the second failure pods may be served by another ENI: what is asked for there is no mistake.
    await checkRest(t, lab);
    t.equal(lab.report().leases.length, 5);
    untouched(t);
  });

  t.test(`B50: ${api} never succeeds: the ADD names the cloud's code and request id`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    if (api !== 'CreateNetworkInterface') await lab.adds(names('early', 1));
    // A node that cannot do without the failing call.
    await lab.restart({ maxEnis: 1 });
    await lab.plant({ api, effect: 'fail', code: 'InternalError', times: 10_000 });
    const { leases, errors } = await lab.adds(names('pod', 3), IN_VAIN_MS);
    t.equal(leases.length, 0);
    for (const error of errors) {
      t.match(error.message, /InternalError/, error.message);
      t.match(error.message, REQUEST_ID);
      t.match(error.message, api);
    }
    await lab.unplant();
    await lab.adds(names('healed', PER_ENI - 1));
    await eventually('the healed cloud is used', () => lab.report().leases.length >= PER_ENI - 1);
    await checkRest(t, lab);
    untouched(t);
  });

  for (const [what, body] of [
    ['an empty body', ''],
    ['null', 'null'],
    ['an object with nothing in it', '{}'],
  ] as const) {
    t.test(`B50: ${api} is carried out and answered with ${what}`, { buffered: true }, async (t) => {
      const lab = await rig(t, { settings });
      const untouched = watchForeign(lab);
      await lab.plant({ api, effect: 'reply', body });
      await fivePods(t, lab);
      await exactly(t, lab, 5);
      untouched(t);
    });
  }
}

t.test(
  'B50: a Create whose every reply is lost leaves no second ENI, also over a restart',
  { buffered: true },
  async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    const body = '<html>gateway</html>';
    await lab.plant({ api: 'CreateNetworkInterface', effect: 'reply', contentType: 'text/html', body, times: 1_000 });
    const { leases } = await lab.adds(names('pod', 2));
    t.equal(leases.length, 2, 'no answer could be read, but what was made is found');
    t.equal(lab.truth().length, 1);
    await lab.unplant();
    await lab.restart();
    const { errors } = await lab.adds(names('later', 3));
    t.strictSame(errors, []);
    await checkRest(t, lab);
    untouched(t);
  },
);

for (const how of lost) {
  t.test(
    `B50: the first AssignIpv6Addresses is carried out and its reply lost (${how})`,
    { buffered: true },
    async (t) => {
      const lab = await rig(t, { settings: dual });
      const untouched = watchForeign(lab);
      await lab.plant({ api: 'AssignIpv6Addresses', effect: 'drop', how });
      await fivePods(t, lab);
      await fivePairs(t, lab);
      const calls = entries(lab, 'AssignIpv6Addresses');
      const sent = new Map(calls.map((call) => [call.params.ClientToken, call.params.Ipv6AddressCount]));
      for (const { params } of calls)
        t.equal(params.Ipv6AddressCount, sent.get(params.ClientToken), 'a token is never used for another request');
      const others = entries(lab, 'AssignPrivateIpAddresses').map((call) => call.params.ClientToken);
      t.notOk(
        others.some((token) => sent.has(token)),
        'nor for the other family',
      );
      untouched(t);
    },
  );
}

for (const [what, fault] of [
  ['InternalError, three times', { effect: 'fail', code: 'InternalError', times: 3 }],
  ['IdempotentFailed once for no reason', { effect: 'fail', code: 'IdempotentFailed' }],
  ['an empty object, though it was carried out', { effect: 'reply', body: '{}' }],
] as const) {
  t.test(`B50: AssignIpv6Addresses answers ${what}`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings: { ...dual, maxEnis: 1 } });
    const untouched = watchForeign(lab);
    await lab.plant({ api: 'AssignIpv6Addresses', ...fault });
    await fivePods(t, lab);
    await fivePairs(t, lab);
    untouched(t);
  });
}

t.test(
  'B50: no IPv6 can be had: nobody is served by half, the cause is named, and the halves go',
  { buffered: true },
  async (t) => {
    const lab = await rig(t, { settings: { ...dual, maxEnis: 1, cloudPeriodMs: PERIOD_MS } });
    const untouched = watchForeign(lab);
    await lab.add('first');
    await lab.plant({ api: 'AssignIpv6Addresses', effect: 'fail', code: 'InternalError', times: 10_000 });
    const { leases, errors } = await lab.adds(names('pod', 3), IN_VAIN_MS);
    t.equal(leases.length, 0);
    for (const error of errors) t.match(error.message, /InternalError.*AssignIpv6Addresses/);
    await eventually('what was had of IPv4 alone is given back', () => owned(lab) === 1, 30_000);
    await lab.unplant();
    await lab.adds(names('healed', 4));
    await fivePairs(t, lab);
    untouched(t);
  },
);

t.test('B50: an Unassign that fails between the families is made again for the rest', { buffered: true }, async (t) => {
  const lab = await rig(t, { settings: { ...dual, maxIdle: 1 } });
  const untouched = watchForeign(lab);
  await fivePods(t, lab);
  await lab.plant({ api: 'UnassignPrivateIpAddresses', effect: 'fail', code: 'InternalError', times: 2 });
  await lab.plant({ api: 'UnassignIpv6Addresses', effect: 'drop', how: 'close' });
  for (const name of names('pod', 4)) await lab.del(name);
  await checkRest(t, lab, 'after the Unassigns');
  const [eni] = lab.truth();
  t.equal(eni?.ipv4.length, eni?.ipv6.length, 'as many of each family');
  t.ok((eni?.ipv6.length ?? 9) < 5, 'fewer than there were');
  untouched(t);
});

async function fivePairs(t: Parameters<typeof rig>[0], lab: Rig): Promise<void> {
  await exactly(t, lab, 5);
  t.equal(lab.truth()[0]?.ipv6.length, 5, 'and as many of IPv6');
  const { leases } = lab.report();
  t.equal(new Set(leases.map((lease) => lease.grant.address.ipv6)).size, 5, 'each pod has a pair');
}
