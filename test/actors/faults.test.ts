import t, { type Test } from 'tap';
import { defaultSettings as cloudDefaults } from '../../src/vpc/settings.ts';
import { atRest, troubles } from './at-rest.ts';
import { eventually, type OneNode, oneNode } from './one-node.ts';

type Options = Parameters<typeof oneNode>[0];

/** A node, and a check that it comes to rest with everything in its place. */
function onNode(name: string, options: Options, run: (lab: OneNode, t: Test) => Promise<void>): void {
  t.test(name, async (t) => {
    const lab = await oneNode(options);
    t.teardown(lab.stop);
    void lab.node.failed.then((error) => t.fail(`the node failed: ${error.message}`));
    await lab.serving();
    await run(lab, t);
    await lab.mend();
    await atRest(lab);
    t.same(troubles(lab), [], 'everything is in its place');
  });
}

const addAll = (lab: OneNode, count: number, untilMs?: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, i) => lab.add(`p${i}`, untilMs)));
const served = (results: readonly PromiseSettledResult<unknown>[]): number =>
  results.filter((result) => result.status === 'fulfilled').length;
const tokens = (lab: OneNode, api: string) => lab.calls(api).map((call) => call.params.ClientToken);

onNode('create: refused again and again, the pods wait for the next ENI and are served', {}, async (lab, t) => {
  await lab.refuse('CreateNetworkInterface', 'SecurityGroupInstanceLimitExceed', 7);
  t.equal(served(await addAll(lab, 3)), 3);
  t.equal(lab.calls('CreateNetworkInterface').filter((call) => call.changed).length, 1);
});

for (const how of ['close', 'cut'])
  onNode(
    `create: carried out, but the answer is lost (${how}): the same token makes no second ENI`,
    {},
    async (lab, t) => {
      await lab.fault('CreateNetworkInterface', { effect: 'drop', how, times: 2 });
      t.equal(served(await addAll(lab, 2)), 2);
      t.equal(new Set(tokens(lab, 'CreateNetworkInterface')).size, 1);
      t.equal(lab.calls('CreateNetworkInterface').filter((call) => call.changed).length, 1);
    },
  );

onNode('create: throttled, the pods wait', {}, async (lab, t) => {
  await lab.refuse('CreateNetworkInterface', 'Throttling.User', 3);
  t.equal(served(await addAll(lab, 2)), 2);
});

onNode('attach: rolled back without a word, it is asked again', {}, async (lab, t) => {
  await lab.fault('AttachNetworkInterface', { effect: 'transition', fails: true, times: 1 });
  t.equal(served(await addAll(lab, 2)), 2);
  t.equal(lab.calls('CreateNetworkInterface').length, 1, 'on the same ENI');
});

const late = { ...cloudDefaults('fast').delays, describeLagMs: 200 };

onNode(
  'attach: what Describe is late about is waited for, not made again',
  { settings: { describePeriodMs: 50, attachTimeoutMs: 20_000, cloudPeriodMs: 500 }, cloud: { delays: late } },
  async (lab, t) => {
    t.equal(served(await addAll(lab, 2)), 2);
    const [eni] = lab.truth();
    await new Promise((resolve) => setTimeout(resolve, 2 * late.describeLagMs)); // as it is shown by now
    await lab.change({ change: 'detachEni', eniId: eni?.eniId ?? '' });
    await eventually('it is attached again', () => lab.calls('AttachNetworkInterface').length > 1);
    await eventually('and known to be', () => lab.report().enis[0]?.state.startsWith('inUse') === true);
    t.strictSame(
      lab.calls('AttachNetworkInterface').map(({ outcome }) => outcome),
      ['ok', 'ok'],
    );
  },
);

onNode('attach: refused for good, the ENI is deleted and its pods go to the next', {}, async (lab, t) => {
  await lab.refuse('AttachNetworkInterface', 'InvalidOperation.InvalidEcsState', 3);
  t.equal(served(await addAll(lab, 3)), 3);
  t.equal(lab.truth().length, 1);
});

onNode('attach: its answer is lost, Describe tells', {}, async (lab, t) => {
  await lab.fault('AttachNetworkInterface', { effect: 'drop' });
  t.equal(served(await addAll(lab, 2)), 2);
  t.equal(lab.calls('AttachNetworkInterface').length, 1);
});

onNode(
  'settle: a device that does not come, and then does: the first ENI goes, the next serves',
  {},
  async (lab, t) => {
    let missing = 2;
    const { setUpEni } = lab.kernel;
    lab.kernel.setUpEni = async (wanted, signal) => {
      missing -= 1;
      if (missing >= 0) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return await setUpEni.call(lab.kernel, wanted, signal);
    };
    t.equal(served(await addAll(lab, 2)), 2);
  },
);

onNode(
  'settle: pods on an adopted ENI keep it while its device is missing, and new pods get another',
  { settings: { maxIdle: 9 } },
  async (lab, t) => {
    const [first] = [await lab.add('a'), await lab.add('b')];
    const mac = first?.grant.eni.mac ?? '';
    lab.kernel.missing.add(mac);
    lab.kernel.devices.clear();
    await lab.restart();
    await eventually(
      'the ENI has no device',
      () => lab.report().enis[0]?.state.startsWith('settling.backingOff') ?? false,
    );
    const other = await lab.add('c');
    t.not(other.grant.eni.mac, mac);
    t.equal(lab.truth().length, 2);
    lab.kernel.missing.clear();
  },
);

onNode('assign: fewer than asked, none, and then as many as there are wanted', {}, async (lab, t) => {
  await lab.add('first');
  const none = JSON.stringify({
    RequestId: 'x',
    AssignedPrivateIpAddressesSet: { PrivateIpSet: { PrivateIpAddress: [] } },
  });
  await lab.fault('AssignPrivateIpAddresses', { effect: 'reply', body: none, carriedOut: false });
  t.equal(served(await addAll(lab, 4)), 4);
});

onNode(
  'assign: carried out, but the answer is lost: the book follows the cloud',
  { settings: { maxIdle: 9 } },
  async (lab, t) => {
    await lab.add('first');
    await lab.fault('AssignPrivateIpAddresses', { effect: 'drop', times: 1 });
    t.equal(served(await addAll(lab, 4)), 4);
  },
);

onNode(
  'unassign: fails, and fails again, and its answer is lost',
  { settings: { minIdle: 0, maxIdle: 1 } },
  async (lab, t) => {
    await addAll(lab, 5);
    await lab.refuse('UnassignPrivateIpAddresses', 'InternalError', 2);
    await lab.fault('UnassignPrivateIpAddresses', { effect: 'drop', times: 3 });
    await Promise.all(['p0', 'p1', 'p2'].map((name) => lab.del(name)));
    await eventually('one idle address is left', () => {
      const counts = lab.report().pool?.counts;
      return counts?.idle === 1 && counts.cooling === 0 && counts.leaving === 0;
    });
    t.equal(lab.report().leases.length, 2);
  },
);

onNode('detach and delete: refused, repeated, and their answers lost', {}, async (lab, t) => {
  await lab.add('a');
  await lab.refuse('DetachNetworkInterface', 'InternalError', 2);
  await lab.fault('DetachNetworkInterface', { effect: 'drop' });
  await lab.refuse('DeleteNetworkInterface', 'InvalidOperation.InvalidEniState', 2);
  await lab.fault('DeleteNetworkInterface', { effect: 'drop' });
  await lab.del('a');
  await eventually('the ENI is gone', () => lab.truth().length === 0 && lab.report().enis.length === 0);
  t.equal(lab.kernel.devices.size, 0);
});

for (const status of ['Detaching', 'Deleting'])
  onNode(
    `${status}: an ENI that sticks keeps its slot, is said to be stuck, and goes in the end`,
    {},
    async (lab, t) => {
      const lease = await lab.add('a');
      const { eniId } = lease.grant.eni;
      const api = status === 'Detaching' ? 'DetachNetworkInterface' : 'DeleteNetworkInterface';
      await lab.fault(api, { effect: 'transition', lastsMs: 900 });
      await lab.del('a');
      await eventually('it is stuck', () => lab.report().enis.some((eni) => eni.state === 'stuck'));
      const [next] = await Promise.all([lab.add('b'), lab.add('c')]);
      t.not(next?.grant.eni.eniId, eniId, 'pods go elsewhere meanwhile');
      t.ok(
        lab.report().enis.some((eni) => eni.eniId === eniId),
        'its slot is kept',
      );
      await eventually('it is gone', () => lab.truth().every((eni) => eni.eniId !== eniId));
    },
  );

for (const code of ['InvalidVSwitchId.IpNotEnough', 'QuotaExceeded.PrivateIpAddress'])
  onNode(
    `vSwitch: empty (${code}), the second one serves`,
    { settings: { vSwitchPolicy: 'listed', vSwitchIds: ['vsw-lab-1', 'vsw-lab-2'] } },
    async (lab, t) => {
      await lab.refuse('CreateNetworkInterface', code);
      t.equal(served(await addAll(lab, 3)), 3);
      t.same(
        lab.truth().map((eni) => eni.vSwitchId),
        ['vsw-lab-2'],
      );
      t.equal(lab.calls('CreateNetworkInterface').length, 2, 'the empty one was asked once');
    },
  );

onNode(
  'vSwitch: runs dry under an ENI, whose pods then go to an ENI in the second',
  { settings: { vSwitchPolicy: 'listed', vSwitchIds: ['vsw-lab-1', 'vsw-lab-2'], holdDownMs: 60_000 } },
  async (lab, t) => {
    await lab.add('first');
    await lab.refuse('AssignPrivateIpAddresses', 'InvalidVSwitchId.IpNotEnough');
    t.equal(served(await addAll(lab, 3)), 3);
    t.same(
      lab
        .truth()
        .map((eni) => eni.vSwitchId)
        .sort(),
      ['vsw-lab-1', 'vsw-lab-2'],
    );
    t.equal(lab.calls('AssignPrivateIpAddresses').filter((call) => call.outcome !== 'ok').length, 1);
  },
);

onNode(
  'vSwitch: the only one is empty, the pods are refused with its name and code, and served after the hold',
  { settings: { holdDownMs: 400 } },
  async (lab, t) => {
    await lab.refuse('CreateNetworkInterface', 'InvalidVSwitchId.IpNotEnough');
    await t.rejects(lab.add('a', Date.now() + 200), { code: 'vSwitchEmpty', message: /IpNotEnough/ });
    t.ok(await lab.add('b'), 'one that can wait until the hold ends does');
  },
);

onNode('permission: denied on Create, every pod is told at once', {}, async (lab, t) => {
  await lab.refuse('CreateNetworkInterface', 'Forbidden.RAM', 1);
  const results = await addAll(lab, 3);
  for (const result of results)
    if (result.status === 'rejected') t.match(result.reason, { code: 'permission', message: /Forbidden\.RAM/ });
  t.equal(served(results), 0);
});

onNode('permission: denied on Assign, those who wait are told, the others keep what they have', {}, async (lab, t) => {
  await lab.add('first');
  await lab.refuse('AssignPrivateIpAddresses', 'Forbidden.RAM', 1);
  await t.rejects(lab.add('second'), { code: 'permission' });
  t.equal(lab.report().leases.length, 1);
});

onNode(
  'burst: over several ENIs, no quota is ever passed, and who is too many is told the numbers',
  {},
  async (lab, t) => {
    const results = await addAll(lab, 20);
    t.equal(served(results), 12, 'two ENIs of six');
    for (const result of results)
      if (result.status === 'rejected') t.match(result.reason.message, /12 held on 2 of 2 ENIs/);
  },
);

onNode(
  'foreign: an ENI of somebody else serves pods and is never touched',
  { settings: { maxIdle: 0 } },
  async (lab, t) => {
    await lab.change({
      change: 'createEni',
      vSwitchId: 'vsw-lab-1',
      securityGroupIds: ['sg-lab'],
      instanceId: 'i-lab-node-1',
      secondaries: 2,
    });
    await lab.restart();
    const lease = await lab.add('a');
    t.equal(lab.calls('CreateNetworkInterface').length, 0);
    await lab.del('a');
    await atRest(lab);
    t.equal(lab.truth().length, 1);
    t.ok(lab.truth()[0]?.ipv4.includes(lease.grant.address.ipv4));
    for (const api of ['DetachNetworkInterface', 'DeleteNetworkInterface', 'UnassignPrivateIpAddresses'])
      t.equal(lab.calls(api).length, 0, api);
  },
);

onNode(
  'out of band: an ENI that was deleted serves nobody any more, and its actor goes when its pods go',
  {},
  async (lab, t) => {
    const lease = await lab.add('a');
    const { eniId } = lease.grant.eni;
    await lab.change({ change: 'detachEni', eniId });
    await lab.change({ change: 'deleteEni', eniId });
    const other = await lab.add('b');
    t.not(other.grant.eni.eniId, eniId);
    await lab.del('a');
    await eventually('its actor is gone', () => lab.report().enis.every((eni) => eni.eniId !== eniId));
  },
);

onNode(
  'store: a lease that cannot be written fails the ADD, and its address is free again',
  { settings: { maxIdle: 9 } },
  async (lab, t) => {
    lab.failWrites(1);
    await t.rejects(lab.add('a'), { code: 'store' });
    t.equal(lab.report().leases.length, 0);
    await lab.add('b');
    t.equal(lab.report().pool?.counts.bound, 1);
    t.equal(lab.truth().length, 1);
  },
);

onNode(
  'store: on a disk that takes no intent an ADD without an idle address is told so, long before its deadline',
  { settings: { minIdle: 0, maxIdle: 0 } },
  async (lab, t) => {
    const far = () => Date.now() + 600_000;
    lab.failIntents(1_000);
    await t.rejects(lab.add('none', far()), { code: 'store' }, 'no ENI can be made');
    lab.failIntents(0);
    await lab.add('a');
    lab.failIntents(1_000);
    await t.rejects(lab.add('b', far()), { code: 'store' }, 'no address can be assigned');
    lab.failIntents(0);
    await lab.add('c');
    t.equal(lab.report().pool?.counts.bound, 2);
  },
);

onNode(
  'store: a release that cannot be written keeps the lease, and a later one works',
  { settings: { maxIdle: 9 } },
  async (lab, t) => {
    const lease = await lab.add('a');
    lab.failWrites(1);
    await t.rejects(lab.del('a'), { code: 'store' });
    t.equal((await lab.add('a')).grant.address.ipv4, lease.grant.address.ipv4, 'it is still held');
    t.ok(await lab.del('a'));
    t.equal(await lab.del('a'), null, 'and once more is no error');
  },
);

onNode('deadline: it comes in time and names the cause', { settings: { returnMs: 10 } }, async (lab, t) => {
  const expires = async (name: string, cause: RegExp): Promise<void> => {
    const untilMs = Date.now() + 300;
    await t.rejects(lab.add(name, untilMs), { message: cause });
    t.ok(Date.now() < untilMs + 250, `${name} was answered ${Date.now() - untilMs} ms after its deadline`);
  };
  await lab.fault('CreateNetworkInterface', { effect: 'hold' });
  await expires('held', /under way/);
  await lab.mend();
  await atRest(lab);
  await lab.refuse('CreateNetworkInterface', 'Throttling.User', 50);
  await expires('throttled', /Throttling\.User/);
  await lab.mend();
  await atRest(lab);
  await lab.refuse('CreateNetworkInterface', 'SecurityGroupInstanceLimitExceed', 50);
  await expires('refused', /SecurityGroupInstanceLimitExceed/);
});

onNode(
  'drain: a request that comes while the last ENI goes is never put on it',
  { settings: { coolDownMs: 5 } },
  async (lab, t) => {
    for (let round = 0; round < 12; round += 1) {
      await lab.add('a');
      await lab.del('a');
      await new Promise((resolve) => setTimeout(resolve, round * 3));
      const lease = await lab.add('b');
      const eni = lab.truth().find((one) => one.eniId === lease.grant.eni.eniId);
      t.equal(eni?.status, 'InUse');
      await lab.del('b');
    }
  },
);
