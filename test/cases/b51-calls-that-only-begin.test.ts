/**
 * B51: attach, detach and delete only begin something. Their answers were taken as done: an ENI that rolled back was used, one that lived
 * on in Deleting counted as a free slot, Delete came before Detach had ended.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, ipOf, names, PER_ENI, type Rig, rig } from './rig.ts';
import { atLeast, sped } from './speed.ts';

const SLOTS = 2;
const settings = { maxIdle: CAPACITY, coolDownMs: 1_000 };

t.jobs = 4;

/** ENIs of ours whenever one is made, whatever their state: the cloud counts them all. */
function watchSlots(lab: Rig): { readonly most: () => number } {
  let most = 0;
  lab.cloud.model.subscribe((event) => {
    if (event.type === 'eniCreated') most = Math.max(most, lab.truth().length);
  });
  return { most: () => most };
}

async function fills(t: Parameters<typeof rig>[0], lab: Rig): Promise<void> {
  await eventually(
    'no ENI is on its way',
    () => lab.report().enis.every((eni) => eni.state.startsWith('inUse')),
    20_000,
  );
  const missing = CAPACITY - lab.report().leases.length;
  const { errors } = await lab.adds(names('fill', missing));
  t.strictSame(errors, []);
  t.equal(new Set(lab.report().leases.map(ipOf)).size, CAPACITY, 'the whole capacity is reachable');
}

const noLimit = (t: Parameters<typeof rig>[0], lab: Rig): void => {
  const refused = lab.cloud.live.gateway.ledger.read(0, null).filter((call) => /LimitExceeded/.test(call.outcome));
  t.strictSame(refused, [], 'no create or attach was refused for the limit');
};

for (const times of [1, 5]) {
  t.test(`B51: Attach is answered well and rolled back silently, ${times} times`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const [untouched, slots] = [watchForeign(lab), watchSlots(lab)];
    await lab.plant({ api: 'AttachNetworkInterface', effect: 'transition', fails: true, times });
    const { errors } = await lab.adds(names('pod', 3));
    t.strictSame(errors, []);
    checkLeases(t, lab);
    await fills(t, lab);
    await checkRest(t, lab);
    t.ok(slots.most() <= SLOTS, `${slots.most()} ENIs at most`);
    noLimit(t, lab);
    untouched(t);
  });
}

for (const restarted of [false, true]) {
  const how = restarted ? ', with a restart in the middle' : '';
  t.test(`B51: an ENI stays Attaching for three minutes${how}`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const [untouched, slots] = [watchForeign(lab), watchSlots(lab)];
    await lab.plant({ api: 'AttachNetworkInterface', effect: 'transition', lastsMs: sped(180_000) });
    const first = lab.add('first').catch((error: Error) => error);
    await eventually('it is attaching', () => lab.truth().some((eni) => eni.status === 'Attaching'));
    const slow = lab.truth().find((eni) => eni.status === 'Attaching');
    if (restarted) await lab.restart();
    const { leases } = await lab.adds(names('pod', 3));
    await first;
    if (lab.truth().some((eni) => eni.eniId === slow?.eniId && eni.status === 'Attaching'))
      t.notOk(
        leases.some((lease) => lease.grant.eni.eniId === slow?.eniId),
        'no address on an ENI that is not InUse',
      );
    checkLeases(t, lab);
    await eventually(
      'the slow one has come to an end',
      () => !lab.truth().some((eni) => eni.status !== 'InUse'),
      atLeast(8_000, 400_000),
    );
    await fills(t, lab);
    await checkRest(t, lab);
    t.ok(slots.most() <= SLOTS, `${slots.most()} ENIs at most`);
    noLimit(t, lab);
    untouched(t);
  });

  t.test(`B51: Detaching lasts a minute and Deleting 40 s${how}`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const [untouched, slots] = [watchForeign(lab), watchSlots(lab)];
    await lab.adds(names('pod', CAPACITY));
    await lab.plant(
      { api: 'DetachNetworkInterface', effect: 'transition', lastsMs: sped(60_000), times: 10 },
      { api: 'DeleteNetworkInterface', effect: 'transition', lastsMs: sped(40_000), times: 10 },
    );
    // One ENI becomes surplus as a whole.
    const one = lab.report().leases[0]?.grant.eni.eniId;
    const there = lab.report().leases.filter((lease) => lease.grant.eni.eniId === one);
    for (const lease of there) await lab.del(lease.sandbox.pod.name);
    await lab.restart({ maxIdle: 0 });
    await eventually('it is detaching', () => lab.truth().some((eni) => eni.status === 'Detaching'));
    if (restarted) await lab.restart();
    // Its slot is not free before it is gone: this pod waits or is refused, and nothing is asked that the limit would refuse.
    const waiting = lab.add('waiting').catch((error: Error) => error);
    await eventually(
      'it is deleting',
      () => lab.truth().some((eni) => eni.status === 'Deleting'),
      atLeast(6_000, 150_000),
    );
    if (restarted) await lab.restart();
    t.ok(lab.truth().length <= SLOTS);
    checkLeases(t, lab);
    await eventually('it is gone', () => !lab.truth().some((eni) => eni.eniId === one), atLeast(6_000, 150_000));
    await waiting;
    await fills(t, lab);
    await checkRest(t, lab);
    t.equal(lab.truth().length, SLOTS, 'nothing is left over');
    t.ok(slots.most() <= SLOTS, `${slots.most()} ENIs at most`);
    noLimit(t, lab);
    untouched(t);
  });
}

t.test(
  'B51: Delete is refused while the ENI is detaching, and repeated until it is gone',
  { buffered: true },
  async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    await lab.adds(names('pod', PER_ENI));
    for (const name of names('pod', PER_ENI)) await lab.del(name);
    await eventually('all idle', () => lab.counts().idle === PER_ENI);
    await lab.plant(
      { api: 'DetachNetworkInterface', effect: 'transition', lastsMs: sped(60_000), times: 10 },
      // Not carried out three times; two of the answers say that all is well.
      { api: 'DeleteNetworkInterface', effect: 'reply', body: '{"RequestId":"R-0"}', carriedOut: false, times: 2 },
      { api: 'DeleteNetworkInterface', effect: 'fail', code: 'InvalidOperation.InvalidEniState', times: 3 },
    );
    await lab.restart({ maxIdle: 0 });
    await eventually('it is gone', () => lab.truth().length === 0, atLeast(8_000, 400_000));
    const outcomes = lab.calls('DeleteNetworkInterface').map((call) => call.outcome);
    t.ok(outcomes.length > 3, `Delete was repeated: ${outcomes.join(', ')}`);
    t.equal(outcomes.at(-1), 'ok');
    await checkRest(t, lab);
    untouched(t);
  },
);
