import t from 'tap';
import { durationMs } from '../../src/core/duration.ts';

t.test('durations: as Go reads them', async (t) => {
  for (const [text, ms] of [
    ['0', 0],
    ['0s', 0],
    ['30s', 30_000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['2h45m', 9_900_000],
    ['1000us', 1],
    ['1000µs', 1],
    ['1000000ns', 1],
  ] as const)
    t.equal(durationMs(text), ms, text);
  for (const text of ['', '5', '1 s', '-1s', 's', '1d', '1h30', 'ten', '.s', '1e3s', ' 1s'])
    t.equal(durationMs(text), null, text);
});
