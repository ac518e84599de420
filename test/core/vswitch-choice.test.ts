import t from 'tap';
import { fractionAt } from '../../src/core/chance.ts';
import { chooseVSwitch, type VSwitchChoice } from '../../src/core/vswitch-choice.ts';

const ids = ['a', 'b', 'c'];
const choose = (more: Partial<VSwitchChoice>, count = 5, from: readonly string[] = ids) =>
  chooseVSwitch(from, count, { policy: 'listed', seed: 0, nth: 0, free: {}, ...more });

t.test(
  'vSwitchChoice: listed takes the first, ordered the one with most left, both only as far as is known',
  async (t) => {
    t.equal(choose({}), 'a');
    t.equal(choose({ policy: 'ordered' }), 'a', 'with nothing known the list decides');
    const free = { a: 6, b: 90, c: 20 };
    t.equal(choose({ free }), 'a');
    t.equal(choose({ policy: 'ordered', free }), 'b');
    t.equal(choose({ policy: 'ordered', free: { a: 7, b: 7, c: 7 } }), 'a', 'and so it does among equals');
  },
);

t.test(
  'vSwitchChoice: one that seems too small comes last under every policy, and is taken all the same',
  async (t) => {
    for (const policy of ['listed', 'ordered', 'random'] as const) {
      t.equal(choose({ policy, free: { a: 4, b: 0, c: 20 } }), 'c', policy);
      t.equal(choose({ policy, free: { a: 0, b: 3, c: 1 } }), 'b', `${policy}: none is large enough`);
      t.equal(choose({ policy, free: { a: 0 } }, 5, ['a']), 'a', `${policy}: a hint is no verdict`);
      t.equal(choose({ policy }, 5, []), undefined, policy);
    }
  },
);

t.test('vSwitchChoice: random is fair, and the same for the same seed', async (t) => {
  const counts = new Map<string, number>();
  for (let nth = 0; nth < 3_000; nth += 1) {
    const one = choose({ policy: 'random', seed: 0.123, nth }) ?? '';
    t.equal(one, choose({ policy: 'random', seed: 0.123, nth }) ?? 'none');
    counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  for (const id of ids) t.ok(Math.abs((counts.get(id) ?? 0) - 1_000) < 120, `${id}: ${counts.get(id)} of 3,000`);
});

t.test('chance: it stays in its bounds and differs from number to number and seed to seed', async (t) => {
  const seen = new Set<number>();
  for (const seed of [0, 0.1, 0.5, 0.999_999])
    for (let nth = 0; nth < 500; nth += 1) {
      const fraction = fractionAt(seed, nth);
      if (!(fraction >= 0 && fraction < 1)) t.fail(`${seed}, ${nth}: ${fraction}`);
      seen.add(fraction);
    }
  t.ok(seen.size > 1_990, `${seen.size} of 2,000 differ`);
});
