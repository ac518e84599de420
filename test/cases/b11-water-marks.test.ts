/**
 * B11: warming took addresses from the idle set itself and never ended, or ran past the limits; a minimum was ignored unless another
 * option was set; zero was read as "not set"; growing and shrinking disagreed, so that the pool allocated and released for ever.
 */
import t from 'tap';
import { parseConfig } from '../../src/core/config.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, names, rig } from './rig.ts';

const PERIODS = 5;
const PODS = 4;

type Marks = { readonly min_pool_size?: number; readonly max_pool_size?: number };
/** What the node must hold in the end: the high mark wins over the low one, and what is not given is 0. */
const configurations: readonly (Marks & { readonly low: number; readonly high: number; readonly note?: string })[] = [
  { min_pool_size: 0, max_pool_size: 0, low: 0, high: 0 },
  { min_pool_size: 0, max_pool_size: 3, low: 0, high: 3 },
  { min_pool_size: 3, max_pool_size: 3, low: 3, high: 3 },
  { min_pool_size: 5, max_pool_size: 2, low: 2, high: 2, note: 'lowered from 5 to max_pool_size, 2' },
  { min_pool_size: CAPACITY, max_pool_size: CAPACITY, low: CAPACITY, high: CAPACITY },
  { min_pool_size: CAPACITY + 5, max_pool_size: CAPACITY + 5, low: CAPACITY, high: CAPACITY },
  { min_pool_size: 4, low: 0, high: 0, note: 'lowered from 4 to max_pool_size, 0' },
  { max_pool_size: 4, low: 0, high: 4 },
];

t.jobs = configurations.length;

for (const { low, high, note, ...marks } of configurations) {
  t.test(`B11: ${JSON.stringify(marks)}`, { buffered: true }, async (t) => {
    const keys = { access_key: 'k', access_secret: 's', ...marks };
    const { settings, notes } = parseConfig(JSON.stringify(keys), 'node-1');
    if (note === undefined) t.strictSame(notes, []);
    else t.strictSame(notes, [{ key: 'min_pool_size', why: note }], 'what was corrected is said at start');
    const { minIdle, maxIdle } = settings;
    const lab = await rig(t, { settings: { minIdle, maxIdle } });
    const untouched = watchForeign(lab);
    const within = (used: number, comment: string): void => {
      const { idle, bound } = lab.counts();
      t.equal(bound, used);
      t.ok(idle >= Math.min(low, CAPACITY - used), `${comment}: ${idle} idle, the low mark is ${low}`);
      t.ok(idle <= Math.min(high, CAPACITY - used), `${comment}: ${idle} idle, the high mark is ${high}`);
    };
    await checkRest(t, lab, 'no pods', PERIODS);
    t.equal(lab.counts().idle, low, 'filled to the low mark and no further');
    if (low === 0) t.strictSame(lab.mutations(), [], 'zero means zero');
    within(0, 'no pods');
    await lab.adds(names('pod', PODS));
    await checkRest(t, lab, 'four pods', PERIODS);
    within(PODS, 'four pods');
    for (const name of names('pod', PODS)) await lab.del(name);
    await checkRest(t, lab, 'pods gone', PERIODS);
    within(0, 'pods gone');
    untouched(t);
  });
}
