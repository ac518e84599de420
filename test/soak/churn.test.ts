/** The soak for some seconds: `npm run soak` has the long form. */
import '../lab/in-box.ts';

import t from 'tap';
import { cannotWalk } from '../lab/whole-path.ts';
import { churn } from './churn.ts';

/** A run that fails waits for what does not come, and ends. */
t.setTimeout(400_000);
const skip = cannotWalk();

/** Always the same mixture. What it meets is told by the machine's timing all the same. */
const SEED = 13_230_426;
const DURATION_MS = 5_000;

t.test(
  'soak: cloud, store and kernel agree after some seconds of everything, and pods notice nothing',
  { skip },
  async (t) => {
    t.comment(`seed ${SEED}`);
    const said: string[] = [];
    const { failures, summary } = await churn({ seed: SEED, durationMs: DURATION_MS, say: (line) => said.push(line) });
    t.comment(summary);
    t.strictSame(failures, []);
    if (failures.length > 0) t.comment(said.join('\n'));
    t.match(summary, /[1-9]\d* ADDs .* [1-9]\d* DELs/, 'pods came and went');
    t.match(summary, /[1-9]\d* flushes/);
    t.match(summary, /[1-9]\d* pings of pods/);
  },
);
