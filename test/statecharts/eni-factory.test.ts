import t from 'tap';
import {
  type AnyActorRef,
  createActor,
  type EventObject,
  fromCallback,
  fromPromise,
  type SnapshotFrom,
  setup,
} from 'xstate';
import { timed } from '../../actors/timed.ts';
import type { EniSummary } from '../../src/core/eni-summary.ts';
import { checkTurns } from '../../src/simulation/own-turns.ts';
import type { At } from '../../statecharts/at.ts';
import { contextOf, type EniContext, type EniInput, summaryOf } from '../../statecharts/eni-context.ts';
import { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import type { EniFactoryContext, EniFactoryInput, Survey } from '../../statecharts/eni-factory-context.ts';
import type { FactoryEvent } from '../../statecharts/messages.ts';
import type { Message } from './walk.ts';

const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null };
const input: EniFactoryInput = {
  nowMs: 0,
  eniCap: 2,
  eniPlaces: 3,
  foreignEnis: 0,
  ipv4PerEni: 3,
  dual: false,
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
  returnMs: 30,
  minEniAgeMs: 0,
  waitingMax: 3,
  adopted: [],
};
const holder = (name: string) => ({ sandbox: `c-${name}/eth0`, pod: `default/${name}` });
const failure = { code: 'cloud' as const, detail: 'refused' };

type Look = { readonly known: readonly string[]; readonly vSwitchIds: readonly string[] };
/** What a look at the instance brings, and who asked for one. */
type StageSurvey = { readonly survey?: Survey | Error; readonly looks?: Look[] };

/** The factory among actors that only listen: the test speaks for the ENIs, and looks at what everybody was told. */
function stage({ survey, looks = [], ...more }: Partial<EniFactoryInput> & StageSurvey = {}) {
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
  const look = fromPromise<At<Survey>, Look>(async ({ input: asked }) => {
    looks.push(asked);
    if (survey === undefined || survey instanceof Error) throw survey ?? new Error('nobody looks');
    return { atMs: 0, value: survey };
  });
  const provided = eniFactoryMachine.provide({ actors: { eni: eni as never, survey: look } });
  // It is the instant of whatever it heard last, as in production.
  const instant = { nowMs: 0 };
  const living = timed(provided, instant);
  const factory = Object.assign(Object.create(living) as typeof living, {
    transition: ((snapshot, event, scope) => {
      instant.nowMs = Math.max(instant.nowMs, 'atMs' in event ? Number(event.atMs) : 0);
      return living.transition(snapshot, event, scope);
    }) as typeof living.transition,
  });
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
    /** The moment in which it comes is over at once. */
    allocate: (name: string, untilMs = 10_000, atMs = 0) => {
      send({ type: 'allocate', requestId: `r-${name}`, ...holder(name), untilMs, atMs });
      send({ type: 'reconsider', atMs });
    },
    /** All in one moment. */
    burst: (...names: readonly string[]) => {
      for (const name of names)
        send({ type: 'allocate', requestId: `r-${name}`, ...holder(name), untilMs: 10_000, atMs: 0 });
    },
    enis,
    report: (slot: number, change: Partial<EniSummary>) =>
      send({ type: 'eniChanged', summary: summary(slot, change), atMs: 0 }),
    gone: (slot: number, change: Partial<EniSummary>) =>
      send({ type: 'eniGone', summary: summary(slot, { phase: 'leaving', ...change }), atMs: 0 }),
    kill: (slot: number) =>
      actor.send({ type: `xstate.error.actor.eni:${slot}`, actorId: `eni:${slot}`, error: new Error('it threw') }),
    told: (name: string, type: string) => (heard[name] ?? []).filter((event) => event.type === type),
    context: () => actor.getSnapshot().context as EniFactoryContext,
    snapshot: () => actor.getSnapshot() as SnapshotFrom<typeof eniFactoryMachine>,
    stop: () => root.stop(),
  };
}

const counts = { idle: 0, offered: 0, bound: 0, cooling: 0, reserved: 0, leaving: 0, invalid: 0 };

t.test('eniFactory: requests of an ENI that ends go back into the line, each at its age', async (t) => {
  const on = stage({ eniCap: 1, waitingMax: 4 });
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
  t.equal(on.context().placed.size, 0);
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
  on.send({ type: 'ipResult', requestId: 'r-a', slot: 0, ok: true, grant: {} as never });
  on.allocate('b');
  on.kill(0);
  t.equal(on.context().enis[0]?.phase, 'lost');
  t.equal(on.told('eni:1', 'assign').length, 1, 'who waited there goes elsewhere');
  t.equal(on.context().placed.get('r-a')?.slot, 0, 'who was granted an address is with its lease');
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

t.test('eniFactory: a pod that got nothing in time is waited for, until it is back or does not come', async (t) => {
  const on = stage({ returnMs: 40 });
  t.teardown(on.stop);
  const returning = () => on.told('idlePool', 'poolChanged').at(-1)?.totals as { returning?: number };
  for (const name of ['a', 'b', 'c']) on.allocate(name);
  const giveUp = (name: string, returns: boolean) =>
    on.send({
      type: 'giveUp',
      requestId: `r-${name}`,
      sandbox: `c-${name}/eth0`,
      ...(returns && { returns }),
      atMs: 1,
    });
  giveUp('a', true);
  giveUp('b', true);
  giveUp('c', false);
  t.match(returning(), { returning: 2 }, 'one that was let go does not come again');
  t.match(on.told('eni:0', 'cancel'), [{ returns: true }, { returns: true }, { requestId: 'r-c' }]);
  on.allocate('a', 10_000, 2);
  t.match(returning(), { returning: 1 });
  await new Promise((resolve) => setTimeout(resolve, 80));
  on.send({ type: 'reconsider', atMs: 100 });
  t.equal(returning().returning, undefined);
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

t.test(
  'eniFactory: whoever waits counts toward the bound, in the line or on an ENI; what ends an ENI passes it never',
  async (t) => {
    const on = stage({ waitingMax: 4 });
    t.teardown(on.stop);
    for (let n = 0; n < 5; n += 1) on.allocate(`p${n}`);
    t.match(on.told('leases', 'refused'), [
      { sandbox: 'c-p4/eth0', failure: { code: 'noCapacity', detail: /4 requests wait/ } },
    ]);
    on.gone(0, { lastFailure: failure });
    on.gone(1, { lastFailure: failure });
    t.equal(on.context().waiting.length, 4);
    on.send({ type: 'giveUp', requestId: 'r-p0', sandbox: 'c-p0/eth0', atMs: 0 });
    on.allocate('p5');
    t.equal(on.told('leases', 'refused').length, 2, 'who gives up makes room');
  },
);

t.test('eniFactory: a burst is placed as one: each ENI is made with all that is wanted of it', async (t) => {
  const on = stage({ waitingMax: 9 });
  t.teardown(on.stop);
  on.burst('a', 'b', 'c', 'd', 'e');
  t.equal(on.enis.size, 0, 'the moment is not over');
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.same(
    [...on.enis.values()].map((eni) => eni.arriving),
    [3, 2],
  );
  t.equal(on.told('eni:0', 'assign').length + on.told('eni:1', 'assign').length, 5);
});

t.test('eniFactory: requests of one moment keep their order, also when they come back', async (t) => {
  const on = stage({ eniCap: 1, waitingMax: 9 });
  t.teardown(on.stop);
  on.burst('a', 'b', 'c', 'd');
  on.send({ type: 'reconsider', atMs: 0 });
  on.gone(0, { lastFailure: failure });
  t.same(
    on.context().waiting.map((request) => request.requestId),
    ['r-a', 'r-b', 'r-c', 'r-d'],
  );
});

t.test('eniFactory: an instance with all its ENIs is looked at, and asked for no more for a while', async (t) => {
  const looks: Look[] = [];
  const on = stage({
    eniCap: 2,
    eniPlaces: 2,
    survey: { strangers: ['eni-theirs', 'eni-0'], free: { 'vsw-1': 7 } },
    looks,
  });
  t.teardown(on.stop);
  on.allocate('a');
  const quota = { code: 'eniQuota' as const, detail: 'EniPerInstanceLimitExceeded' };
  on.report(0, { phase: 'opening', lastFailure: quota });
  t.equal(on.context().holds.quotaUntilMs, 70);
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.same(looks, [{ known: ['eni-0'], vSwitchIds: ['vsw-1'] }], 'what we know is said, since it may be gone by then');
  t.equal(on.context().foreignEnis, 1, 'one that became ours meanwhile is no stranger');
  t.equal(on.context().vSwitches[0]?.free, 7);
  t.equal(on.context().totals?.capacity, 3, 'the pool hears of it');
  on.gone(0, { lastFailure: quota });
  on.allocate('b', 60);
  t.match(on.told('leases', 'refused'), [{ failure: { code: 'eniQuota' } }], 'who cannot wait so long is told why');
  t.match(on.context().reasons.get('r-a'), /all the ENIs it may have.*EniPerInstanceLimitExceeded/);
  on.send({ type: 'reconsider', atMs: 200 });
  t.equal(on.enis.size, 2, 'tried again after the hold, in the place that is left');
  t.same(on.errors, []);
});

t.test('eniFactory: with every place taken by others a request is refused, and they are named', async (t) => {
  const on = stage({ foreignEnis: 3 });
  t.teardown(on.stop);
  on.allocate('a');
  t.match(on.told('leases', 'refused'), [{ failure: { code: 'noCapacity', detail: /3 more ENIs here are not ours/ } }]);
});

t.test('eniFactory: a vSwitch that has too few for one Create gives what it has to the next', async (t) => {
  const on = stage({ survey: { strangers: [], free: { 'vsw-1': 2 } }, waitingMax: 9, holdDownMs: 600_000 });
  t.teardown(on.stop);
  on.burst('a', 'b', 'c');
  on.send({ type: 'reconsider', atMs: 0 });
  on.gone(0, { lastFailure: { code: 'vSwitchEmpty', detail: 'IpNotEnough' } });
  t.equal(on.told('leases', 'refused').length, 0, 'nobody is refused before it is known what is left');
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(on.enis.get(1)?.arriving, 2);
  t.equal(on.told('eni:1', 'assign').length, 2);
  t.equal(on.context().waiting.length, 1, 'the third is not worth another Create that would be refused');
  on.gone(1, { arriving: 2, lastFailure: { code: 'vSwitchEmpty', detail: 'IpNotEnough' } });
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(on.enis.size, 2, 'a look that says what was refused meanwhile ends no hold');
  t.match(on.told('leases', 'refused'), [{ failure: { code: 'vSwitchEmpty' } }, {}, {}]);
});

t.test('eniFactory: a look that fails is taken again later, and nobody else notices', async (t) => {
  const looks: Look[] = [];
  const on = stage({ survey: new Error('no answer'), looks, quotaHoldMs: 10 });
  t.teardown(on.stop);
  on.send({ type: 'surveyDue', atMs: 0 });
  on.send({ type: 'surveyDue', atMs: 0 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  t.ok(looks.length >= 2, `looked ${looks.length} times`);
  t.same(on.errors, []);
});

t.test('eniFactory: a full ENI is asked for no more, and its idle addresses are still served', async (t) => {
  const on = stage();
  t.teardown(on.stop);
  on.allocate('a');
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, idle: 1 }, queued: 0 });
  const full = { code: 'eniFull' as const, detail: 'Ipv4CountExceeded' };
  on.report(0, { phase: 'holding', arriving: 0, counts: { ...counts, idle: 1 }, queued: 0, lastFailure: full });
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, idle: 1 }, queued: 0, lastFailure: full });
  const before = on.told('eni:0', 'assign').length;
  on.allocate('b');
  t.equal(on.told('eni:0', 'assign').length, before + 1);
  on.allocate('c');
  t.equal(on.told('eni:1', 'assign').length, 1, 'the next pod gets another ENI although this one seems to have room');
  on.gone(0, {});
  t.same(on.context().holds.enis, {}, 'a new ENI in its place starts afresh');
});

t.test('eniFactory: an ENI that is new stays for its time, and then the pool hears that it may go', async (t) => {
  const on = stage({ minEniAgeMs: 1_000 });
  t.teardown(on.stop);
  on.allocate('a');
  on.send({ type: 'reconsider', atMs: 500 });
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, idle: 2 }, sheddable: 1, queued: 0 });
  const shed = () => {
    const { totals: basis, nowMs } = on.context();
    if (basis !== null) on.send({ type: 'shed', callOff: 0, count: 2, keep: 0, basis, atMs: nowMs });
  };
  shed();
  t.equal(on.told('eni:0', 'drain').length + on.told('eni:0', 'shed').length, 0, 'what is on it waits with it');
  t.match(on.context().totals, { idle: 2, young: 2 });
  on.send({ type: 'reconsider', atMs: 1_499 });
  shed();
  t.equal(on.told('eni:0', 'drain').length, 0, 'its time counts from when it came into use');
  on.send({ type: 'reconsider', atMs: 1_500 });
  t.match(on.told('idlePool', 'poolChanged').at(-1), { totals: { idle: 2, young: 0 } });
  shed();
  t.equal(on.told('eni:0', 'drain').length, 1);
});

t.test('eniFactory: what chance decides is decided by the seed alone', async (t) => {
  const vSwitches = ['vsw-1', 'vsw-2', 'vsw-3'].map((vSwitchId) => ({ vSwitchId, subnet, free: null }));
  const opened = (seed: number) => {
    const on = stage({ vSwitches, vSwitchPolicy: 'random', seed, eniCap: 12, eniPlaces: 12, waitingMax: 99 });
    t.teardown(on.stop);
    on.burst(...Array.from({ length: 36 }, (_, n) => `p${n}`));
    on.send({ type: 'reconsider', atMs: 0 });
    return [...on.enis.values()].map((eni) => eni.vSwitchId);
  };
  t.same(opened(0.25), opened(0.25));
  t.strictNotSame(opened(0.25), opened(0.75));
  t.equal(new Set(opened(0.25)).size, 3, 'all of them are used');
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

t.test(
  'eniFactory: an ENI that nobody uses any more goes to the pod that waits for it, not to who came later',
  async (t) => {
    const on = stage({ eniCap: 1 });
    t.teardown(on.stop);
    const faults: string[] = [];
    const look = (snapshot = on.snapshot()) => checkTurns(snapshot, (_invariant, what) => faults.push(what));
    on.allocate('first');
    on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, cooling: 1 } });
    on.send({ type: 'withdraw', requestId: 'r-first', atMs: 1 });
    on.send({ type: 'allocate', requestId: 'r-own', ...holder('own'), ownEni: true, untilMs: 10_000, atMs: 2 });
    on.send({ type: 'reconsider', atMs: 2 });
    t.match(on.context().reasons.get('r-own'), /eni-0 has no pod, and is not free as a whole yet/);
    look();
    const before = on.told('eni:0', 'assign').length;
    on.allocate('later', 10_000, 3);
    on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, idle: 1, cooling: 1 } });
    look();
    t.equal(on.told('eni:0', 'assign').length, before, 'nobody is sent there');
    const refused = on.told('leases', 'refused');
    t.match(refused, [{ sandbox: 'c-later/eth0', failure: { detail: /eni-0 comes free for default\/own/ } }]);
    t.equal(refused.length, 1);
    on.report(0, { phase: 'ready', arriving: 0, sheddable: 0, counts: { ...counts, idle: 1 } });
    t.match(on.told('eni:0', 'assign').slice(before), [{ requestId: 'r-own', ownEni: true }]);
    look();
    t.strictSame(faults, []);
    t.same(on.errors, []);
  },
);

t.test('simulation: that who came later is sent to an ENI which another waits for is found', async (t) => {
  const on = stage({ eniCap: 1 });
  t.teardown(on.stop);
  const faults: string[] = [];
  const look = (snapshot: SnapshotFrom<typeof eniFactoryMachine>) =>
    checkTurns(snapshot, (_invariant, what) => faults.push(what));
  on.allocate('first');
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, cooling: 1 } });
  on.send({ type: 'withdraw', requestId: 'r-first', atMs: 1 });
  on.send({ type: 'allocate', requestId: 'r-own', ...holder('own'), ownEni: true, untilMs: 10_000, atMs: 2 });
  on.send({ type: 'reconsider', atMs: 2 });
  look(on.snapshot());
  const now = on.snapshot();
  const request = { requestId: 'r-later', ...holder('later'), sinceMs: 3, untilMs: 10_000, nth: 9 };
  const later = { slot: 0, request, granted: false, waits: false };
  const placed = new Map(now.context.placed).set('r-later', later);
  look({ ...now, context: { ...now.context, placed } } as typeof now);
  t.match(faults, [/default\/own waits for eni:0, and default\/later, which came later, was sent there/]);
  t.equal(faults.length, 1);
});

t.test('eniFactory: its next look by itself is set anew when it is due at another time, or was taken', async (t) => {
  const on = stage({ minEniAgeMs: 40 });
  t.teardown(on.stop);
  on.allocate('a');
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, offered: 1 } });
  t.equal(on.context().againAtMs, 40, 'when the ENI is old enough to go');
  on.send({ type: 'ipResult', requestId: 'r-a', slot: 0, ok: true, grant: {} as never });
  on.send({ type: 'bind', requestId: 'r-a', atMs: 10 });
  on.report(0, { phase: 'ready', arriving: 0, counts: { ...counts, bound: 1 } });
  t.equal(on.context().againAtMs, 40);
  await new Promise((resolve) => setTimeout(resolve, 120));
  t.equal(on.context().againAtMs, null, 'it was taken, and nothing is to come');
});
