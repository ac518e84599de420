import t from 'tap';
import { Intents } from '../../actors/intents.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { type Intent, takingId } from '../../src/core/intent.ts';
import { parseAnswers } from '../../src/core/late-describe.ts';
import type { StoreOp } from '../../src/ports/store.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';

const of = (id: string, slot: number, kind: 'attach' | 'detach' | 'delete' = 'attach'): Intent =>
  kind === 'delete'
    ? { version: 1, id, slot, atMs: 0, kind, eniId: id }
    : { version: 1, id, slot, atMs: 0, kind, eniId: id, instanceId: 'i-1' };

function rig() {
  const disk: MemoryDisk = new Map();
  const store = memoryStore(disk);
  const clock = new VirtualClock(0);
  const writes: (readonly StoreOp[])[] = [];
  const faults = { next: 0 };
  const intents = new Intents(
    {
      ...store,
      write: async (ops) => {
        if (faults.next > 0) {
          faults.next -= 1;
          throw new EnactorError('store', 'full');
        }
        writes.push(ops);
        await store.write(ops);
      },
    },
    {
      setTimeout: (fire, delayMs) => clock.after(delayMs, fire),
      clearTimeout: (timer) => clock.cancel(timer as ReturnType<typeof clock.after>),
    },
    { debug() {}, info() {}, warn() {}, error() {} },
  );
  const quiet = async (): Promise<void> => {
    await settle();
    for (let turns = 0; turns < 20 && clock.fireNext(); turns += 1) await settle();
  };
  const answers = (eniId: string) => parseAnswers(JSON.parse(disk.get('answers')?.get(eniId) ?? 'null'));
  return { intents, writes, faults, quiet, answers, ids: () => [...(disk.get('intents')?.keys() ?? [])].sort() };
}

t.test('intents: an open one is on disk, a closed one is gone soon after', async (t) => {
  const { intents, ids, quiet } = rig();
  const intent = of('eni-1', 0);
  await intents.open(intent);
  t.strictSame(ids(), ['eni-1']);
  t.equal(intents.of('eni-1'), intent);
  intents.close(intent);
  t.equal(intents.of('eni-1'), null);
  await quiet();
  t.strictSame(ids(), []);
});

t.test('intents: closing costs no write of its own when another intent follows at once', async (t) => {
  const { intents, ids, quiet, writes } = rig();
  const assigned = of('eni-1', 0);
  await intents.open(assigned);
  intents.close(assigned);
  await intents.open(of('eni-2', 1));
  await quiet();
  t.strictSame(ids(), ['eni-2']);
  t.equal(writes.length, 2);
});

t.test('intents: the next one of an actor takes the place of the one before in one batch', async (t) => {
  const { intents, ids, writes } = rig();
  await intents.open(of('token-1', 4));
  await intents.open(of('eni-1', 4));
  t.strictSame(ids(), ['eni-1']);
  t.equal(writes.length, 2, 'at no time is there none');
  t.equal(intents.of('token-1'), null);
});

t.test('intents: a call whose intent cannot be written is not to be made, and nothing is forgotten', async (t) => {
  const { intents, ids, faults, quiet } = rig();
  const before = of('eni-1', 0);
  await intents.open(before);
  faults.next = 1;
  await t.rejects(intents.open(of('eni-1', 0, 'delete')), { code: 'store' });
  t.equal(intents.of('eni-1'), before, 'the one before still counts');
  intents.close(before);
  faults.next = 1;
  await quiet();
  t.strictSame(ids(), [], 'a deletion that failed is made later');
});

t.test('intents: one that was opened again is not deleted by the close of the one before', async (t) => {
  const { intents, ids, faults, quiet } = rig();
  const first = of('eni-1', 0);
  await intents.open(first);
  intents.close(first);
  faults.next = 1;
  await intents.flush();
  const second = of('eni-1', 0, 'delete');
  await intents.open(second);
  intents.close(first);
  await quiet();
  t.strictSame(ids(), ['eni-1']);
  t.equal(intents.of('eni-1'), second);
});

t.test(
  'intents: those of an earlier life are known, and a slot that happens to be theirs closes nothing',
  async (t) => {
    const { intents, ids, quiet } = rig();
    const earlier = of('eni-9', 0);
    await intents.open(earlier);
    const later = rig();
    later.intents.adopt([earlier]);
    await later.intents.open(of('eni-1', 0));
    t.equal(later.intents.of('eni-9'), earlier);
    t.equal(later.intents.size, 2);
    intents.close(earlier);
    await quiet();
    t.strictSame(ids(), []);
  },
);

t.test('intents: what an answer said takes the intent’s place on the disk, and goes when it is old', async (t) => {
  const { intents, ids, answers, quiet, writes, faults } = rig();
  const assign = (eniId: string, slot: number, atMs: number): Intent & { readonly eniId: string } => ({
    ...{ version: 1, id: eniId, slot, atMs, kind: 'assign', eniId },
    ...{ ipv4Count: 1, clientToken: `token-${atMs}` },
  });
  const first = assign('eni-1', 0, 0);
  await intents.open(first);
  intents.answered(first, ['192.0.2.1'], true, 10, 5_000);
  await intents.open(assign('eni-1', 0, 20));
  t.strictSame(answers('eni-1'), [{ ip: '192.0.2.1', there: true, untilMs: 5_000 }], 'it rides with the next intent');
  t.equal(writes.length, 2);

  const second = intents.of('eni-1') as typeof first;
  faults.next = 1;
  intents.answered(second, ['192.0.2.2'], false, 30, 5_020);
  await quiet();
  t.strictSame(
    answers('eni-1').map(({ ip }) => ip),
    ['192.0.2.1', '192.0.2.2'],
    'a write that failed is made later',
  );
  t.strictSame(ids(), []);

  const other = assign('eni-2', 1, 9_000);
  await intents.open(other);
  intents.answered(other, ['192.0.2.3'], true, 9_100, 14_000);
  await quiet();
  t.strictSame(answers('eni-1'), [], 'what is old goes with the next');
  t.strictSame(
    answers('eni-2').map(({ ip }) => ip),
    ['192.0.2.3'],
  );
});

t.test('intents: an Unassign stays beside what is begun next, and goes with its ENI', async (t) => {
  const { intents, ids } = rig();
  const id = takingId('eni-1');
  const unassign: Intent = { version: 1, id, slot: 0, atMs: 0, kind: 'unassign', eniId: 'eni-1', ips: ['192.0.2.1'] };
  await intents.open(unassign);
  t.equal(intents.taking('eni-1'), unassign);
  await intents.open({
    ...{ version: 1, id: 'eni-1', slot: 0, atMs: 1, kind: 'assign', eniId: 'eni-1' },
    ...{ ipv4Count: 1, clientToken: 'token' },
  });
  t.strictSame(ids(), ['eni-1', id], 'neither takes the place of the other');
  await intents.open(of('eni-1', 0, 'detach'));
  t.strictSame(ids(), ['eni-1']);
  t.equal(intents.taking('eni-1'), null);
});

t.test('intents: who looked before sees that one was begun, or has ended, since', async (t) => {
  const { intents, quiet } = rig();
  const [one, other] = [of('eni-1', 0), of('eni-2', 1)];
  const before = intents.changes;
  const opening = intents.open(one);
  t.not(intents.changes, before, 'before it is on disk');
  await opening;
  const begun = intents.changes;
  intents.close(other);
  t.equal(intents.changes, begun, 'one that was not open says nothing');
  intents.close(one);
  t.not(intents.changes, begun, 'before it is off the disk');
  const over = intents.changes;
  await quiet();
  t.equal(intents.changes, over);
});
