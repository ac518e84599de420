/**
 * The daemon on a tenth and on a quarter of a processor: its start, AllocIP with idle addresses there, and a burst of 40 pods at once. What a
 * DaemonSet's requests and limits are to be set from (cases/field P13).
 *
 * Only the daemon is in the group; the cloud, the API server and the caller are not. The fast cloud answers in a few milliseconds, so that
 * what is waited for is the processor. The whole processor is measured in the same run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type DaemonRun, type Machine } from '../daemon/machine.ts';
import { inLots, onMachine, startFor } from './bench-machine.ts';
import { type Bench, type BenchOptions, type Measurement, quantile, sampled } from './measurement.ts';
import { type CpuShare, cpuShare } from './small-cpu.ts';

const SHARES = [100, 25, 10] as const;
const PODS = 40;
const LONE = 20;
const DEFAULT_ROUNDS = 3;
const POLL_MS = 10;
const PATIENCE_MS = 90_000;
const BENCH = 'small';
/** kubelet starts no pod faster. */
const PAUSE_MS = 50;

async function asked(here: Machine, method: string, pod: string): Promise<number> {
  const startMs = performance.now();
  const { status, body } = await call(here.paths.jsonSocket, method, pod);
  if (status !== 200) throw new Error(`${method} answered ${status}: ${JSON.stringify(body)}`);
  return performance.now() - startMs;
}

async function started(
  here: Machine,
  options: BenchOptions,
  share: CpuShare,
): Promise<{ daemon: DaemonRun; ms: number }> {
  const startMs = performance.now();
  const daemon = startFor(here, options);
  share.hold(daemon.pid);
  for (;;) {
    const answer = await call(here.paths.jsonSocket, 'AllocIP', 'first').catch(() => null);
    if (answer?.status === 200) return { daemon, ms: performance.now() - startMs };
    if (performance.now() - startMs > PATIENCE_MS) throw new Error(`no answer:\n${daemon.log.slice(-2_000)}`);
    await sleep(POLL_MS);
  }
}

type Samples = {
  readonly start: number[];
  readonly lone: number[];
  readonly burst: number[];
  readonly throttled: number[];
};

async function round(here: Machine, options: BenchOptions, percent: number, into: Samples): Promise<void> {
  const share = cpuShare(`enactor-bench-${process.pid}-${percent}`, percent);
  const { daemon, ms } = await started(here, options, share);
  try {
    into.start.push(ms);
    await daemon.serving(); // the first answer may come from what is remembered
    const lone: number[] = [];
    for (let nth = 0; nth < LONE; nth += 1) {
      lone.push(await asked(here, 'AllocIP', `pod-${nth}`));
      await asked(here, 'ReleaseIP', `pod-${nth}`);
      await sleep(PAUSE_MS);
    }
    into.lone.push(quantile(lone, 0.5));
    const before = share.throttledMs();
    const burst = await Promise.all(Array.from({ length: PODS }, (_, nth) => asked(here, 'AllocIP', `pod-${nth}`)));
    into.burst.push(Math.max(...burst));
    into.throttled.push(share.throttledMs() - before);
    await inLots(PODS, (nth) => asked(here, 'ReleaseIP', `pod-${nth}`));
    await asked(here, 'ReleaseIP', 'first');
  } finally {
    await daemon.kill();
    share.end();
  }
}

export const small: Bench = {
  name: BENCH,
  summary: `start, AllocIP and a burst of ${PODS} on 10 % and 25 % of a processor`,
  run: (options) =>
    onMachine({ cool_down: '0s', min_pool_size: 5, max_pool_size: 10 }, async (here) => {
      const { rounds, progress } = options;
      here.addPod('first');
      for (let nth = 0; nth < PODS; nth += 1) here.addPod(`pod-${nth}`);
      const samples = SHARES.map((): Samples => ({ start: [], lone: [], burst: [], throttled: [] }));
      for (let nth = 0; nth < (rounds ?? DEFAULT_ROUNDS); nth += 1)
        for (const [which, percent] of SHARES.entries()) {
          const into = samples[which] as Samples;
          await round(here, options, percent, into);
          progress(
            `${percent} %: start ${Math.round(into.start.at(-1) ?? 0)} ms, burst ${Math.round(into.burst.at(-1) ?? 0)} ms`,
          );
        }
      return SHARES.flatMap((percent, which): readonly Measurement[] => {
        const { start, lone, burst, throttled } = samples[which] as Samples;
        const on = (what: string): string => `${percent} % of a processor: ${what}`;
        return [
          sampled(BENCH, on('exec to first AllocIP'), start, 'ms'),
          sampled(BENCH, on('a lone AllocIP from idle'), lone, 'ms'),
          sampled(BENCH, on(`${PODS} AllocIPs at once, 5 idle`), burst, 'ms'),
          sampled(BENCH, on('of that held back by the share'), throttled, 'ms'),
        ];
      });
    }),
};
