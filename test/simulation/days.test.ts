/** Worlds of days: `npm run simulate -- --days 30` has the long form. */
import t from 'tap';
import { grown } from '../../src/simulation/growth.ts';
import { Issuers } from '../../src/simulation/lifetimes.ts';
import { runDays } from '../../src/simulation/long-run.ts';

const HOUR_MS = 3_600_000;
const lifetimes = { keyMs: 6 * HOUR_MS, accountTokenMs: HOUR_MS };

t.test('days: keys and tokens end and are renewed, nothing grows, and it all agrees in the end', async (t) => {
  const { violation, seed, steps, crashes, pods, given, grown } = await runDays(14, 2);
  t.equal(violation, null, `seed ${seed}, ${steps} steps: ${violation?.what ?? given}`);
  t.strictSame(grown, []);
  t.ok(pods > 20 && crashes > 0, `${pods} pods, ${crashes} starts anew`);
  t.match(given, /^[4-9]\d keys .* 1\d metadataTokens .* [5-9]\d accountTokens/);
});

t.test(
  'days: what is shown after its end is a violation, what was taken back or could not be renewed is none',
  async (t) => {
    let nowMs = 0;
    const found: string[] = [];
    const issuers = new Issuers(
      lifetimes,
      () => nowMs,
      (invariant, what) => found.push(`${invariant}: ${what}`),
    );
    const { id, endMs } = issuers.key('i-1');
    t.ok(issuers.opens('key', id, 'i-1'));
    nowMs = endMs - 20 * 60_000;
    t.not(issuers.key('i-1').id, id, 'half an hour before the end there is another one');
    t.ok(issuers.opens('key', id, 'i-1'), 'and both open');
    const { id: second } = issuers.key('i-1');
    issuers.takeBack('key', 'i-1');
    t.notOk(issuers.opens('key', second, 'i-1'));
    const token = issuers.accountToken('i-1');
    issuers.kubeletSleeps('i-1', 2 * HOUR_MS);
    nowMs += 1.5 * HOUR_MS;
    t.equal(issuers.accountToken('i-1'), token);
    t.notOk(issuers.opens('accountToken', token, 'i-1'));
    t.strictSame(found, []);
    t.notOk(issuers.opens('metadataToken', 'made up', 'i-1'));
    const session = issuers.metadataToken('i-1', 1_000);
    nowMs += 1_000;
    t.notOk(issuers.opens('metadataToken', session, 'i-1'));
    t.match(found, [/credentials: i-1 shows a metadataToken that nobody gave out/, /ended 0 ms ago/]);
  },
);

t.test(
  'days: what is more at the emptiest hour of the last days than at the fullest of the first ones has grown',
  async (t) => {
    const looks = (last: number) => [90, 10, 40, 120, 20, 60, last, last + 50, last + 10].map((leases) => ({ leases }));
    t.strictSame(grown(looks(100)), []);
    t.match(grown(looks(200)), [/^leases: at most 90 in the first days, at least 200/]);
  },
);
