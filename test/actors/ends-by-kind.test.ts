import t from 'tap';
import {
  type AnyActorRef,
  type AnyStateMachine,
  createActor,
  enqueueActions,
  type InspectionEvent,
  setup,
} from 'xstate';
import { endsByKind } from '../../actors/ends-by-kind.ts';
import { LEASES } from '../../statecharts/receptionist.ts';
import { oneNode } from './one-node.ts';

t.setTimeout(120_000);

type Ended = { readonly type: `xstate.done.actor.${string}`; readonly actorId: string };

/** Its children end at once. */
function supervisor(ended: Ended[]): AnyStateMachine {
  const child = setup({}).createMachine({ initial: 'over', states: { over: { type: 'final' } } });
  const events = {} as { readonly type: 'spawn'; readonly id: string } | Ended;
  return setup({ types: { events }, actors: { child } }).createMachine({
    on: {
      spawn: {
        actions: enqueueActions(({ event, enqueue }) => {
          if ('id' in event) enqueue.spawnChild('child', { id: event.id });
        }),
      },
      'xstate.done.actor.*': {
        actions: enqueueActions(({ event, enqueue }) => {
          if (!('actorId' in event)) return;
          ended.push(event);
          enqueue.stopChild(event.actorId);
        }),
      },
    },
  }) as unknown as AnyStateMachine;
}

t.test('ends by kind: XState looks transitions up, and remembers them, once a kind and not once a child', async (t) => {
  const ended: Ended[] = [];
  const machine = supervisor(ended);
  const { transitions } = machine.root;
  const lookedUp: string[] = [];
  const get = transitions.get.bind(transitions);
  transitions.get = (type) => {
    if (type.startsWith('xstate.done.actor.')) lookedUp.push(type);
    return get(type);
  };
  const actor = createActor(endsByKind(machine)).start();
  for (const id of ['lease:c1/eth0', 'lease:c2.x/eth0', 'lease:c3:d/eth0', 'survey']) actor.send({ type: 'spawn', id });
  const { children } = actor.getSnapshot();
  t.strictSame(Object.keys(children), [], 'the chart has heard of each');
  t.strictSame(
    ended.map(({ type, actorId }) => [type, actorId]),
    [
      ['xstate.done.actor.lease', 'lease:c1/eth0'],
      ['xstate.done.actor.lease', 'lease:c2.x/eth0'],
      ['xstate.done.actor.lease', 'lease:c3:d/eth0'],
      ['xstate.done.actor.survey', 'survey'],
    ],
  );
  t.strictSame(
    lookedUp.filter((type) => type !== 'xstate.done.actor.*'),
    ['xstate.done.actor.lease', 'xstate.done.actor.survey'],
  );
});

t.test('ends by kind: the leases of a node end so, whose sandboxes each have a name of their own', async (t) => {
  const heard = new Set<string>();
  const inspect = (event: InspectionEvent): void => {
    const ref = event.actorRef as AnyActorRef;
    if (event.type === '@xstate.microstep' && ref.id === LEASES) heard.add(event.event.type);
  };
  const lab = await oneNode({ inspect });
  t.teardown(() => lab.stop());
  await lab.serving();
  for (const pod of ['one', 'two', 'three']) {
    await lab.add(pod);
    await lab.del(pod);
  }
  t.strictSame(
    [...heard].filter((type) => type.startsWith('xstate.done.actor.')),
    ['xstate.done.actor.lease'],
  );
  t.strictSame(lab.report().leases, []);
});
