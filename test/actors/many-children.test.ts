/** A supervisor that is given few of its children at a time has all of them, as one of XState's own has. */
import { test } from 'tap';
import {
  type AnyActorRef,
  type AnyStateMachine,
  createActor,
  type DoneActorEvent,
  type ErrorActorEvent,
  enqueueActions,
  fromPromise,
  setup,
} from 'xstate';
import { manyChildren } from '../../actors/many-children.ts';

const stopped: string[] = [];

const until = fromPromise<never, string>(({ signal, input }) => waiting(signal, input));

const child = setup({
  types: { input: {} as string, context: {} as { name: string }, events: {} as { type: 'end' | 'die' } },
  actors: { until },
}).createMachine({
  context: ({ input }) => ({ name: input }),
  initial: 'here',
  states: { here: { on: { end: 'gone', die: { actions: fails } } }, gone: { type: 'final' } },
  invoke: {
    src: 'until',
    input: ({ context }) => context.name,
  },
});

function fails(): void {
  throw new Error('it dies');
}

function waiting(signal: AbortSignal, name: string): Promise<never> {
  return new Promise(() => signal.addEventListener('abort', () => stopped.push(name)));
}

type Told =
  | { readonly type: 'come'; readonly id: string }
  | { readonly type: 'say'; readonly id: string; readonly what: 'end' | 'die' };
const supervisor = setup({
  types: { context: {} as { ended: number }, events: {} as Told | DoneActorEvent | ErrorActorEvent },
  actors: { child },
}).createMachine({
  context: { ended: 0 },
  on: {
    come: {
      actions: enqueueActions(({ event, enqueue }) => enqueue.spawnChild('child', { id: event.id, input: event.id })),
    },
    say: { actions: enqueueActions(({ event, enqueue }) => enqueue.sendTo(event.id, { type: event.what })) },
    'xstate.done.actor.*': {
      actions: enqueueActions(({ context, event, enqueue }) => {
        enqueue.stopChild((event as DoneActorEvent).actorId);
        enqueue.assign({ ended: context.ended + 1 });
      }),
    },
    // Another takes its place under the same name.
    'xstate.error.actor.*': {
      actions: enqueueActions(({ event, enqueue }) => {
        const { actorId: id } = event as ErrorActorEvent;
        enqueue.stopChild(id);
        enqueue.spawnChild('child', { id, input: `${id} again` });
      }),
    },
  },
});

type Seen = { readonly children: Record<string, AnyActorRef>; readonly context: { readonly ended: number } };

function run(logic: AnyStateMachine): { names: readonly string[]; ended: number; stopped: readonly string[] } {
  stopped.length = 0;
  const actor = createActor(logic).start();
  const now = (): Seen => actor.getSnapshot() as unknown as Seen;
  for (let nth = 0; nth < 300; nth += 1) actor.send({ type: 'come', id: `child:${nth}` });
  for (let nth = 0; nth < 300; nth += 3) actor.send({ type: 'say', id: `child:${nth}`, what: 'end' });
  for (let nth = 1; nth < 300; nth += 30) actor.send({ type: 'say', id: `child:${nth}`, what: 'die' });
  actor.send({ type: 'come', id: 'child:0' });
  const names = Object.entries(now().children).map(
    ([id, ref]) => `${id}=${(ref.getSnapshot() as { context: { name: string } }).context.name}`,
  );
  const { ended } = now().context;
  actor.stop();
  return { names: names.sort(), ended, stopped: [...stopped].sort() };
}

test('many children: who comes, ends, dies and is replaced is as without it, and all stop with their supervisor', (t) => {
  const machine = supervisor as unknown as AnyStateMachine;
  const [bare, few] = [run(machine), run(manyChildren(machine))];
  t.equal(bare.names.length, 201);
  t.equal(bare.ended, 100);
  t.strictSame(few, bare);
  t.end();
});

test('many children: a transition is given a record with nothing of its own but the child that the event is about', (t) => {
  const given: number[] = [];
  const counting = Object.assign(Object.create(supervisor) as AnyStateMachine, {
    transition: ((snapshot, event, scope) => {
      given.push(Object.keys((snapshot as unknown as Seen).children).length);
      return (supervisor as unknown as AnyStateMachine).transition(snapshot, event, scope);
    }) as AnyStateMachine['transition'],
  });
  const actor = createActor(manyChildren(counting)).start();
  for (let nth = 0; nth < 50; nth += 1) actor.send({ type: 'come', id: `child:${nth}` });
  actor.send({ type: 'say', id: 'child:7', what: 'end' });
  t.equal(Math.max(...given), 1);
  t.equal(Object.keys((actor.getSnapshot() as unknown as Seen).children).length, 49);
  actor.stop();
  t.end();
});
