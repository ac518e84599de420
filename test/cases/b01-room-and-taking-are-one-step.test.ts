/**
 * B01: the check for room on an ENI and the taking of an idle address were two steps, so that parallel requests all took the same one
 * and the rest asked for more than the ENI may hold.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, IN_VAIN_MS, ipOf, names, PER_ENI, rig } from './rig.ts';
import { sped } from './speed.ts';

const ROUNDS = 20;

t.test('B01: one idle address, one free slot, and four pods more than the node can hold', async (t) => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    // The high mark keeps the one idle address; the low one is 0. The cool-down is another case.
    const lab = await rig(t, { settings: { minIdle: 0, maxIdle: CAPACITY, coolDownMs: 1_000 } });
    const untouched = watchForeign(lab);
    const first = await lab.adds(names('early', PER_ENI - 1));
    await lab.del('early0');
    const idle = () => lab.counts().idle === 1 && lab.counts().cooling === 0;
    await eventually('one idle address', idle);
    t.strictSame([lab.truth().length, lab.truth()[0]?.ipv4.length, lab.counts().bound], [1, PER_ENI - 1, PER_ENI - 2]);
    await lab.plant({ api: 'AssignPrivateIpAddresses', times: 1_000, effect: 'delay', ms: sped(500) });

    const { leases, errors } = await lab.adds(names('pod', CAPACITY + 4), IN_VAIN_MS);
    const early = first.leases.slice(1).map(ipOf);
    const all = lab.report().leases.map(ipOf);
    t.equal(leases.length + early.length, CAPACITY, `round ${round}: exactly the capacity is served`);
    t.equal(new Set(all).size, CAPACITY);
    t.equal(errors.length, CAPACITY + 4 - leases.length);
    for (const error of errors) t.match(error.message, /no address available/);
    checkLeases(t, lab);
    const calls = lab.calls('AssignPrivateIpAddresses');
    t.strictSame([...new Set(calls.map((call) => call.outcome))], ['ok'], 'no Assign was refused');
    const refused = lab.cloud.live.gateway.ledger.read(0, null).filter((call) => /CountExceeded/.test(call.outcome));
    t.strictSame(refused, [], 'no limit of the cloud was met');
    if (round === ROUNDS) await checkRest(t, lab);
    untouched(t);
    await lab.stop();
  }
});
