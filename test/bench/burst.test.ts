import { test } from 'tap';
import { burst, bursts } from './burst.ts';

/** Create, Attach, and the time until InUse, of the realistic profile; three calls' ways and one sync come on top. */
const CLOUD_MS = 600 + 300 + 3_000;
const ELSE_MS_MAX = 10;

test('burst: the script meets the bound it claims, nobody beats it, and every pod is answered', async (t) => {
  const rows = await burst.run({ rounds: null, profileInto: null, progress: (text) => t.comment(text) });
  const value = (metric: string): number => {
    const row = rows.find((one) => one.metric === metric);
    if (row === undefined) throw new Error(`no row is called ${metric}`);
    return row.value;
  };
  for (const { pods, size } of bursts) {
    t.equal(value(`${pods} pods, mutating calls, script`), 2 * Math.ceil(pods / size.ipv4PerEni));
    const scriptMs = value(`${pods} pods, last answer, script`);
    t.ok(scriptMs >= CLOUD_MS && scriptMs <= CLOUD_MS + ELSE_MS_MAX, `${scriptMs} ms`);
    for (const name of ['enactor', 'original']) {
      t.ok(value(`${pods} pods, last answer, ${name}`) >= scriptMs, `${name} is no faster`);
      t.ok(value(`${pods} pods, mutating calls, ${name}`) >= value(`${pods} pods, mutating calls, script`));
    }
    const original = value(`${pods} pods, last answer, original`);
    t.ok(value(`${pods} pods, last answer, enactor`) <= original, 'enactor is no slower than the original');
  }
  t.equal(rows.filter((row) => row.aim !== null).length, 2 * bursts.length);
  t.same(
    await burst.run({ rounds: null, profileInto: null, progress() {} }),
    rows,
    'virtual time gives the same figures again, on any machine',
  );
});
