import t from 'tap';
import { and, createActor, setup } from 'xstate';
import { CHARTS, everything } from '../../src/simulation/coverage.ts';
import { mutantsOf } from './mutants-of.ts';

const door = setup({
  types: { events: {} as { type: 'push' } | { type: 'lock' } },
  guards: { unlocked: () => true, wide: () => false },
  actions: { creak: () => {} },
}).createMachine({
  id: 'door',
  initial: 'closed',
  states: {
    closed: {
      on: { push: [{ guard: and(['unlocked', 'wide']), target: 'open' }, { actions: 'creak' }], lock: 'locked' },
    },
    open: { entry: ['creak'], after: { 1000: { target: 'closed' } } },
    locked: {},
  },
});

t.test('mutants: each differs from its chart in one place, and is named after it', (t) => {
  t.same(
    mutantsOf(door).map(({ name }) => name),
    [
      'door closed on push 0: missing',
      'door closed on push 0: without guard [unlocked, wide]',
      'door closed on push 0: to locked',
      'door closed on push 1: missing',
      'door closed on push 1: without action 0 creak',
      'door closed on lock 0: missing',
      'door closed on lock 0: to closed',
      'door open entry: without action 0 creak',
      'door open after 1000 0: missing',
      'door open after 1000 0: to open',
    ],
  );
  t.end();
});

t.test('mutants: behave as they are named, and leave the chart as it was', (t) => {
  const after = (part: string, ...events: ('push' | 'lock')[]): unknown => {
    const mutant = mutantsOf(door).find(({ name }) => name.endsWith(part));
    if (mutant === undefined) throw new Error(`no mutant ${part}`);
    const actor = createActor(mutant.make()).start();
    for (const type of events) actor.send({ type });
    actor.stop();
    return actor.getSnapshot().value;
  };
  t.equal(after('on push 0: without guard [unlocked, wide]', 'push'), 'open');
  t.equal(after('on push 0: missing', 'push'), 'closed');
  t.equal(after('on lock 0: to closed', 'lock'), 'closed');
  t.equal(after('on lock 0: missing', 'lock'), 'closed');
  const actor = createActor(door).start();
  actor.send({ type: 'push' });
  t.equal(actor.getSnapshot().value, 'closed');
  actor.send({ type: 'lock' });
  t.equal(actor.getSnapshot().value, 'locked');
  t.end();
});

t.test('mutants: of every chart, as many transitions are missing once as there are', (t) => {
  for (const chart of CHARTS) {
    const mutants = mutantsOf(chart);
    t.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length, `${chart.id}: names are unique`);
    const missing = mutants.filter(({ name }) => name.endsWith(': missing')).length;
    t.equal(missing, everything([chart]).transitions.size, chart.id);
    const { states, transitions } = everything([chart]);
    for (const { name, make, state, transition } of mutants) {
      t.equal(make().id, chart.id, name);
      t.ok(states.has(state), `${name} is cut at ${state}`);
      if (transition !== null) t.ok(transitions.has(transition), `${name} is met at ${transition}`);
    }
  }
  t.end();
});
