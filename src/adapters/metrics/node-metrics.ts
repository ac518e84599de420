/**
 * The node's metrics for Prometheus. What happens is counted as it happens; what is, is read when somebody asks, from the same report that
 * people see. The delay of the loop costs a timer, so it is measured from the first time that anybody asks.
 * Source: Prometheus naming practices (base units, `_total`); Terway's terway_rpc_latency, aliyun_openapi_latency and pool gauges.
 */
import { readdirSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Answered } from '../../ports/answered.ts';
import type { NodeReport, Stage } from '../../ports/introspection.ts';

/** From an idle address to what a runtime waits for. */
const ADD_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** How often the runtime's loop is looked at; more often it would wake an idle node for nothing. */
const LOOP_RESOLUTION_MS = 20;
const QUANTILES = [0.5, 0.99, 1];

export class NodeMetrics {
  readonly #registry = new Registry();
  readonly #add: Histogram<'outcome'>;
  readonly #stage: Histogram<'stage'>;
  readonly #wait: Histogram<'outcome'>;
  readonly #call: Histogram<'api' | 'code'>;
  readonly #gauges: Readonly<Record<GaugeName, Gauge>>;
  readonly #counters: Readonly<Record<CounterName, Counter>>;
  #loop: IntervalHistogram | null = null;

  constructor() {
    const registers = [this.#registry];
    this.#add = new Histogram({
      ...{ name: 'enactor_add_seconds', help: 'Requests for an address, from the question to the answer', registers },
      ...{ labelNames: ['outcome'] as const, buckets: ADD_SECONDS },
    });
    this.#stage = new Histogram({
      ...{ name: 'enactor_add_stage_seconds', help: 'How long it took to this stage from the one before', registers },
      ...{ labelNames: ['stage'] as const, buckets: ADD_SECONDS },
    });
    this.#wait = new Histogram({
      ...{ name: 'enactor_wait_seconds', help: 'How long requests waited for an address to be theirs', registers },
      ...{ labelNames: ['outcome'] as const, buckets: ADD_SECONDS },
    });
    this.#call = new Histogram({
      ...{ name: 'enactor_cloud_call_seconds', help: 'Calls of the cloud by API and code', registers },
      ...{ labelNames: ['api', 'code'] as const, buckets: CALL_SECONDS },
    });
    this.#gauges = mapped(gauges, (name, [help, ...labelNames]) => new Gauge({ name, help, labelNames, registers }));
    this.#counters = mapped(counters, (name, help) => new Counter({ name, help, registers }));
  }

  readonly answered = ({ outcome, stages }: Answered): void => {
    const [first, last] = [stages[0], stages.at(-1)];
    if (first === undefined || last === undefined) return;
    this.#add.observe({ outcome }, (last.atMs - first.atMs) / 1_000);
    for (const { stage, tookMs } of stages.slice(1)) this.#stage.observe({ stage }, tookMs / 1_000);
    this.#wait.observe({ outcome }, waitMs(stages) / 1_000);
  };

  readonly called = (api: string, code: string, ms: number): void => {
    this.#call.observe({ api, code }, ms / 1_000);
  };

  /** In Prometheus' text format; `report` is null while there are no actors. */
  async text(report: NodeReport | null, nowMs: number): Promise<string> {
    if (this.#loop === null) {
      this.#loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
      this.#loop.enable();
    }
    this.#read(report, nowMs);
    this.#readProcess(this.#loop);
    return this.#registry.metrics();
  }

  #read(report: NodeReport | null, nowMs: number): void {
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    const set = (name: GaugeName, value: number, labels: Record<string, string> = {}): void =>
      this.#gauges[name].set(labels, value);
    set('enactor_serving', report?.state.split('.').includes('serving') === true ? 1 : 0);
    if (report === null) return;
    const { pool, enis, leases, waiting, actors, holds = [], store, gc, host, podWatch, room, readiness } = report;
    for (const [state, count] of Object.entries(pool?.counts ?? {})) set('enactor_addresses', count, { state });
    set('enactor_capacity_addresses', pool?.capacity ?? 0);
    set('enactor_pool_mark_addresses', pool?.minIdle ?? 0, { mark: 'min' });
    set('enactor_pool_mark_addresses', pool?.maxIdle ?? 0, { mark: 'max' });
    for (const { state } of enis) this.#gauges.enactor_enis.inc({ state: state.split('.')[0] ?? '' });
    set('enactor_leases', leases.length);
    set('enactor_waiting_pods', waiting.length + enis.reduce((sum, eni) => sum + eni.waiting, 0));
    const longestMs = Math.max(0, ...waiting.map(({ sinceMs }) => nowMs - sinceMs));
    set('enactor_longest_wait_seconds', longestMs / 1_000);
    for (const { chart } of actors) this.#gauges.enactor_actors.inc({ chart: chart ?? '' });
    for (const { of } of holds) this.#gauges.enactor_holds.inc({ of });
    set('enactor_store_failing', (store?.failing ?? null) === null ? 0 : 1);
    if (gc?.lastPassMs != null) set('enactor_gc_last_pass_timestamp_seconds', gc.lastPassMs / 1_000);
    const awayMs = podWatch?.awaySinceMs == null ? 0 : nowMs - podWatch.awaySinceMs;
    set('enactor_pod_watch_away_seconds', awayMs / 1_000);
    set('enactor_full', room?.full === true ? 1 : 0);
    set('enactor_ready', (readiness?.Code ?? 0) === 0 ? 1 : 0);
    this.#total('enactor_pod_watch_gaps_total', podWatch?.gaps ?? 0);
    this.#total('enactor_repairs_total', host?.repairs ?? 0);
    this.#total('enactor_gc_released_total', gc?.collected ?? 0);
    this.#total('enactor_gc_failed_total', gc?.failed ?? 0);
  }

  #readProcess(loop: IntervalHistogram): void {
    const { user, system } = process.cpuUsage();
    this.#total('process_cpu_seconds_total', (user + system) / 1e6);
    const { rss, heapUsed } = process.memoryUsage();
    this.#gauges.process_resident_memory_bytes.set(rss);
    this.#gauges.nodejs_heap_size_used_bytes.set(heapUsed);
    this.#gauges.process_open_fds.set(readdirSync('/proc/self/fd').length);
    // Node tells the time between two looks, which is the resolution when nothing was late.
    const lateMs = (quantile: number): number =>
      Math.max(0, loop.percentile(quantile * 100) / 1e6 - LOOP_RESOLUTION_MS);
    if (loop.count > 0)
      for (const quantile of QUANTILES)
        this.#gauges.enactor_loop_delay_seconds.set({ quantile: String(quantile) }, lateMs(quantile) / 1_000);
    loop.reset();
  }

  /** Counted elsewhere since the start. */
  #total(name: CounterName, value: number): void {
    this.#counters[name].reset();
    this.#counters[name].inc(value);
  }
}

/** From when it was known whose pod it is to when an address was its own, or to the end of one that got none. */
function waitMs(stages: Answered['stages']): number {
  const at = (wanted: Stage): number | undefined => stages.find(({ stage }) => stage === wanted)?.atMs;
  const fromMs = at('podKnown') ?? stages[0]?.atMs ?? 0;
  return Math.max(0, (at('offered') ?? stages.at(-1)?.atMs ?? fromMs) - fromMs);
}

const gauges = {
  enactor_serving: ['1 when the node serves'],
  enactor_addresses: ['Addresses of the node by state', 'state'],
  enactor_capacity_addresses: ['Addresses that the node may have'],
  enactor_pool_mark_addresses: ['Bounds on idle addresses', 'mark'],
  enactor_enis: ['ENIs by the first word of their state', 'state'],
  enactor_leases: ['Sandboxes that hold an address'],
  enactor_waiting_pods: ['Requests that have no address yet'],
  enactor_longest_wait_seconds: ['Of those in the waiting line, how long the first has waited'],
  enactor_actors: ['Actors by chart', 'chart'],
  enactor_holds: [
    'What is not asked again for a while: vSwitches and ENIs that ran dry, opening ENIs, the quota',
    'of',
  ],
  enactor_store_failing: ['1 while the database cannot be written'],
  enactor_loop_delay_seconds: ['How late the loop of the process was, since the question before', 'quantile'],
  process_resident_memory_bytes: ['Resident memory'],
  nodejs_heap_size_used_bytes: ['Heap of the runtime in use'],
  process_open_fds: ['Open file descriptors'],
  enactor_gc_last_pass_timestamp_seconds: ['When the last pass of the garbage collector ended'],
  enactor_pod_watch_away_seconds: ['How long the pods of this node have not been watched; 0 while they are'],
  enactor_full: ['1 while the node has no address left for another pod'],
  enactor_ready: ['1 while STATUS would say that an ADD can work'],
} as const satisfies Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;
type GaugeName = keyof typeof gauges;

const counters = {
  process_cpu_seconds_total: 'User and system time of the process',
  enactor_repairs_total: 'Things of the host that were repaired since the start',
  enactor_gc_released_total: 'Leases that were released since their pod was gone, since the start',
  enactor_pod_watch_gaps_total: 'How often the watch of pods has gone away since the start',
  enactor_gc_failed_total: 'Such releases that failed, since the start',
} as const;
type CounterName = keyof typeof counters;

function mapped<K extends string, V, R>(from: Readonly<Record<K, V>>, make: (name: K, value: V) => R): Record<K, R> {
  const entries = (Object.entries(from) as [K, V][]).map(([name, value]) => [name, make(name, value)] as const);
  return Object.fromEntries(entries) as Record<K, R>;
}
