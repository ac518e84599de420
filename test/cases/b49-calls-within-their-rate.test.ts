/**
 * B49: rate limits by API name that two callers spelled differently, pods that each retried on their own, and calls without permission
 * that were retried like passing trouble.
 *
 * The cloud has a token bucket of 2/s for each API and answers Throttling.User beyond.
 */
import t, { type Test } from 'tap';
import { apiRates } from '../../src/core/api-rates.ts';
import type { LedgerEntry } from '../../src/vpc/ledger.ts';
import { eventually } from '../actors/one-node.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { names, type Rig, rig } from './rig.ts';
import { severalNodes } from './several-nodes.ts';
import { atLeast, sped } from './speed.ts';

const PER_SECOND = 2;
const bucket = { throttlePerSecond: { '*': PER_SECOND } };
const limits = Object.fromEntries(Object.keys(apiRates).map((api) => [api, PER_SECOND * 60]));
const PODS = 60;

t.jobs = 2;

/** The most calls that a window of so many milliseconds has seen. */
function mostIn(calls: readonly LedgerEntry[], windowMs: number): number {
  const at = calls.map(({ atMs }) => atMs);
  return Math.max(0, ...at.map((from) => at.filter((one) => one >= from && one < from + windowMs).length));
}

function checkRates(t: Test, lab: Rig): void {
  for (const api of Object.keys(apiRates)) {
    const calls = lab.calls(api);
    // A machine that stands still sees what has left one after the other arrive together: a second's worth more.
    const most = mostIn(calls, sped(60_000));
    t.ok(most <= PER_SECOND * 61 + 2, `${api}: at most ${most} calls in one minute of ${calls.length}`);
  }
}

t.test('B49: 60 ADDs at once, then 60 DELs, under token buckets of 2/s', async (t) => {
  const settings = { minIdle: 0, maxIdle: 0, coolDownMs: 5_000, minEniAgeMs: 1_000 };
  const lab = await rig(t, { settings, instanceType: 'ecs.g7.4xlarge', cloud: bucket, rateLimits: limits });
  const untouched = watchForeign(lab);
  const pods = names('pod', PODS);
  const { leases, errors } = await lab.adds(pods);
  t.strictSame(errors, []);
  t.equal(leases.length, PODS);
  const assigns = lab.calls('AssignPrivateIpAddresses').length + lab.calls('CreateNetworkInterface').length;
  t.ok(assigns <= PODS / 5, `${assigns} calls for the addresses of ${PODS} pods`);
  await Promise.all(pods.map((pod) => lab.del(pod)));
  await eventually('every address is given back', () => lab.truth().length === 0, atLeast(20_000, 600_000));
  await checkRest(t, lab);
  checkRates(t, lab);
  const throttled = lab.cloud.live.gateway.ledger.read(0, null).filter(({ outcome }) => /Throttling/.test(outcome));
  t.ok(throttled.length <= 20, `who keeps the rate is hardly throttled: ${throttled.length}`);
  untouched(t);
});

t.test(
  'B49: 20 daemons restarted in the same second share the buckets, back off by chance, and all serve',
  async (t) => {
    const { cloud, nodes } = await severalNodes(t, 20, { settings: { minIdle: 1, maxIdle: 2, minEniAgeMs: 0 } });
    const withinMs = atLeast(40_000, 600_000);
    const serving = () => Promise.all(nodes.map((node) => node.system.whenServing(AbortSignal.timeout(withinMs))));
    for (const node of nodes) node.start();
    await serving();
    await Promise.all(nodes.map((node) => node.add('first', withinMs)));
    const ours = () => cloud.model.truth(Date.now()).enis.filter((eni) => eni.type !== 'Primary');
    await Promise.all(nodes.map((node) => node.stop()));
    const before = ours();
    t.ok(before.length >= 20);
    await fetch(`${cloud.adminUrl}/settings`, { method: 'POST', body: JSON.stringify(bucket) });
    const { lastSeq } = cloud.live.gateway.ledger;
    for (const node of nodes) node.start();
    await serving();
    const calls = cloud.live.gateway.ledger.read(lastSeq, null);
    const throttled = calls.filter(({ outcome }) => /Throttling/.test(outcome));
    t.ok(throttled.length > 0, 'they were too many together');
    t.ok(throttled.length <= 20 * 15, `and did not insist: ${throttled.length} of ${calls.length} throttled`);
    for (const node of nodes) {
      const { leases, state } = node.system.introspection.report();
      t.match(state, /serving/);
      t.equal(leases.length, 1, `${node.name} has its lease`);
    }
    await Promise.all(nodes.map((node) => node.add('second', withinMs)));
    const left = new Set(ours().map(({ eniId }) => eniId));
    const leased = nodes.flatMap((node) =>
      node.system.introspection.report().leases.map(({ grant }) => grant.eni.eniId),
    );
    t.equal(leased.length, 40);
    t.ok(
      leased.every((eniId) => left.has(eniId)),
      'every lease is on an ENI that is there',
    );
    t.ok(
      left.size <= before.length + 1,
      `no ENI is made anew for want of an answer: ${before.length}, then ${left.size}`,
    );
  },
);

t.test(
  'B49: Unassign is forbidden: tried rarely, told with its name and request id, and the rest goes on',
  async (t) => {
    const settings = { minIdle: 0, maxIdle: 0, coolDownMs: 1_000, poolPeriodMs: 5_000, minEniAgeMs: 0 };
    const lab = await rig(t, { settings });
    const [id] = await lab.plant({
      ...{ api: 'UnassignPrivateIpAddresses', effect: 'fail', code: 'Forbidden.RAM', times: 1_000 },
    });
    const { errors } = await lab.adds(names('pod', 5));
    t.strictSame(errors, []);
    for (const pod of names('pod', 4)) await lab.del(pod);
    await eventually('it is tried', () => lab.calls('UnassignPrivateIpAddresses').length > 0, 20_000);
    await new Promise((resolve) => setTimeout(resolve, sped(60_000)));
    const tried = lab.calls('UnassignPrivateIpAddresses').length;
    t.ok(tried <= 4, `${tried} times in more than a minute`);
    const told = lab.lines.filter(({ fields }) => /Forbidden.RAM/.test(JSON.stringify(fields)));
    t.ok(told.length >= 1, 'the log tells');
    t.ok(told.length <= 8, `and not over and over: ${told.length}`);
    t.match(JSON.stringify(told), /request [0-9A-F-]{36}.*UnassignPrivateIpAddresses/i);
    const [eni] = lab.report().enis;
    t.match(eni?.lastFailure, /Forbidden.RAM, request .*UnassignPrivateIpAddresses: .* - The credentials may not/);
    t.strictSame((await lab.adds(names('more', 5))).errors, [], 'new pods are served by what could not be given back');
    await lab.unplant(id);
    for (const pod of [...names('more', 5), 'pod4']) await lab.del(pod);
    await eventually('it works once it is allowed', () => lab.truth().length === 0, atLeast(20_000, 300_000));
    await checkRest(t, lab);
  },
);
