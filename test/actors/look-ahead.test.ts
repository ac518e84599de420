/** What a start asks of the cloud: both listings at once while the node is identified, and anew only where those may not be the truth. */
import t from 'tap';
import { createActor, toPromise } from 'xstate';
import { lookAhead, lookLogic } from '../../actors/look.ts';
import { ownTags } from '../../actors/tags.ts';
import { Told } from '../../actors/told.ts';
import { memoryStore } from '../../src/adapters/level/memory-store.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { INTENT_VERSION } from '../../src/core/intent.ts';
import { ANSWER_VERSION } from '../../src/core/late-describe.ts';
import type { NodeFacts } from '../../src/core/node-facts.ts';
import { defaultSettings, type Settings } from '../../src/core/settings.ts';
import { META_KEY, READABLE_FROM, STORE_VERSION } from '../../src/core/store-meta.ts';
import type { EniFilter } from '../../src/ports/cloud.ts';

const never = new AbortController().signal;
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const settings: Settings = { ...defaultSettings, nodeName: 'node-1', clusterId: 'c-1' };
const facts = { instanceId: 'i-1' } as NodeFacts;
const tags = ownTags('c-1', 'i-1');

const eniOf = (eniId: string, more: Partial<CloudEni> = {}): CloudEni => ({
  ...{ eniId, mac: '', status: 'InUse', type: 'Secondary', vpcId: '', vSwitchId: '', zoneId: '', ipv6: [] },
  ...{ ipv4: ['10.0.0.1'], securityGroupIds: [], tags, instanceId: 'i-1', ...more },
});

/** A store as an orderly life leaves it, and a cloud that shows these to the one and the other question. */
async function start({ whole = true, instanceId = 'i-1' } = {}) {
  const store = memoryStore();
  const meta = { version: STORE_VERSION, readableFrom: READABLE_FROM, instanceId, whole, remembersEnis: true };
  await store.write([{ type: 'put', in: 'meta', key: META_KEY, value: meta }]);
  const shown = { attached: [eniOf('eni-1')], tagged: [eniOf('eni-1'), eniOf('eni-loose', { instanceId: null })] };
  const asked: EniFilter[] = [];
  const clock = { now: 1_000, nowMs: () => clock.now };
  const state = { fails: false };
  const cloud = {
    describeEnis: async (filter: EniFilter): Promise<CloudEni[]> => {
      asked.push(filter);
      if (state.fails) throw new Error('away');
      return filter.eniIds !== undefined ? [] : filter.tags === undefined ? shown.attached : shown.tagged;
    },
  } as unknown as ConstructorParameters<typeof Told>[0]['cloud'];
  const intents = { changes: 0 };
  const told = new Told({ cloud, store, clock }, intents);
  const identify = async (): Promise<void> => {
    await Promise.all([
      told.describeEnis({ instanceId: 'i-1' }, never),
      lookAhead({ store, told, log: silent }, 'i-1', settings, never),
    ]);
  };
  const look = async () => {
    asked.length = 0;
    const logic = lookLogic({ cloud, store, clock, told, log: silent });
    return (await toPromise(createActor(logic, { input: { facts, settings } }).start())).value;
  };
  return { store, shown, asked, clock, state, intents, told, identify, look };
}

t.test(
  'look ahead: after an orderly life what identifying has asked is what is seen, loose ENIs too, once',
  async (t) => {
    const { asked, clock, identify, look } = await start();
    await identify();
    t.strictSame(asked, [{ instanceId: 'i-1' }, { tags }]);
    clock.now += 9_000;
    const seen = await look();
    t.strictSame(asked, []);
    t.match(seen, {
      askedMs: 1_000,
      attached: [{ eniId: 'eni-1' }],
      tagged: [{ eniId: 'eni-1' }, { eniId: 'eni-loose' }],
      byId: [],
    });
    await look();
    t.strictSame(asked, [{ instanceId: 'i-1' }, { tags }], 'a second look is one of its own');
  },
);

t.test('look ahead: what is old is asked anew, one that waited for its turn is not', async (t) => {
  const old = await start();
  await old.identify();
  old.clock.now += 10_000;
  await old.look();
  t.equal(old.asked.length, 2);
  const late = await start();
  await late.told.describeEnis({ instanceId: 'i-1' }, never);
  late.clock.now += 100_000;
  await late.identify();
  late.clock.now += 1_000;
  t.match(await late.look(), { askedMs: 1_000 }, 'and it is told how old it is');
  t.equal(late.asked.length, 0);
});

t.test('look ahead: listings that differ about what is attached and ours are made anew', async (t) => {
  for (const differ of [
    { attached: [eniOf('eni-1'), eniOf('eni-2')] },
    { attached: [] },
    { tagged: [eniOf('eni-1', { ipv4: ['10.0.0.1', '10.0.0.2'] })] },
    { tagged: [eniOf('eni-1', { status: 'Detaching' })] },
  ]) {
    const { shown, asked, identify, look } = await start();
    Object.assign(shown, differ);
    await identify();
    await look();
    t.equal(asked.length, 2, JSON.stringify(differ));
  }
  const { shown, asked, identify, look } = await start();
  shown.attached.push(eniOf('eni-other', { tags: {} }), eniOf('eni-primary', { type: 'Primary', tags: {} }));
  await identify();
  t.match(await look(), { attached: { length: 3 } });
  t.equal(asked.length, 0, 'those of others are in one alone');
});

t.test(
  'look ahead: nothing is asked ahead where a later look knows better, and an answer that failed is asked for',
  async (t) => {
    const intent = { version: INTENT_VERSION, id: 'eni-9', kind: 'delete', slot: 0, eniId: 'eni-9', atMs: 0 };
    for (const [what, options, value] of [
      ['something was begun', {}, intent],
      ['what was begun cannot be read', {}, 'what is this'],
      ['the store was lost', { whole: false }, null],
      ['it is another instance’s', { instanceId: 'i-2' }, null],
    ] as const) {
      const { store, asked, identify, look } = await start(options);
      if (value !== null) await store.write([{ type: 'put', in: 'intents', key: 'eni-9', value }]);
      await identify();
      t.strictSame(asked, [{ instanceId: 'i-1' }], what);
      await look();
      t.strictSame(asked.slice(0, 2), [{ instanceId: 'i-1' }, { tags }], what);
      t.equal(asked.length, value === intent ? 3 : 2);
    }
    const begun = await start();
    await begun.identify();
    await begun.store.write([{ type: 'put', in: 'intents', key: 'eni-9', value: intent }]);
    await begun.look();
    t.equal(begun.asked.length, 3, 'nor does what was asked before count then');
    const over = await start();
    await over.identify();
    over.intents.changes += 1;
    await over.look();
    t.equal(over.asked.length, 2, 'also when it is over by then');
    const { asked, state, told, store, look } = await start();
    await told.describeEnis({ instanceId: 'i-1' }, never);
    state.fails = true;
    await lookAhead({ store, told, log: silent }, 'i-1', settings, never);
    state.fails = false;
    await look();
    t.equal(asked.length, 2);
  },
);

t.test('look ahead: what answers have said corrects each listing as of when it was asked', async (t) => {
  const { store, clock, told, identify, look } = await start();
  const value = { version: ANSWER_VERSION, said: [{ ip: '10.0.0.7', there: true, untilMs: 50_000 }] };
  await store.write([{ type: 'put', in: 'answers', key: 'eni-1', value }]);
  await told.describeEnis({ instanceId: 'i-1' }, never);
  clock.now = 60_000;
  await identify();
  const { attached, tagged } = await look();
  t.strictSame(
    [attached, tagged].map(([eni]) => eni?.ipv4),
    [['10.0.0.1', '10.0.0.7'], ['10.0.0.1']],
  );
});
