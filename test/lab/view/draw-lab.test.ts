import t from 'tap';
import { NOTHING_REFUSED } from '../../../src/lab/router/refused.ts';
import type { LabStatus, PodStatus } from '../../../src/lab/status/lab-status.ts';
import { drawLab } from '../../../src/lab/view/draw-lab.ts';
import type { DrawOptions } from '../../../src/lab/view/draw-options.ts';
import { cut, pad, widthOf } from '../../../src/lab/view/fit.ts';
import { coloured, plain } from '../../../src/lab/view/paint.ts';
import type { EniReport, NodeReport } from '../../../src/ports/introspection.ts';

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
      debugSocket: '/proc/4242/root/run/enactor/node-1/debug.sock',
      log: '/proc/4242/root/run/enactor/node-1/enactord.log',
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

t.test('view: fits any terminal, and gives up the matrix first', async (t) => {
  const pods = Array.from({ length: 6 }, (_, index) => pod(`web-${index + 1}`));
  const tall = drawLab(status({ pods }), options);
  t.ok(tall.some((line) => line.includes('row to column')));
  for (const rows of [40, 30, 24, 12]) {
    const lines = drawLab(status({ pods }), { ...options, rows });
    t.ok(lines.every((line) => line === line.trimEnd()));
    t.ok(lines.length < Math.max(rows, 20), `${lines.length} lines for ${rows} rows`);
    t.notOk(rows < 30 && lines.some((line) => line.includes('row to column')));
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
