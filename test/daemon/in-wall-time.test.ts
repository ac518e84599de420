import t from 'tap';
import { inWallTime, toldInWallTime } from '../../src/daemon/in-wall-time.ts';
import type { Introspection, NodeReport } from '../../src/ports/introspection.ts';

const NOW_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

t.test(
  'wall time: instants go back by what the daemon’s clock is ahead; durations, counts and texts stay',
  async (t) => {
    const told = {
      sinceMs: NOW_MS,
      tookMs: 40,
      bytes: NOW_MS,
      none: null,
      text: 'atMs',
      list: [{ untilMs: NOW_MS }, 3],
    };
    t.strictSame(inWallTime(told, HOUR_MS), {
      ...told,
      sinceMs: NOW_MS - HOUR_MS,
      list: [{ untilMs: NOW_MS - HOUR_MS }, 3],
    });
    t.equal(inWallTime(told, 3), told, 'a rounding changes nothing');
  },
);

t.test('wall time: the ends of keys are the cloud’s, and are told as they are', async (t) => {
  const credentials = { untilMs: NOW_MS };
  const report = { cloud: { credentials, api: { answeredMs: NOW_MS } } } as unknown as NodeReport;
  const introspection = { report: () => report } as Introspection;
  const { cloud } = toldInWallTime(introspection, () => -HOUR_MS).report();
  t.equal(cloud?.credentials.untilMs, NOW_MS);
  t.equal(cloud?.api?.answeredMs, NOW_MS + HOUR_MS);
});
