import { setMaxListeners } from 'node:events';
import t from 'tap';
import {
  type CredentialsOptions,
  RenewingCredentials,
} from '../../../src/adapters/credentials/renewing-credentials.ts';
import type { CredentialSource } from '../../../src/adapters/credentials/source.ts';
import { AccessKey } from '../../../src/ports/credentials.ts';
import { settle, VirtualClock } from '../../../src/simulation/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;
setMaxListeners(0, never);

/** Gives keys that live six hours of virtual time; fails while `failing`; answers when `let go` if it holds. */
function scene(changed: Partial<CredentialsOptions> = {}, lifeMs: number | null = 6 * HOUR_MS) {
  const clock = new VirtualClock(1_000_000);
  const giver = { asked: 0, failing: '', held: false, same: false, goOn: [] as (() => void)[], there: true };
  let key: AccessKey | null = null;
  const source: CredentialSource = {
    name: 'ramRole',
    from: 'RAM role test',
    lookAgainMs: null,
    isThere: async () => giver.there,
    async obtain() {
      giver.asked += 1;
      if (giver.held) await new Promise<void>((resolve) => giver.goOn.push(resolve));
      if (giver.failing !== '') throw new Error(giver.failing);
      if (giver.same && key !== null) return key;
      const untilMs = lifeMs === null ? {} : { untilMs: clock.nowMs() + lifeMs };
      key = new AccessKey({ accessKeyId: `STS.${giver.asked}`, accessKeySecret: 's', securityToken: 't', ...untilMs });
      return key;
    },
  };
  const news: string[] = [];
  const credentials = new RenewingCredentials({
    sources: [source],
    clock,
    entropy: { fraction: () => 0.5 },
    told: ({ what }) => news.push(what),
    ...changed,
  });
  const ask = async () => (await credentials.current(never)).accessKeyId;
  const pass = (ms: number) => clock.jumpTo(clock.nowMs() + ms);
  return { credentials, giver, source, clock, news, ask, pass };
}

t.test(
  'credentials: all who ask at once wait for one renewal, and it serves until the last part of its life',
  async (t) => {
    const { ask, giver, pass, credentials } = scene();
    giver.held = true;
    const asked = Promise.all(Array.from({ length: 50 }, ask));
    await settle();
    t.equal(giver.asked, 1, 'single flight');
    giver.held = false;
    for (const goOn of giver.goOn) goOn();
    t.strictSame(new Set(await asked), new Set(['STS.1']));
    pass(5.5 * HOUR_MS);
    t.equal(await ask(), 'STS.1');
    t.equal(giver.asked, 1, 'half an hour before the end there is nothing newer yet');
    pass(11 * 60_000);
    t.equal(await ask(), 'STS.1', 'nobody waits while the old ones live');
    await settle();
    t.equal(giver.asked, 2);
    t.equal(await ask(), 'STS.2');
    t.match(credentials.report(), { source: 'ramRole', from: 'RAM role test', failure: null });
  },
);

t.test('credentials: when they are renewed is spread by chance', async (t) => {
  const renewedAt = async (fraction: number): Promise<number> => {
    const { ask, giver, pass, clock } = scene({ entropy: { fraction: () => fraction } });
    await ask();
    const startMs = clock.nowMs();
    while (giver.asked < 2) {
      pass(10_000);
      await ask();
      await settle();
    }
    return startMs + 6 * HOUR_MS - clock.nowMs();
  };
  const [early, late] = [await renewedAt(0), await renewedAt(0.999)];
  t.ok(early <= 25 * 60_000 && early > 24 * 60_000, `${early}`);
  t.ok(late >= 14 * 60_000 && late < 16 * 60_000, `${late}`);
});

t.test(
  'credentials: a giver that fails is asked ever more seldom, the old ones serve, and their end is told',
  async (t) => {
    const { ask, giver, pass, credentials, news, clock } = scene();
    await ask();
    giver.failing = 'HTTP 500';
    pass(5.7 * HOUR_MS);
    const untilMs = credentials.report().untilMs ?? 0;
    while (clock.nowMs() < untilMs - 10_000) {
      t.equal(await ask(), 'STS.1');
      await settle();
      pass(1_000);
    }
    t.ok(giver.asked > 10 && giver.asked < 50, `asked ${giver.asked} times in 18 minutes of a call a second`);
    t.match(credentials.report().failure, { why: /RAM role test: HTTP 500/ });
    pass(70_000);
    await t.rejects(credentials.current(never), { code: 'credentials', message: /RAM role test: HTTP 500/ });
    const before = giver.asked;
    await t.rejects(credentials.current(never), { code: 'credentials' });
    t.equal(giver.asked, before, 'nor is it asked by each call when there are none');
    t.strictSame(news, ['renewed', 'failed'], 'told once');
    giver.failing = '';
    pass(60_000);
    t.equal(await ask(), `STS.${giver.asked}`);
    t.equal(credentials.report().failure, null);
  },
);

t.test('credentials: what the cloud refuses is renewed at once, by one for all', async (t) => {
  const { ask, giver, credentials } = scene();
  const key = await credentials.current(never);
  credentials.refused(key);
  credentials.refused(key);
  t.strictSame(await Promise.all([ask(), ask(), ask()]), ['STS.2', 'STS.2', 'STS.2']);
  t.equal(giver.asked, 2);
  credentials.refused(key);
  t.equal(await ask(), 'STS.2', 'a late word about an earlier key is about nothing');
});

t.test(
  'credentials: a giver that has no others is not asked by each call, and the cloud’s own word stays to be told',
  async (t) => {
    const { credentials, giver, pass, ask } = scene();
    const key = await credentials.current(never);
    giver.same = true;
    for (let call = 0; call < 20; call += 1) {
      credentials.refused(key);
      t.equal(await ask(), 'STS.1');
    }
    t.equal(giver.asked, 2);
    t.match(credentials.report().failure, { why: /still has the ones that the cloud refuses/ });
    giver.same = false;
    pass(61_000);
    t.equal(await ask(), 'STS.3');
    t.equal(credentials.report().failure, null);
  },
);

t.test('credentials: what ends before it comes is tried, since the cloud’s clock counts', async (t) => {
  const { ask, giver, pass } = scene({}, -60_000);
  t.equal(await ask(), 'STS.1');
  t.equal(await ask(), 'STS.1');
  await settle();
  t.ok(giver.asked <= 2);
  pass(90_000);
  await ask();
  await settle();
  t.ok(giver.asked >= 2, 'and others are asked for soon');
});

t.test(
  'credentials: the first source that is configured is taken, and its failure is not covered by the next',
  async (t) => {
    const first = scene();
    const { credentials, giver } = scene({ sources: [first.source, scene().source] });
    first.giver.failing = 'disk error';
    await t.rejects(credentials.current(never), { message: /RAM role test: disk error/ });
    t.equal(giver.asked, 0);
    const none = scene();
    none.giver.there = false;
    await t.rejects(none.credentials.current(never), { message: /none is configured; looked for: RAM role test/ });
  },
);

t.test('credentials: a machine’s clock that is set back ends the rest after a failure', async (t) => {
  let nowMs = 10 * HOUR_MS;
  const { ask, giver } = scene({ clock: { nowMs: () => nowMs } });
  giver.failing = 'not there yet';
  await t.rejects(ask(), { message: /not there yet/ });
  giver.failing = '';
  await t.rejects(ask(), { message: /not there yet/ }, 'it is not asked at every call');
  nowMs -= 8 * HOUR_MS;
  t.equal(await ask(), 'STS.2');
});

t.test('credentials: a caller that gives up ends nobody’s renewal', async (t) => {
  const { credentials, giver } = scene();
  giver.held = true;
  const controller = new AbortController();
  const waiting = credentials.current(controller.signal);
  const other = credentials.current(never);
  controller.abort();
  await t.rejects(waiting, { code: 'cancelled' });
  await settle();
  for (const goOn of giver.goOn) goOn();
  t.equal((await other).accessKeyId, 'STS.1');
});

t.test('credentials: a key shows neither secret nor token', async (t) => {
  const key = new AccessKey({ accessKeyId: 'LTAI-0123456789', accessKeySecret: 'TOPSECRET', securityToken: 'TOKEN' });
  const { inspect } = await import('node:util');
  for (const text of [JSON.stringify({ key }), inspect(key, { showHidden: true, depth: 9 }), String(key)])
    t.notMatch(text, /TOPSECRET|TOKEN/);
  t.notMatch(JSON.stringify(key), /0123456789/);
});
