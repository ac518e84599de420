import t from 'tap';
import { NodeMetrics } from '../../../src/adapters/metrics/node-metrics.ts';
import type { NodeReport } from '../../../src/ports/introspection.ts';

const counts = { idle: 2, offered: 0, bound: 7, cooling: 1, reserved: 0, leaving: 0, invalid: 0 };
const report: NodeReport = {
  ...{ state: 'running.serving', missing: [], enis: [], leases: [] },
  pool: { state: 'resting', minIdle: 1, maxIdle: 3, why: '', counts, capacity: 30 },
  waiting: [{ requestId: 'r', pod: 'default/w', sinceMs: 4_000, reason: '' }],
  actors: ['node', 'lease', 'lease'].map((chart, at) => ({ path: `${at}`, chart, state: 's', sinceMs: 0 })),
  holds: [{ of: 'vSwitch', name: 'vsw-1', untilMs: 9_000 }],
  host: { repairs: 5, things: [] },
};

const lineOf = (text: string, start: string): string | undefined =>
  text.split('\n').find((line) => line.startsWith(start));

t.test('metrics: what the node is, is read when asked for, and what went is not left standing', async (t) => {
  const metrics = new NodeMetrics();
  const text = await metrics.text(report, 10_000);
  for (const line of [
    'enactor_serving 1',
    'enactor_addresses{state="bound"} 7',
    'enactor_pool_mark_addresses{mark="max"} 3',
    'enactor_waiting_pods 1',
    'enactor_longest_wait_seconds 6',
    'enactor_actors{chart="lease"} 2',
    'enactor_holds{of="vSwitch"} 1',
    'enactor_repairs_total 5',
  ])
    t.equal(lineOf(text, line), line);
  t.match(text, /^process_cpu_seconds_total \d+\.\d+$/m);
  t.match(text, /^process_resident_memory_bytes \d{7,}$/m);
  const endMs = performance.now() + 60;
  await new Promise((resolve) => setTimeout(resolve, 50));
  while (performance.now() < endMs + 150);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const lateText = await metrics.text(report, 10_000);
  const late = Number(lineOf(lateText, 'enactor_loop_delay_seconds{quantile="1"}')?.split(' ')[1]);
  t.ok(late > 0.05, `a loop that stood still was ${late} s late`);
  const later = await metrics.text(
    { ...report, state: 'running.degraded', holds: [], host: { repairs: 6, things: [] } },
    10_000,
  );
  t.equal(lineOf(later, 'enactor_holds{'), undefined);
  t.equal(lineOf(later, 'enactor_serving'), 'enactor_serving 0');
  t.equal(lineOf(later, 'enactor_repairs_total'), 'enactor_repairs_total 6');
  t.equal(lineOf(await metrics.text(null, 10_000), 'enactor_serving'), 'enactor_serving 0');
});

t.test('metrics: requests by outcome and stage, calls of the cloud by API and code', async (t) => {
  const metrics = new NodeMetrics();
  metrics.answered({
    outcome: 'ok',
    stages: [
      { stage: 'asked', atMs: 1_000, tookMs: 0 },
      { stage: 'podKnown', atMs: 1_050, tookMs: 50 },
      { stage: 'offered', atMs: 1_300, tookMs: 250 },
      { stage: 'answered', atMs: 1_320, tookMs: 20 },
    ],
  });
  metrics.answered({
    outcome: 'noCapacity',
    stages: [
      { stage: 'asked', atMs: 1, tookMs: 0 },
      { stage: 'answered', atMs: 2_001, tookMs: 2_000 },
    ],
  });
  metrics.called('AssignPrivateIpAddresses', 'InvalidVSwitchId.IpNotEnough', 120);
  const text = await metrics.text(null, 0);
  for (const line of [
    'enactor_add_seconds_sum{outcome="ok"} 0.32',
    'enactor_add_seconds_count{outcome="noCapacity"} 1',
    'enactor_add_stage_seconds_sum{stage="offered"} 0.25',
    'enactor_wait_seconds_sum{outcome="ok"} 0.25',
    'enactor_wait_seconds_sum{outcome="noCapacity"} 2',
    'enactor_add_stage_seconds_bucket{le="0.025",stage="answered"} 1',
    'enactor_cloud_call_seconds_count{api="AssignPrivateIpAddresses",code="InvalidVSwitchId.IpNotEnough"} 1',
  ])
    t.equal(lineOf(text, line), line);
  t.notOk(text.includes('stage="asked"'), 'the first stage takes no time');
});
