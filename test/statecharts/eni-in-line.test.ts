/** Calls that wait for their turn, of one ENI whose hands the test moves, on virtual time. */
import t from 'tap';
import { type AnyActorRef, createActor, createMachine, fromPromise } from 'xstate';
import { statePath } from '../../actors/state-path.ts';
import type { CloudEni, EniStatus } from '../../src/core/eni.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { eniMachine } from '../../statecharts/eni.ts';
import type { EniContext, EniInput } from '../../statecharts/eni-context.ts';
import type { Message } from './walk.ts';

const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null };
const ipOf = (nth: number): string => `10.0.0.${nth + 1}`;
const cloudEni = (status: EniStatus, ips: number): CloudEni => ({
  ...{ eniId: 'eni-1', mac: '00:16:3e:00:00:01', status, type: 'Secondary', vpcId: 'vpc', vSwitchId: 'vsw-1' },
  ...{ zoneId: 'zone', ipv4: Array.from({ length: ips }, (_, nth) => ipOf(nth)), ipv6: [], securityGroupIds: [] },
  ...{ tags: {}, instanceId: null },
});

const PERIOD_MS = 1_000;
const input: EniInput = {
  ...{ slot: 0, limit: 30, dual: false, vSwitchId: 'vsw-1', subnet, mtu: 1500, ours: true, token: 'token' },
  times: {
    ...{ cloudPeriodMs: 600_000, describePeriodMs: PERIOD_MS, attachTimeoutMs: 60_000, settleTimeoutMs: 30_000 },
    ...{ detachTimeoutMs: 60_000, backoffMs: 500, backoffMaxMs: 30_000 },
  },
  ...{ nowMs: 0, ipv4Count: 2, existing: null, held: new Map(), coolUntilMs: new Map(), routeTable: null },
};

type Pending = {
  readonly input: unknown;
  readonly answer: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
};

/** Every call stays open until the test answers it. */
async function stage(more: Partial<EniInput> = {}) {
  const clock = new VirtualClock(0);
  const calls: Record<string, Pending[]> = {};
  const told: Message[] = [];
  const hand = (name: string) =>
    fromPromise(({ input }) => {
      return new Promise<never>((answer, fail) => {
        const done = (value: unknown) => answer({ atMs: clock.nowMs(), value } as never);
        calls[name] = [...(calls[name] ?? []), { input, answer: done, fail }];
      });
    });
  const names = [
    'awaitTurn',
    'createEni',
    'findEni',
    'attachEni',
    'seekDevice',
    'describeEni',
    'setUpEni',
    'assignIps',
  ];
  const others = ['unassignIps', 'tearDownEni', 'detachEni', 'deleteEni', 'recall'];
  const src = eniMachine.provide({
    actors: Object.fromEntries([...names, ...others].map((name) => [name, hand(name)])),
  } as never);
  const timers = {
    setTimeout: (fire: () => void, ms: number) => clock.after(ms, fire),
    clearTimeout: (timer: unknown) => clock.cancel(timer as ReturnType<VirtualClock['after']>),
  };
  const parent = createMachine({
    invoke: { src, id: 'eni', input: { ...input, ...more } },
    on: { '*': { actions: ({ event }) => told.push(event) } },
  });
  const factory = createActor(parent, { clock: timers as never }).start();
  const eni = factory.getSnapshot().children.eni as AnyActorRef;
  const settled = { ifindex: 3, name: 'eth1', routeTable: 1003 };
  const self = {
    told,
    state: () => statePath(eni.getSnapshot().value),
    context: () => eni.getSnapshot().context as EniContext,
    asked: (name: string): readonly unknown[] => (calls[name] ?? []).map((call) => call.input),
    last: (name: string): Pending => {
      const call = calls[name]?.at(-1);
      if (call === undefined) throw new Error(`${name} was not called`);
      return call;
    },
    async answer(name: string, value?: unknown) {
      self.last(name).answer(value);
      await settle();
    },
    async fail(name: string, code: 'throttled' | 'cloudUnreachable' | 'permission') {
      self.last(name).fail(new EnactorError(code, code));
      await settle();
    },
    assign(...ids: string[]) {
      for (const requestId of ids)
        eni.send({ type: 'assign', requestId, sandbox: `c-${requestId}`, pod: requestId, alsoCooling: false, atMs: 0 });
    },
    async send(event: Message) {
      eni.send(event as never);
      await settle();
    },
    async goOn(ms: number) {
      const endMs = clock.nowMs() + ms;
      for (await settle(); (clock.nextDueMs() ?? Number.POSITIVE_INFINITY) <= endMs; await settle()) clock.fireNext();
      clock.jumpTo(endMs);
    },
    /** In use, with so many addresses. */
    async inUse() {
      await self.answer('setUpEni', settled);
    },
  };
  await settle();
  return self;
}

const attached = { existing: cloudEni('InUse', 1), ipv4Count: 0 };

t.test('in line: an Assign asks for what is wanted when it has its turn, in one call', async (t) => {
  const on = await stage(attached);
  await on.inUse();
  on.assign('a', 'b');
  await on.goOn(0);
  t.equal(on.state(), 'inUse.assigning.inLine');
  on.assign('c', 'd', 'e');
  await on.send({ type: 'cancel', requestId: 'c', atMs: 0 });
  t.same(on.asked('assignIps'), [], 'nothing has left');
  await on.answer('awaitTurn');
  t.match(on.asked('assignIps'), [{ count: 3, background: false }], 'four wait, and one is idle');
  await on.answer('assignIps', [ipOf(1), ipOf(2), ipOf(3)]);
  t.same(on.told.filter(({ type }) => type === 'ipResult').length, 4);
  t.equal(on.asked('awaitTurn').length, 1);
});

t.test('in line: a Create is called off until it is asked for, and never afterwards', async (t) => {
  const calledOff = { type: 'drain', atMs: 0 };
  const unasked = (on: Awaited<ReturnType<typeof stage>>) =>
    on.told
      .flatMap(({ type, summary }) => (type === 'eniChanged' ? [(summary as { unasked?: true }).unasked] : []))
      .at(-1);
  const first = await stage();
  t.equal(unasked(first), true);
  await first.send(calledOff);
  t.equal(first.state(), 'gone');
  t.match(first.told.at(-2), { type: 'eniGone', summary: { eniId: null } });
  const turned = await stage();
  await turned.answer('awaitTurn');
  t.equal(turned.state(), 'creating.calling');
  t.equal(unasked(turned), undefined);
  await turned.send(calledOff);
  t.equal(turned.state(), 'creating.calling', 'it may be made already');
  t.match(turned.told.at(-1), { type: 'eniChanged', summary: { phase: 'opening', heard: 1 } }, 'and that is told');
  await turned.fail('createEni', 'throttled');
  t.equal(turned.state(), 'creating.turnedAway');
  t.equal(unasked(turned), true);
  await turned.send(calledOff);
  t.equal(turned.state(), 'gone');
});

t.test('in line: it leaves the line when nobody wants anything any more', async (t) => {
  const on = await stage(attached);
  await on.inUse();
  on.assign('a', 'b');
  await on.send({ type: 'cancel', requestId: 'b', atMs: 0 });
  t.equal(on.state(), 'inUse.resting.quiet');
  t.same(on.context().arriving, 0);
});

t.test('in line: who has no time left and will come again is asked for all the same', async (t) => {
  const on = await stage(attached);
  await on.inUse();
  on.assign('a', 'b', 'c', 'd');
  for (const requestId of ['b', 'c', 'd']) await on.send({ type: 'cancel', requestId, returns: true, atMs: 0 });
  t.equal(on.state(), 'inUse.assigning.inLine');
  await on.answer('awaitTurn');
  t.match(on.asked('assignIps'), [{ count: 3 }]);
});

t.test('in line: an Assign that is turned away sends nobody away, and the next is another call', async (t) => {
  const on = await stage(attached);
  await on.inUse();
  on.assign('a', 'b', 'c');
  await on.answer('awaitTurn');
  await on.fail('assignIps', 'throttled');
  t.equal(on.state(), 'inUse.assigning.turnedAway');
  t.same(
    on.told.filter(({ type, ok }) => type === 'ipResult' && ok === false),
    [],
  );
  on.assign('d');
  await on.goOn(500);
  await on.answer('awaitTurn');
  const [first, second] = on.asked('assignIps') as { token: string; count: number }[];
  t.match([first, second], [{ count: 2 }, { count: 3 }]);
  t.not(second?.token, first?.token);
});

t.test(
  'turned away: who leaves is wanted no more, who comes again is, and the device of another ENI is no news',
  async (t) => {
    const on = await stage(attached);
    await on.inUse();
    on.assign('a', 'b', 'c', 'd');
    await on.answer('awaitTurn');
    await on.fail('assignIps', 'throttled');
    const wanted = () => {
      const { queue, growBy } = on.context();
      return [queue.length, growBy];
    };
    t.same(wanted(), [3, 0]);
    await on.send({ type: 'cancel', requestId: 'b', atMs: 0 });
    t.same(wanted(), [2, 0], 'gone for good');
    await on.send({ type: 'cancel', requestId: 'c', returns: true, atMs: 0 });
    t.same(wanted(), [1, 2], 'comes again');
    await on.send({ type: 'unplugged', mac: '00:16:3e:00:00:99', atMs: 0 });
    t.equal(on.state(), 'inUse.assigning.turnedAway');
    t.not(on.context().device, null);
    await on.goOn(500);
    await on.answer('awaitTurn');
    t.match(on.asked('assignIps').at(-1), { count: 2 });
  },
);

t.test('in line: the device goes while an Assign waits for its turn: the cloud is asked at once', async (t) => {
  const on = await stage(attached);
  await on.inUse();
  on.assign('a', 'b');
  await on.send({ type: 'unplugged', mac: '00:16:3e:00:00:01', atMs: 0 });
  t.equal(on.state(), 'inUse.confirming');
  t.same(on.context().queue, []);
});

t.test(
  'in line: a Create is nobody’s last choice once somebody waits, and one that is turned away is made anew',
  async (t) => {
    const on = await stage();
    t.match(on.asked('awaitTurn'), [{ call: 'createEni', about: 'vsw-1', background: true }]);
    on.assign('a', 'b', 'c', 'd');
    await on.goOn(0);
    t.match(on.asked('awaitTurn').at(-1), { background: false });
    await on.answer('awaitTurn');
    t.match(on.asked('createEni'), [{ ipv4Count: 2, background: false }], 'as it was placed');
    await on.fail('createEni', 'throttled');
    t.equal(on.state(), 'creating.turnedAway', 'nobody looks for what nobody has seen');

    await on.goOn(500);
    await on.answer('awaitTurn');
    const [first, second] = on.asked('createEni') as { token: string; ipv4Count: number }[];
    t.equal(second?.ipv4Count, 2);
    t.not(second?.token, first?.token);
  },
);

t.test('attach: the cloud is asked once the host has the device, and once only when it agrees', async (t) => {
  const on = await stage();
  await on.answer('awaitTurn');
  await on.answer('createEni', cloudEni('Available', 2));
  await on.answer('attachEni');
  t.equal(on.state(), 'attaching.seeking');
  await on.goOn(4 * PERIOD_MS);
  t.same(on.asked('describeEni'), []);
  await on.answer('seekDevice');
  await on.answer('describeEni', cloudEni('InUse', 2));
  await on.inUse();
  t.equal(on.state(), 'inUse.resting.quiet');
  t.equal(on.asked('describeEni').length, 1);
});

t.test('attach: without a device the cloud is asked after some periods, and that decides', async (t) => {
  const on = await stage();
  await on.answer('awaitTurn');
  await on.answer('createEni', cloudEni('Available', 2));
  await on.answer('attachEni');
  await on.goOn(5 * PERIOD_MS);
  t.equal(on.state(), 'attaching.describing');
  // It waits for its turn for longer than an attach may take: nothing is known of the ENI meanwhile.
  await on.goOn(10 * 60_000);
  t.equal(on.state(), 'attaching.describing');
  await on.answer('describeEni', cloudEni('Attaching', 2));
  t.equal(on.state(), 'attaching.seeking', 'one look is no proof that it takes too long');
  await on.goOn(5 * PERIOD_MS + 56_000);
  await on.answer('describeEni', cloudEni('Attaching', 2));
  t.equal(on.state(), 'detaching.describing', 'two are, as far apart as an attach may take');
});

t.test(
  'attach: one that was long in coming, and is taken away under pods later, has all of its time again',
  async (t) => {
    const on = await stage();
    await on.answer('awaitTurn');
    await on.answer('createEni', cloudEni('Available', 2));
    await on.answer('attachEni');
    await on.goOn(5 * PERIOD_MS);
    await on.answer('describeEni', cloudEni('Attaching', 2));
    t.not(on.context().waitingMs, null);
    await on.answer('seekDevice');
    await on.answer('describeEni', cloudEni('InUse', 2));
    await on.inUse();
    on.assign('a');
    await on.goOn(120_000);
    await on.send({ type: 'unplugged', mac: '00:16:3e:00:00:01', atMs: 130_000 });
    await on.answer('describeEni', cloudEni('Available', 2));
    t.equal(on.state(), 'attaching.describing');
    t.equal(on.context().waitingMs, null);
  },
);

t.test('attach: one that is turned away is no try, and is made again', async (t) => {
  const on = await stage();
  await on.answer('awaitTurn');
  await on.answer('createEni', cloudEni('Available', 2));
  for (let times = 0; times < 5; times += 1) {
    await on.fail('attachEni', 'throttled');
    t.equal(on.state(), 'attaching.turnedAway');
    await on.goOn(500);
  }
  t.same(on.asked('describeEni'), []);
  await on.answer('attachEni');
  t.equal(on.state(), 'attaching.seeking');
});

t.test(
  'attach: looks that fail for as long as an attach may take end it, those that wait for their turn do not',
  async (t) => {
    const on = await stage();
    await on.answer('awaitTurn');
    await on.answer('createEni', cloudEni('Available', 2));
    await on.answer('attachEni');
    await on.answer('seekDevice');
    for (let times = 0; times < 100; times += 1) {
      await on.fail('describeEni', 'throttled');
      await on.goOn(PERIOD_MS);
    }
    t.equal(on.state(), 'attaching.describing');
    // The chart's clock is the events': the actors' wrapper moves it (actors/timed.ts), here a message does.
    const failing = async (seconds: number): Promise<void> => {
      await on.send({ type: 'settings', times: input.times, atMs: seconds * 1_000 });
      await on.fail('describeEni', 'cloudUnreachable');
      await on.goOn(PERIOD_MS);
    };
    await failing(200);
    await failing(230);
    t.equal(on.state(), 'attaching.describing');
    await failing(261);
    t.equal(on.state(), 'detaching.describing');
  },
);

t.test('give back: an Unassign that is forbidden refuses no pod that waits for an address', async (t) => {
  const on = await stage({ existing: cloudEni('InUse', 3), ipv4Count: 0 });
  await on.inUse();
  await on.send({ type: 'shed', count: 2, atMs: 0 });
  t.equal(on.state(), 'inUse.unassigning');
  on.assign('a', 'b');
  await on.fail('unassignIps', 'permission');
  t.equal(on.state(), 'inUse.backingOff');
  const refused = on.told.filter(({ type, ok }) => type === 'ipResult' && ok === false);
  t.match(refused, [{ requestId: 'b', failure: { code: 'noCapacity', detail: /backs off after permission/ } }]);
  const before = on.told.slice(0, on.told.indexOf(refused[0] as Message)).filter(({ type }) => type === 'eniChanged');
  t.match(before.at(-1), { summary: { phase: 'holding', queued: 0 } }, 'it takes nobody when they are placed anew');
});

t.test(
  'in line: turned away, and the device goes: the cloud is asked at once, not when the wait is over',
  async (t) => {
    const on = await stage(attached);
    await on.inUse();
    on.assign('a', 'b');
    await on.answer('awaitTurn');
    await on.fail('assignIps', 'throttled');
    await on.send({ type: 'unplugged', mac: '00:16:3e:00:00:01', atMs: 0 });
    t.equal(on.state(), 'inUse.confirming');
  },
);
