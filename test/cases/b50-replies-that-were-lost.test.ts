/**
 * B50: a create or assign was carried out but its reply was lost, and the retry made a second ENI; tokens were made anew, used for
 * another request or thrown away; the error that a caller read had lost the cloud's reason.
 *
 * IPv6 is left out: the product refuses dual stack at start (`ip_stack`).
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, names, PER_ENI, type Rig, rig } from './rig.ts';

const REQUEST_ID = /request [0-9A-F]{8}-[0-9A-F-]{27}/i;
const lost = ['close', 'cut', 'hang'] as const;
const settings = { maxIdle: CAPACITY, coolDownMs: 1_000, callTimeoutMs: 20_000 };

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
    const { leases, errors } = await lab.adds(names('pod', 3));
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
