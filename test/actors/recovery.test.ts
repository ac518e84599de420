/** What an earlier life had begun when it ended, over HTTP with the real SDK: nothing is made twice, and nothing stays unknown. */
import t, { type Test } from 'tap';
import { ownTags, REQUEST_TAG } from '../../actors/tags.ts';
import { type Intent, takingId } from '../../src/core/intent.ts';
import { defaultSettings as cloudDefaults } from '../../src/vpc/settings.ts';
import { atRest, troubles } from './at-rest.ts';
import { eventually, type OneNode, oneNode } from './one-node.ts';

const INSTANCE = 'i-lab-node-1';
const common = { version: 1, slot: 5, atMs: 1 } as const;
const create = (token: string, ipv4Count = 2): Intent => ({
  ...common,
  id: token,
  kind: 'create',
  eniId: null,
  vSwitchId: 'vsw-lab-1',
  securityGroupIds: ['sg-lab'],
  ipv4Count,
  ipv6Count: 0,
  tags: { ...ownTags('', INSTANCE), [REQUEST_TAG]: token },
  description: 'created by enactor for node-1',
  clientToken: token,
});

/** Ends the node, leaves these intents on its disk, and starts it again. */
async function reborn(lab: OneNode, ...intents: readonly unknown[]): Promise<void> {
  await lab.node.stop();
  const records = lab.disk.get('intents') ?? new Map<string, string>();
  for (const intent of intents) records.set((intent as Intent).id, JSON.stringify(intent));
  lab.disk.set('intents', records);
  await lab.restart();
}

const openIntents = (lab: OneNode): string[] => [...(lab.disk.get('intents')?.keys() ?? [])];
const closed = (lab: OneNode): Promise<void> =>
  eventually('no intent is open', () => openIntents(lab).length === 0, 5_000);

type Options = Parameters<typeof oneNode>[0];

/** On a busy machine an ENI takes its time, and one that took too long would be finished off. */
const PATIENT = { attachTimeoutMs: 20_000, settleTimeoutMs: 20_000, detachTimeoutMs: 20_000 } as const;

async function start(
  t: Test,
  settings: NonNullable<Options['settings']> = {},
  cloud: NonNullable<Options['cloud']> = {},
): Promise<OneNode> {
  const lab = await oneNode({ settings: { maxIdle: 4, coolDownMs: 0, ...PATIENT, ...settings }, cloud });
  t.teardown(() => lab.stop());
  await lab.serving();
  return lab;
}

t.test('recovery: a Create of which nothing is found is made once more, with its own token', async (t) => {
  const lab = await start(t);
  await reborn(lab, create('earlier-0-0'));
  await eventually('it is in use', () => lab.report().enis[0]?.state.startsWith('inUse.resting') === true);
  t.equal(lab.truth().length, 1);
  t.equal(lab.truth()[0]?.tags[REQUEST_TAG], 'earlier-0-0');
  await closed(lab);
  await lab.add('a');
  await atRest(lab);
  t.same(troubles(lab), []);
  t.equal(lab.calls('CreateNetworkInterface').length, 1, 'it serves the next pod');
});

t.test('recovery: a Create that was carried out makes no second ENI', async (t) => {
  const lab = await start(t);
  await lab.change({
    change: 'createEni',
    vSwitchId: 'vsw-lab-1',
    securityGroupIds: ['sg-lab'],
    instanceId: null,
    secondaries: 1,
    ipv6: 0,
    tags: { ...ownTags('', INSTANCE), [REQUEST_TAG]: 'earlier-0-0' },
    serviceManaged: false,
  });
  await reborn(lab, create('earlier-0-0'));
  await eventually('it is in use', () => lab.report().enis[0]?.state.startsWith('inUse.resting') === true);
  await closed(lab);
  t.equal(lab.truth().length, 1);
  t.equal(lab.calls('CreateNetworkInterface').length, 0);
});

t.test('recovery: a Create that hangs while the node stops leaves one ENI, and the node knows it', async (t) => {
  const lab = await start(t);
  await lab.fault('CreateNetworkInterface', { effect: 'drop', how: 'hang', times: 1 });
  const pod = lab.add('a').catch(() => null);
  await eventually('it was made', () => lab.truth().length === 1);
  t.equal(openIntents(lab).length, 1);
  await lab.restart();
  await pod;
  await eventually('it is in use', () => lab.report().enis[0]?.state.startsWith('inUse.resting') === true);
  await closed(lab);
  await lab.add('a');
  await atRest(lab);
  t.equal(lab.truth().length, 1);
  t.same(troubles(lab), []);
});

t.test('recovery: an ENI that was to be detached goes, though it is attached yet', async (t) => {
  const lab = await start(t);
  await lab.add('a');
  await lab.del('a');
  await atRest(lab);
  const eniId = lab.truth()[0]?.eniId ?? '';
  await reborn(lab, { ...common, id: eniId, kind: 'detach', eniId, instanceId: INSTANCE });
  await eventually('it is gone', () => lab.truth().length === 0);
  await closed(lab);
});

t.test('recovery: one under a pod stays, whatever an intent says', async (t) => {
  const lab = await start(t);
  const lease = await lab.add('a');
  await atRest(lab);
  const { eniId } = lease.grant.eni;
  await reborn(lab, { ...common, id: eniId, kind: 'delete', eniId });
  await lab.add('b');
  await atRest(lab);
  t.equal(lab.truth()[0]?.eniId, eniId);
  t.same(troubles(lab), []);
});

t.test('recovery: an ENI that was to be attached is, and one nobody was about to use goes', async (t) => {
  const lab = await start(t, { maxEnis: 2 });
  const loose = {
    change: 'createEni',
    vSwitchId: 'vsw-lab-1',
    securityGroupIds: ['sg-lab'],
    instanceId: null,
    secondaries: 0,
    ipv6: 0,
    tags: ownTags('', INSTANCE),
    serviceManaged: false,
  };
  await lab.change(loose);
  await lab.change(loose);
  const [first, second] = lab.truth().map((eni) => eni.eniId);
  await reborn(lab, { ...common, id: first, kind: 'attach', eniId: first, instanceId: INSTANCE });
  await eventually('the other is gone', () => !lab.truth().some((eni) => eni.eniId === second));
  await eventually('it is in use', () => lab.report().enis[0]?.state.startsWith('inUse.resting') === true);
  t.strictSame(
    lab.truth().map((eni) => eni.eniId),
    [first],
  );
  await closed(lab);
});

t.test('recovery: addresses that were to be taken are taken, and no pod gets them before', async (t) => {
  const lab = await start(t, { minIdle: 4, maxIdle: 4 });
  await lab.add('a');
  await atRest(lab);
  const [eni] = lab.truth();
  const idle = lab.report().enis[0]?.addresses.filter((one) => one.state === 'idle') ?? [];
  const ips = idle.filter((one) => one.ipv4 !== eni?.ipv4[0]).map((one) => one.ipv4);
  t.ok(ips.length >= 2);
  await reborn(lab, { ...common, id: eni?.eniId ?? '', kind: 'unassign', eniId: eni?.eniId ?? '', ips });
  const pod = await lab.add('b');
  t.notOk(ips.includes(pod.grant.address.ipv4));
  await atRest(lab);
  await closed(lab);
  t.ok(lab.calls('UnassignPrivateIpAddresses').length > 0);
  t.same(troubles(lab), []);
});

t.test('recovery: an intent that cannot be read is told, and the node serves', async (t) => {
  const errors: object[] = [];
  const lab = await oneNode({
    log: { debug() {}, info() {}, warn() {}, error: (fields, message) => void errors.push({ ...fields, message }) },
  });
  t.teardown(() => lab.stop());
  await lab.serving();
  await reborn(lab, { id: 'x', version: 99 });
  await lab.add('a');
  t.match(errors, [{ intent: 'x', message: 'an intent cannot be read' }]);
});

t.test(
  'recovery: a lease whose whole ENI is gone is told as invalid, its DEL works, and others are served',
  async (t) => {
    const lab = await start(t);
    const lease = await lab.add('a');
    await atRest(lab);
    await lab.node.stop();
    await lab.change({ change: 'deleteEni', eniId: lease.grant.eni.eniId });
    await lab.restart();
    t.match(lab.report().invalidLeases, [{ grant: { address: lease.grant.address } }]);
    t.equal(lab.report().pool?.counts.invalid, 1);
    t.equal(lab.report().leases.length, 1);
    await lab.add('b');
    t.equal((await lab.del('a'))?.grant.address.ipv4, lease.grant.address.ipv4);
    await atRest(lab);
    t.same(lab.report().invalidLeases, []);
    t.same(troubles(lab), []);
  },
);

t.test('intents: no call that creates or destroys leaves while its intent cannot be written', async (t) => {
  const lab = await start(t);
  lab.failIntents(3);
  const before = lab.calls('CreateNetworkInterface').length;
  const pod = lab.add('a');
  await new Promise((resolve) => setTimeout(resolve, 15));
  t.equal(lab.calls('CreateNetworkInterface').length, before);
  await pod;
  await atRest(lab);
  t.same(troubles(lab), []);
  await closed(lab);
});

t.test(
  'recovery: an address that was given back a moment ago is promised to nobody, though Describe shows it yet',
  async (t) => {
    const lab = await start(
      t,
      { maxIdle: 0, minIdle: 0, describePeriodMs: 300, attachTimeoutMs: 5_000 },
      { delays: { ...cloudDefaults('fast').delays, describeLagMs: 1_000 } },
    );
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => lab.add(name)));
    for (const name of names.slice(1)) await lab.del(name);
    const owned = (): readonly string[] => lab.truth().flatMap((eni) => eni.ipv4);
    await eventually('three are given back', () => owned().length === 1);
    await eventually('their intent is closed', () => openIntents(lab).length === 0);
    await lab.restart();
    const { grant } = await lab.add('e');
    t.ok(owned().includes(grant.address.ipv4), `${grant.address.ipv4} is one of ${owned().join(', ')}`);
  },
);

t.test(
  'recovery: an Unassign that was not answered is known to every later life, whatever was begun meanwhile',
  async (t) => {
    const lab = await start(t, { minIdle: 3 });
    await lab.add('a');
    const eniId = lab.truth()[0]?.eniId ?? '';
    await eventually('some are idle', () => (lab.truth()[0]?.ipv4.length ?? 0) >= 4);
    const ip = lab.truth()[0]?.ipv4.at(-1) ?? '';
    const unassign = { ...common, id: takingId(eniId), kind: 'unassign', eniId, ips: [ip] };
    const assign = { ...common, id: eniId, kind: 'assign', eniId, ipv4Count: 1, clientToken: 'earlier-5-1' };
    await reborn(lab, unassign, assign);
    const leases = await Promise.all(['b', 'c', 'd', 'e'].map((name) => lab.add(name)));
    t.notOk(
      leases.some(({ grant }) => grant.address.ipv4 === ip),
      `nobody has ${ip}`,
    );
    await eventually('it is taken', () => !lab.truth().some((eni) => eni.ipv4.includes(ip)));
    await closed(lab);
  },
);
