import t from 'tap';
import {
  type ActorRefFrom,
  type AnyMachineSnapshot,
  createActor,
  type EventObject,
  fromCallback,
  SimulatedClock,
  setup,
} from 'xstate';
import type { PoolTotals } from '../../src/core/pool.ts';
import { idlePoolMachine } from '../../statecharts/idle-pool.ts';
import type { IdlePoolContext, IdlePoolInput } from '../../statecharts/idle-pool-context.ts';
import { type Graph, type Message, trapped, walk } from './walk.ts';

const totals = (idle: number, more: Partial<PoolTotals> = {}): PoolTotals => ({
  idle,
  cooling: 0,
  leaving: 0,
  spare: 0,
  waiting: 0,
  room: 9,
  soon: 0,
  held: 0,
  young: 0,
  capacity: 20,
  granted: 0,
  freed: 0,
  ...more,
});
const contextOf = (snapshot: AnyMachineSnapshot) => snapshot.context as IdlePoolContext;

const input = (more: Partial<IdlePoolInput> = {}): IdlePoolInput => ({
  marks: { minIdle: 2, maxIdle: 3, minEnis: 0, warmUpSize: 0 },
  capacity: 20,
  ipv4PerEni: 5,
  adaptive: false,
  reclaimRules: { afterMs: null, intervalMs: 100, batchSize: 5, jitterFactor: 0.1 },
  seed: 0.5,
  periodMs: 100,
  backoffMs: 10,
  paused: false,
  nowMs: 0,
  ...more,
});

const explore = (): Graph =>
  walk({
    machine: idlePoolMachine,
    input: input(),
    results: () => ({}),
    events: () => [
      ...[totals(0), totals(2), totals(5), totals(0, { room: 0 }), totals(0, { waiting: 1 })].map((now) => ({
        type: 'poolChanged',
        totals: now,
        atMs: 0,
      })),
      { type: 'growFailed', atMs: 0 },
    ],
    key: (snapshot) => [contextOf(snapshot).totals, Math.min(contextOf(snapshot).failures, 3)],
  });

t.test('idlePool: it always comes to rest, and asks for exactly what is missing or too much', async (t) => {
  const graph = explore();
  t.same(trapped(graph, (vertex) => vertex.state === 'resting').slice(0, 3), []);
  const asked = [...graph.values()].flatMap((vertex) => vertex.edges.flatMap((edge) => edge.sent));
  t.same([...new Set(asked.map((message) => `${message.type} ${message.count}`))].sort(), ['grow 2', 'shed 2']);
  t.ok(
    asked.every((message) => message.type === 'grow' || message.keep === 2),
    'what is shed must leave the low mark',
  );
  t.ok(
    asked.every((message) => (message.basis as PoolTotals).idle === (message.type === 'grow' ? 0 : 5)),
    'each order names the totals it was reckoned from',
  );
});

t.test('idlePool: after a failed growth it does not ask at once, but what is too much still goes', async (t) => {
  const backingOff = [...explore().values()].filter((vertex) => vertex.state === 'backingOff');
  t.ok(backingOff.length > 0);
  const edges = backingOff.flatMap((vertex) => vertex.edges);
  t.notOk(
    edges.some(
      (edge) =>
        edge.event.type !== 'xstate.after.backoff.idlePool.backingOff' && edge.sent.some((one) => one.type === 'grow'),
    ),
  );
  t.ok(edges.some((edge) => edge.event.type === 'poolChanged' && edge.sent.some((one) => one.type === 'shed')));
});

t.test('idlePool: with enough it forgets how often it failed', async (t) => {
  t.same(
    [...explore().values()].filter(({ state, snapshot }) => state === 'resting' && contextOf(snapshot).failures > 0),
    [],
  );
});

/** The pool beside a factory that only listens, on a clock of the test's own. */
function stage(more: Partial<IdlePoolInput>) {
  const clock = new SimulatedClock();
  const heard: Message[] = [];
  const factory = fromCallback<EventObject>(({ receive }) =>
    receive((event) => heard.push(event as unknown as Message)),
  );
  const root = createActor(
    setup({ actors: { factory, idlePool: idlePoolMachine } }).createMachine({
      invoke: [
        { src: 'factory', id: 'eniFactory', systemId: 'eniFactory' },
        { src: 'idlePool', id: 'idlePool', systemId: 'idlePool', input: input(more) },
      ],
    }),
    { clock },
  );
  root.start();
  const pool = root.system.get('idlePool') as ActorRefFrom<typeof idlePoolMachine>;
  return {
    set: (changed: Partial<IdlePoolInput>) =>
      pool.send({ type: 'settings', settings: { ...input(more), ...changed }, atMs: clock.now() }),
    fail: () => pool.send({ type: 'growFailed', atMs: clock.now() }),
    tell: (now: PoolTotals) => pool.send({ type: 'poolChanged', totals: now, atMs: clock.now() }),
    pass: (ms: number) => clock.increment(ms),
    /** Orders since the last time this was asked. */
    orders: () =>
      heard.splice(0).map(({ type, count, keep }) => ({ type, count, ...(keep === undefined ? {} : { keep }) })),
    bounds: () => pool.getSnapshot().context.bounds,
    stop: () => root.stop(),
  };
}

t.test('idlePool: a node is warmed up once, as far as the high mark lets it, and not again', async (t) => {
  const on = stage({ marks: { minIdle: 2, maxIdle: 6, minEnis: 0, warmUpSize: 8 } });
  t.teardown(on.stop);
  on.tell(totals(0, { held: 1 }));
  t.same(on.orders(), [{ type: 'grow', count: 6 }]);
  t.match(on.bounds().why, /ip_warm_up_size.*lowered from 7 to max_pool_size, 6/);
  on.tell(totals(4, { held: 2, granted: 1 }));
  t.same(on.orders(), [{ type: 'grow', count: 2 }], 'pods that came meanwhile count');
  on.tell(totals(6, { held: 2, granted: 1 }));
  t.same(on.orders(), []);
  t.match(on.bounds(), { minIdle: 2, why: 'min_pool_size' });
  on.tell(totals(3, { held: 2, granted: 1 }));
  t.same(on.orders(), [], 'it has been warm');
});

t.test('idlePool: idle addresses that nobody wanted for long go in batches down to the low mark', async (t) => {
  const rules = { afterMs: 1_000, intervalMs: 200, batchSize: 2, jitterFactor: 0 };
  const on = stage({
    marks: { minIdle: 2, maxIdle: 9, minEnis: 0, warmUpSize: 0 },
    reclaimRules: rules,
    periodMs: 10_000,
  });
  t.teardown(on.stop);
  on.tell(totals(5, { granted: 1 }));
  on.pass(1_100);
  t.same(on.orders(), []);
  on.tell(totals(5, { granted: 1, freed: 1 }));
  on.pass(1_199);
  t.same(on.orders(), [], 'one was freed: the wait starts anew');
  on.pass(1);
  t.same(on.orders(), [{ type: 'shed', count: 2, keep: 2 }]);
  on.tell(totals(3, { granted: 1, freed: 1 }));
  on.pass(200);
  t.same(on.orders(), [{ type: 'shed', count: 1, keep: 2 }]);
  on.tell(totals(2, { granted: 1, freed: 1 }));
  on.pass(100_000);
  t.same(on.orders(), [], 'and then nothing any more');
});

t.test('idlePool: the low mark follows demand if it is told to, says so, and forgets', async (t) => {
  const marks = { minIdle: 1, maxIdle: 6, minEnis: 0, warmUpSize: 0 };
  for (const adaptive of [false, true]) {
    const on = stage({ marks, adaptive, periodMs: 1_000 });
    t.teardown(on.stop);
    on.tell(totals(1));
    on.tell(totals(1, { held: 4, granted: 4 }));
    on.pass(999);
    t.same(on.orders(), [], 'not while the period lasts');
    on.pass(1);
    t.same(on.orders(), adaptive ? [{ type: 'grow', count: 3 }] : [], `adaptive: ${adaptive}`);
    t.match(on.bounds(), adaptive ? { minIdle: 4, why: /adaptive_pool: about 4 addresses/ } : { minIdle: 1 });
    on.tell(totals(4, { held: 4, granted: 4 }));
    for (let period = 0; period < 12; period += 1) on.pass(1_000);
    t.match(on.bounds(), { minIdle: 1, why: 'min_pool_size' }, 'forgotten');
    t.same(on.orders(), [], 'which gives nothing back: that is between the marks');
  }
});

t.test('idlePool: other marks count at once, and after a failed growth only for what is too much', async (t) => {
  const marks = { minIdle: 2, maxIdle: 3, minEnis: 0, warmUpSize: 0 };
  const on = stage({ marks, periodMs: 10_000, backoffMs: 1_000 });
  t.teardown(on.stop);
  on.tell(totals(3));
  t.same(on.orders(), []);
  on.set({ marks: { ...marks, minIdle: 5, maxIdle: 8 } });
  t.same(on.orders(), [{ type: 'grow', count: 2 }]);
  on.fail();
  on.set({ marks: { ...marks, minIdle: 6, maxIdle: 8 } });
  t.same(on.orders(), [], 'a change of the marks is no reason to ask again at once');
  on.set({ marks: { ...marks, minIdle: 0, maxIdle: 1 } });
  t.same(on.orders(), [{ type: 'shed', count: 2, keep: 0 }]);
});

t.test(
  'idlePool: nothing is kept for a cordoned node, what is too much still goes, and it is filled again afterwards',
  async (t) => {
    const marks = { minIdle: 4, maxIdle: 6, minEnis: 0, warmUpSize: 0 };
    const on = stage({ marks });
    t.teardown(on.stop);
    on.set({ paused: true });
    on.tell(totals(1));
    on.pass(1_000);
    t.same(on.orders(), []);
    t.match(on.bounds(), { minIdle: 0, maxIdle: 6, why: 'paused: the node is cordoned' });
    on.tell(totals(8));
    t.same(on.orders(), [{ type: 'shed', count: 2, keep: 0 }]);
    on.tell(totals(1));
    on.set({ paused: false });
    t.same(on.orders(), [{ type: 'grow', count: 3 }]);
  },
);

t.test('idlePool: reclaiming follows other rules from when they are said', async (t) => {
  const rules = { afterMs: null, intervalMs: 200, batchSize: 2, jitterFactor: 0 };
  const on = stage({
    marks: { minIdle: 0, maxIdle: 9, minEnis: 0, warmUpSize: 0 },
    reclaimRules: rules,
    periodMs: 10_000,
  });
  t.teardown(on.stop);
  on.tell(totals(5));
  on.pass(5_000);
  t.same(on.orders(), []);
  on.set({ reclaimRules: { ...rules, afterMs: 1_000 } });
  on.pass(200);
  t.same(on.orders(), [{ type: 'shed', count: 2, keep: 0 }], 'they have been idle for long');
  on.set({ reclaimRules: rules });
  on.tell(totals(3));
  on.pass(5_000);
  t.same(on.orders(), []);
});

t.test('idlePool: with less capacity than there was the marks come down', async (t) => {
  const on = stage({ marks: { minIdle: 8, maxIdle: 9, minEnis: 0, warmUpSize: 0 } });
  t.teardown(on.stop);
  on.tell(totals(8));
  t.match(on.bounds(), { minIdle: 8, maxIdle: 9 });
  on.tell(totals(8, { capacity: 5 }));
  t.match(on.bounds(), { minIdle: 5, maxIdle: 5, why: /lowered from 8 to the capacity of 5/ });
  t.same(on.orders(), [{ type: 'shed', count: 3, keep: 5 }]);
});

t.test('idlePool: pods that come and go between the marks set no timer anew', async (t) => {
  const factory = fromCallback(() => {});
  const clock = new SimulatedClock();
  const acted: string[] = [];
  const root = createActor(
    setup({ actors: { factory, pool: idlePoolMachine } }).createMachine({
      invoke: [
        { src: 'factory', systemId: 'eniFactory' },
        { src: 'pool', id: 'pool', systemId: 'idlePool', input: input() },
      ],
    }),
    { clock, inspect: (event) => void (event.type === '@xstate.action' && acted.push(event.action.type)) },
  ).start();
  t.teardown(() => void root.stop());
  const pool = root.system.get('idlePool') as ActorRefFrom<typeof idlePoolMachine>;
  pool.send({ type: 'poolChanged', totals: totals(2), atMs: 0 });
  acted.length = 0;
  pool.send({ type: 'poolChanged', totals: totals(3, { freed: 1 }), atMs: 0 });
  t.equal(pool.getSnapshot().context.totals?.freed, 1, 'it has heard of it');
  t.same(
    acted.filter((type) => type === 'xstate.cancel' || type === 'xstate.raise'),
    [],
  );
  pool.send({ type: 'poolChanged', totals: totals(1, { granted: 2 }), atMs: 0 });
  t.equal(pool.getSnapshot().value, 'filling', 'what is missing is asked for all the same');
});
