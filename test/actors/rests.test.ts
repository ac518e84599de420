/** What is remembered of addresses that rested: as long as they are ours, and not for ever. */
import t from 'tap';
import { oneNode } from './one-node.ts';

const LONG_AGO_MS = 7_200_000;

t.test(
  'rests: one that is over stays on record while its address is ours, and goes a while after it has left',
  async (t) => {
    const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2, coolDownMs: 5, gcPeriodMs: 30 } });
    t.teardown(() => lab.stop());
    await lab.serving();
    const { ipv4 } = (await lab.add('a')).grant.address;
    await lab.del('a');
    const rests = lab.disk.get('coolDowns');
    if (rests === undefined) throw new Error('nothing rests');
    t.ok(rests.has(ipv4));
    const nowMs = Date.now();
    rests.set(ipv4, `${nowMs - LONG_AGO_MS}`);
    rests.set('10.9.9.1', `${nowMs - LONG_AGO_MS}`);
    rests.set('10.9.9.2', `${nowMs - 1_000}`);
    rests.set('10.9.9.3', `${nowMs + LONG_AGO_MS}`);
    for (const endMs = nowMs + 20_000; rests.has('10.9.9.1') && Date.now() < endMs; )
      await new Promise((resolve) => setTimeout(resolve, 10));
    t.strictSame([...rests.keys()].sort(), [ipv4, '10.9.9.2', '10.9.9.3'].sort());
  },
);
