/** A chart whose steps are light does what it does by XState alone: state, context, messages, what is emitted, what inspectors hear, and in what order. */
import t from 'tap';
import {
  type AnyActorRef,
  type AnyStateMachine,
  assign,
  cancel,
  createActor,
  emit,
  enqueueActions,
  fromCallback,
  raise,
  SimulatedClock,
  sendParent,
  sendTo,
  setup,
} from 'xstate';
import { lightSteps } from '../../actors/light-steps.ts';

type Told = { readonly type: string; readonly by?: number; readonly name?: string };

const logged: string[] = [];
const child = fromCallback(({ receive, input }) => receive((event) => logged.push(`${input} heard ${event.type}`)));

/** As `setup` knows them only once they are all there. */
const named = (action: unknown) => action as () => void;

/** Every kind of action that charts of ours have, on transitions without a target and with one. */
const machine = setup({
  types: {
    context: {} as { count: number; words: readonly string[] },
    events: {} as Told,
    emitted: {} as { readonly type: 'said'; readonly count: number },
  },
  actors: { child },
  guards: { few: ({ context }) => context.count < 3, by: (_, params: { least: number }) => params.least <= 2 },
  actions: {
    add: assign(({ context, event }) => ({ count: context.count + (event.by ?? 1) })),
    note: assign({
      words: ({ context, event }, params: { word: string }) => [...context.words, params.word + event.type],
    }),
    log: ({ context }, params: { what: string }) => void logged.push(`${params.what} ${context.count}`),
    both: enqueueActions(({ context, event, enqueue }) => {
      enqueue(named('add'));
      enqueue(named({ type: 'note', params: { word: 'both ' } }));
      enqueue.assign({ count: context.count + 10 });
      enqueue.assign(({ context: now }) => ({ words: [...now.words, `${now.count}`] }));
      enqueue.sendParent({ type: 'heard', what: event.type });
      enqueue.sendTo('fixed', { type: 'fromBoth' });
      enqueue.sendTo('fixed', ({ context: now }) => ({ type: `late ${now.count}` }));
      enqueue.raise({ type: 'echo' });
      enqueue.raise({ type: 'later' }, { id: 'later', delay: 50 });
      enqueue.emit({ type: 'said', count: context.count });
      enqueue(() => logged.push('inline'));
    }),
  },
}).createMachine({
  id: 'chart',
  options: { maxIterations: 20 },
  context: { count: 0, words: [] },
  invoke: { src: 'child', id: 'fixed', input: 'fixed' },
  on: {
    both: { actions: 'both' },
    echo: { actions: [raise({ type: 'echoed' }), { type: 'note', params: { word: 'echo ' } }] },
    echoed: { actions: { type: 'note', params: ({ context }) => ({ word: `${context.count} ` }) } },
    later: { actions: [{ type: 'log', params: { what: 'later' } }, sendParent({ type: 'wasLate' })] },
    forget: { actions: cancel('later') },
    say: {
      actions: [emit(({ context }) => ({ type: 'said', count: context.count })), sendTo('fixed', { type: 'said' })],
    },
    spawn: {
      actions: enqueueActions(({ event, enqueue }) =>
        enqueue.spawnChild('child', { id: event.name ?? 'x', input: event.name }),
      ),
    },
    tell: {
      actions: enqueueActions(({ event, enqueue, self }) =>
        enqueue.sendTo(self.getSnapshot().children[event.name ?? ''] as AnyActorRef, { type: 'told' }),
      ),
    },
    stop: { actions: enqueueActions(({ event, enqueue }) => enqueue.stopChild(event.name ?? 'x')) },
    self: { actions: sendTo(({ self }) => self, { type: 'echoed' }) },
    ignored: {},
    loop: { actions: raise({ type: 'loop' }) },
    toNobody: { actions: enqueueActions(({ enqueue }) => enqueue.sendTo('nobody', { type: 'told' })) },
  },
  initial: 'one',
  states: {
    one: {
      on: {
        go: [
          { guard: 'few', actions: 'add' },
          { target: 'two', actions: ['add', { type: 'log', params: { what: 'leaves' } }] },
        ],
        some: { guard: { type: 'by', params: ({ event }) => ({ least: event.by ?? 0 }) }, actions: 'add' },
      },
    },
    two: {
      tags: 'second',
      entry: raise({ type: 'both' }),
      initial: 'inner',
      states: {
        inner: { on: { go: 'chosen' } },
        chosen: {
          always: [
            { guard: 'few', target: 'inner' },
            { target: '#chart.one', actions: assign({ count: 0 }) },
          ],
        },
      },
    },
  },
});

function heardOf(logic: AnyStateMachine, told: readonly (Told | number)[]): readonly string[] {
  logged.length = 0;
  const lines: string[] = [];
  const clock = new SimulatedClock();
  const parent = createActor(
    setup({ actors: { chart: logic } }).createMachine({
      invoke: { src: 'chart', id: 'chart' },
      on: { '*': { actions: ({ event }) => void lines.push(`parent ${JSON.stringify(event)}`) } },
    }),
    {
      clock,
      inspect: (event) => {
        const name = (event.actorRef as AnyActorRef).id;
        const id = name.startsWith('x:') ? 'root' : name;
        if (event.type === '@xstate.event') lines.push(`${id} < ${event.event.type}`);
        if (event.type === '@xstate.microstep')
          lines.push(
            `${id} step ${event.event.type} ${(event._transitions as { eventType: string }[]).map((one) => one.eventType)}`,
          );
        if (event.type === '@xstate.snapshot' && id === 'chart') lines.push(stateOf(event.snapshot));
      },
    },
  );
  parent.subscribe({ error: (error) => lines.push(`died ${error}`) });
  parent.start();
  const actor = parent.getSnapshot().children.chart as AnyActorRef;
  actor.on('said', (event) => lines.push(`emitted ${JSON.stringify(event)}`));
  for (const one of told) {
    if (typeof one === 'number') clock.increment(one);
    else actor.send(one);
    lines.push(...logged.splice(0));
  }
  return lines;
}

function stateOf(snapshot: unknown): string {
  const { value, context, tags, children, status } = snapshot as {
    readonly [of: string]: unknown;
    readonly tags: ReadonlySet<string>;
    readonly children: object;
  };
  return JSON.stringify({ value, context, tags: [...tags], children: Object.keys(children), status });
}

const TOLD: readonly (Told | number)[] = [
  ...[
    { type: 'both' },
    { type: 'go' },
    { type: 'go' },
    { type: 'some', by: 2 },
    { type: 'some', by: 3 },
    { type: 'ignored' },
  ],
  ...[{ type: 'unknown' }, { type: 'say' }, 60, { type: 'both' }, { type: 'forget' }, 60, { type: 'self' }],
  ...[
    { type: 'spawn', name: 'a' },
    { type: 'spawn', name: 'b' },
    { type: 'tell', name: 'a' },
    { type: 'stop', name: 'a' },
  ],
  ...[{ type: 'go' }, { type: 'both' }, { type: 'say' }, { type: 'go' }, { type: 'go' }, { type: 'tell', name: 'b' }],
];

t.test('light steps: all that is heard of a chart is as XState alone has it', async (t) => {
  const [alone, light] = [heardOf(machine, TOLD), heardOf(lightSteps(machine), TOLD)];
  t.ok(alone.length > 100, `${alone.length} lines`);
  t.strictSame(light, alone);
});

t.test('light steps: a chart that raises without end, or sends to nobody, dies as by XState alone', async (t) => {
  const died = (logic: AnyStateMachine, type: string): boolean =>
    heardOf(logic, [{ type }]).some((line) => line.startsWith('parent {"type":"xstate.error.actor.chart"'));
  for (const type of ['loop', 'toNobody', 'say'])
    t.strictSame(
      [died(lightSteps(machine), type), died(machine, type)],
      type === 'say' ? [false, false] : [true, true],
    );
});

t.test('light steps: XState makes no snapshot of its own where a chart stays in its state', async (t) => {
  let steps = 0;
  const counting = Object.assign(Object.create(machine) as typeof machine, {
    transition: ((...args) => {
      steps += 1;
      return machine.transition(...args);
    }) as typeof machine.transition,
  });
  const actor = createActor(lightSteps(counting)).start();
  for (let nth = 0; nth < 3; nth += 1) actor.send({ type: 'say' });
  t.equal(steps, 0);
  t.equal(actor.getSnapshot().matches('one'), true);
  actor.stop();
});

t.test('light steps: a state that is left by what is known is left at once', (t) => {
  const machine = setup({ types: { context: {} as { count: number }, events: {} as { type: 'more' } } }).createMachine({
    id: 'full',
    context: { count: 0 },
    initial: 'filling',
    on: { more: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
    states: { filling: { always: { guard: ({ context }) => context.count === 2, target: 'full' } }, full: {} },
  });
  const actor = createActor(lightSteps(machine)).start();
  for (const state of ['filling', 'full']) {
    actor.send({ type: 'more' });
    t.equal(actor.getSnapshot().value, state);
  }
  t.end();
});
