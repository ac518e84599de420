import t from 'tap';
import { reportLines } from '../../src/cli/node-status.ts';
import { plain } from '../../src/lab/view/paint.ts';
import type { NodeReport, PoolReport } from '../../src/ports/introspection.ts';

const pool: PoolReport = {
  state: 'resting',
  minIdle: 1,
  maxIdle: 3,
  why: '',
  counts: { idle: 0, offered: 0, bound: 12, cooling: 0, reserved: 0, leaving: 0, invalid: 0 },
  capacity: 12,
};

const report: NodeReport = {
  state: 'running.serving',
  missing: [],
  enis: [
    {
      actor: 'eni:0',
      state: 'inUse.assigning.calling',
      sinceMs: 0,
      eniId: 'eni-1',
      mac: null,
      vSwitchId: null,
      device: 'eth1',
      routeTable: 1003,
      addresses: [],
      waiting: 0,
      lastFailure: null,
    },
  ],
  pool,
  leases: [],
  waiting: [],
  actors: [],
};

t.test('status: tells which pods were refused, why and how often', async (t) => {
  const detail = 'no address available: 12 held on 3 of 3 ENIs with 4 each';
  const refusals = [{ pod: 'default/extra-11', atMs: 8_000, times: 3, code: 'noCapacity', detail } as const];
  const text = reportLines({ ...report, refusals }, 10_000, plain).join('\n');
  t.match(
    text,
    /^refused {2}default\/extra-11: no address available: 12 held on 3 of 3 ENIs with 4 each \(3 times, last 2 s ago\)$/m,
  );
  t.match(text, /^pool .*full: 12 of 12; 12 bound$/m);
});

t.test('status: says states as people do, and an older daemon’s report is read too', async (t) => {
  const roomy = { ...pool, counts: { ...pool.counts, bound: 2 } };
  const text = reportLines({ ...report, pool: roomy }, 10_000, plain).join('\n');
  t.match(text, /^node {2}serving$/m);
  t.match(text, /room for 12; 2 bound/);
  t.match(text, /eni-1 +eth1 +in use · assigning +10 s/);
  t.notMatch(text, /refused|running|inUse/);
});
