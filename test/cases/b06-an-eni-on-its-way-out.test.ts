/**
 * B06: an ENI judged idle was queued for disposal; while that waited for its turn an allocation chose the ENI, and the pod got an address
 * that was then taken away.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, watchForeign } from './invariants.ts';
import { A, CAPACITY, INSTANCE, names, PER_ENI, type Rig, rig } from './rig.ts';
import { atLeast } from './speed.ts';

const STEPS = 30;
const HELD_MS = 3_000;
const HELD_FLOOR_MS = 90;
const ON_FIRST = 4;

const tags = { creator: 'enactor', 'enactor/instance': INSTANCE };
const eni = (secondaries: number) => ({
  ...{ change: 'createEni', vSwitchId: A, securityGroupIds: ['sg-lab'] },
  ...{ instanceId: INSTANCE, secondaries, tags },
});

/** Two ENIs, all pods on the first, the second idle and above the high water mark. */
async function surplus(lab: Rig): Promise<void> {
  await lab.change(eni(ON_FIRST - 1), eni(1));
  await lab.restart({ maxIdle: CAPACITY });
  await eventually('both are in use', () => lab.counts().idle === ON_FIRST + 2);
  await lab.adds(names('first', ON_FIRST));
}

t.jobs = 4;

for (let step = 0; step <= STEPS; step += 1) {
  const percent = Math.round((100 * step) / STEPS);
  t.test(`B06: addresses asked for ${percent} % into the release of an idle ENI`, { buffered: true }, async (t) => {
    const held = atLeast(HELD_FLOOR_MS, HELD_MS);
    const lab = await rig(t, { settings: { maxIdle: CAPACITY } });
    const untouched = watchForeign(lab);
    await surplus(lab);
    t.equal(new Set(lab.report().leases.map((lease) => lease.grant.eni.eniId)).size, 1, 'all pods are on one ENI');
    // The first call that takes something away stands still.
    await lab.plant(
      { api: 'UnassignPrivateIpAddresses', effect: 'hold' },
      { api: 'DetachNetworkInterface', effect: 'hold' },
    );
    await lab.restart({ maxIdle: 0 });
    const taking = () => lab.report().enis.some((one) => /unassigning|draining|detaching/.test(one.state));
    await eventually('a release is under way', taking);
    const released = new Promise((resolve) => setTimeout(resolve, held)).then(() => lab.unplant());
    await new Promise((resolve) => setTimeout(resolve, (held * step) / STEPS));

    // Each lease is looked at in the moment it is answered.
    const answers = names('late', PER_ENI - ON_FIRST + 2).map(async (name) => {
      const lease = await lab.add(name).catch((error: Error) => error);
      if (lease instanceof Error) return lease.message;
      checkLeases(t, lab, `as ${name} is answered`);
      return 'served';
    });
    t.strictSame(await Promise.all(answers), Array(4).fill('served'), 'every pod is served in time');
    await released;
    checkLeases(t, lab);
    await checkRest(t, lab);
    untouched(t);
  });
}
