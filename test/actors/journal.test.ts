/** The inputs journal, and what it is for: a run can be had again from it alone. */
import t from 'tap';
import { Inputs } from '../../actors/inputs.ts';
import { replayed, statesOf } from '../../actors/replay.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { firstSeq, type Input, inputKey, livingInput, parseInput, plainInput } from '../../src/core/input-journal.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { atRest } from './at-rest.ts';
import { oneNode } from './one-node.ts';

t.test(
  'journal: a run is had again from its inputs: every actor is in the same state with the same book',
  async (t) => {
    const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 3, coolDownMs: 5 } });
    t.teardown(() => lab.stop());
    await lab.serving();
    await lab.refuse('AssignPrivateIpAddresses', 'Throttling.User');
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => lab.add(name)));
    await Promise.all(['b', 'd', 'f'].map((name) => lab.del(name)));
    await lab.add('i');
    await atRest(lab);
    const { inputs, unwritten } = lab.node.introspection.journal({ since: 0, limit: 1_000 });
    t.equal(unwritten, 0);
    t.ok(inputs.length > 40, `${inputs.length} inputs`);
    const again = replayed(inputs, lab.settings);
    const before = lab.report();
    t.strictSame(statesOf(again.root), before.actors.map(({ path, state }) => `${path} ${state}`).sort());
    t.strictSame(
      again.books(),
      before.enis.map(({ eniId, addresses }) => ({
        eniId,
        book: addresses.map(({ ipv4, state, pod }) => `${ipv4} ${state} ${pod}`),
      })),
    );
    again.root.stop();
  },
);

t.test('journal: it holds calls, results and timers, and what one chart tells another it does not', async (t) => {
  const lab = await oneNode({ settings: { maxIdle: 1, coolDownMs: 100 } });
  t.teardown(() => lab.stop());
  await lab.serving();
  await lab.add('a');
  await lab.del('a');
  await atRest(lab);
  const { inputs } = lab.node.introspection.journal({ since: 0, limit: 1_000 });
  const types = new Set(inputs.map(({ event }) => event.type.replace(/\.[^.]*actor.*/, '.actor')));
  for (const type of ['allocate', 'release', 'rest']) t.ok(types.has(type), type);
  t.ok(inputs.some(({ actor, event }) => actor === 'eni:0' && event.type.startsWith('xstate.done.actor')));
  t.ok(inputs.some(({ actor, event }) => actor === 'eni:0' && event.type.startsWith('xstate.after.')));
  for (const type of ['eniChanged', 'poolChanged', 'ipResult', 'assign', 'granted', 'xstate.init'])
    t.notOk(types.has(type), type);
  t.notOk(
    inputs.some(({ actor, event }) => actor === 'leases' && event.type.startsWith('xstate.done')),
    'the end of a chart follows from what came before',
  );
  const seqs = inputs.map(({ seq }) => seq);
  t.strictSame(
    seqs,
    seqs.map((_, index) => (seqs[0] ?? 0) + index),
    'none is missing',
  );
  t.doesNotThrow(() => JSON.stringify(inputs));
});

function ring(max: number, disk: MemoryDisk = new Map(), nowMs = 5_000) {
  const clock = new VirtualClock(nowMs);
  const store = memoryStore(disk);
  const faults = { fails: false, waits: [] as (() => void)[], hang: false };
  const inputs = new Inputs(
    max,
    {
      store: {
        ...store,
        write: async (ops, options) => {
          t.strictSame(options, { synced: false }, 'it never makes a lease wait for the disk');
          if (faults.fails) throw new EnactorError('store', 'full');
          if (faults.hang) await new Promise<void>((resolve) => void faults.waits.push(resolve));
          await store.write(ops);
        },
      },
      clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    },
    {
      setTimeout: (fire, delayMs) => clock.after(delayMs, fire),
      clearTimeout: (timer) => clock.cancel(timer as ReturnType<typeof clock.after>),
    },
  );
  const note = (count: number): void => {
    for (let one = 0; one < count; one += 1) inputs.note('node', { type: 'e', one } as never, clock.nowMs());
  };
  const pass = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) {
      clock.fireNext();
      await settle();
    }
  };
  const onDisk = () => [...(disk.get('inputs')?.keys() ?? [])].sort();
  return { inputs, note, pass, faults, onDisk, disk };
}

t.test('journal: the ring keeps the newest, in memory and on disk', async (t) => {
  const { inputs, note, pass, onDisk } = ring(10);
  note(7);
  await pass();
  note(20);
  await pass();
  const first = firstSeq(5_000);
  t.equal(onDisk().length, 10);
  t.equal(onDisk().at(-1), inputKey(first + 27));
  const page = inputs.page({ since: 0, limit: 4 });
  t.strictSame(
    page.inputs.map(({ seq }) => seq - first),
    [18, 19, 20, 21],
  );
  t.strictSame([page.next, page.firstSeq, page.lastSeq], [first + 21, first + 18, first + 27]);
  t.equal(inputs.page({ since: page.next, limit: 100 }).inputs.length, 6);
  t.strictSame(inputs.page({ since: first + 27, limit: 4 }).inputs, []);
});

t.test('journal: another life goes on behind the one before, and shows it', async (t) => {
  const before = ring(10);
  before.note(6);
  await before.pass();
  before.disk.get('inputs')?.set('0000000000000001', 'no JSON');
  const after = ring(10, before.disk, 9_000);
  after.note(2);
  await after.pass();
  const { inputs } = after.inputs.page({ since: 0, limit: 100 });
  t.equal(inputs.length, 8);
  t.equal(inputs[0]?.seq, firstSeq(5_000) + 1);
  after.note(8);
  await after.pass();
  t.equal(after.onDisk().length, 10, 'what cannot be read goes too, in its turn');
});

t.test('journal: a slow or failing store costs inputs and nothing else', async (t) => {
  const { inputs, note, pass, faults, onDisk } = ring(5_000);
  faults.fails = true;
  note(3);
  await pass();
  t.equal(inputs.page({ since: 0, limit: 1 }).unwritten, 3);
  t.equal(inputs.page({ since: 0, limit: 10 }).inputs.length, 3, 'they can be read here yet');
  faults.fails = false;
  faults.hang = true;
  note(1);
  await pass();
  note(2_500);
  t.equal(inputs.page({ since: 0, limit: 1 }).unwritten, 3 + 500);
  faults.hang = false;
  for (const go of faults.waits) go();
  await pass();
  note(1);
  await pass();
  t.ok(onDisk().length > 1);
});

t.test('journal: none is kept when none is wanted', async (t) => {
  const { inputs, note, pass, onDisk } = ring(0);
  note(3);
  await pass();
  t.match(inputs.page({ since: 0, limit: 10 }), { inputs: [], firstSeq: null });
  t.strictSame(onDisk(), []);
});

t.test('journal: a record is what JSON can hold', async (t) => {
  const input: Input = {
    seq: 1,
    atMs: 2,
    actor: 'node',
    event: { type: 'x', held: new Map([['a', 1]]), error: new EnactorError('cloud', 'no'), other: new Error('boom') },
  };
  const plain = plainInput(input);
  t.strictSame(plain.event, {
    type: 'x',
    held: { $map: [['a', 1]] },
    error: { $failure: { code: 'cloud', detail: 'no' } },
    other: { $failure: { code: 'internal', detail: 'boom' } },
  });
  t.strictSame(livingInput(plain).event, {
    ...input.event,
    other: new EnactorError('internal', 'boom'),
  });
  t.strictSame(parseInput(JSON.parse(JSON.stringify(plain))), plain);
  for (const value of [null, 1, {}, { ...plain, seq: 'x' }, { ...plain, event: {} }]) t.equal(parseInput(value), null);
  t.ok(inputKey(firstSeq(999)) < inputKey(firstSeq(1_700_000_000_000)), 'keys sort as numbers do');
  t.ok(Number.isSafeInteger(firstSeq(Date.parse('2200-01-01'))));
});
