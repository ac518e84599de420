/** The soak for some seconds: `npm run soak` has the long form. */
import '../lab/in-box.ts';

import t from 'tap';
import { cannotWalk } from '../lab/whole-path.ts';
import { churn } from './churn.ts';

t.setTimeout(200_000);
const skip = cannotWalk();

t.test(
  'soak: cloud, store and kernel agree after some seconds of everything, and pods notice nothing',
  { skip },
  async (t) => {
    const seed = Math.floor(Math.random() * 1e9);
    t.comment(`seed ${seed}`);
    const said: string[] = [];
    const { failures, summary } = await churn({ seed, durationMs: 6_000, say: (line) => said.push(line) });
    t.comment(summary);
    t.strictSame(failures, []);
    if (failures.length > 0) t.comment(said.join('\n'));
    t.match(summary, /[1-9]\d* ADDs .* [1-9]\d* DELs/, 'pods came and went');
    t.match(summary, /[1-9]\d* flushes/);
    t.match(summary, /[1-9]\d* pings of pods/);
  },
);
