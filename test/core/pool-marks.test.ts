import t from 'tap';
import { isWarm, type MarkView, marksOf, type PoolMarks, poolBounds } from '../../src/core/pool-marks.ts';

const marks = (more: Partial<PoolMarks> = {}): PoolMarks => ({
  minIdle: 2,
  maxIdle: 8,
  minEnis: 0,
  warmUpSize: 0,
  ...more,
});
const view = (more: Partial<MarkView> = {}): MarkView => ({
  capacity: 12,
  ipv4PerEni: 6,
  held: 0,
  warming: false,
  demand: null,
  ...more,
});

t.test('poolMarks: they are made such as can be held', async (t) => {
  const table: [number, number, number, number, number][] = [
    [0, 0, 12, 0, 0],
    [3, 5, 12, 3, 5],
    [5, 3, 12, 3, 3],
    [20, 50, 12, 12, 12],
    [-1, 5, 12, 0, 5],
    [-5, -1, 12, 0, 0],
    [3, 5, 0, 0, 0],
  ];
  for (const [min, max, capacity, minIdle, maxIdle] of table)
    t.same(poolBounds(min, max, capacity), { minIdle, maxIdle }, `${min}..${max} of ${capacity}`);
});

t.test('poolMarks: what makes the low mark is said', async (t) => {
  const table: [Partial<PoolMarks>, Partial<MarkView>, number, RegExp][] = [
    [{}, {}, 2, /^min_pool_size$/],
    [{ minIdle: 9 }, {}, 8, /^min_pool_size; lowered from 9 to max_pool_size, 8$/],
    [{ minIdle: 9, maxIdle: 50 }, { capacity: 6 }, 6, /lowered from 9 to the capacity of 6$/],
    [{ minEnis: 1 }, {}, 6, /^min_eni: 1 ENIs with 6 addresses each$/],
    [{ minEnis: 1, minIdle: 7 }, {}, 6, /^min_eni/],
    [{ minEnis: 2 }, {}, 8, /^min_eni.*lowered from 12/],
    [{}, { demand: 4.4 }, 4, /^adaptive_pool: about 4 addresses a period lately$/],
    [{}, { demand: 1 }, 2, /^min_pool_size$/],
    [{}, { demand: 30 }, 8, /^adaptive_pool.*lowered from 30 to max_pool_size/],
    [{ warmUpSize: 7 }, { warming: true, held: 2 }, 5, /^ip_warm_up_size: not at 7 addresses yet$/],
    [{ warmUpSize: 7 }, { warming: true, held: 9 }, 2, /^min_pool_size$/],
    [{ warmUpSize: 7 }, { held: 0 }, 2, /^min_pool_size$/],
  ];
  for (const [change, seen, low, why] of table) {
    const { minIdle, why: said } = marksOf(marks(change), view(seen));
    t.equal(minIdle, low, JSON.stringify([change, seen]));
    t.match(said, why);
  }
});

t.test('poolMarks: the warm-up ends when the node has had it, or as much of it as may stay', async (t) => {
  const seen = { held: 1, idle: 2, cooling: 0, capacity: 12 };
  t.notOk(isWarm(marks({ warmUpSize: 5 }), seen));
  t.ok(isWarm(marks({ warmUpSize: 5 }), { ...seen, cooling: 2 }));
  t.ok(isWarm(marks({ warmUpSize: 50 }), { ...seen, idle: 8 }), 'more would be given back at once');
  t.ok(isWarm(marks({ warmUpSize: 50, maxIdle: 50 }), { ...seen, idle: 12 }));
  t.ok(
    isWarm(marks({ warmUpSize: 5, maxIdle: 0 }), { ...seen, idle: 0 }),
    'with nothing to keep there is nothing to warm',
  );
});
