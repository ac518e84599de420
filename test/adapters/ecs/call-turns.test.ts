import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { CallTurns } from '../../../src/adapters/ecs/call-turns.ts';
import { apiRates, type CloudApi } from '../../../src/core/api-rates.ts';
import { CloudError } from '../../../src/ports/cloud.ts';

const never = new AbortController().signal;

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
    const all = Array.from({ length: 300 }, () => turns.take(api, '', never).then(() => left.push(nowMs)));
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
  const go = (who: string) => turns.take('AssignPrivateIpAddresses', who, never).then(() => order.push(who));
  const all = [...Array.from({ length: 6 }, () => go('busy')), go('quiet'), go('other')];
  await Promise.all(all);
  t.ok(order.indexOf('quiet') <= 3 && order.indexOf('other') <= 4, order.join(' '));
});

t.test('turns: who gives up leaves the line; APIs do not share', async (t) => {
  const turns = turnsOf(1, 600_000);
  await turns.take('AssignPrivateIpAddresses', 'a', never);
  const controller = new AbortController();
  const waiting = turns.take('AssignPrivateIpAddresses', 'a', controller.signal);
  controller.abort();
  await t.rejects(waiting, { code: 'cancelled' });
  await t.rejects(turns.take('AssignPrivateIpAddresses', 'a', AbortSignal.abort()), { code: 'cancelled' });
  await turns.take('UnassignPrivateIpAddresses', 'a', never);
  const end = new AbortController();
  const left = turns.take('AssignPrivateIpAddresses', 'a', end.signal);
  end.abort();
  await t.rejects(left, { code: 'cancelled' });
});

t.test(
  'turns: an API that was throttled rests ever longer, by chance, and those under way together count once',
  async (t) => {
    let nowMs = 0;
    const rests = (fraction: number): number[] => {
      nowMs = 0;
      const turns = new CallTurns({ rateLimits: {}, nowMs: () => nowMs, fraction: () => fraction });
      return Array.from({ length: 7 }, () => {
        turns.throttled('DeleteNetworkInterface');
        turns.throttled('DeleteNetworkInterface');
        const [resting] = turns.resting();
        nowMs += resting?.forMs ?? 0;
        return resting?.forMs ?? 0;
      });
    };
    t.strictSame(rests(0.5), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    t.strictSame(rests(0), [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    const turns = new CallTurns({ rateLimits: {}, nowMs: () => nowMs, fraction: () => 0.5 });
    turns.throttled('DeleteNetworkInterface');
    nowMs += 1_000;
    turns.done('DeleteNetworkInterface', '');
    turns.throttled('DeleteNetworkInterface');
    t.match(turns.resting(), [{ api: 'DeleteNetworkInterface', times: 1, forMs: 1_000 }], 'a success begins anew');
  },
);

t.test('turns: what is forbidden is answered with the cloud’s word for a while, for that ENI alone', async (t) => {
  let nowMs = 0;
  const turns = new CallTurns({ rateLimits: {}, nowMs: () => nowMs, fraction: () => 0.5 });
  const api = 'UnassignPrivateIpAddresses';
  turns.forbidden(api, 'eni-1', new CloudError('permission', 'Forbidden.RAM, request R-1', 'Forbidden.RAM'));
  await t.rejects(turns.take(api, 'eni-1', never), { message: /Forbidden.RAM, request R-1/ });
  await turns.take(api, 'eni-2', never);
  await turns.take('AssignPrivateIpAddresses', 'eni-1', never);
  nowMs += 61_000;
  await turns.take(api, 'eni-1', never);
  turns.done(api, 'eni-1');
  await turns.take(api, 'eni-1', never);
});
