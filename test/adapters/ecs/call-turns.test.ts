import { setMaxListeners } from 'node:events';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { CallTurns, type CallTurnsOptions } from '../../../src/adapters/ecs/call-turns.ts';
import { apiRates, type CloudApi } from '../../../src/core/api-rates.ts';
import { CloudError } from '../../../src/ports/cloud.ts';
import { Seeded } from '../../../src/simulation/seeded.ts';
import { VirtualClock } from '../../../src/simulation/virtual-clock.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);

/** A minute lasts as long as it is told; chance is half. */
const turnsOf = (perMinute: number, minuteMs: number, api: CloudApi = 'AssignPrivateIpAddresses') =>
  new CallTurns({ rateLimits: { [api]: perMinute }, minuteMs, fraction: () => 0.5 });

t.test('turns: no minute sees more calls than the limit, for every API', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  let nowMs = 0;
  for (const api of Object.keys(apiRates) as CloudApi[]) {
    const turns = new CallTurns({ rateLimits: { [api]: 120 }, nowMs: () => nowMs, fraction: () => 0.5 });
    const left: number[] = [];
    const all = Array.from({ length: 300 }, () => turns.take({ api, who: '' }, never).then(() => left.push(nowMs)));
    const startMs = nowMs;
    while (left.length < 300) {
      const lateMs = left.length % 7 === 0 ? 700 : 50; // timers are late at times
      nowMs += lateMs;
      mock.timers.tick(lateMs);
      await setImmediate();
    }
    await Promise.all(all);
    const most = Math.max(...left.map((from) => left.filter((at) => at >= from && at < from + 60_000).length));
    // A late timer lets go what has become due meanwhile, but never more than a second's worth at once.
    t.ok(most >= 110 && most <= 122, `${api}: ${most} in one minute`);
    t.ok(nowMs - startMs >= 145_000, 'as long as they need');
  }
});

t.test('turns: a caller with many calls does not keep another’s only one waiting', async (t) => {
  const turns = turnsOf(60, 1_200); // one at once, then one every 20 ms
  const order: string[] = [];
  const go = (who: string) => turns.take({ api: 'AssignPrivateIpAddresses', who }, never).then(() => order.push(who));
  const all = [...Array.from({ length: 6 }, () => go('busy')), go('quiet'), go('other')];
  await Promise.all(all);
  t.ok(order.indexOf('quiet') <= 3 && order.indexOf('other') <= 4, order.join(' '));
});

t.test('turns: who gives up leaves the line; APIs do not share', async (t) => {
  const turns = turnsOf(1, 600_000);
  await turns.take({ api: 'AssignPrivateIpAddresses', who: 'a' }, never);
  const controller = new AbortController();
  const waiting = turns.take({ api: 'AssignPrivateIpAddresses', who: 'a' }, controller.signal);
  controller.abort();
  await t.rejects(waiting, { code: 'cancelled' });
  await t.rejects(turns.take({ api: 'AssignPrivateIpAddresses', who: 'a' }, AbortSignal.abort()), {
    code: 'cancelled',
  });
  await turns.take({ api: 'UnassignPrivateIpAddresses', who: 'a' }, never);
  const end = new AbortController();
  const left = turns.take({ api: 'AssignPrivateIpAddresses', who: 'a' }, end.signal);
  end.abort();
  await t.rejects(left, { code: 'cancelled' });
});

const API = 'DeleteNetworkInterface';
/** Twenty seconds into a minute of the cloud; chance is half. */
function atTwentySeconds() {
  const time = { nowMs: 0 };
  const [nowMs, wallMs] = [() => time.nowMs, () => 600_020_000 - (600_020_000 % 60_000) + 20_000 + time.nowMs];
  const turns = new CallTurns({ rateLimits: {}, nowMs, wallMs, fraction: () => 0.5 });
  const restMs = (): number => turns.resting()[0]?.forMs ?? 0;
  return { time, turns, restMs };
}

t.test('turns: one that was refused rests for what is left of the cloud’s minute and a part of the next', async (t) => {
  const { time, turns, restMs } = atTwentySeconds();
  turns.throttled(API);
  turns.throttled(API);
  t.equal(restMs(), 40_000 + 30_000, 'those under way together are one occasion');
  t.match(turns.resting(), [{ api: API, times: 1 }]);
  time.nowMs += 70_000; // half a minute in
  turns.throttled(API);
  t.ok(
    restMs() > 30_000 + 30_000,
    'refused again it takes a smaller share, and rests for a part of more than a minute',
  );
  t.ok(restMs() <= 30_000 + 60_000);
  time.nowMs += restMs();
  for (let nth = 0; nth < 8; nth += 1) {
    turns.throttled(API);
    t.ok(restMs() <= 5 * 60_000, 'and never for long');
    time.nowMs += restMs();
  }
  turns.done(API, '');
  turns.throttled(API);
  t.match(turns.resting(), [{ times: 1 }], 'an answer begins the count anew');
});

t.test(
  'turns: who was refused takes its share of each minute, more with every answer, and forgets it in time',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const { time, turns, restMs } = atTwentySeconds();
    const goOn = async (ms: number): Promise<void> => {
      time.nowMs += ms;
      mock.timers.tick(ms);
      await setImmediate();
    };
    turns.throttled(API);
    await goOn(restMs());
    const left: number[] = [];
    const go = async (): Promise<void> => {
      await turns.take({ api: API, who: '' }, never);
      left.push(time.nowMs);
      turns.done(API, '');
    };
    const all = Array.from({ length: 5 }, go);
    for (let second = 0; second < 180 && left.length < 5; second += 1) await goOn(1_000);
    await Promise.all(all);
    const gaps = left.slice(1).map((at, nth) => at - (left[nth] ?? 0));
    t.ok((gaps[0] ?? 0) >= 20_000, `about a call a minute at first: ${gaps.join(' ')}`);
    t.ok((gaps.at(-1) ?? 0) < (gaps[0] ?? 0), 'then more');
    await goOn(11 * 60_000);
    const startMs = time.nowMs;
    await Promise.all([
      turns.take({ api: API, who: '' }, never),
      turns.take({ api: API, who: '' }, never),
      turns.take({ api: API, who: '' }, never),
    ]);
    t.equal(time.nowMs, startMs, 'and after a while without a refusal none waits');
  },
);

t.test('turns: nodes that know nothing of one another share what the account has', async (t) => {
  const [nodes, calls, limit] = [100, 3, 50];
  const clock = new VirtualClock(600_000_000);
  const startMs = clock.nowMs();
  const used = new Map<number, number>();
  let [refused, done] = [0, 0];
  for (let nth = 0; nth < nodes; nth += 1) {
    const chance = new Seeded(1, `node ${nth}`);
    const timers = {
      setTimeout: (fire: () => void, ms: number) => clock.after(ms, fire),
      clearTimeout: (timer: unknown) => clock.cancel(timer as ReturnType<VirtualClock['after']>),
    };
    const of = { nowMs: clock.nowMs, wallMs: clock.nowMs, fraction: () => chance.fraction(), timers };
    const turns = new CallTurns({ rateLimits: {}, ...of });
    void (async () => {
      for (let left = calls; left > 0; ) {
        await turns.take({ api: API, who: '' }, new AbortController().signal);
        const minute = Math.floor(clock.nowMs() / 60_000);
        used.set(minute, (used.get(minute) ?? 0) + 1);
        if ((used.get(minute) ?? 0) > limit) {
          refused += 1;
          turns.throttled(API);
        } else {
          turns.done(API, '');
          done += 1;
          left -= 1;
        }
      }
    })();
  }
  for (await setImmediate(); done < nodes * calls; await setImmediate()) if (!clock.fireNext()) break;
  const minutes = (clock.nowMs() - startMs) / 60_000;
  t.equal(done, nodes * calls);
  t.ok(minutes < 14, `done after ${minutes.toFixed(1)} minutes, where six are the least`);
  t.ok(refused < done, `${refused} refused; a client that asks again and again is refused some times as often`);
});

t.test('turns: what is forbidden is answered with the cloud’s word for a while, for that ENI alone', async (t) => {
  let nowMs = 0;
  const turns = new CallTurns({ rateLimits: {}, nowMs: () => nowMs, fraction: () => 0.5 });
  const api = 'UnassignPrivateIpAddresses';
  turns.forbidden(api, 'eni-1', new CloudError('permission', 'Forbidden.RAM, request R-1', 'Forbidden.RAM'));
  await t.rejects(turns.take({ api, who: 'eni-1' }, never), { message: /Forbidden.RAM, request R-1/ });
  await turns.take({ api, who: 'eni-2' }, never);
  await turns.take({ api: 'AssignPrivateIpAddresses', who: 'eni-1' }, never);
  nowMs += 61_000;
  await turns.take({ api, who: 'eni-1' }, never);
  turns.done(api, 'eni-1');
  await turns.take({ api, who: 'eni-1' }, never);
});

/** On virtual time; each node's chance is its own. */
function fleetOf(nodes: number, fleet: number, more: Partial<CallTurnsOptions> = {}) {
  const clock = new VirtualClock(600_000_000);
  const all = Array.from({ length: nodes }, (_, nth) => {
    const chance = new Seeded(1, `fleet ${nth}`);
    const timers = {
      setTimeout: (fire: () => void, ms: number) => clock.after(ms, fire),
      clearTimeout: (timer: unknown) => clock.cancel(timer as ReturnType<VirtualClock['after']>),
    };
    const of = { nowMs: clock.nowMs, wallMs: clock.nowMs, fraction: () => chance.fraction(), timers };
    return new CallTurns({ rateLimits: {}, fleet: () => fleet, ...of, ...more });
  });
  const goOn = async (ms: number): Promise<void> => {
    const endMs = clock.nowMs() + ms;
    for (await setImmediate(); (clock.nextDueMs() ?? endMs) < endMs; await setImmediate()) clock.fireNext();
    clock.jumpTo(endMs);
  };
  const startMs = clock.nowMs();
  const left: number[] = [];
  const note = (): void => void left.push(clock.nowMs() - startMs);
  return { all, clock, goOn, left, note };
}
const LOOK = 'DescribeNetworkInterfaces';

t.test('turns: a fleet that knows its size spreads its first looks over the minutes that it needs', async (t) => {
  const { all, goOn, left, note } = fleetOf(1_000, 1_000);
  // By the instance, and by its tags.
  for (const turns of all) for (const who of ['', '']) void turns.take({ api: LOOK, who }, never).then(note);
  await goOn(160_000);
  t.equal(left.length, 2_000);
  const first = left.filter((ms) => ms < 60_000).length;
  t.ok(first > 700 && first <= 1.05 * apiRates[LOOK], `${first} in the first minute`);
  t.ok(Math.max(...left) <= 150_000);
});

t.test('turns: whose spread looks are refused makes them soon after the others', async (t) => {
  const { all, goOn, left, note } = fleetOf(50, 1_000);
  for (const turns of all) void turns.take({ api: LOOK, who: '' }, never);
  await goOn(180_000);
  for (const turns of all) {
    turns.throttled(LOOK);
    for (const who of ['', '']) void turns.take({ api: LOOK, who }, never).then(note);
  }
  await goOn(600_000);
  const within = (fromMs: number, toMs: number): number => left.filter((ms) => ms >= fromMs && ms < toMs).length;
  t.equal(left.length, 100);
  t.ok(within(240_000, 270_000) >= 50, 'the first of two in the half minute after the one that was used up');
  t.equal(within(240_000, 300_000), 100, 'and the second one in the same minute');
});

t.test('turns: a few nodes wait for nobody, nor does one for which somebody waits', async (t) => {
  const few = fleetOf(20, 20);
  for (const turns of few.all) void turns.take({ api: LOOK, who: '', background: true }, never).then(few.note);
  await few.goOn(1);
  t.equal(few.left.length, 20);
  const many = fleetOf(20, 1_000);
  for (const turns of many.all) void turns.take({ api: LOOK, who: '' }, never).then(many.note);
  await many.goOn(1);
  t.ok(many.left.length < 5);
  for (const turns of many.all) turns.hurry();
  await many.goOn(1);
  t.equal(many.left.length, 20);
});

t.test(
  'turns: what nobody waits for goes last, seldom in a large fleet, and once in ten minutes for all that',
  async (t) => {
    const { all, goOn, left, note } = fleetOf(50, 1_000);
    const looks = async (turns: CallTurns): Promise<void> => {
      for (;;) {
        await turns.take({ api: LOOK, who: '', background: true }, never);
        note();
      }
    };
    for (const turns of all) void looks(turns);
    await goOn(30 * 60_000);
    const share = left.filter((ms) => ms > 10 * 60_000).length / 20;
    // A quarter of 800 for 1,000, so ten for fifty.
    t.ok(share > 7 && share < 13, `${share} a minute`);

    const one = fleetOf(1, 1);
    const [turns] = one.all;
    if (turns === undefined) throw new Error('no node');
    turns.throttled(API);
    void turns.take({ api: LOOK, who: '', background: true }, never).then(one.note);
    await one.goOn(120_000);
    t.equal(one.left.length, 0, 'a refusal, of whatever API, tells that others need the calls more');
    for (let minute = 0; minute < 15; minute += 1) {
      turns.throttled(API);
      await one.goOn(60_000);
    }
    t.equal(one.left.length, 1, 'but not for ever');
    t.ok((one.left[0] ?? 0) >= 9 * 60_000);
  },
);

t.test('turns: addresses that were to be kept idle are had at once when somebody waits', async (t) => {
  const { all, goOn, left, note } = fleetOf(1, 1_000);
  const [turns] = all;
  if (turns === undefined) throw new Error('no node');
  const api = 'AssignPrivateIpAddresses';
  const given = new AbortController();
  void turns.take({ api, who: 'eni-1', background: true }, never).then(note);
  const gone = turns.take({ api, who: 'eni-2', background: true }, given.signal);
  await goOn(10);
  t.equal(left.length, 0);
  given.abort();
  await t.rejects(gone, { code: 'cancelled' });
  turns.hurry();
  await goOn(2_000);
  t.equal(left.length, 1);
});

t.test(
  'turns: a call that had its turn before it was settled what it asks for waits no more, once and soon',
  async (t) => {
    const { all, goOn, left, note } = fleetOf(1, 1);
    const [turns] = all;
    if (turns === undefined) throw new Error('no node');
    const turn = { api: 'CreateNetworkInterface', who: 'vsw-1' } as const;
    const used = apiRates.CreateNetworkInterface;
    // Two of one name are two turns.
    await Promise.all([turns.reserve(turn, never), turns.reserve(turn, never)]);
    for (let calls = 0; calls < used; calls += 1) void turns.take(turn, never).then(note);
    await goOn(1);
    const atOnce = left.length;
    const { all: others, left: theirs, note: noteTheirs, goOn: goOnThere } = fleetOf(1, 1);
    for (let calls = 0; calls < used; calls += 1) void others[0]?.take(turn, never).then(noteTheirs);
    await goOnThere(1);
    t.equal(atOnce, theirs.length, 'the two that were reserved were drawn, and cost nothing again');
    await turns.reserve({ ...turn, api: 'AssignIpv6Addresses' }, never);
    await goOn(6_000);
    for (let calls = 0; calls < used; calls += 1)
      void turns.take({ ...turn, api: 'AssignIpv6Addresses' }, never).then(note);
    const before = left.length;
    await goOn(1);
    t.ok(left.length - before <= apiRates.AssignIpv6Addresses / 60 + 30, 'one that nobody made use of is lost');
  },
);

/** All nodes of a fleet scale out at once: each makes so many calls of two APIs, one after the other. Per minute the cloud takes what it takes. */
async function scaledOut(nodes: number, crowd: ((signal: AbortSignal) => Promise<number | null>) | null) {
  const apis = { CreateNetworkInterface: 3, AssignPrivateIpAddresses: 2 } as const;
  const limits: Record<string, number> = { CreateNetworkInterface: nodes / 2, AssignPrivateIpAddresses: nodes / 2 };
  const { all, clock, goOn } = fleetOf(nodes, nodes, { rateLimits: limits, ...(crowd === null ? {} : { crowd }) });
  const used = new Map<string, number>();
  const startMs = clock.nowMs();
  let [done, refused, lastMs] = [0, 0, 0];
  for (const turns of all)
    for (const [api, calls] of Object.entries(apis) as [keyof typeof apis, number][])
      for (let call = 0; call < calls; call += 1)
        void (async () => {
          for (;;) {
            await turns.take({ api, who: `${call}` }, never);
            const minute = `${api} ${Math.floor(clock.nowMs() / 60_000)}`;
            used.set(minute, (used.get(minute) ?? 0) + 1);
            if ((used.get(minute) ?? 0) <= (limits[api] ?? 0)) break;
            refused += 1;
            turns.throttled(api);
          }
          turns.done(api, `${call}`);
          done += 1;
          if (done <= 0.99 * 5 * nodes) lastMs = clock.nowMs() - startMs;
        })();
  for (let minute = 0; minute < 40 && done < 5 * nodes; minute += 1) await goOn(60_000);
  return { done, refused, minutes: lastMs / 60_000 };
}

t.test('turns: a crowd that is known shares the minutes that all need, and is seldom refused', async (t) => {
  const nodes = 200;
  let asked = 0;
  const known = await scaledOut(nodes, async () => {
    asked += 1;
    return nodes;
  });
  t.equal(known.done, 5 * nodes);
  t.ok(known.minutes < 1.3 * 6, `99 % done after ${known.minutes.toFixed(1)} minutes, where six are the least`);
  t.ok(known.refused < 0.05 * known.done, `${known.refused} refused`);
  t.ok(asked < 20 * nodes, `${asked} questions to the API server, one in half a minute and node at most`);
  const unknown = await scaledOut(nodes, async () => null);
  t.equal(unknown.done, 5 * nodes);
  t.ok(unknown.minutes < 2 * 6, `${unknown.minutes.toFixed(1)} minutes where nobody knows the crowd`);
  t.ok(unknown.refused > known.refused, 'the first refusal has to tell it');
  // Whoever was refused one of them does not try the others: each is refused what it had asked for together, and hardly more.
  t.ok(unknown.refused < 5.5 * nodes, `${unknown.refused} refused`);
});

t.test('turns: a few among many wait for nobody, nor does a small fleet ask', async (t) => {
  let asked = 0;
  const crowd = async () => {
    asked += 1;
    return 3;
  };
  const few = fleetOf(3, 1_000, { crowd });
  for (const turns of few.all)
    for (const who of ['a', 'b', 'c']) void turns.take({ api: 'CreateNetworkInterface', who }, never).then(few.note);
  await few.goOn(1);
  t.equal(few.left.length, 9);
  t.equal(asked, 3, 'one question a node');
  const small = fleetOf(3, 3, { crowd });
  for (const turns of small.all) void turns.take({ api: 'CreateNetworkInterface', who: '' }, never).then(small.note);
  await small.goOn(1);
  t.equal(small.left.length, 3);
  t.equal(asked, 3);
});

t.test('turns: who waits in a crowd goes at once when it is over', async (t) => {
  const crowd = { nodes: 1_000 };
  const { all, goOn, left, note } = fleetOf(20, 1_000, { crowd: async () => crowd.nodes });
  for (const turns of all) void turns.take({ api: 'AssignPrivateIpAddresses', who: '' }, never).then(note);
  await goOn(10_000);
  t.ok(left.length < 6, 'their places are in two and a half minutes');
  crowd.nodes = 20;
  await goOn(31_000);
  t.equal(left.length, 20);
});
