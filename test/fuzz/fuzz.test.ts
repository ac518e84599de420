/** A short run over all decoders, the kept corpus first: what was found once is not found again. The long one is `npm run fuzz`. */
// bundle: no, since coverage is told by source.
import t from 'tap';
import { corpusOf } from './corpus.ts';
import { Coverage } from './coverage.ts';
import { fuzz, whatIsWrong } from './fuzz.ts';
import { mutated, randomFrom } from './mutate.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';

const SHORT_MS = 3_000;

t.test(
  'fuzz: no input makes a decoder fail otherwise than it says, hang, or change what all objects have',
  async (t) => {
    const random = randomFrom(7);
    for (const target of targets) {
      const untilMs = performance.now() + SHORT_MS / targets.length;
      const { inputs, findings } = await fuzz(target, corpusOf(target.name), { random, untilMs, coverage: null });
      t.ok(inputs > target.seeds.length, `${target.name}: ${inputs} inputs`);
      t.strictSame(
        findings.map(({ what, data }) => `${what}\n${data.toString('base64')}`),
        [],
        target.name,
      );
    }
  },
);

t.test(
  'fuzz: every seed is read to its end by its own target, so that mutations begin behind the first check',
  async (t) => {
    for (const target of targets)
      if (!target.name.startsWith('netlink-'))
        for (const seed of target.seeds) await t.resolves(async () => target.run(Buffer.from(seed)), target.name);
  },
);

const planted = (run: Target['run']): Target => ({
  name: 'planted',
  about: '',
  seeds: [Buffer.from('{"a":1}')],
  run,
  expected: () => false,
});

t.test('fuzz: a planted fault of each kind is found', async (t) => {
  const random = randomFrom(1);
  const deep = planted((data) => {
    if (data.includes('__proto__')) throw new TypeError('planted');
  });
  const { findings, inputs } = await fuzz(deep, [], { random, untilMs: performance.now() + 10_000, coverage: null });
  t.match(findings[0], { target: 'planted', what: /TypeError: planted/ }, `after ${inputs} inputs`);
  const polluting = planted(() => {
    Object.defineProperty(Object.prototype, 'polluted', { value: 1, configurable: true });
  });
  t.teardown(() => Reflect.deleteProperty(Object.prototype, 'polluted'));
  t.match(await whatIsWrong(polluting, Buffer.alloc(0)), /another property/);
});

t.test('fuzz: the same seed makes the same inputs, and coverage tells new code from old', async (t) => {
  const inputs = () => {
    const random = randomFrom(3);
    return Array.from({ length: 50 }, () => mutated([Buffer.from('{"a":[1,2]}')], random).toString('base64'));
  };
  t.strictSame(inputs(), inputs());
  const coverage = new Coverage();
  t.teardown(() => coverage.close());
  coverage.fresh();
  const [target] = targets;
  if (target === undefined) throw new Error('a target');
  await whatIsWrong(target, target.seeds[0] ?? Buffer.alloc(0));
  t.ok(coverage.fresh() > 0);
  await whatIsWrong(target, target.seeds[0] ?? Buffer.alloc(0));
  t.equal(coverage.fresh(), 0);
});
