import t from 'tap';
import { steadyClock } from '../../../src/adapters/clock/steady-clock.ts';

t.test('clock: goes on as it began when the machine’s is set, and tells by how much it is ahead of it', async (t) => {
  let [wallMs, sinceStartMs] = [1_700_000_000_000, 250.75];
  const clock = steadyClock({ wallMs: () => wallMs, sinceStartMs: () => sinceStartMs });
  t.equal(clock.nowMs(), wallMs);
  sinceStartMs += 1_000.5;
  wallMs += 1_000 - 8 * 3_600_000;
  t.equal(clock.nowMs(), 1_700_000_001_000, 'in whole milliseconds');
  t.equal(clock.aheadMs(), 8 * 3_600_000);
  wallMs += 24 * 3_600_000;
  t.equal(clock.nowMs(), 1_700_000_001_000, 'ahead or back');
  t.equal(clock.aheadMs(), -16 * 3_600_000);
});
