import t from 'tap';
import { rateLimit } from '../../../src/adapters/ecs/rate-limit.ts';

t.test('rate: the burst is free, then each waits its turn in order', async (t) => {
  let nowMs = 1_000;
  const limit = rateLimit({ Api: 1_200 }, () => nowMs); // one in 50 ms
  const { signal } = new AbortController();
  for (let n = 0; n < 1_200; n += 1) await limit.take('Api', signal);
  const order: number[] = [];
  const startMs = performance.now();
  await Promise.all([1, 2, 3].map(async (n) => limit.take('Api', signal).then(() => order.push(n))));
  t.strictSame(order, [1, 2, 3]);
  t.ok(performance.now() - startMs >= 145, 'three turns of 50 ms');
  nowMs += 60_000;
  await limit.take('Api', signal);
});

t.test('rate: giving up a turn gives it back; APIs do not share', async (t) => {
  const limit = rateLimit({ Api: 1 }, () => 0);
  await limit.take('Api', new AbortController().signal);
  const controller = new AbortController();
  const waiting = limit.take('Api', controller.signal);
  controller.abort();
  await t.rejects(waiting, { code: 'cancelled' });
  await t.rejects(limit.take('Api', AbortSignal.abort()), { code: 'cancelled' });
  await limit.take('Other', new AbortController().signal);
});
