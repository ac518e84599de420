import { join } from 'node:path';
import t from 'tap';
import { NOTHING_REFUSED } from '../../../src/lab/router/refused.ts';
import type { LabStatus, PodStatus } from '../../../src/lab/status/lab-status.ts';
import { drawLab } from '../../../src/lab/view/draw-lab.ts';
import type { DrawOptions } from '../../../src/lab/view/draw-options.ts';
import { cut, pad, widthOf } from '../../../src/lab/view/fit.ts';
import { coloured, plain } from '../../../src/lab/view/paint.ts';
import { eniWord, nodeWord } from '../../../src/lab/view/words.ts';
import type { EniReport, NodeReport } from '../../../src/ports/introspection.ts';

/** A file of the node's, as this machine sees it. */
const inNode = (name: string): string => join('/proc', '4242', 'root', 'run/enactor/node-1', name);

const options: DrawOptions = {
  columns: 110,
  rows: 60,
  paint: plain,
  upMs: 65_000,
  rootless: true,
  recent: ['12:00:00  pod web-1 runs'],
  command: 'node dist/enactor.js',
  hasIp: true,
};

const eni = (addresses: EniReport['addresses']): EniReport => ({
  actor: 'eni:0',
  state: 'inUse.resting',
  sinceMs: 0,
  eniId: 'eni-lab00000000000000004',
  mac: '00:16:3e:00:00:04',
  vSwitchId: 'vsw-lab-1',
  device: 'eth1',
  routeTable: 1003,
  addresses,
  waiting: 0,
  lastFailure: null,
});

const report: NodeReport = {
  state: 'running.serving',
  missing: [],
  enis: [
    eni([
      { ipv4: '192.168.0.3', ipv6: null, state: 'bound', pod: 'default/web-1', untilMs: null },
      { ipv4: '192.168.0.4', ipv6: null, state: 'cooling', pod: null, untilMs: 12_500 },
      { ipv4: '192.168.0.5', ipv6: null, state: 'idle', pod: null, untilMs: null },
    ]),
  ],
  pool: {
    state: 'resting',
    minIdle: 1,
    maxIdle: 3,
    why: 'min_pool_size',
    counts: { idle: 1, offered: 0, bound: 1, cooling: 1, reserved: 0, leaving: 0, invalid: 0 },
    capacity: 12,
  },
  leases: [],
  waiting: [],
  actors: [],
};

const pod = (name: string, more: Partial<PodStatus> = {}): PodStatus => ({
  name,
  node: 'node-1',
  phase: 'running',
  ip: '192.168.0.3',
  startedInMs: 40,
  failure: null,
  failedTries: 0,
  sinceMs: 0,
  startTimeoutMs: 60_000,
  ...more,
});

const status = (more: Partial<LabStatus> = {}): LabStatus => ({
  atMs: 10_000,
  hostPid: 4242,
  nodes: [
    {
      name: 'node-1',
      ip: '192.168.0.1',
      instanceId: 'i-lab-node-1',
      pid: 7,
      report,
      debugSocket: inNode('debug.sock'),
      grpcSocket: inNode('grpc.sock'),
      log: inNode('enactord.log'),
    },
  ],
  hosts: [{ name: 'elsewhere', ip: '192.168.1.1' }],
  pods: [pod('web-1')],
  reachability: {
    atMs: 9_000,
    outcomes: [
      { kind: 'pod to its node', from: 'web-1', to: 'node-1', worked: true, why: '', rttMs: 1 },
      {
        kind: 'node to its pod',
        from: 'node-1',
        to: 'web-1',
        worked: false,
        why: 'no answer within 800 ms',
        rttMs: null,
      },
    ],
  },
  refused: { ...NOTHING_REFUSED, routingFault: 3 },
  problems: [],
  ...more,
});

t.test('view: shows ENIs with their addresses, who holds them and how long they rest', async (t) => {
  const text = drawLab(status(), options).join('\n');
  t.match(text, /a VPC in a box, up 1:05, without root .* pid 4242/);
  t.match(text, /node-1 {2}serving {2}192\.168\.0\.1 · 1 bound · 1 idle \(keeps 1 to 3\) · 1 cooling · room for 12/);
  t.match(text, /eth1 +eni-lab…0004 +in use +■ \.3 +web-1 +▨ \.4 +cooling 3s +□ \.5 +idle/);
  t.match(text, /3 routing fault · 0 just released/);
  t.match(text, /1 of 2 paths work/);
  t.match(text, /node-1 -> web-1: no answer within 800 ms/);
  t.match(text, /node dist\/enactor\.js lab status node-1 +what/);
  t.match(text, /node dist\/enactor\.js status --debug-socket \/proc\/4242\/root\/run\/enactor\/node-1\/debug\.sock/);
});

t.test('view: says why a pod does not run, and that a daemon has ended', async (t) => {
  const [node] = status().nodes;
  if (node === undefined) throw new Error('one node');
  const text = drawLab(
    status({
      pods: [pod('web-1', { phase: 'starting', failure: 'no address', failedTries: 3 }), pod('web-2')],
      nodes: [{ ...node, pid: null, report: null }],
      problems: ['enactord ended by itself with 1'],
    }),
    options,
  ).join('\n');
  t.match(text, /^pods {2}1 running · 1 waiting /m);
  t.match(text, /^ {2}web-1 {2}no address \(on node-1 for 10 s, tried 3 times\)$/m);
  t.match(text, /node-1 {2}down/);
  t.match(text, /! enactord ended by itself with 1/);
});

t.test('view: a waiting pod’s reason is read on a narrow terminal too, with how long and how often', async (t) => {
  const failure = 'no address available: 12 held on 3 of 3 ENIs with 4 each; 2 more ENIs here are not ours to use';
  const waiting = Array.from({ length: 7 }, (_, index) =>
    pod(`extra-${index + 1}`, { phase: 'starting', ip: null, startedInMs: null, failure, failedTries: 20, sinceMs: 0 }),
  );
  const lines = drawLab(status({ pods: [pod('web-1'), ...waiting] }), { ...options, columns: 100 });
  const line = lines.find((one) => one.includes('extra-1 ')) ?? '';
  t.match(line, /^ {2}extra-1 {2}no address available: 12 held on 3.*… \(on node-1 for 10 s, tried 20 times\)$/);
  t.ok(widthOf(line) < 100);
  t.ok(lines.includes('  … and 2 more'));
});

t.test('view: what is offered to be pasted works from top to bottom', async (t) => {
  const commands = (pods: readonly PodStatus[], more: Partial<DrawOptions> = {}) =>
    drawLab(status({ pods }), { ...options, ...more })
      .map((line) => /^ {2}node dist\/enactor\.js (.*?)(?: {2}|$)/.exec(line)?.[1])
      .filter((line) => line !== undefined);
  const first = commands([pod('web-1')]);
  t.equal(first[0], 'lab pod add hello --node node-1');
  t.equal(first.at(-1), 'lab pod rm hello');
  t.ok(first.includes('lab exec web-1 -- ip -4 addr'));
  t.ok(first.includes('lab ledger'));
  t.ok(commands([pod('web-1')], { hasIp: false }).includes('lab exec web-1 -- cat /proc/net/route'));
  const second = commands([pod('web-1'), pod('hello')]);
  t.equal(second[0], 'lab pod add hello-2 --node node-1');
  t.equal(second.at(-1), 'lab pod rm hello', 'there already when lines are pasted one by one');
});

t.test('view: nobody is told to add a pod where there is no room', async (t) => {
  const [node] = status().nodes;
  const { pool } = report;
  if (node === undefined || pool === null) throw new Error('one node with a pool');
  const full = { ...report, pool: { ...pool, counts: { ...pool.counts, idle: 0, cooling: 0, bound: 12 } } };
  const text = drawLab(status({ nodes: [{ ...node, report: full }] }), options).join('\n');
  t.match(text, /full: 12 of 12/);
  t.notMatch(text, /pod add/);
  t.match(text, /pod rm web-1/);
});

t.test('view: what is not tried yet is told apart from what is no path', async (t) => {
  const reachability = { atMs: null, outcomes: [] };
  t.match(drawLab(status({ reachability }), options).join('\n'), /trying 4 paths …/);
  t.match(drawLab(status({ reachability, pods: [] }), options).join('\n'), /no pod runs yet/);
  const text = drawLab(status(), options).join('\n');
  t.match(text, /1 of 2 paths work, trying 2 more …/);
  t.match(text, /● works {2}✗ does not {2}○ not tried yet {2}· itself, or no pod/);
  t.match(text, /^ {2}1 +web-1 +· +● +○$/m);
  t.match(text, /^ {2}3 +elsewhere +○ +· +·$/m);
});

t.test('view: states are said as people say them; the inner one while a call is under way', async (t) => {
  t.equal(nodeWord('running.serving'), 'serving');
  t.equal(eniWord('inUse.resting.comparing'), 'in use');
  t.equal(eniWord('inUse.assigning.calling'), 'in use · assigning');
  t.equal(eniWord('inUse.backingOff'), 'in use · backing off');
  t.equal(eniWord('creating.calling'), 'creating');
});

t.test('view: fits any terminal, gives up the matrix before the commands, and says what it left out', async (t) => {
  const pods = Array.from({ length: 6 }, (_, index) => pod(`web-${index + 1}`));
  const draw = (rows: number) => drawLab(status({ pods }), { ...options, rows });
  const hasMatrix = (lines: readonly string[]) => lines.some((line) => line.includes('row to column'));
  t.ok(hasMatrix(draw(60)));
  t.notMatch(draw(60).join('\n'), /left out/);
  for (const rows of [60, 40, 34, 30, 24, 20, 12, 6]) {
    const lines = draw(rows);
    t.ok(lines.every((line) => line === line.trimEnd()));
    t.ok(lines.length < rows, `${lines.length} lines for ${rows} rows`);
    t.match(lines[0], /Ctrl-C ends it/);
  }
  const small = draw(24);
  t.notOk(hasMatrix(small));
  const [, needs] = /^ {2}matrix.* left out: the terminal has 24 rows, it needs (\d+)$/.exec(small.at(-1) ?? '') ?? [];
  t.ok(hasMatrix(draw(Number(needs))), `the matrix is there with ${needs} rows`);
  t.match(draw(6).at(-1), /the terminal has 6 rows, this needs \d+/);
});

t.test('view: a narrow terminal still says how it is ended', async (t) => {
  for (const columns of [100, 80, 60, 40, 20]) {
    const [first = ''] = drawLab(status(), { ...options, columns });
    t.match(first, /Ctrl-C ends it/);
    t.ok(widthOf(first) < columns);
  }
});

t.test('view: colours change nothing about the text', async (t) => {
  const bare = drawLab(status(), options);
  const painted = drawLab(status(), { ...options, paint: coloured });
  t.strictSame(painted.map(widthOf), bare.map(widthOf));
});

t.test('view: text is cut and padded by what people see', async (t) => {
  const red = coloured('red', 'abcdef');
  t.equal(widthOf(pad(red, 8)), 8);
  t.equal(widthOf(cut(red, 4)), 4);
  t.match(cut(red, 4), /abc/);
  t.equal(cut('abc', 3), 'abc');
  t.equal(cut('abcd', 3), 'ab…');
});
