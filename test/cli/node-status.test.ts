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
      sinceMs: 1,
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
  t.match(text, /eni-1 +eth1 +in use · assigning \(10 s\) +10 s/);
  t.notMatch(text, /refused|running|inUse/);
});

t.test('status: an ENI that assigns just now has been in use for as long as it has', async (t) => {
  const HOUR_MS = 3_600_000;
  const line = (state: string) => {
    const enis = report.enis.map((eni) => ({ ...eni, state, sinceMs: 5 * HOUR_MS - 3_000, phaseSinceMs: HOUR_MS }));
    return reportLines({ ...report, enis }, 5 * HOUR_MS, plain).find((one) => one.startsWith('eni-1'));
  };
  t.match(line('inUse.assigning.calling'), /in use · assigning \(3 s\) +4 h /, 'and the call for 3 s');
  t.match(line('inUse.resting.quiet'), /in use +4 h /, 'what it does between calls concerns nobody');
  const replay = { ...report, enis: report.enis.map((eni) => ({ ...eni, sinceMs: 0 })) };
  t.match(reportLines(replay, HOUR_MS, plain).join('\n'), /in use · assigning +- /, 'a replay knows no ages');
  t.match(line('attaching.calling'), /attaching +4 h /, 'in transit the phase is what counts');
});

t.test('status: tells what of the host was repaired, who undoes it, and what cannot be', async (t) => {
  const thing = {
    kind: 'podRule',
    pod: 'default/p',
    detail: null,
    undone: 0,
    firstMs: 0,
    untilMs: 0,
    told: true,
  } as const;
  const host = {
    repairs: 8,
    things: [
      { ...thing, object: '512 to 10.0.0.9/32', outcome: 'repaired', times: 7, undone: 6, lastMs: 9_000 },
      { ...thing, object: '512 to 10.0.0.8/32', outcome: 'repaired', times: 1, lastMs: 5_000 },
      {
        ...thing,
        kind: 'podDevice',
        object: 'default/q',
        outcome: 'beyondRepair',
        times: 0,
        detail: 'gone',
        lastMs: 4_000,
      },
    ],
  } as const;
  const text = reportLines({ ...report, host }, 10_000, plain).join('\n');
  t.match(text, /^host {2}8 times repaired since the daemon started$/m);
  t.match(text, /podRule +512 to 10\.0\.0\.9\/32 +somebody undoes it +7 +1 s ago +default\/p/);
  t.match(text, /podRule +512 to 10\.0\.0\.8\/32 +repaired +1 +5 s ago/);
  t.match(text, /podDevice +default\/q +is gone +0 +6 s ago +gone/);
  t.notMatch(reportLines({ ...report, host: { repairs: 0, things: [] } }, 0, plain).join('\n'), /host/);
});

t.test('status: says that the pool pauses, and in read-only mode what would be done', async (t) => {
  const paused = { ...pool, minIdle: 0, why: 'paused: the node is cordoned' };
  const refused = [{ what: 'would delete eni-9', times: 3, lastMs: 8_000 }];
  const readOnly = { would: ['would assign 2 addresses on eni-1'], refused };
  const text = reportLines({ ...report, pool: paused, readOnly }, 10_000, plain).join('\n');
  t.match(text, /^pool {2}paused: the node is cordoned; resting; keeps 0 to 3 idle/m);
  t.match(text, /^mode {2}read-only: would assign 2 addresses on eni-1$/m);
  t.match(text, /^ {6}would delete eni-9: refused 3 times, last 2 s ago$/m);
  t.notMatch(reportLines(report, 10_000, plain).join('\n'), /paused|read-only/);
});
