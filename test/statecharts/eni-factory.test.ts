import t from 'tap';
import { type AnyActorRef, createActor, type EventObject, fromCallback, setup } from 'xstate';
import type { EniSummary } from '../../src/core/eni-summary.ts';
import { contextOf, type EniContext, type EniInput, summaryOf } from '../../statecharts/eni-context.ts';
import { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import type { EniFactoryContext, EniFactoryInput } from '../../statecharts/eni-factory-context.ts';
import type { FactoryEvent } from '../../statecharts/messages.ts';
import type { Message } from './walk.ts';

const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null };
const input: EniFactoryInput = {
  nowMs: 0,
  eniCap: 2,
  eniPlaces: 3,
  foreignEnis: 0,
  ipv4PerEni: 3,
  vSwitches: [{ vSwitchId: 'vsw-1', subnet, free: null }],
  eniPolicy: 'most_ips',
  vSwitchPolicy: 'listed',
  seed: 0,
  mtu: 1500,
  token: 't',
  times: {
    cloudPeriodMs: 120_000,
    describePeriodMs: 1,
    attachTimeoutMs: 1,
    settleTimeoutMs: 1,
    detachTimeoutMs: 1,
    backoffMs: 100,
    backoffMaxMs: 1_000,
  },
  holdDownMs: 600,
  quotaHoldMs: 70,
  minEniAgeMs: 0,
  waitingMax: 3,
  adopted: [],
};
const holder = (name: string) => ({ sandbox: `c-${name}/eth0`, pod: `default/${name}` });
const failure = { code: 'cloud' as const, detail: 'refused' };

/** The factory among actors that only listen: the test speaks for the ENIs, and looks at what everybody was told. */
function stage(more: Partial<EniFactoryInput> = {}) {
  const heard: Record<string, Message[]> = {};
  const hear = (name: string, event: EventObject): void => {
    heard[name] = [...(heard[name] ?? []), event as unknown as Message];
  };
  const listener = (name: string) => fromCallback<EventObject>(({ receive }) => receive((event) => hear(name, event)));
  const enis = new Map<number, EniContext>();
  const eni = fromCallback<EventObject, EniInput>(({ receive, input: given }) => {
    enis.set(given.slot, contextOf(given));
    receive((event) => {
      hear(`eni:${given.slot}`, event);
    });
  });
  const factory = eniFactoryMachine.provide({ actors: { eni: eni as never } });
  const root = createActor(
    setup({ actors: { leases: listener('leases'), idlePool: listener('idlePool'), factory } }).createMachine({
      invoke: [
        { src: 'leases', id: 'leases', systemId: 'leases' },
        { src: 'idlePool', id: 'idlePool', systemId: 'idlePool' },
        { src: 'factory', id: 'eniFactory', systemId: 'eniFactory', input: { ...input, ...more } },
      ],
    }),
  );
  const errors: unknown[] = [];
  root.subscribe({ error: (error) => errors.push(error) });
  root.start();
  const actor = root.system.get('eniFactory') as AnyActorRef;
  const send = (event: FactoryEvent) => actor.send(event);
  const summary = (slot: number, change: Partial<EniSummary>): EniSummary => {
    const known = enis.get(slot);
    if (known === undefined) throw new Error(`no ENI in slot ${slot}`);
    const told = (heard[`eni:${slot}`] ?? []).filter((event) =>
      ['assign', 'grow', 'shed', 'drain'].includes(event.type),
    );
    return { ...summaryOf(known), eniId: `eni-${slot}`, heard: told.length, ...change };
  };
  return {
    send,
    summary,
    errors,
    allocate: (name: string, untilMs = 10_000, atMs = 0) =>
      send({ type: 'allocate', requestId: `r-${name}`, ...holder(name), untilMs, atMs }),
    report: (slot: number, change: Partial<EniSummary>) =>
      send({ type: 'eniChanged', summary: summary(slot, change), atMs: 0 }),
    gone: (slot: number, change: Partial<EniSummary>) =>
      send({ type: 'eniGone', summary: summary(slot, { phase: 'leaving', ...change }), atMs: 0 }),
    kill: (slot: number) =>
      actor.send({ type: `xstate.error.actor.eni:${slot}`, actorId: `eni:${slot}`, error: new Error('it threw') }),
    told: (name: string, type: string) => (heard[name] ?? []).filter((event) => event.type === type),
    context: () => actor.getSnapshot().context as EniFactoryContext,
    stop: () => root.stop(),
  };
}

const counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };

t.test('eniFactory: requests of an ENI that ends go back into the line, each at its age', async (t) => {
  const on = stage({ eniCap: 1 });
  t.teardown(on.stop);
  for (const name of ['a', 'b', 'c']) on.allocate(name);
  on.allocate('d', 10_000, 5);
  t.equal(on.told('eni:0', 'assign').length, 3);
  t.same(
    on.context().waiting.map((request) => request.requestId),
    ['r-d'],
  );
  on.gone(0, { lastFailure: failure });
  t.same(
    on.context().waiting.map((request) => request.requestId),
    ['r-a', 'r-b', 'r-c', 'r-d'],
  );
  t.same(on.context().placed, {});
  t.match(on.context().reasons.get('r-a'), /opening an ENI failed.*refused/);
  t.match(on.told('idlePool', 'growFailed'), [{}]);
  on.send({ type: 'reconsider', atMs: 105 });
  t.equal(on.told('eni:1', 'assign').length, 3, 'the next one gets them when the hold ends');
  t.same(on.errors, []);
});

t.test('eniFactory: with no permission the requests of a failed opening are told so', async (t) => {
  const on = stage();
  t.teardown(on.stop);
  on.allocate('a');
  on.gone(0, { lastFailure: { code: 'permission', detail: 'Forbidden.RAM' } });
  t.match(on.told('leases', 'refused'), [{ sandbox: 'c-a/eth0', failure: { code: 'permission' } }]);
  t.same(on.context().waiting, []);
});

t.test('eniFactory: messages for an ENI that is no more go nowhere, and the factory lives', async (t) => {
  const on = stage();
  t.teardown(on.stop);
  on.allocate('a');
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, offered: 1 } });
  on.send({ type: 'ipResult', requestId: 'r-a', ok: true, grant: {} as never });
  on.allocate('b');
  on.kill(0);
  t.equal(on.context().enis[0]?.phase, 'lost');
  t.equal(on.told('eni:1', 'assign').length, 1, 'who waited there goes elsewhere');
  t.equal(on.context().placed['r-a']?.slot, 0, 'who was granted an address is with its lease');
  on.send({ type: 'bind', requestId: 'r-a', atMs: 0 });
  on.send({ type: 'freed', eniId: 'eni-0', ipv4: '10.0.0.1', coolUntilMs: 0, atMs: 0 });
  on.send({ type: 'withdraw', requestId: 'r-x', atMs: 0 });
  on.send({ type: 'giveUp', requestId: 'r-x', sandbox: 'c-x/eth0', atMs: 0 });
  on.gone(1, { lastFailure: failure });
  on.report(1, {});
  t.equal(on.context().enis[1], undefined, 'a late report does not bring it back');
  t.same(on.errors, []);
  t.match(on.told('leases', 'refused'), [{ sandbox: 'c-x/eth0' }], 'who gives up is answered, whatever is known of it');
});

t.test('eniFactory: what an ENI has been told counts at once; an older report is not believed', async (t) => {
  const on = stage({ eniCap: 1 });
  t.teardown(on.stop);
  on.allocate('a');
  const before = on.summary(0, { phase: 'ready', arriving: 0, counts: { ...counts, idle: 1, bound: 2 } });
  on.send({ type: 'eniChanged', summary: before, atMs: 0 });
  on.allocate('b');
  t.match(on.context().enis[0], { counts: { idle: 0, offered: 1 } });
  on.send({ type: 'eniChanged', summary: before, atMs: 0 });
  on.allocate('c');
  t.equal(on.told('eni:0', 'assign').length, 2, 'the idle address was promised once');
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, bound: 3 } });
  t.match(on.told('leases', 'refused'), [{ sandbox: 'c-c/eth0', failure: { code: 'noCapacity' } }]);
});

t.test('eniFactory: an order of the pool that crosses with news is not carried out', async (t) => {
  const on = stage();
  t.teardown(on.stop);
  const [first] = on.told('idlePool', 'poolChanged');
  const basis = first?.totals as never;
  on.send({ type: 'grow', count: 2, basis, atMs: 0 });
  t.equal(on.context().enis[0]?.arriving, 2);
  on.send({ type: 'grow', count: 2, basis, atMs: 0 });
  t.equal(on.context().enis[0]?.arriving, 2, 'the second was reckoned without the first');
  t.equal(on.told('eni:0', 'grow').length, 0);
});

t.test('eniFactory: a line that is full refuses', async (t) => {
  const on = stage({ eniCap: 1 });
  t.teardown(on.stop);
  for (let n = 0; n < 7; n += 1) on.allocate(`p${n}`);
  t.match(on.told('leases', 'refused'), [
    { sandbox: 'c-p6/eth0', failure: { code: 'noCapacity', detail: /3 requests wait/ } },
  ]);
});

t.test('eniFactory: openings that fail in a row wait longer, also when only the pool wants them', async (t) => {
  const on = stage();
  t.teardown(on.stop);
  const waits: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const { totals, nowMs, holds } = on.context();
    on.send({ type: 'reconsider', atMs: Math.max(nowMs, holds.openUntilMs) });
    on.send({ type: 'grow', count: 1, basis: on.context().totals ?? (totals as never), atMs: 0 });
    on.report(n, { phase: 'leaving', lastFailure: { code: 'device', detail: 'no device' } });
    on.gone(n, {});
    waits.push(on.context().holds.openUntilMs - on.context().nowMs);
  }
  t.same(waits, [100, 200, 400, 800, 1_000]);
  t.equal(on.told('idlePool', 'growFailed').length, 5);
});
