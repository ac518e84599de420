/** Each line of the doctor, from what a daemon tells: well, not for long, and wrong. */
import t from 'tap';
import { examined } from '../../../src/cli/doctor/checks.ts';
import type { CloudReport, NodeReport, Refusal } from '../../../src/ports/introspection.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

const cloud: CloudReport = {
  credentials: {
    source: 'ramRole',
    from: 'role node',
    obtainedMs: NOW - MINUTE,
    untilMs: NOW + 50 * MINUTE,
    failure: null,
  },
  clockSkewMs: 0,
  resting: [],
  securityGroups: { lookedMs: NOW - MINUTE, findings: [], failure: null },
};

const report: NodeReport = {
  ...{ state: 'running.serving', missing: [], enis: [], pool: null, leases: [], waiting: [], actors: [] },
  ...{ store: { failing: null, setAside: null }, refusals: [], cloud },
};

const lines = (more: Partial<NodeReport>): string[] =>
  examined({ ...report, ...more }, NOW).map(({ check, is, says }) => `${check} ${is} ${says}`);
const changed = (more: Partial<NodeReport>): string[] => lines(more).filter((line) => !lines({}).includes(line));
const ofCloud = (more: Partial<CloudReport>): string[] => changed({ cloud: { ...cloud, ...more } });

t.test('doctor: a node that is well is told so, line by line', async (t) => {
  t.strictSame(lines({}), [
    'node ok serving',
    'store ok can be written',
    'credentials ok ramRole: role node, until 50 min from now',
    'clock ok as the cloud’s, to a minute',
    'throttling ok no API rests',
    'security groups ok nothing is wrong with them (looked 60 s ago)',
    'pods ok none was refused lately',
  ]);
  t.ok(examined(report, NOW).every(({ whatToDo }) => whatToDo === null));
});

t.test('doctor: node and store', async (t) => {
  t.strictSame(changed({ state: 'running.degraded.backingOff', missing: ['identify: metadata: no answer'] }), [
    'node problem backing off, missing identify: metadata: no answer',
  ]);
  t.strictSame(changed({ store: { failing: { sinceMs: NOW - 5_000, why: 'No space left' }, setAside: null } }), [
    'store problem cannot be written for 5 s: No space left',
  ]);
  const setAside = { atMs: NOW, path: '/data/db.set-aside-1', why: 'a table is damaged' };
  t.strictSame(changed({ store: { failing: null, setAside } }), ['store warning was set aside: a table is damaged']);
});

t.test(
  'doctor: credentials that cannot be renewed are a warning while the old ones live, then a problem',
  async (t) => {
    const failure = { sinceMs: NOW - 5 * MINUTE, why: 'HTTP 500' };
    const failing = (untilMs: number | null) =>
      ofCloud({ credentials: { ...cloud.credentials, untilMs, failure } as CloudReport['credentials'] });
    t.strictSame(failing(NOW + 10 * MINUTE), [
      'credentials warning ramRole: role node; cannot be had for 5 min: HTTP 500; the old ones end in 10 min',
    ]);
    t.strictSame(failing(NOW - 1), ['credentials problem ramRole: role node; cannot be had for 5 min: HTTP 500']);
  },
);

t.test('doctor: clock and throttling', async (t) => {
  t.match(ofCloud({ clockSkewMs: 2 * MINUTE }), [/^clock warning .*at 15 minutes calls are refused$/]);
  t.match(ofCloud({ clockSkewMs: -14 * MINUTE }), [/^clock problem .*InvalidTimeStamp\.Expired/]);
  t.strictSame(ofCloud({ clockSkewMs: MINUTE - 1 }), []);
  t.strictSame(ofCloud({ resting: [{ api: 'AssignPrivateIpAddresses', times: 3, forMs: 4_000 }] }), [
    'throttling warning AssignPrivateIpAddresses was throttled 3 times in a row and rests for 4 s yet',
  ]);
});

t.test(
  'doctor: groups that are full or missing are problems, the rest warns; so does a look that failed',
  async (t) => {
    const finding = (kind: 'full' | 'missing' | 'isolates' | 'nearlyFull' | 'differs') => ({
      ...{ case: kind, groupIds: ['sg-a'], eniIds: [], says: `sg-a ${kind}`, whatToDo: 'something' },
    });
    const all = (['full', 'missing', 'isolates', 'nearlyFull', 'differs'] as const).map(finding);
    t.strictSame(ofCloud({ securityGroups: { lookedMs: NOW, findings: all, failure: 'Forbidden.RAM' } }), [
      'security groups warning cannot be looked at: Forbidden.RAM',
      'security groups problem sg-a full',
      'security groups problem sg-a missing',
      'security groups warning sg-a isolates',
      'security groups warning sg-a nearlyFull',
      'security groups warning sg-a differs',
    ]);
  },
);

t.test('doctor: pods that were refused, each cause once with the newest words', async (t) => {
  const refusal = (pod: string, code: Refusal['code'], agoMs: number): Refusal => ({
    ...{ pod, code, atMs: NOW - agoMs, times: 1, detail: `${pod} says why` },
  });
  const refusals = [
    refusal('a/new', 'vSwitchEmpty', 1_000),
    refusal('a/old', 'vSwitchEmpty', 9_000),
    refusal('a/x', 'groupFull', 2_000),
  ];
  t.strictSame(changed({ refusals }).sort(), [
    'pods problem a/new and 1 more refused 1 s ago: a/new says why',
    'pods problem a/x refused 2 s ago: a/x says why',
  ]);
});
