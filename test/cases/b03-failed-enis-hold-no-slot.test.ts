/**
 * B03: a failed creation or attach kept its slot, and a burst against an empty vSwitch left waiters that blocked the line; after the
 * cloud had healed nothing could be allocated.
 */
import t from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import { FakeKernel } from '../../src/simulation/fake-kernel.ts';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, periodMs, watchForeign } from './invariants.ts';
import { A, CAPACITY, IN_VAIN_MS, ipOf, names, PERIOD_MS, type Rig, rig } from './rig.ts';
import { atLeast } from './speed.ts';

const FAILURES = 10;
/** What is written is two periods; a loaded machine gets as much again for its calls. */
const healedWithinMs = () => 2 * periodMs() + atLeast(8_000, 10_000);

/** A kernel in which no device ever appears, `left` times. */
class BlindKernel extends FakeKernel {
  left = 0;
  override async setUpEni(...[wanted, signal]: Parameters<FakeKernel['setUpEni']>) {
    if (this.left > 0) {
      this.left -= 1;
      throw new EnactorError('device', `no device with MAC ${wanted.mac}`);
    }
    return await super.setUpEni(wanted, signal);
  }
}

type Stage = { readonly name: string; readonly fail: (lab: Rig, kernel: BlindKernel) => Promise<unknown> };
const refuse = (api: string, code: string) => (lab: Rig) => lab.plant({ api, effect: 'fail', code, times: FAILURES });

const stages: readonly Stage[] = [
  { name: 'Create', fail: refuse('CreateNetworkInterface', 'InternalError') },
  { name: 'Attach', fail: refuse('AttachNetworkInterface', 'InternalError') },
  {
    name: 'attach that is rolled back',
    fail: (lab) => lab.plant({ api: 'AttachNetworkInterface', effect: 'transition', fails: true, times: FAILURES }),
  },
  {
    name: 'a device that never appears',
    fail: async (_, kernel) => {
      kernel.left = FAILURES;
    },
  },
  {
    name: 'a Describe without ENIs',
    fail: (lab) => {
      const body = JSON.stringify({ RequestId: 'R-0', NetworkInterfaceSets: { NetworkInterfaceSet: [] } });
      return lab.plant({ api: 'DescribeNetworkInterfaces', effect: 'reply', body, times: FAILURES });
    },
  },
];

async function fills(t: Parameters<typeof rig>[0], lab: Rig): Promise<void> {
  const untilMs = Date.now() + healedWithinMs();
  const wanted = names('fill', CAPACITY).filter(
    (name) => !lab.report().leases.some((lease) => lease.sandbox.pod.name === name),
  );
  const missing = wanted.slice(0, CAPACITY - lab.report().leases.length);
  const results = await Promise.allSettled(missing.map((name) => lab.add(name, untilMs)));
  t.strictSame(
    results.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : [])),
    [],
    'the node reaches its capacity within two periods of healing',
  );
  t.equal(new Set(lab.report().leases.map(ipOf)).size, CAPACITY);
}

t.jobs = 3;

for (const { name, fail } of stages) {
  t.test(`B03 (a): ten failures: ${name}`, { buffered: true }, async (t) => {
    const kernel = new BlindKernel();
    const lab = await rig(t, { kernel, settings: { maxIdle: CAPACITY, coolDownMs: 1_000, backoffMaxMs: PERIOD_MS } });
    const untouched = watchForeign(lab);
    // One ENI in order, so that something can be deleted during the outage.
    const before = await lab.adds(names('before', 6));
    t.equal(before.leases.length, 6);
    await fail(lab, kernel);
    const outage = names('outage', 6).map((pod) => lab.add(pod).catch((error: Error) => error));
    await lab.del('before0');
    await eventually('the pod deleted in the outage has left its address', () => {
      const gone = ipOf(before.leases[0] as never);
      return !lab.report().leases.some((lease) => ipOf(lease) === gone && lease.sandbox.pod.name === 'before0');
    });
    for (const answer of await Promise.all(outage))
      if (answer instanceof Error) t.match(answer.message, /code: \w+, msg: ./, 'a refusal names its cause');
    checkLeases(t, lab, 'in the outage');
    await lab.unplant();
    kernel.left = 0;
    await fills(t, lab);
    await checkRest(t, lab);
    untouched(t);
  });
}

t.test('B03 (b): a burst against a vSwitch of eight addresses, which then gets more', { buffered: true }, async (t) => {
  const lab = await rig(t, { settings: { maxIdle: CAPACITY, coolDownMs: 1_000, holdDownMs: PERIOD_MS } });
  const untouched = watchForeign(lab);
  const total = () => lab.cloud.model.truth(Date.now()).vSwitches.find((one) => one.vSwitchId === A);
  await lab.change({ change: 'withhold', vSwitchId: A, addresses: (total()?.availableAddresses ?? 0) - 8 });
  const { leases, errors } = await lab.adds(names('pod', 20), IN_VAIN_MS);
  t.equal(leases.length, 8, 'every address of the vSwitch is used');
  t.equal(errors.length, 12);
  for (const error of errors) t.match(error.message, /IpNotEnough|no address|vSwitch/, 'the cause is named');
  checkLeases(t, lab);
  const keep = leases[0]?.sandbox.pod.name;
  for (const lease of leases.slice(1)) await lab.del(lease.sandbox.pod.name);
  t.strictSame(
    lab.report().leases.map((lease) => lease.sandbox.pod.name),
    [keep],
  );
  await eventually('what was given back is idle', () => lab.counts().idle === 7);
  await lab.change({ change: 'withhold', vSwitchId: A, addresses: 0 });
  await fills(t, lab);
  await checkRest(t, lab);
  untouched(t);
});
