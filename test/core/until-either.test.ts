import { getEventListeners } from 'node:events';
import t from 'tap';
import { untilEither } from '../../src/core/until-either.ts';

const reasonOf = async (signals: readonly [AbortSignal, AbortSignal]): Promise<unknown> =>
  untilEither(
    signals,
    (either) =>
      new Promise((_, reject) => {
        const fired = (): void => reject(either.reason);
        if (either.aborted) fired();
        either.addEventListener('abort', fired);
      }),
  ).catch((reason: unknown) => reason);

t.test('until either: it fires with the first of the two, also one that has fired before', async (t) => {
  for (const nth of [0, 1]) {
    const both = [new AbortController(), new AbortController()] as const;
    const signals = [both[0].signal, both[1].signal] as const;
    const reason = reasonOf(signals);
    both[nth === 0 ? 0 : 1].abort(`by ${nth}`);
    both[nth === 0 ? 1 : 0].abort('too late');
    t.equal(await reason, `by ${nth}`);
    t.match(await reasonOf([AbortSignal.abort('long ago'), new AbortController().signal]), 'long ago');
    t.match(await reasonOf([new AbortController().signal, AbortSignal.abort('long ago')]), 'long ago');
  }
});

t.test('until either: nothing of the work stays with the signals, however it went', async (t) => {
  const [one, other] = [new AbortController().signal, new AbortController().signal];
  const during = await untilEither([one, other], async () =>
    [one, other].map((signal) => getEventListeners(signal, 'abort').length),
  );
  t.strictSame(during, [1, 1]);
  await t.rejects(
    untilEither([one, other], () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  await t.rejects(
    untilEither([one, other], () => {
      throw new Error('at once');
    }),
    { message: 'at once' },
  );
  t.strictSame(
    [one, other].map((signal) => getEventListeners(signal, 'abort').length),
    [0, 0],
  );
});
