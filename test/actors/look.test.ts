/** What was looked at while ENIs were still asked for addresses, and what is asked again before anything is built on it. */
import t from 'tap';
import { createActor, toPromise } from 'xstate';
import { lookOnceMore } from '../../actors/look.ts';
import { type RecoverHands, recoverLogic } from '../../actors/recover.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { EnactorError } from '../../src/core/errors.ts';
import type { Intent } from '../../src/core/intent.ts';
import type { NodeFacts } from '../../src/core/node-facts.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import type { Cloud } from '../../src/ports/cloud.ts';
import { FakeHost } from '../../src/simulation/fake-host.ts';

const eniOf = (eniId: string, ipv4: readonly string[], instanceId: string | null = 'i-1'): CloudEni =>
  ({ eniId, ipv4, ipv6: [], instanceId, status: instanceId === null ? 'Available' : 'InUse' }) as unknown as CloudEni;
const intentOf = (kind: Intent['kind'], eniId: string): Intent =>
  ({ version: 1, id: eniId, slot: 0, atMs: 1, kind, eniId, clientToken: 't-1-0-1' }) as unknown as Intent;
const seen = {
  askedMs: 10,
  attached: [eniOf('eni-a', ['10.0.0.1']), eniOf('eni-b', ['10.0.0.2'])],
  tagged: [eniOf('eni-a', ['10.0.0.1'])],
  byId: [],
};

function cloudWith(now: readonly CloudEni[]) {
  const asked: unknown[] = [];
  const describeEnis: Cloud['describeEnis'] = async (filter) => {
    asked.push(filter);
    return [...now];
  };
  return { asked, hands: { cloud: { describeEnis } as unknown as Cloud, clock: { nowMs: () => 20 } as never } };
}

t.test('look: an ENI whose Assign was not answered is asked after once more, and the other is not', async (t) => {
  const { asked, hands } = cloudWith([eniOf('eni-a', ['10.0.0.1', '10.0.0.9'])]);
  const told = { open: [intentOf('assign', 'eni-a'), intentOf('detach', 'eni-b')], answers: new Map() };
  const now = await lookOnceMore(hands, told, seen, new AbortController().signal);
  t.same(asked, [{ eniIds: ['eni-a'] }]);
  t.same(
    now.attached.map(({ ipv4 }) => ipv4),
    [['10.0.0.1', '10.0.0.9'], ['10.0.0.2']],
  );
  t.same(now.tagged[0]?.ipv4, ['10.0.0.1', '10.0.0.9']);
});

t.test(
  'look: without such an Assign nothing is asked, and an ENI that has left meanwhile stays as it was seen',
  async (t) => {
    const idle = cloudWith([]);
    const none = { open: [intentOf('detach', 'eni-b')], answers: new Map() };
    t.equal(await lookOnceMore(idle.hands, none, seen, new AbortController().signal), seen);
    t.same(idle.asked, []);
    const gone = cloudWith([eniOf('eni-a', [], null)]);
    const some = { open: [intentOf('assign', 'eni-a')], answers: new Map() };
    const now = await lookOnceMore(gone.hands, some, seen, new AbortController().signal);
    t.same(now.attached, seen.attached, 'its detaching is the business of the ENI’s actor');
  },
);

t.test('look: recovering asks so, before it builds anything on what was seen', async (t) => {
  const asked: unknown[] = [];
  const disk: MemoryDisk = new Map([['intents', new Map([['eni-a', JSON.stringify(intentOf('assign', 'eni-a'))]])]]);
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const hands = {
    store: memoryStore(disk),
    cloud: {
      describeEnis: async (filter: unknown) => {
        asked.push(filter);
        throw new EnactorError('cloud', 'that was all that was to be known');
      },
    },
    host: new FakeHost(() => []),
    clock: { nowMs: () => 20 },
    entropy: { token: () => 'store', fraction: () => 0 },
    log: quiet,
    intents: { adopt() {} },
    unreadable: new Set(),
    booted() {},
  } as unknown as RecoverHands;
  const settings = { ...defaultSettings, nodeName: 'n' };
  const actor = createActor(recoverLogic(hands), {
    input: { facts: { instanceId: 'i-1' } as NodeFacts, settings, seen },
  });
  actor.subscribe({ error() {} });
  actor.start();
  await t.rejects(toPromise(actor), /all that was to be known/);
  t.same(asked, [{ eniIds: ['eni-a'] }]);
});
