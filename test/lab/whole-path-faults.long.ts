/**
 * The cloud's faults through the whole path: what an ADD makes of them, and that nothing is lost or left once they are over. Which
 * schedule of faults does what to the actors is the simulation's; here the SDK, the sockets and the kernel are real.
 */
import './in-box.ts';

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { cannotWalk, eventually, type Sandbox, walk } from './whole-path.ts';

t.setTimeout(200_000);
const skip = cannotWalk();

/** Everything goes when the pods go, so that the way back is tried as well. */
const config = { max_pool_size: 0, call_timeout: '1s', attach_timeout: '2s', hold_down: '1s', backoff_max: '500ms' };

const faults: Readonly<Record<string, readonly object[]>> = {
  'Create carried out, its answers lost': [{ api: 'CreateNetworkInterface', times: 2, effect: 'drop', how: 'close' }],
  'Create answered in part, Attach in silence': [
    { api: 'CreateNetworkInterface', effect: 'drop', how: 'cut' },
    { api: 'AttachNetworkInterface', effect: 'drop', how: 'hang' },
  ],
  'an Attach that is accepted and never happens': [
    { api: 'AttachNetworkInterface', effect: 'transition', fails: true },
  ],
  'Assign carried out, its answers lost': [{ api: 'AssignPrivateIpAddresses', times: 3, effect: 'drop', how: 'close' }],
  'throttled again and again': [{ api: '*', times: 12, effect: 'fail', code: 'Throttling.User' }],
  'server errors, and answers that are no JSON': [
    { api: '*', times: 4, effect: 'fail', code: 'InternalError', status: 500 },
    {
      api: '*',
      times: 3,
      effect: 'reply',
      status: 502,
      contentType: 'text/html',
      body: '<html>bad</html>',
      carriedOut: true,
    },
  ],
  'no metadata': [{ api: 'Metadata', times: 20, effect: 'fail', code: 'x', status: 500 }],
  'the way back: Unassign, Detach and Delete lost': [
    { api: 'UnassignPrivateIpAddresses', times: 2, effect: 'drop', how: 'close' },
    { api: 'DetachNetworkInterface', times: 2, effect: 'drop', how: 'close' },
    { api: 'DeleteNetworkInterface', times: 2, effect: 'drop', how: 'close' },
  ],
  'the way back: Detach and Delete refused': [
    { api: 'DetachNetworkInterface', times: 3, effect: 'fail', code: 'InvalidOperation.InvalidEniState' },
    { api: 'DeleteNetworkInterface', times: 3, effect: 'fail', code: 'InvalidOperation.InvalidEniState' },
  ],
};

t.test('faults: six pods over two ENIs come and go whatever the cloud does', { skip }, async (t) => {
  await walk(t, { config }, async (runtime) => {
    let round = 0;
    for (const [what, planted] of Object.entries(faults)) {
      await t.test(`faults: ${what}`, async (t) => {
        round += 1;
        await runtime.plant(...planted);
        const live = new Map<Sandbox, string>();
        const add = async (name: string) => {
          const sandbox = runtime.newPod(name);
          const ran = await runtime.add(sandbox);
          if (ran.exitCode === 0) live.set(sandbox, ran.ip);
          else t.fail(`${name}: ${ran.stdout}`);
        };
        await Promise.all(Array.from({ length: 6 }, (_, index) => add(`r${round}-p${index}`)));
        await runtime.invariants(t, live);
        await Promise.all([...live.keys()].map((sandbox) => runtime.del(sandbox)));
        for (const sandbox of live.keys()) runtime.removeNetns(sandbox);
        await eventually('no ENI is left', async () => runtime.enis.length === 0);
        await runtime.clearFaults();
        await runtime.invariants(t);
      });
    }
  });
});

t.test(
  'faults: 60 pods at once where 12 have room: twelve run, the others are told, and come when there is room',
  { skip },
  async (t) => {
    await walk(t, {}, async (runtime) => {
      const live = new Map<Sandbox, string>();
      const refused: Sandbox[] = [];
      const add = async (sandbox: Sandbox) => {
        const ran = await runtime.add(sandbox);
        if (ran.exitCode === 0) live.set(sandbox, ran.ip);
        else {
          refused.push(sandbox);
          if (!/no address available|every address|in use/i.test(ran.error.msg)) t.fail(ran.stdout);
        }
      };
      await Promise.all(Array.from({ length: 60 }, (_, index) => add(runtime.newPod(`p${index}`))));
      t.equal(live.size, 12, 'as many as the node holds');
      t.equal(refused.length, 48);
      const limits = runtime.lab.cloud.live.gateway.ledger
        .read(0, null)
        .filter(({ outcome }) => /Exceed/.test(outcome));
      t.strictSame(limits, [], 'no limit of the cloud was met');
      await runtime.invariants(t, live);
      const gone = [...live.keys()].slice(0, 5);
      for (const sandbox of gone) {
        t.equal((await runtime.del(sandbox)).exitCode, 0);
        live.delete(sandbox);
      }
      for (const sandbox of refused.splice(0, 5)) await add(sandbox);
      t.equal(live.size, 12, 'five went, five came');
      await runtime.invariants(t, live);
      await Promise.all([...live.keys(), ...refused].map((sandbox) => runtime.del(sandbox)));
      await runtime.invariants(t);
    });
  },
);

t.test('faults: an address or an ENI taken away behind the daemon’s back hurts nobody else', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const [one, two] = [runtime.newPod('one'), runtime.newPod('two')];
    const live = new Map([
      [one, (await runtime.add(one)).ip],
      [two, (await runtime.add(two)).ip],
    ]);
    const [eni] = runtime.enis;
    const secondary = [...live.values()].find((ip) => ip !== eni?.primaryIp) ?? '';
    await runtime.change({ change: 'unassign', eniId: eni?.eniId, ips: [secondary] });
    const victim = secondary === live.get(one) ? one : two;
    const other = victim === one ? two : one;
    t.not(await runtime.reaches(victim, secondary), '', 'its packets are refused by the router');
    t.equal(await runtime.reaches(other, live.get(other) ?? ''), '', 'its neighbour’s are not');
    t.equal((await runtime.del(victim)).exitCode, 0, 'and its DEL works');
    const three = runtime.newPod('three');
    const added = await runtime.add(three);
    t.equal(added.exitCode, 0, added.stdout);
    t.equal(await runtime.reaches(other, live.get(other) ?? ''), '');
    await sleep(1_000);
    t.match((await runtime.report()).state, /serving/);
  });
});
