import t from 'tap';
import type { AnyMachineSnapshot } from 'xstate';
import type { PoolTotals } from '../../src/core/pool.ts';
import { idlePoolMachine } from '../../statecharts/idle-pool.ts';
import type { IdlePoolContext, IdlePoolInput } from '../../statecharts/idle-pool-context.ts';
import { type Graph, trapped, walk } from './walk.ts';

const totals = (idle: number, more: Partial<PoolTotals> = {}): PoolTotals => ({
  idle,
  cooling: 0,
  leaving: 0,
  spare: 0,
  waiting: 0,
  room: 9,
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
