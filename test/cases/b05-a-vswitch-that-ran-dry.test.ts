/**
 * B05: after "vSwitch out of addresses" single-stack nodes kept asking; the cloud says the same with a second code; and a node whose ENI
 * slots were all used insisted on a vSwitch with room before it used the free places of its ENIs.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, watchForeign } from './invariants.ts';
import { A, B, CAPACITY, IN_VAIN_MS, ipOf, names, PER_ENI, type Rig, rig } from './rig.ts';
import { pause, sped } from './speed.ts';

const HOLD_DOWN_MS = 240_000;
/** The cloud answers a call some time after it was decided, and the hold begins with the answer. */
const SLACK_MS = 2;

/** Calls that asked vSwitch A for addresses, by the time they came. */
function askedOfA(lab: Rig): readonly { readonly atMs: number; readonly outcome: string }[] {
  const inA = new Set(
    lab
      .truth()
      .filter((eni) => eni.vSwitchId === A)
      .map((eni) => eni.eniId),
  );
  return lab.cloud.live.gateway.ledger
    .read(0, null)
    .filter(
      ({ api, params }) =>
        (api === 'CreateNetworkInterface' && params.VSwitchId === A) ||
        (api === 'AssignPrivateIpAddresses' && inA.has(params.NetworkInterfaceId ?? '')),
    );
}

t.jobs = 3;

for (const code of ['InvalidVSwitchId.IpNotEnough', 'QuotaExceeded.PrivateIpAddress']) {
  t.test(`B05: ${code}: one call a hold-down, the other vSwitch meanwhile`, { buffered: true }, async (t) => {
    const lab = await rig(t, {
      instanceType: 'ecs.g7.xlarge', // three ENIs of ours with 15 addresses each: room for the case's 30 pods
      settings: {
        vSwitchPolicy: 'listed',
        vSwitchIds: [A, B],
        minIdle: 3,
        maxIdle: 5,
        holdDownMs: HOLD_DOWN_MS,
        coolDownMs: 1_000,
      },
    });
    const untouched = watchForeign(lab);
    await eventually('three idle addresses on an ENI in A', () => lab.counts().idle === 3);
    const eniInA = lab.truth()[0];
    t.equal(eniInA?.vSwitchId, A, 'the first of the list is preferred');
    const idleOnA = eniInA?.ipv4 ?? [];
    await lab.plant(
      { api: 'CreateNetworkInterface', params: { VSwitchId: A }, times: 1_000, effect: 'fail', code },
      {
        api: 'AssignPrivateIpAddresses',
        params: { NetworkInterfaceId: eniInA?.eniId },
        times: 1_000,
        effect: 'fail',
        code,
      },
    );
    const answers: Promise<unknown>[] = [];
    for (const name of names('pod', 30)) {
      answers.push(lab.add(name));
      await pause(4_000);
    }
    await Promise.all(answers);
    checkLeases(t, lab);
    const leased = new Set(lab.report().leases.map(ipOf));
    t.equal(leased.size, 30, 'every pod has its address');
    t.ok(
      idleOnA.every((ip) => leased.has(ip)),
      'the idle addresses of the ENI in A were handed out',
    );
    t.ok(
      lab.truth().some((eni) => eni.vSwitchId === B),
      'B is used',
    );
    const refusals = () => askedOfA(lab).filter((call) => call.outcome === code);
    const [first] = refusals();
    const held = refusals().filter(({ atMs }) => atMs < (first?.atMs ?? 0) + sped(HOLD_DOWN_MS) - SLACK_MS);
    t.equal(held.length, 1, 'A was asked once within the hold-down');

    // Still dry when the hold-down ends: asked once more, and again one hold-down later.
    await pause(HOLD_DOWN_MS);
    const late = await lab.adds(names('late', 6), IN_VAIN_MS);
    for (const error of late.errors) t.match(error.message, code, 'who is refused is told why');
    await eventually('A is tried again', () => refusals().length >= 2, sped(2 * HOLD_DOWN_MS) + 2_000);
    const times = refusals().map((call) => call.atMs);
    for (const [index, atMs] of times.slice(1).entries())
      t.ok(atMs - (times[index] ?? 0) >= sped(HOLD_DOWN_MS) - SLACK_MS, 'not before the hold-down is over');
    checkLeases(t, lab);

    await lab.unplant();
    await eventually(
      'A gives again, once it is asked again',
      () => askedOfA(lab).at(-1)?.outcome === 'ok',
      sped(2 * HOLD_DOWN_MS) + 2_000,
    );
    t.ok(ipOf(await lab.add('another')));
    await checkRest(t, lab);
    untouched(t);
  });
}

t.test(
  'B05: every ENI slot is used and the listed vSwitch is full: free places on the ENI in B are used',
  { buffered: true },
  async (t) => {
    const lab = await rig(t, { settings: { vSwitchPolicy: 'listed', vSwitchIds: [A, B], maxIdle: CAPACITY } });
    const untouched = watchForeign(lab);
    await lab.adds(names('a', PER_ENI));
    const dry = lab.cloud.model.truth(Date.now()).vSwitches.find((one) => one.vSwitchId === A)?.availableAddresses;
    await lab.change({ change: 'withhold', vSwitchId: A, addresses: dry });
    const inB = await lab.adds(names('b', 3));
    t.equal(inB.leases.length, 3);
    const eniB = lab.truth().find((eni) => eni.vSwitchId === B);
    t.equal(eniB?.ipv4.length, 3, 'an ENI in B with three places left');
    await lab.restart({ vSwitchIds: [A] });
    const { leases, errors } = await lab.adds(names('late', 3));
    t.strictSame(errors, []);
    t.strictSame(
      leases.map((lease) => lease.grant.eni.eniId),
      Array(3).fill(eniB?.eniId),
    );
    await checkRest(t, lab);
    untouched(t);
  },
);
