import t from 'tap';
import { demandAfter, isMoving, noDemand } from '../../src/core/demand.ts';

const PERIOD = 100;

t.test('demand: the peak is that of a period that is over, and fades by a quarter each', async (t) => {
  let demand = demandAfter(noDemand(0, PERIOD), 8, 50, PERIOD);
  t.equal(demand.peak, 0, 'a burst does not count while it lasts');
  t.ok(isMoving(demand));
  demand = demandAfter(demand, 8, 100, PERIOD);
  t.match(demand, { peak: 8, periodEndMs: 200 });
  demand = demandAfter(demand, 10, 150, PERIOD);
  demand = demandAfter(demand, 11, 200, PERIOD);
  t.equal(demand.peak, 6, 'two were given out in this one; the one at its end belongs to the next');
  demand = demandAfter(demand, 11, 300, PERIOD);
  t.equal(demand.peak, 4.5);
});

t.test('demand: periods in which nobody looked fade alike, and in the end nothing moves any more', async (t) => {
  const busy = demandAfter(noDemand(0, PERIOD), 8, 0, PERIOD);
  let step = busy;
  for (let nowMs = 100; nowMs <= 1_000; nowMs += 100) step = demandAfter(step, 8, nowMs, PERIOD);
  const leap = demandAfter(busy, 8, 1_000, PERIOD);
  t.ok(Math.abs(step.peak - leap.peak) < 1e-9);
  t.equal(step.periodEndMs, leap.periodEndMs);
  t.notOk(isMoving(demandAfter(busy, 8, 2_000, PERIOD)));
});
