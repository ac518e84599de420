import t from 'tap';
import { Life } from '../../src/simulation/life.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';

t.test('virtual clock: timers fire one at a time, by due time and then by their making, and time jumps', async (t) => {
  const clock = new VirtualClock(1_000);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name}@${clock.nowMs()}`);
  clock.after(20, note('b'));
  clock.after(10, note('a'));
  clock.after(20, note('c'));
  const gone = clock.after(15, note('never'));
  clock.cancel(gone);
  t.equal(clock.nextDueMs(), 1_010);
  t.throws(() => clock.jumpTo(1_011), RangeError, 'time never passes a timer by');
  while (clock.fireNext()) await settle();
  t.strictSame(fired, ['a@1010', 'b@1020', 'c@1020']);
  t.equal(clock.nextDueMs(), null);
  clock.jumpTo(5_000);
  t.equal(clock.nowMs(), 5_000);
});

t.test('virtual clock: a thousand timers in any order come out sorted', (t) => {
  const clock = new VirtualClock(0);
  const due = Array.from({ length: 1_000 }, (_, index) => (index * 7_919) % 997);
  const fired: number[] = [];
  const timers = due.map((atMs) => clock.at(atMs, () => fired.push(atMs)));
  const cancelled = timers.filter((_, index) => index % 3 === 0);
  for (const timer of cancelled) clock.cancel(timer);
  while (clock.fireNext());
  const kept = due.filter((_, index) => index % 3 !== 0);
  t.strictSame(
    fired,
    kept.sort((a, b) => a - b),
  );
  t.end();
});

t.test('settle: a long chain of promises is done before the next timer', async (t) => {
  const clock = new VirtualClock(0);
  const log: string[] = [];
  clock.after(10, async () => {
    for (let turn = 0; turn < 1_000; turn += 1) await null;
    log.push('promises of the first');
  });
  clock.after(10, () => log.push('second'));
  while (clock.fireNext()) await settle();
  t.strictSame(log, ['promises of the first', 'second']);
});

t.test('life: after its end timers are dropped and promises stay pending', async (t) => {
  const clock = new VirtualClock(0);
  const life = new Life(1, clock);
  const seen: string[] = [];
  life.timers.setTimeout(() => seen.push('timer'), 10);
  void life.promise<string>((resolve) => void clock.after(10, () => resolve('late'))).then((value) => seen.push(value));
  void life.promise<string>((resolve) => resolve('early')).then((value) => seen.push(value));
  await settle();
  life.end();
  while (clock.fireNext()) await settle();
  t.strictSame(seen, ['early']);
});
