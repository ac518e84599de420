import t from 'tap';
import { type AnyMachineSnapshot, createActor, createMachine, fromPromise } from 'xstate';
import { statePath } from '../../actors/state-path.ts';
import { type AddressBook, countsOf, type Holder, hasHolders } from '../../src/core/address-book.ts';
import type { CloudEni, EniStatus } from '../../src/core/eni.ts';
import { EnactorError, type ErrorCode } from '../../src/core/errors.ts';
import type { Intent } from '../../src/core/intent.ts';
import { eniMachine } from '../../statecharts/eni.ts';
import { contextOf as contextOfInput, type EniContext, type EniInput, tokenOf } from '../../statecharts/eni-context.ts';
import { at, type Edge, type Graph, type Message, trapped, type Vertex, type Way, walkKeeping } from './walk.ts';

const LIMIT = 2;
const EDGES_MAX = 400_000;
/** Token of one whose device may go at any time. */
const PULLED = 'pulled';
const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null };
const cloudEni = (status: EniStatus, ipv4: readonly string[]): CloudEni => ({
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
  instanceId: null,
});

const input = (more: Partial<EniInput> = {}): EniInput => ({
  slot: 0,
  limit: LIMIT,
  dual: false,
  vSwitchId: 'vsw-1',
  subnet,
  mtu: 1500,
  ours: true,
  token: 'token',
  times: {
    cloudPeriodMs: 1,
    describePeriodMs: 1,
    attachTimeoutMs: 1,
    settleTimeoutMs: 1,
    detachTimeoutMs: 1,
    backoffMs: 1,
    backoffMaxMs: 1,
  },
  nowMs: 0,
  ipv4Count: 1,
  existing: null,
  held: new Map(),
  coolUntilMs: new Map(),
  routeTable: null,
  ...more,
});

const contextOf = (snapshot: AnyMachineSnapshot) => snapshot.context as EniContext;
const ipsOf = (book: AddressBook) => book.map((entry) => entry.address.ipv4);
/** One of each: an error costs a look at the stack, and a walk asks 50,000 times. */
const failed = new Map<ErrorCode, EnactorError>();
const failures = (...codes: ErrorCode[]) =>
  codes.map((code) => {
    const failure = failed.get(code) ?? new EnactorError(code, code);
    failed.set(code, failure);
    return failure;
  });

const heldNow = (book: AddressBook) =>
  new Map(
    book.flatMap(({ address, state, sandbox, pod }): [string, Holder][] =>
      state === 'bound' || state === 'invalid' ? [[address.ipv4, { sandbox: sandbox ?? '', pod: pod ?? '' }]] : [],
    ),
  );

function results(snapshot: AnyMachineSnapshot) {
  const { book } = contextOf(snapshot);
  const ips = ipsOf(book).filter((_, index) => book[index]?.state !== 'invalid');
  const fresh = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'].find((ip) => !ipsOf(book).includes(ip));
  const refused = failures('cloud');
  const statuses: EniStatus[] = ['Available', 'Attaching', 'InUse', 'Deleting', 'CreateFailed'];
  return {
    createEni: {
      done: [at(cloudEni('Available', ['10.0.0.1']))],
      error: failures('cloud', 'cloudUnreachable', 'permission', 'vSwitchEmpty', 'tokenSpent', 'throttled'),
    },
    findEni: { done: [at(null), at(cloudEni('Available', ['10.0.0.1']))], error: refused },
    awaitTurn: { done: [at(undefined)], error: failures('permission') },
    seekDevice: { done: [at(undefined)], error: failures('device') },
    attachEni: { done: [at(undefined)], error: failures('cloud', 'throttled') },
    describeEni: {
      done: [
        at(null),
        { atMs: 9, value: cloudEni('Attaching', ips) },
        ...statuses.map((status) => at(cloudEni(status, ips))),
        at(cloudEni('InUse', ips.slice(0, 1))),
      ],
      error: refused,
    },
    recall: {
      done: (['InUse', 'Attaching', 'Available', null] as const).map((status) =>
        at({
          eni: status === null ? null : cloudEni(status, ips),
          held: heldNow(book),
          released: [],
        }),
      ),
      error: failures('store'),
    },
    setUpEni: { done: [at({ ifindex: 3, name: 'eth1', routeTable: 1003 })], error: failures('device') },
    assignIps: {
      done: [at([]), at(fresh === undefined ? [] : [fresh])],
      error: failures('cloud', 'cloudUnreachable', 'throttled'),
    },
    unassignIps: { done: [at(undefined)], error: failures('cloud', 'cloudUnreachable') },
    tearDownEni: { done: [at(undefined)], error: failures('internal') },
    detachEni: { done: [at(undefined)], error: refused },
    deleteEni: { done: [at(undefined)], error: refused },
  };
}

/** Two pods at most, a pool that wants one address, and all that the factory may say. */
function events(snapshot: AnyMachineSnapshot): Message[] {
  const { book, queue, growBy, token } = contextOf(snapshot);
  const taken = new Set([...queue.map((one) => one.requestId), ...book.map((one) => one.sandbox?.replace('c', 'r'))]);
  const asks = ['r1', 'r2']
    .filter((requestId) => !taken.has(requestId))
    .slice(0, 1)
    .map((requestId) => ({
      type: 'assign',
      requestId,
      sandbox: requestId.replace('r', 'c'),
      pod: 'p',
      alsoCooling: false,
      atMs: 0,
    }));
  const offers = book.filter((entry) => entry.requestId !== null).map((entry) => entry.requestId);
  const holders = book.filter((entry) => entry.sandbox !== null && entry.requestId === null);
  return [
    ...asks,
    ...queue.map(({ requestId }) => ({ type: 'cancel', requestId, atMs: 0 })),
    ...offers.flatMap((requestId) => ['bind', 'withdraw', 'cancel'].map((type) => ({ type, requestId, atMs: 0 }))),
    ...holders.map((entry) => ({ type: 'freed', ipv4: entry.address.ipv4, coolUntilMs: 0, atMs: 0 })),
    ...(growBy === 0 ? [{ type: 'grow', count: 1, atMs: 0 }] : []),
    { type: 'shed', count: 1, atMs: 0 },
    { type: 'drain', atMs: 0 },
    ...(token === PULLED ? [{ type: 'unplugged', mac: '00:16:3e:00:00:01', atMs: 0 }] : []),
  ];
}

function key(snapshot: AnyMachineSnapshot) {
  const {
    book,
    queue,
    growBy,
    arriving,
    failures: failed,
    lastFailure,
    phase,
    device,
    suspicion,
    doubtful,
    takingYet,
    waitingMs,
  } = contextOf(snapshot);
  const states = book.map((entry) => `${entry.state}${entry.primary ? '!' : ''}`).sort();
  const creating = snapshot.matches('creating');
  const tries = Math.min(failed, creating ? 5 : 3);
  return [
    states,
    queue.length,
    growBy,
    arriving,
    tries,
    creating ? (lastFailure?.code ?? '') : '',
    phase,
    device !== null,
    suspicion !== null,
    creating && doubtful,
    takingYet,
    snapshot.matches('attaching') ? waitingMs : null,
  ];
}

type Explored = { readonly graph: Graph<Way> } & Readonly<Record<keyof typeof wrongSteps, readonly string[]>>;
const explored = new Map<Partial<EniInput>, Explored>();
const statesOf = new Map<Partial<EniInput>, ReadonlySet<string>>();
/** Each walk takes seconds: one for each life. A graph is 50 MB, so only those that are looked at again stay. */
function explore(life: Partial<EniInput>): Explored {
  const known = explored.get(life);
  if (known !== undefined) return known;
  const found = { unanswered: [] as string[], unheard: [] as string[], takenEarly: [] as string[] };
  const graph = walkKeeping(
    { machine: eniMachine, input: input(life), results, events, key, limit: EDGES_MAX },
    (from, edge, name) => {
      for (const kind of Object.keys(found) as (keyof typeof wrongSteps)[])
        if (wrongSteps[kind](from, edge)) found[kind].push(`${name} -- ${edge.event.type} -> ${edge.to}`);
      return { to: edge.to };
    },
  );
  statesOf.set(life, new Set([...graph.values()].map(({ state }) => state)));
  const made = { graph, ...found };
  if (lookedAtAgain.some((name) => lives[name] === life)) explored.set(life, made);
  return made;
}
const where = (graph: Graph<Way>, wrong: (vertex: Vertex<Way>) => boolean) =>
  [...graph.values()]
    .filter(wrong)
    .map((vertex) => vertex.key)
    .slice(0, 3);

const idsOf = (snapshot: AnyMachineSnapshot) => contextOf(snapshot).queue.map((one) => one.requestId);

/** What no step may do. Judged while the walk goes, since each holds a snapshot. */
const wrongSteps = {
  /** A request is neither waiting, nor cancelled, nor answered once. What is gone is taken back by the factory. */
  unanswered(from: AnyMachineSnapshot, { event, after, sent }: Edge): boolean {
    const asked = [...idsOf(from), ...(event.type === 'assign' ? [event.requestId] : [])];
    const cancelled = event.type === 'cancel' ? [event.requestId] : [];
    const answered = sent.filter((message) => message.type === 'ipResult').map((message) => message.requestId);
    const accounted = [...idsOf(after), ...answered, ...cancelled].filter((id) => asked.includes(id));
    return after.status === 'active' && JSON.stringify(asked.sort()) !== JSON.stringify(accounted.sort());
  },

  /** The factory is left with an older picture than its own message. */
  unheard(_: AnyMachineSnapshot, { event, sent }: Edge): boolean {
    if (!['assign', 'grow', 'shed', 'drain'].includes(event.type)) return false;
    const first = sent.findIndex((message) => message.type === 'ipResult' && message.ok === false);
    // One that was called off says that it is gone.
    const reports = sent.findIndex(({ type }) => type === 'eniChanged' || type === 'eniGone');
    return reports === -1 || (first !== -1 && first < reports);
  },

  /** An address whose unassign has to be made again is idle or promised before. */
  takenEarly(from: AnyMachineSnapshot, { event, after }: Edge): boolean {
    const before = contextOf(from);
    if (!before.takingYet || event.type.includes('inUse.unassigning')) return false;
    const left = before.book.filter((entry) => entry.state === 'leaving').map((entry) => entry.address.ipv4);
    return contextOf(after).book.some(
      (entry) => left.includes(entry.address.ipv4) && !['leaving', 'invalid'].includes(entry.state),
    );
  },
};

const held = new Map<string, Holder>([['10.0.0.1', { sandbox: 'c1', pod: 'p' }]]);
const existing = (status: EniStatus) => cloudEni(status, ['10.0.0.1', '10.0.0.2']);

const lives: Record<string, Partial<EniInput>> = {
  'a new one': {},
  'an attached one with a pod': { existing: existing('InUse'), held },
  'one with a pod whose device may go': { existing: cloudEni('InUse', ['10.0.0.1']), held, limit: 1, token: PULLED },
  'one whose device may go': { existing: existing('InUse'), token: PULLED },
  'one that is attaching': { existing: existing('Attaching') },
  'one that was detached under a pod': { existing: existing('Available'), held },
  'one left half-way': { existing: existing('Available') },
  'one of somebody else': { existing: existing('InUse'), ours: false, held },
  'one of somebody else that is attaching': { existing: existing('Attaching'), ours: false },
  'one of somebody else that is detaching': { existing: existing('Detaching'), ours: false },
};

const lookedAtAgain = ['a Create of an earlier life', 'one whose address was to go'];

const common = { version: 1, slot: 7, atMs: 0 } as const;
const begun = (kind: 'attach' | 'detach'): Intent => ({
  ...common,
  id: 'eni-1',
  kind,
  eniId: 'eni-1',
  instanceId: 'i-1',
});
const deletion: Intent = { ...common, id: 'eni-1', kind: 'delete', eniId: 'eni-1' };
const create: Intent = {
  ...common,
  id: 'earlier-3',
  kind: 'create',
  eniId: null,
  vSwitchId: 'vsw-1',
  securityGroupIds: ['sg'],
  ipv4Count: 1,
  ipv6Count: 0,
  tags: {},
  description: '',
  clientToken: 'earlier-3',
};

const begunLives: Readonly<Record<string, Partial<EniInput>>> = {
  'a Create of an earlier life': { intent: create },
  'one whose detach had begun': { existing: existing('InUse'), intent: begun('detach') },
  'one whose address was to go': { existing: existing('InUse'), going: ['10.0.0.2'] },
};
Object.assign(lives, begunLives);

const revived = (given: Partial<EniInput>): Partial<EniInput> => {
  const dead = contextOfInput(input(given));
  const failure = { code: 'internal', detail: 'it threw' } as const;
  return { ...given, revived: { dead, eniId: dead.eniId, promised: [], heard: 0, failure } };
};
Object.assign(lives, {
  'one whose actor died under a pod': revived({ existing: existing('InUse'), held }),
});

for (const [name, life] of Object.entries(lives)) {
  t.test(`eni: ${name}, through every schedule of failures`, async (t) => {
    const { graph, unanswered, unheard } = explore(life);
    t.comment(`${graph.size} states`);
    t.ok(graph.size < 40_000, 'the walk came to an end');
    t.same(
      where(graph, ({ snapshot }) => snapshot.status === 'error'),
      [],
      'nothing throws',
    );
    const over = (vertex: Vertex<Way>): boolean => vertex.state === 'gone' || vertex.state.startsWith('inUse.resting');
    t.same(trapped(graph, over).slice(0, 3), [], 'it comes to rest or is gone, whatever failed');
    t.same(
      where(graph, ({ snapshot }) => contextOf(snapshot).phase === 'leaving' && hasHolders(contextOf(snapshot).book)),
      [],
      'it never leaves under a pod',
    );
    t.same(
      where(graph, ({ snapshot }) => {
        const { book, arriving, limit } = contextOf(snapshot);
        return book.filter((entry) => entry.state !== 'invalid').length + arriving > limit;
      }),
      [],
      'it never asks for more than it may own',
    );
    t.same(
      where(graph, ({ snapshot, state }) => {
        const { queue, growBy, arriving, book } = contextOf(snapshot);
        const wants = queue.length + growBy + arriving;
        const serving = !/^(creating|attaching|settling|inUse\.(assigning|unassigning))/.test(state);
        return (
          (serving &&
            state !== 'gone' &&
            wants > 0 &&
            !(state === 'inUse.confirming' || state === 'inUse.backingOff')) ||
          (contextOf(snapshot).device === null && queue.length > 0 && state.startsWith('inUse')) ||
          (countsOf(book).leaving > 0 && state.startsWith('inUse.resting'))
        );
      }),
      [],
      'nothing waits in a state that does nothing about it',
    );
    t.same(unanswered.slice(0, 3), [], 'each request has one result, or still waits');
    t.same(unheard.slice(0, 3), [], 'the factory hears of everything it has said');
    if (life.ours === false)
      t.same(
        where(graph, ({ state }) => /^(draining|deleting|detaching|inUse\.unassigning)/.test(state)),
        [],
        'nothing of somebody else is detached, deleted or taken',
      );
  });
}

t.test('eni: every state of the chart is one that the walks reach', async (t) => {
  for (const life of Object.values(lives)) if (!statesOf.has(life)) explore(life);
  const seen = new Set([...statesOf.values()].flatMap((states) => [...states]));
  const all = leavesOf(eniMachine.root).filter(
    (path) =>
      ![
        'appearing',
        'creating.judging',
        'settling.judging',
        'inUse.looking',
        'inUse.assigning.judging',
        'inUse.assigning.completing',
      ].includes(path),
  );
  t.same(
    all.filter((path) => !seen.has(path)),
    [],
  );
});

type Node = typeof eniMachine.root;
const leavesOf = (node: Node): string[] =>
  Object.keys(node.states).length === 0
    ? [node.path.join('.')]
    : Object.values(node.states).flatMap((state) => leavesOf(state as Node));

t.test('eni: what an earlier life began goes on', async (t) => {
  /** Where it is when its first call is made. It needs a factory to talk to. */
  const first = (more: Partial<EniInput>): string => {
    const src = eniMachine.provide(neverDone);
    const factory = createActor(
      createMachine({ invoke: { id: 'eni', src: src as never, input: input(more) as never } }),
    );
    factory.start();
    const eni = factory.getSnapshot().children.eni?.getSnapshot() as AnyMachineSnapshot | undefined;
    factory.stop();
    return statePath(eni?.value);
  };
  t.equal(first({ existing: existing('Available'), intent: begun('attach') }), 'attaching.describing');
  t.equal(first({ existing: existing('Available'), intent: create }), 'attaching.describing');
  t.equal(first({ existing: existing('Available') }), 'detaching.describing', 'nobody was about to use it');
  t.equal(first({ existing: existing('InUse'), intent: begun('detach') }), 'detaching.describing');
  t.equal(first({ existing: existing('InUse'), intent: begun('detach'), held }), 'settling.calling', 'not under a pod');
  t.equal(first({ existing: existing('InUse'), intent: deletion }), 'detaching.describing');
  t.equal(first({ existing: existing('InUse'), intent: begun('attach') }), 'settling.calling');
  t.equal(first({ existing: existing('InUse'), ours: false, intent: begun('detach') }), 'settling.calling', 'not ours');
  t.equal(first({ existing: existing('Available'), intent: deletion }), 'detaching.describing');
  t.equal(first({ intent: create }), 'creating.calling');
});

t.test('eni: a Create of an earlier life is repeated with its token, which names nothing else after', async (t) => {
  const repeated = contextOfInput(input({ intent: create }));
  t.equal(tokenOf(repeated), 'earlier-3');
  t.not(tokenOf({ ...repeated, repeated: null }), 'earlier-3');
  const { graph } = explore(lives['a Create of an earlier life'] ?? {});
  const later = [...graph.values()].filter(({ state }) => !/^(creating|gone)/.test(state));
  t.ok(later.length > 0);
  t.same(
    later.filter(({ snapshot }) => tokenOf(contextOf(snapshot)) === 'earlier-3').map(({ key }) => key),
    [],
  );
  t.same(
    where(graph, ({ state, snapshot }) => state === 'creating.calling' && contextOf(snapshot).calls > 0),
    [],
    'nobody asks for another',
  );
});

t.test('eni: an address whose unassign was not answered is nobody’s until that is made again', async (t) => {
  const { graph, takenEarly } = explore(lives['one whose address was to go'] ?? {});
  const started = [...graph.values()].find(({ state }) => state === 'settling.calling');
  t.same(started && states(started.snapshot), ['idle', 'leaving'], 'it was leaving before the crash');
  const kept = [...graph.values()].filter(({ snapshot }) => contextOf(snapshot).takingYet);
  t.ok(kept.length > 0);
  t.same(takenEarly.slice(0, 3), [], 'none is idle or promised before');
  const resting = kept.filter(({ state }) => state.startsWith('inUse.resting'));
  t.same(
    resting.map(({ key }) => key),
    [],
    'it rests only when that is known',
  );
});

const states = (snapshot: AnyMachineSnapshot) => contextOf(snapshot).book.map((entry) => entry.state);
const never = fromPromise<never>(() => new Promise<never>(() => {}));
const neverDone = {
  actors: Object.fromEntries(
    [
      'createEni',
      'findEni',
      'awaitTurn',
      'seekDevice',
      'attachEni',
      'describeEni',
      'setUpEni',
      'assignIps',
      'unassignIps',
      'tearDownEni',
      'detachEni',
      'deleteEni',
      'recall',
    ].map((name) => [name, never]),
  ),
} as unknown as Parameters<typeof eniMachine.provide>[0];

t.test('eni: one whose device has gone is looked at at once, and offers nothing until then', async (t) => {
  const told: Message[] = [];
  const asked: string[] = [];
  const answers = { status: 'InUse' as EniStatus, device: true };
  const src = eniMachine.provide({
    actors: {
      describeEni: fromPromise(async () => {
        asked.push('describe');
        return at<CloudEni | null>(cloudEni(answers.status, ['10.0.0.1', '10.0.0.2']));
      }),
      setUpEni: fromPromise(async () => {
        asked.push('set up');
        if (!answers.device) await new Promise(() => {});
        return at({ ifindex: 3, name: 'eth1', routeTable: 1003 });
      }),
      awaitTurn: fromPromise(async () => at<void>(undefined)),
      seekDevice: fromPromise(async () => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return at<void>(undefined);
      }),
      attachEni: fromPromise(async () => {
        asked.push('attach');
        return at<void>(undefined);
      }),
    },
  });
  const times = { ...input().times, cloudPeriodMs: 600_000, backoffMs: 10, backoffMaxMs: 10, settleTimeoutMs: 60_000 };
  const given = input({ existing: existing('InUse'), held, times, limit: 4 });
  const factory = createActor(
    createMachine({
      invoke: { src, id: 'eni', input: given },
      on: { '*': { actions: ({ event }) => told.push(event) } },
    }),
  ).start();
  const eni = factory.getSnapshot().children.eni;
  const until = async (met: () => boolean) => {
    for (let tries = 0; !met() && tries < 2_000; tries += 1) await new Promise((resolve) => setTimeout(resolve, 2));
    t.ok(met(), met.toString());
  };
  const state = () => statePath(eni?.getSnapshot().value);
  const offer = (requestId: string) => {
    told.length = 0;
    eni?.send({ type: 'assign', requestId, sandbox: requestId, pod: 'q', alsoCooling: false, atMs: 1 });
    return told.filter(({ type }) => type === 'ipResult').map(({ ok }) => ok);
  };
  const pull = (mac = given.existing?.mac) => {
    asked.length = 0;
    eni?.send({ type: 'unplugged', mac, atMs: 2 });
  };
  await until(() => state() === 'inUse.resting.quiet');
  pull('00:16:3e:00:00:99');
  t.strictSame([state(), asked], ['inUse.resting.quiet', []], 'another one’s device');

  answers.device = false;
  pull();
  t.strictSame(asked, ['describe']);
  t.strictSame(offer('r1'), [false], 'not even an idle address');
  await until(() => state() === 'inUse.unplugged');
  t.strictSame(offer('r2'), [false], 'nor while the cloud, which may be late, has it here');
  await until(() => asked.filter((what) => what === 'describe').length >= 3);
  answers.device = true;
  await until(() => state() === 'inUse.resting.quiet');
  t.strictSame(offer('r3'), [true], 'it was back by itself');

  answers.status = 'Available';
  pull();
  await until(() => asked.includes('attach'));
  t.strictSame(offer('r4'), [], 'who comes now waits for it: it is attached again for the pod it holds');
  factory.stop();
});

t.test('eni: the timer of the next rest that ends is set once, and anew when another one ends before it', async (t) => {
  const src = eniMachine.provide(neverDone).provide({
    actors: { setUpEni: fromPromise(async () => at({ ifindex: 3, name: 'eth1', routeTable: 1003 })) },
  });
  const acted: string[] = [];
  const ips = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const all = new Map(ips.map((ip, nth) => [ip, { sandbox: `c${nth}/eth0` as never, pod: `default/p${nth}` }]));
  const times = { ...input().times, cloudPeriodMs: 600_000 };
  const given = input({ existing: cloudEni('InUse', ips), held: all, times, limit: 4 });
  const factory = createActor(createMachine({ invoke: { src, id: 'eni', input: given }, on: { '*': {} } }), {
    inspect: (event) => void (event.type === '@xstate.action' && acted.push(event.action.type)),
  }).start();
  t.teardown(() => void factory.stop());
  const eni = factory.getSnapshot().children.eni;
  for (let tries = 0; statePath(eni?.getSnapshot().value) !== 'inUse.resting.quiet' && tries < 500; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 2));
  const setAfter = (ipv4: string, coolUntilMs: number): number => {
    acted.length = 0;
    eni?.send({ type: 'freed', ipv4, coolUntilMs, atMs: 1 });
    return acted.filter((type) => type === 'xstate.raise').length;
  };
  t.strictSame([setAfter('10.0.0.1', 60_000), setAfter('10.0.0.2', 70_000), setAfter('10.0.0.3', 50)], [1, 0, 1]);
  const idle = () => countsOf(contextOf(eni?.getSnapshot()).book).idle;
  for (let tries = 0; idle() === 0 && tries < 500; tries += 1) await new Promise((resolve) => setTimeout(resolve, 2));
  t.equal(idle(), 1);
  t.equal(contextOf(eni?.getSnapshot()).restAtMs, 60_000, 'and then for the next one');
});
