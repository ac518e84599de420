import t from 'tap';
import { batchOf, noReclaim, type ReclaimRules, reclaimAfter, reclaimedOnce } from '../../src/core/reclaim.ts';

const rules: ReclaimRules = { afterMs: 100, intervalMs: 50, batchSize: 5, jitterFactor: 0.1 };

t.test('reclaim: the first turn is an interval after the wait, and whatever moves starts it anew', async (t) => {
  const first = reclaimAfter(noReclaim(0), { turns: 3, spareIdle: 4, nowMs: 10 }, rules, 0.5);
  t.ok(first.dueMs !== null && first.dueMs >= 160 && first.dueMs <= 165, `due at ${first.dueMs}`);
  const same = reclaimAfter(first, { turns: 3, spareIdle: 4, nowMs: 90 }, rules, 0.5);
  t.same(same, first, 'a look alone moves nothing');
  const moved = reclaimAfter(first, { turns: 4, spareIdle: 4, nowMs: 90 }, rules, 0.5);
  t.ok(moved.dueMs !== null && moved.dueMs >= 240 && moved.dueMs <= 245, `due at ${moved.dueMs}`);
  const next = reclaimedOnce(first, 162, rules, 0.5);
  t.ok(next.dueMs !== null && next.dueMs >= 212 && next.dueMs <= 217, `due at ${next.dueMs}`);
});

t.test('reclaim: nothing is due with nothing to take, and never when it is off', async (t) => {
  const due = reclaimAfter(noReclaim(0), { turns: 1, spareIdle: 1, nowMs: 0 }, rules, 0);
  t.equal(reclaimAfter(due, { turns: 1, spareIdle: 0, nowMs: 10 }, rules, 0).dueMs, null);
  const off = { ...rules, afterMs: null };
  t.equal(reclaimAfter(noReclaim(0), { turns: 1, spareIdle: 9, nowMs: 0 }, off, 0).dueMs, null);
  const late = reclaimAfter(noReclaim(0), { turns: 0, spareIdle: 1, nowMs: 500 }, rules, 0);
  t.ok((late.dueMs ?? 0) >= 550, 'a wait that is long over does not make the turn due at once');
});

t.test('reclaim: a batch stops at the low mark', async (t) => {
  const table: [number, number, number][] = [
    [9, 0, 5],
    [3, 0, 3],
    [9, 6, 3],
    [2, 2, 0],
    [-1, 0, 0],
  ];
  for (const [spareIdle, surplus, batch] of table)
    t.equal(
      batchOf(spareIdle, surplus, rules),
      batch,
      `${spareIdle} above the low mark, ${surplus} above the high one`,
    );
});
