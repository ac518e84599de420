/** An ENI actor that dies, in the real factory, with hands that the test moves. */
import t from 'tap';
import { type AnyActorRef, createActor, type EventObject, fromCallback, fromPromise, setup } from 'xstate';
import { statePath } from '../../actors/state-path.ts';
import type { CloudEni, EniStatus } from '../../src/core/eni.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { eniMachine } from '../../statecharts/eni.ts';
import { contextOf, type EniContext, type Recalled } from '../../statecharts/eni-context.ts';
import { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import type { EniFactoryContext, EniFactoryInput } from '../../statecharts/eni-factory-context.ts';
import { at, type Message } from './walk.ts';

const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null };
const eniFactoryInput: EniFactoryInput = {
  nowMs: 0,
  eniCap: 1,
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
    attachTimeoutMs: 1_000,
    settleTimeoutMs: 1_000,
    detachTimeoutMs: 1_000,
    backoffMs: 100,
    backoffMaxMs: 1_000,
  },
  holdDownMs: 600,
  quotaHoldMs: 70,
  returnMs: 30,
  minEniAgeMs: 0,
  waitingMax: 30,
  adopted: [],
};
const IPS = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const cloudEni = (status: EniStatus, ipv4: readonly string[] = IPS): CloudEni => ({
  eniId: 'eni-1',
  mac: '00:16:3e:00:00:01',
  status,
  type: 'Secondary',
  vpcId: 'vpc',
  vSwitchId: 'vsw-1',
  zoneId: 'zone',
  ipv4,
  ipv6: [],
  securityGroupIds: [],
  tags: {},
  instanceId: 'i-1',
});

type Creates = () => Promise<CloudEni>;
const never: Creates = () => new Promise<never>(() => {});

/** One adopted ENI with three addresses, one of them held by c-old. */
async function stage(recalled: () => Recalled, more: Partial<EniFactoryInput> = {}, creates: Creates = never) {
  const told: Message[] = [];
  const asked: unknown[] = [];
  const clock = new VirtualClock(1_000);
  const listener = fromCallback<EventObject>(({ receive }) => receive((event) => void told.push(event as never)));
  const eni = eniMachine.provide({
    actors: {
      awaitTurn: fromPromise(async () => at(undefined)),
      seekDevice: fromPromise(() => new Promise((here) => clock.after(1, () => here(at(undefined))))),
      describeEni: fromPromise(async () => at(recalled().eni)),
      recall: fromPromise(async () => at(recalled())),
      setUpEni: fromPromise(async () => at({ ifindex: 3, name: 'eth1', routeTable: 1003 })),
      assignIps: fromPromise(async () => at([])),
      detachEni: fromPromise(async () => at(undefined)),
      deleteEni: fromPromise(async () => at(undefined)),
      findEni: fromPromise(async () => at(recalled().eni)),
      createEni: fromPromise(async ({ input }) => {
        asked.push(input);
        return at(await creates());
      }),
      attachEni: fromPromise(async () => at(undefined)),
      unassignIps: fromPromise(async () => at(undefined)),
      tearDownEni: fromPromise(async () => at(undefined)),
    } as never,
  });
  const factory = eniFactoryMachine.provide({ actors: { eni } });
  const held = new Map([['10.0.0.1', { sandbox: 'c-old/eth0', pod: 'd/old' }]]);
  const adopted = [
    { eni: cloudEni('InUse'), ours: true, subnet, held, coolUntilMs: new Map<string, number>(), routeTable: null },
  ];
  const root = createActor(
    setup({ actors: { listener, factory } }).createMachine({
      invoke: [
        { src: 'listener', id: 'leases', systemId: 'leases' },
        { src: 'listener', id: 'idlePool', systemId: 'idlePool' },
        { src: 'factory', id: 'eniFactory', systemId: 'eniFactory', input: { ...eniFactoryInput, adopted, ...more } },
      ],
    }),
    {
      clock: {
        setTimeout: (fire, delayMs) => clock.after(delayMs, fire) as never,
        clearTimeout: (timer) => clock.cancel(timer as never),
      },
    },
  );
  const errors: unknown[] = [];
  root.subscribe({ error: (error) => errors.push(error) });
  root.start();
  await settle();
  const actor = root.system.get('eniFactory') as AnyActorRef;
  const child = (slot = 0) => actor.getSnapshot().children[`eni:${slot}`] as AnyActorRef;
  return {
    told,
    asked,
    errors,
    send: (event: Message) => actor.send(event),
    child,
    state: (slot = 0) => statePath(child(slot).getSnapshot().value),
    eni: () => child().getSnapshot().context as EniContext,
    book: () =>
      Object.fromEntries(
        (child().getSnapshot().context as EniContext).book.map((entry) => [entry.address.ipv4, entry.state]),
      ),
    factory: () => actor.getSnapshot().context as EniFactoryContext,
    /** A result that the chart does not expect in its guards: it throws. */
    kill: (slot = 0) => {
      const dying = child(slot);
      if (statePath(dying.getSnapshot().value) === 'inUse.resting.quiet')
        dying.send({ type: 'xstate.after.comparing.eni.inUse.resting.quiet' });
      const path = statePath(dying.getSnapshot().value);
      dying.send({ type: `xstate.done.actor.0.eni.${path}`, output: null });
      t.equal(dying.getSnapshot().status, 'error', 'it died');
    },
    later: async (turns = 6) => {
      for (let turn = 0; turn < turns; turn += 1) {
        clock.fireNext();
        await settle();
      }
    },
    nowMs: () => clock.nowMs(),
    stop: () => root.stop(),
  };
}

const leasesOf = (...ips: string[]) => new Map(ips.map((ip) => [ip, { sandbox: 'c-old/eth0', pod: 'd/old' }]));

t.test('lost ENI: another actor takes it over in its slot, with its pods', async (t) => {
  const on = await stage(() => ({ eni: cloudEni('InUse'), held: leasesOf('10.0.0.1'), released: [] }));
  t.teardown(on.stop);
  t.equal(on.state(), 'inUse.resting.quiet');
  on.kill();
  t.equal(on.state(), 'lost.waiting');
  t.equal(on.factory().enis[0]?.phase, 'lost');
  t.match(on.eni().lastFailure, { code: 'internal' });
  await on.later();
  t.match(on.state(), /^inUse\.resting/);
  t.equal(on.factory().enis[0]?.phase, 'ready');
  t.strictSame(on.book(), { '10.0.0.1': 'bound', '10.0.0.2': 'idle', '10.0.0.3': 'idle' });
  t.strictSame(on.errors, []);
});

t.test('lost ENI: what happens to its leases while it is lost is heard', async (t) => {
  const on = await stage(() => ({ eni: cloudEni('InUse'), held: leasesOf('10.0.0.1'), released: [] }));
  t.teardown(on.stop);
  const ask = (name: string): void =>
    on.send({ type: 'allocate', requestId: `r-${name}`, sandbox: `c-${name}/eth0`, pod: 'p', untilMs: 9e9, atMs: 0 });
  ask('a');
  ask('b');
  const granted = on.told.filter(({ type }) => type === 'granted').map(({ grant }) => grant as never);
  t.equal(granted.length, 2);
  on.kill();
  on.send({ type: 'bind', requestId: 'r-a', atMs: 0 });
  on.send({ type: 'withdraw', requestId: 'r-b', atMs: 0 });
  on.send({ type: 'freed', eniId: 'eni-1', ipv4: '10.0.0.1', coolUntilMs: 5_000, atMs: 0 });
  t.strictSame(Object.values(on.book()).sort(), ['bound', 'cooling', 'idle']);
  await on.later();
  t.match(on.state(), /^inUse\.resting/);
  t.equal(Object.values(on.book()).filter((state) => state === 'bound').length, 1);
  t.strictSame(on.errors, []);
});

t.test('lost ENI: a release of which its actor never heard is made up for from the leases', async (t) => {
  const on = await stage(() => ({
    eni: cloudEni('InUse'),
    held: new Map(),
    released: [{ ipv4: '10.0.0.1', coolUntilMs: 1e12 }],
  }));
  t.teardown(on.stop);
  on.kill();
  await on.later(2);
  t.strictSame(on.book(), { '10.0.0.1': 'cooling', '10.0.0.2': 'idle', '10.0.0.3': 'idle' });
});

t.test('lost ENI: one that others have detached is attached again for an address that is kept', async (t) => {
  const found = async (reservedUntilMs: number | null) => {
    const released = [{ ipv4: '10.0.0.1', coolUntilMs: 0, reservedUntilMs }];
    const on = await stage(() => ({ eni: cloudEni('Available'), held: new Map(), released }));
    t.teardown(on.stop);
    on.kill();
    await on.later(1);
    return on;
  };
  const on = await found(60_000);
  t.match(on.state(), /^attaching\./);
  t.equal(on.book()['10.0.0.1'], 'reserved');
  t.equal(on.eni().phase, 'opening');
  t.match((await found(null)).state(), /^(detaching|deleting)\./, 'nobody needs it');
});

t.test(
  'lost ENI: a promise that is with no lease any more counts as kept until the leases are looked at',
  async (t) => {
    const on = await stage(() => ({ eni: cloudEni('InUse'), held: leasesOf('10.0.0.1'), released: [] }));
    t.teardown(on.stop);
    on.send({ type: 'allocate', requestId: 'r-a', sandbox: 'c-a/eth0', pod: 'p', untilMs: 9e9, atMs: 0 });
    await on.later(1);
    t.equal(on.book()['10.0.0.2'], 'offered');
    const revived = { dead: on.eni(), eniId: 'eni-1', heard: 9, failure: { code: 'internal', detail: '' } } as const;
    const nothing = { existing: null, held: new Map(), coolUntilMs: new Map(), ipv4Count: 0, nowMs: 0 };
    const stateWhen = (promised: readonly string[]) =>
      contextOf({ ...on.eni(), ...nothing, revived: { ...revived, promised } }).book.find(
        (entry) => entry.address.ipv4 === '10.0.0.2',
      )?.state;
    t.equal(stateWhen(['r-a']), 'offered');
    t.equal(stateWhen([]), 'bound');
  },
);

t.test(
  'lost ENI: one that the cloud does not know and nobody holds frees its slot; under a pod it waits',
  async (t) => {
    let held = leasesOf('10.0.0.1');
    const on = await stage(() => ({
      eni: null,
      held,
      released: held.size === 0 ? [{ ipv4: '10.0.0.1', coolUntilMs: 0 }] : [],
    }));
    t.teardown(on.stop);
    on.kill();
    await on.later(8);
    t.match(on.state(), /^lost/);
    t.equal(on.book()['10.0.0.1'], 'invalid');
    held = new Map();
    on.send({ type: 'freed', eniId: 'eni-1', ipv4: '10.0.0.1', coolUntilMs: 0, atMs: 0 });
    await on.later(8);
    t.equal(on.child(), undefined);
    t.strictSame(on.factory().enis, {});
    t.strictSame(on.errors, []);
  },
);

t.test('lost ENI: one that the cloud does not know, with a pod on it, is asked about ever more seldom', async (t) => {
  const askedMs: number[] = [];
  let nowMs = (): number => 0;
  const on = await stage(() => {
    askedMs.push(nowMs());
    return { eni: null, held: leasesOf('10.0.0.1'), released: [] };
  });
  t.teardown(on.stop);
  nowMs = on.nowMs;
  on.kill();
  await on.later(12);
  const { describePeriodMs, backoffMaxMs } = eniFactoryInput.times;
  const waitsMs = askedMs.map((ms, index) => ms - (askedMs[index - 1] ?? ms)).slice(1);
  t.same(waitsMs.slice(1, 4), [describePeriodMs, describePeriodMs, describePeriodMs], 'Describe may be late');
  t.ok((waitsMs[4] ?? 0) > describePeriodMs, `${waitsMs}`);
  t.equal(waitsMs.at(-1), backoffMaxMs);
});

t.test(
  'lost ENI: one that died while it was made is asked for again with the same token, since the first call may be on its way',
  async (t) => {
    let answer: (() => CloudEni) | null = null;
    const creates = (): Promise<CloudEni> => (answer === null ? never() : Promise.resolve().then(answer));
    const on = await stage(() => ({ eni: null, held: new Map(), released: [] }), { adopted: [] }, creates);
    t.teardown(on.stop);
    on.send({ type: 'allocate', requestId: 'r-a', sandbox: 'c-a/eth0', pod: 'p', untilMs: 9e9, atMs: 0 });
    await on.later(1);
    t.equal(on.state(), 'creating.calling');
    on.kill();
    t.equal(on.state(), 'lost.waiting');
    t.equal(on.factory().placed.get('r-a')?.slot === 0, false, 'who waited there goes elsewhere');
    t.equal(on.factory().enis[0]?.phase, 'lost', 'its slot stays taken');
    await on.later(2);
    t.equal(on.state(), 'creating.calling');
    t.match(on.asked, { length: 2 });
    t.same({ ...(on.asked[1] as object), doubtful: false }, on.asked[0], 'with all that the first call said');
    answer = () => cloudEni('Available');
    on.kill();
    await on.later(2);
    t.match(on.state(), /^attaching/, 'it was made, and is used');
    t.strictSame(on.errors, []);
  },
);

t.test('lost ENI: one that was never made, and never will be, is looked for some times and forgotten', async (t) => {
  let answer: (() => CloudEni) | null = null;
  const creates = (): Promise<CloudEni> => (answer === null ? never() : Promise.resolve().then(answer));
  const on = await stage(() => ({ eni: null, held: new Map(), released: [] }), { adopted: [] }, creates);
  t.teardown(on.stop);
  on.send({ type: 'allocate', requestId: 'r-a', sandbox: 'c-a/eth0', pod: 'p', untilMs: 9e9, atMs: 0 });
  await on.later(1);
  answer = () => {
    throw new EnactorError('permission', 'Forbidden.RAM');
  };
  on.kill();
  await on.later(1);
  for (let turns = 0; turns < 12 && on.child() !== undefined; turns += 1) await on.later(1);
  t.equal(on.child(), undefined);
  t.equal(on.factory().enis[0], undefined, 'its slot is free');
  t.strictSame(on.errors, []);
});
