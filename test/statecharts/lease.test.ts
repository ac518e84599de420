import t from 'tap';
import type { AnyMachineSnapshot } from 'xstate';
import { EnactorError } from '../../src/core/errors.ts';
import type { Grant, Lease } from '../../src/core/lease.ts';
import { type LeaseContext, leaseMachine } from '../../statecharts/lease.ts';
import { at, type Edge, type Graph, type Message, trapped, type Vertex, walk } from './walk.ts';

const sandbox = {
  containerId: 'c',
  ifName: 'eth0',
  netns: '',
  network: '',
  pod: { namespace: 'default', name: 'p', uid: null },
};
const grant: Grant = {
  address: { ipv4: '10.0.0.1', ipv6: null },
  eni: {
    eniId: 'eni-1',
    mac: '',
    subnet: { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null },
    device: { name: 'eth1', ifindex: 3, routeTable: 1003, mtu: 1500 },
  },
};
const lease: Lease = { version: 1, sandbox, grant, boundAtMs: 0 };
const contextOf = (snapshot: AnyMachineSnapshot) => snapshot.context as LeaseContext;
const store = [new EnactorError('store', 'the disk is full')];

/** Two callers and one DEL at a time, in any order, with everything the factory may say. */
function events(snapshot: AnyMachineSnapshot): Message[] {
  const { askers, releasers } = contextOf(snapshot);
  return [
    ...['a1', 'a2']
      .filter((requestId) => !askers.includes(requestId))
      .map((requestId) => ({ type: 'ask', requestId, untilMs: 100, atMs: 0 })),
    ...askers.map((requestId) => ({ type: 'forget', requestId, atMs: 0 })),
    ...(releasers.length === 0 ? [{ type: 'release', requestId: 'd1', atMs: 0 }] : []),
    { type: 'granted', grant, atMs: 0 },
    { type: 'refused', failure: { code: 'noCapacity', detail: 'full' } },
    { type: 'deadline', atMs: 100 },
  ];
}

const explore = (recovered: Lease | null): Graph =>
  walk({
    machine: leaseMachine,
    input: { sandbox, requestId: 'r', untilMs: 100, nowMs: 0, lease: recovered },
    results: () => ({
      persist: { done: [at(lease)], error: store },
      erase: { done: [at({ coolUntilMs: 50 })], error: store },
    }),
    events,
    key: (snapshot) => {
      const { askers, releasers, failure, lease: held } = contextOf(snapshot);
      return [[...askers].sort(), releasers, failure?.code ?? '', held !== null];
    },
  });

const steps = (graph: Graph, wrong: (vertex: Vertex, edge: Edge) => boolean): string[] =>
  [...graph.values()]
    .flatMap((vertex) =>
      vertex.edges
        .filter((edge) => wrong(vertex, edge))
        .map((edge) => `${vertex.key} -- ${edge.event.type} -> ${edge.to}`),
    )
    .slice(0, 3);

const told = (edge: Edge, type: string) => edge.sent.filter((message) => message.type === type).length;

for (const [name, recovered] of [
  ['a new one', null],
  ['one of an earlier life', lease],
] as const) {
  t.test(`lease: ${name}, whoever comes and goes and whatever fails`, async (t) => {
    const graph = explore(recovered);
    t.comment(`${graph.size} states`);
    t.same(
      [...graph.values()].filter((vertex) => vertex.snapshot.status === 'error'),
      [],
      'nothing throws',
    );
    t.same(trapped(graph, (vertex) => vertex.state === 'gone').slice(0, 3), [], 'it can always end');
    const callers = ({ askers, releasers }: LeaseContext) => [...askers, ...releasers];
    t.same(
      steps(graph, ({ snapshot }, { event, after, sent }) => {
        const asked = ['ask', 'release'].includes(event.type) ? [String(event.requestId)] : [];
        const before = [...callers(contextOf(snapshot)), ...asked];
        const answered = sent
          .filter((message) => message.type === 'answer')
          .map((message) => String(message.requestId));
        const left = event.type === 'forget' ? [String(event.requestId)] : [];
        const accounted = [...callers(contextOf(after)), ...answered, ...left];
        return JSON.stringify(before.sort()) !== JSON.stringify(accounted.sort());
      }),
      [],
      'everybody has one answer, or still waits, or has left',
    );
    t.same(
      [...graph.values()].filter(({ state, snapshot }) => state === 'gone' && callers(contextOf(snapshot)).length > 0),
      [],
      'nobody waits for one that is gone',
    );
  });
}

t.test('lease: what was asked of the factory is always settled with it', async (t) => {
  const graph = explore(null);
  const into = (state: string) => (_: Vertex, edge: Edge) => edge.to.startsWith(`${state} `);
  const all = (wanted: (vertex: Vertex, edge: Edge) => boolean, check: (vertex: Vertex, edge: Edge) => boolean) =>
    steps(graph, (vertex, edge) => wanted(vertex, edge) && !check(vertex, edge));
  t.same(
    all(
      (vertex, edge) => vertex.state !== 'givingUp' && into('givingUp')(vertex, edge),
      (_, edge) => told(edge, 'giveUp') === 1,
    ),
    [],
    'who gives up says so',
  );
  const persisted = (vertex: Vertex, edge: Edge) =>
    vertex.state === 'persisting' && edge.event.type.startsWith('xstate.done');
  t.same(
    all(persisted, (_, edge) => told(edge, 'bind') === 1),
    [],
    'what is on disk is bound',
  );
  const unwritten = (vertex: Vertex, edge: Edge) =>
    vertex.state === 'persisting' && edge.event.type.startsWith('xstate.error');
  t.same(
    all(unwritten, (_, edge) => told(edge, 'withdraw') === 1),
    [],
    'what could not be written is withdrawn',
  );
  const erased = (vertex: Vertex, edge: Edge) =>
    vertex.state === 'releasing' && edge.event.type.startsWith('xstate.done');
  t.same(
    all(erased, (_, edge) => told(edge, 'freed') === 1),
    [],
    'what is erased is freed',
  );
  t.same(
    [...graph.values()].filter((vertex) => vertex.state === 'bound' && contextOf(vertex.snapshot).lease === null),
    [],
    'bound means on disk',
  );
  t.same(
    steps(
      graph,
      (vertex, edge) => vertex.state === 'releasing' && edge.to.startsWith('gone') && told(edge, 'freed') !== 1,
    ),
    [],
    'a lease on disk ends only by being freed',
  );
});

t.test('lease: the earliest deadline of all who ask holds for all', async (t) => {
  const graph = walk({
    machine: leaseMachine,
    input: { sandbox, requestId: 'r', untilMs: 100, nowMs: 0, lease: null },
    results: () => ({}),
    events: ({ context }) =>
      context.askers.length > 2
        ? []
        : [20, 200].map((untilMs) => ({ type: 'ask', requestId: `a${untilMs}`, untilMs, atMs: 0 })),
    key: ({ context }) => [context.untilMs, context.askers],
  });
  const after = (asked: string) => [...graph.values()].find((vertex) => vertex.key.includes(asked))?.snapshot.context;
  t.equal(after('["a200"]')?.untilMs, 100);
  t.equal(after('["a200","a20"]')?.untilMs, 20);
  t.equal(after('["a20","a200"]')?.untilMs, 20);
});
