import t from 'tap';
import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  createActor,
  fromCallback,
  fromPromise,
  SimulatedClock,
  waitFor,
} from 'xstate';
import { EnactorError } from '../../src/core/errors.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import { type NodeContext, nodeMachine } from '../../statecharts/node.ts';
import { at, type Edge, type Graph, trapped, type Vertex, walk } from './walk.ts';

const facts = {
  instanceId: 'i',
  nodeIp: '10.0.0.9',
  eniCap: 1,
  eniPlaces: 1,
  ipv4PerEni: 6,
  vSwitches: [],
  securityGroupIds: [],
  seed: 0,
};
const found = { leases: [], enis: [], foreignEnis: 0 };
const contextOf = (snapshot: AnyMachineSnapshot) => snapshot.context as NodeContext;
const broken = [new EnactorError('metadata', 'no answer')];
const sandbox = {
  containerId: 'c',
  ifName: 'eth0',
  netns: '',
  network: '',
  pod: { namespace: 'd', name: 'p', uid: null },
};

const explore = (): Graph =>
  walk({
    machine: nodeMachine,
    input: { settings: { ...defaultSettings, nodeName: 'n' }, token: 't' },
    results: () => ({
      identify: { done: [at(facts)], error: broken },
      recover: { done: [at(found)], error: broken },
      recall: { done: [at(null), at({ facts, recovered: { ...found, unconfirmed: true } })], error: broken },
      look: { done: [at({ askedMs: 0, attached: [], tagged: [], byId: [] })], error: broken },
      quiet: { done: [undefined], error: [] },
      leases: { done: [], error: [new Error('leases died')] },
      eniFactory: { done: [], error: [new Error('factory died')] },
      idlePool: { done: [], error: [new Error('pool died')] },
      kernelKeeper: { done: [], error: [new Error('keeper died')] },
      cloudKeeper: { done: [], error: [new Error('cloud keeper died')] },
      garbageCollector: { done: [], error: [new Error('collector died')] },
    }),
    events: () => [
      { type: 'allocate', requestId: 'a', sandbox, untilMs: 9, atMs: 0 },
      { type: 'release', requestId: 'd', sandbox: 'c/eth0', atMs: 0 },
      { type: 'forget', requestId: 'a', sandbox: 'c/eth0', atMs: 0 },
      { type: 'stop', atMs: 0 },
    ],
    key: (snapshot) => {
      const { failures, missing, facts: known, recalled, seen } = contextOf(snapshot);
      return [Math.min(failures, 3), missing, known !== null, recalled, seen !== null];
    },
  });

const SUPERVISOR_DIED =
  /^xstate\.error\.actor\.(leases|eniFactory|idlePool|cloudKeeper|kernelKeeper|garbageCollector)$/;

const edges = (graph: Graph, which: (vertex: Vertex, edge: Edge) => boolean) =>
  [...graph.values()].flatMap((vertex) =>
    vertex.edges.filter((edge) => which(vertex, edge)).map((edge) => ({ vertex, edge })),
  );

t.test('node: whatever fails while it starts, it can still serve, and it can always be stopped', async (t) => {
  const graph = explore();
  t.same(
    trapped(graph, ({ state }) => state === 'running.serving' || state === 'stopped' || state === 'failed'),
    [],
  );
  t.same(
    trapped(graph, ({ state }) => state === 'stopped' || state === 'failed'),
    [],
  );
  for (const state of ['starting.backingOff', 'recovering.backingOff', 'running.degraded.backingOff'])
    t.ok(
      [...graph.values()].some(
        (vertex) => vertex.state === state && contextOf(vertex.snapshot).missing[0]?.includes('no answer'),
      ),
      `${state} says what is missing`,
    );
});

t.test('node: a call is answered at once with the reason, or passed on, but never dropped', async (t) => {
  const graph = explore();
  const calls = edges(graph, (_, edge) => ['allocate', 'release'].includes(edge.event.type));
  t.ok(calls.length > 10);
  for (const { vertex, edge } of calls) {
    const degraded = vertex.state.startsWith('running.degraded') && !vertex.state.endsWith('quieting');
    const passesOn =
      degraded ||
      vertex.state === 'running.serving' ||
      (vertex.state === 'running.draining' && edge.event.type === 'release');
    const [message, ...more] = edge.sent;
    t.equal(more.length, 0);
    if (passesOn) t.equal(message?.type, edge.event.type, `${vertex.state}: ${edge.event.type} is passed on`);
    else
      t.match(
        message,
        { type: 'answer', ok: false, failure: { code: 'notReady' } },
        `${vertex.state}: ${edge.event.type}`,
      );
  }
});

t.test('node: a supervisor that dies ends the node, and its words are kept', async (t) => {
  const ends = edges(
    explore(),
    (vertex, edge) => vertex.state.startsWith('running') && SUPERVISOR_DIED.test(edge.event.type),
  );
  t.equal(new Set(ends.map(({ edge }) => edge.event.type)).size, 6);
  for (const { edge } of ends) {
    t.match(edge.to, /^failed /);
    t.match(contextOf(edge.after).missing[0], /died/);
  }
});

t.test('node: what is remembered is served until the truth is known, and nobody is served in between', async (t) => {
  const graph = explore();
  const recalled = edges(graph, (_, { event, to }) => /remembering/.test(event.type) && to.startsWith('running'));
  t.ok(recalled.length > 1, 'both from a failure and from impatience');
  for (const { edge } of recalled) {
    t.match(edge.to, /^running\.degraded\.(identifying|backingOff) /, 'it never counts as whole');
    t.match(contextOf(edge.after).recovered, { unconfirmed: true });
    t.not(contextOf(edge.after).missing.length, 0, 'and says who is away');
  }
  const looked = edges(graph, ({ state }, { event }) => state.endsWith('looking') && event.type.includes('done'));
  for (const { edge } of looked) t.match(edge.to, /^running\.degraded\.quieting /);
  const whole = edges(
    graph,
    ({ state }, { to }) => state.startsWith('running.degraded') && to.startsWith('recovering'),
  );
  t.ok(whole.length > 0);
  for (const { vertex, edge } of whole) {
    t.equal(vertex.state, 'running.degraded.quieting');
    t.not(contextOf(edge.after).seen, null, 'what was looked up is not asked for again');
  }
  const serving = edges(graph, (_, { to }) => to.startsWith('running.serving'));
  t.same(new Set(serving.filter(({ vertex }) => !/^(running\.serving|recovering)/.test(vertex.state))), new Set());
  for (const { edge } of serving) t.not(contextOf(edge.after).recovered?.unconfirmed, true);
});

t.test(
  'node: ENIs whose actors are made anew call the cloud under new names, since it answers an old one as it did then',
  async (t) => {
    const tokens: string[] = [];
    const idle = fromCallback(() => {});
    const factory = fromCallback<AnyEventObject, { token: string }>(({ input }) => {
      tokens.push(input.token);
    });
    const remembered = { facts, recovered: { ...found, unconfirmed: true } };
    let recoveries = 0;
    const promises = {
      identify: fromPromise(async () => at(facts)),
      recover: fromPromise(async () => {
        recoveries += 1;
        if (recoveries === 1) throw broken[0];
        return at(found);
      }),
      recall: fromPromise(async () => at(remembered)),
      look: fromPromise(async () => at({ askedMs: 0, attached: [], tagged: [], byId: [] })),
      quiet: fromPromise(async () => {}),
    };
    const supervisors = { leases: idle, idlePool: idle, kernelKeeper: idle, cloudKeeper: idle, garbageCollector: idle };
    const actors = { ...promises, ...supervisors, eniFactory: factory } as unknown as Parameters<
      typeof nodeMachine.provide
    >[0]['actors'];
    const clock = new SimulatedClock();
    const node = createActor(nodeMachine.provide({ actors: actors ?? {} }), {
      clock,
      input: { settings: { ...defaultSettings, nodeName: 'n' }, token: 't' },
    }).start();
    const serves = waitFor(node, (snapshot) => snapshot.matches({ running: 'serving' }), { timeout: 20_000 });
    await waitFor(node, (snapshot) => snapshot.matches({ running: { degraded: 'backingOff' } }), { timeout: 20_000 });
    clock.increment(defaultSettings.callTimeoutMs);
    await serves;
    node.stop();
    t.equal(tokens.length, 2, 'from memory, then from the truth');
    t.equal(new Set(tokens).size, 2);
    for (const token of tokens) t.match(token, /^t-/);
  },
);
