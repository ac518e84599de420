/** Each line of the doctor, from what a daemon tells: well, not for long, and wrong. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { examined } from '../../../src/cli/doctor/checks.ts';
import { type HostSeen, hostResults } from '../../../src/cli/doctor/host.ts';
import { socketOutcomes } from '../../../src/cli/doctor/sockets.ts';
import type { RepairEntry } from '../../../src/core/repair-ledger.ts';
import type { CloudReport, NodeReport, Refusal } from '../../../src/ports/introspection.ts';
import { shortDirectory } from '../../adapters/http/short-directory.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

const cloud: CloudReport = {
  api: { answeredMs: NOW - 5_000, silent: null },
  metadata: { answeredMs: NOW - 40_000, silent: null },
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
  ...{ store: { failing: null, setAside: null }, refusals: [], cloud, holds: [] },
  podWatch: { syncedAtMs: NOW - MINUTE, heardAtMs: NOW - 3_000, awaySinceMs: null, why: null, gaps: 0 },
  machine: { enactor: '0.1.0', kernel: '6.1.0', arch: 'x64', glibc: '2.36', node: '20.19.0', lacks: [] },
};

const lines = (more: Partial<NodeReport>): string[] =>
  examined({ ...report, ...more }, NOW).map(({ check, is, says }) => `${check} ${is} ${says}`);
const changed = (more: Partial<NodeReport>): string[] => lines(more).filter((line) => !lines({}).includes(line));
const ofCloud = (more: Partial<CloudReport>): string[] => changed({ cloud: { ...cloud, ...more } });

t.test('doctor: a node that is well is told so, line by line', async (t) => {
  t.strictSame(lines({}), [
    'node ok serving',
    'store ok can be written',
    'machine ok kernel 6.1.0, x64, glibc 2.36, Node 20.19.0',
    'API server ok pods are watched, last heard 3 s ago',
    'metadata ok answers, last 40 s ago',
    'cloud ok answers, last 5 s ago',
    'credentials ok ramRole: role node, until 50 min from now',
    'clock ok as the cloud’s, to a minute',
    'throttling ok no API rests',
    'security groups ok nothing is wrong with them (looked 60 s ago)',
    'waiting ok no pod waits for an address',
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

t.test('doctor: mode VPC, whether somebody has made the route to the pods', async (t) => {
  t.strictSame(changed({}), [], 'elsewhere it is nobody’s business');
  t.match(changed({ podRoute: null }), [/^pod route warning nobody says/]);
  const podRoute = { made: true, reason: 'RouteCreated', message: 'RouteController created a route' };
  t.strictSame(changed({ podRoute }), ['pod route ok RouteCreated: RouteController created a route']);
  t.strictSame(changed({ podRoute: { made: false, reason: 'NoRouteCreated', message: '' } }), [
    'pod route problem the VPC’s route to this node’s pods is missing: NoRouteCreated',
  ]);
});

t.test('doctor: what the host lacks, each with what that costs', async (t) => {
  const lacks = ['the kernel takes no nat in family inet', 'the kernel takes no route chains'];
  const machine = { enactor: '0.1.0', kernel: '5.1.0', arch: 'arm64', glibc: '2.36', node: '20.19.0', lacks };
  t.strictSame(
    changed({ machine }),
    lacks.map((says) => `machine warning ${says}`),
  );
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

t.test('doctor: whom the node asks; one answer that was lost is a warning, an outage a problem', async (t) => {
  const silent = (forMs: number) => ({
    answeredMs: NOW - MINUTE,
    silent: { sinceMs: NOW - forMs, why: 'ECONNREFUSED' },
  });
  t.strictSame(ofCloud({ api: silent(4_000) }), [
    'cloud warning the API of ECS and VPC has not answered for 4 s: ECONNREFUSED',
  ]);
  t.match(ofCloud({ api: silent(40_000) }), [/^cloud problem .*for 40 s/]);
  t.strictSame(ofCloud({ metadata: silent(40_000) }), [
    'metadata problem the metadata service has not answered for 40 s: ECONNREFUSED',
  ]);
  const away = { syncedAtMs: 1, heardAtMs: 1, awaySinceMs: NOW - MINUTE, why: 'HTTP 401', gaps: 2 };
  t.strictSame(changed({ podWatch: away }), [
    'API server problem this node’s pods have not been watched for 60 s: HTTP 401',
  ]);
  t.match(changed({ podWatch: { ...away, awaySinceMs: null } }), [/^API server ok .*; was away 2 times since/]);
  t.match(changed({ podWatch: { ...away, awaySinceMs: null, heardAtMs: null } }), [/^API server warning has told/]);
});

t.test('doctor: what is held down, and who waits for it', async (t) => {
  const hold = (of: 'vSwitch' | 'eni' | 'opening' | 'quota', name: string | null = null) => ({
    ...{ of, name, untilMs: NOW + MINUTE },
  });
  t.strictSame(changed({ holds: [hold('vSwitch', 'vsw-1'), hold('quota'), hold('opening'), hold('eni', 'eni:0')] }), [
    'cloud problem vsw-1 has no address left; asked again in 60 s',
    'cloud warning this instance gets no more ENIs; asked again in 60 s',
    'cloud warning an ENI could not be opened; asked again in 60 s',
  ]);
  t.strictSame(changed({ holds: [hold('eni', 'eni:0')] }), [], 'an ENI that has all it may have is no trouble');
  const waits = (pod: string, forMs: number) => ({
    requestId: pod,
    pod,
    sinceMs: NOW - forMs,
    reason: 'vsw-1 ran dry',
  });
  t.strictSame(changed({ waiting: [waits('a/new', 1_000), waits('a/old', 9_000)] }), [
    'waiting warning 2 pods wait for an address, a/old for 9 s: vsw-1 ran dry',
  ]);
  t.match(changed({ waiting: [waits('a/old', 90_000)] }), [/^waiting problem 1 pod waits .* for 90 s: /]);
});

t.test('doctor: the host, as the keeper tells it and as we see it', async (t) => {
  const entry = (more: Partial<RepairEntry>): RepairEntry => ({
    ...{ kind: 'podRule', object: 'from 10.0.0.5', pod: null, outcome: 'repaired', detail: null, times: 1, undone: 0 },
    ...{ firstMs: 0, lastMs: 0, untilMs: 0, told: true, ...more },
  });
  const seen = { kernel: '6.1.0', forwardsIpv4: true, devices: ['eth1'], agents: [] as string[] };
  const host = (things: readonly RepairEntry[], more: Partial<HostSeen> | null = {}): string[] =>
    hostResults(
      { host: { repairs: things.length, things }, enis: [{ device: 'eth1' }] },
      more === null ? null : { ...seen, ...more },
    ).map(({ check, is, says, whatToDo }) => `${check} ${is} ${says}${whatToDo === null ? '' : ` → ${whatToDo}`}`);
  t.strictSame(host([]), [
    'kernel ok Linux 6.1.0; devices, routes and rules are as they should be, nothing repaired since the start',
    'guest agents ok none seen here; nothing was put onto an ENI',
  ]);
  t.match(host([entry({})]), [/^kernel ok .* once repaired since/, /^guest agents ok/]);
  t.match(host([entry({ undone: 5, times: 6, detail: 'was 1' })]), [
    /^kernel warning podRule from 10\.0\.0\.5: somebody undoes its repair again and again \(6 times\): was 1/,
    /^guest/,
  ]);
  t.match(host([entry({ outcome: 'failed', detail: 'EPERM' })]), [
    /^kernel problem .* cannot be repaired: EPERM/,
    /^guest/,
  ]);
  t.match(host([entry({ outcome: 'beyondRepair', pod: 'a/b' })]), [
    /^kernel problem .* → delete the pod a\/b/,
    /^guest/,
  ]);
  t.match(host([], { forwardsIpv4: false }), [/^kernel problem .*ip_forward is 0/, /^guest/]);
  const elsewhere = host([], { forwardsIpv4: false, devices: ['eth0'] });
  t.match(elsewhere, [/^kernel ok/, /^guest/], 'a lab’s node, whose network namespace is not ours');
  const agent = entry({ kind: 'foreignAddress', object: '10.0.0.9/24 dev eth1', times: 2 });
  t.match(host([agent], { agents: ['NetworkManager'] }), [
    /^kernel ok/,
    /^guest agents ok running here: NetworkManager; 2 addresses or routes of theirs were removed from ENIs$/,
  ]);
  t.match(host([{ ...agent, undone: 5, times: 6 }], { agents: ['NetworkManager'] }), [
    /^kernel ok/,
    /^guest agents warning 10\.0\.0\.9\/24 dev eth1 is put back again and again \(removed 6 times\) → .*unmanaged-devices=interface-name:eth1$/,
  ]);
  t.strictSame(host([], null), [
    'kernel ok devices, routes and rules are as they should be, nothing repaired since the start',
    'guest agents ok nothing was put onto an ENI',
  ]);
});

t.test('doctor: a socket of the daemon that takes nobody is named, with who comes by it', async (t) => {
  const directory = shortDirectory(t);
  const server = createServer().listen(join(directory, 's'));
  t.teardown(() => server.close());
  const flag = (name: string, file: string) => ({ flag: name, value: join(directory, file), source: 'flag' as const });
  const [fine, gone] = [flag('--json-socket', 's'), flag('--grpc-socket', 'none')];
  t.match(await socketOutcomes({ flags: [fine] }, '/d'), [{ is: 'ok' }]);
  t.match(await socketOutcomes({ flags: [fine, gone, flag('--data-dir', 'x')] }, '/d'), [
    { is: 'problem', says: /none takes no callers, and Terway’s plugin .* come by it: .*ENOENT/ },
  ]);
  const inside = [
    { flag: '--debug-socket', value: '/d', source: 'flag' as const },
    { flag: '--json-socket', value: '/s', source: 'flag' as const },
  ];
  t.match(
    await socketOutcomes({ flags: inside }, join(directory, 'd')),
    [{ is: 'ok', says: new RegExp(directory) }],
    'a daemon that sees other paths than we do, as in the lab',
  );
});
