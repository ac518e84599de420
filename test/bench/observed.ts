/**
 * What looking costs the node: processor time of the daemon for an AllocIP and its ReleaseIP, and how late its loop is, while nobody looks
 * and while a stream of all that happens, the inspector's page, the whole-screen view and the log are read.
 *
 * Both sides take turns on one daemon, so that what else the machine does meets both; the aim is on the median of the rounds' ratios. The
 * page and the screen are what they do to the daemon: the page's own reader, and a stream and the reports of `enactor watch`.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { debugLines } from '../../src/adapters/http/debug-client.ts';
import { NodeSource } from '../../src/inspect/node-source.ts';
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';
import { ask, call, type DaemonRun, type Machine, machine } from '../daemon/machine.ts';
import { type Bench, type Measurement, measurement, quantile } from './measurement.ts';

const PODS = 20;
const PAIRS = 60;
const DEFAULT_ROUNDS = 6;
const RATIO_AIM = 1.15;
const PAUSE_MS = 5;
/** As `enactor watch` reads. */
const SCREEN_MS = 500;
const TICK_MS = 10;

type Side = { readonly cpuMs: number[]; readonly lateMs: number[] };

/** User and system time of the process. Source: proc(5), fields 14 and 15 of stat, in ticks. */
function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function lateMs({ paths }: Machine): Promise<number> {
  const lines: string[] = [];
  for await (const line of debugLines(paths.debugSocket, '/metrics', AbortSignal.timeout(5_000))) lines.push(line);
  const found = lines.find((line) => line.startsWith('enactor_loop_delay_seconds{quantile="0.99"}'));
  return Number(found?.split(' ')[1] ?? 0) * 1_000;
}

async function round(here: Machine, daemon: DaemonRun, nth: number, side: Side): Promise<void> {
  await lateMs(here);
  const startMs = cpuMs(daemon.pid);
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const sandbox = { K8sPodInfraContainerId: `sandbox-${nth}-${pair}` };
    const pod = `pod-${pair % PODS}`;
    const { status } = await call(here.paths.jsonSocket, 'AllocIP', pod, sandbox);
    if (status !== 200) throw new Error(`AllocIP answered ${status}`);
    await call(here.paths.jsonSocket, 'ReleaseIP', pod, sandbox);
    await sleep(PAUSE_MS);
  }
  side.cpuMs.push((cpuMs(daemon.pid) - startMs) / PAIRS);
  side.lateMs.push(await lateMs(here));
}

/** Runs `work` while it is looked at in every way. */
async function observed(here: Machine, work: () => Promise<void>): Promise<number> {
  const { debugSocket } = here.paths;
  const end = new AbortController();
  let lines = 0;
  const page = new NodeSource(debugSocket, 'node').watch((told) => {
    if (told.kind === 'seen') lines += told.seen.length;
  });
  const reads = ['/v1/streams/inspection', '/v1/streams/inspection', '/v1/streams/log'].map(async (path) => {
    for await (const _ of debugLines(debugSocket, path, end.signal)) lines += 1;
  });
  const screen = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await ask(debugSocket, 'GET', '/v1/report');
      await sleep(SCREEN_MS, undefined, { signal: end.signal }).catch(() => {});
    }
  };
  const all = [...reads, screen()];
  try {
    await work();
  } finally {
    end.abort();
    page();
    await Promise.allSettled(all);
  }
  return lines;
}

async function run({ rounds, progress }: Parameters<Bench['run']>[0]): Promise<readonly Measurement[]> {
  process.env[BOX_VARIABLE] ??= 'root';
  const ends: (() => unknown)[] = [];
  const test = { teardown: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof machine>[0];
  const here = await machine(test, { cool_down: '0s', min_pool_size: 2, max_pool_size: 4 });
  try {
    for (let nth = 0; nth < PODS; nth += 1) here.addPod(`pod-${nth}`);
    const daemon = here.start();
    await daemon.serving();
    const [alone, looked]: [Side, Side] = [
      { cpuMs: [], lateMs: [] },
      { cpuMs: [], lateMs: [] },
    ];
    await round(here, daemon, 0, { cpuMs: [], lateMs: [] }); // until the machine code is there
    for (let nth = 1; nth <= (rounds ?? DEFAULT_ROUNDS); nth += 1) {
      await round(here, daemon, 2 * nth, alone);
      const lines = await observed(here, () => round(here, daemon, 2 * nth + 1, looked));
      const [one, other] = [alone.cpuMs.at(-1) ?? 0, looked.cpuMs.at(-1) ?? 0];
      const [calm, watched] = [alone.lateMs.at(-1) ?? 0, looked.lateMs.at(-1) ?? 0];
      progress(
        `round ${nth}: ${one.toFixed(2)} ms alone, ${other.toFixed(2)} ms observed (${lines} lines read); loop p99 ${calm.toFixed(1)} and ${watched.toFixed(1)} ms`,
      );
    }
    const [cpu, cpuLooked] = [quantile(alone.cpuMs, 0.5), quantile(looked.cpuMs, 0.5)];
    const ratios = looked.cpuMs.map((ms, nth) => ms / (alone.cpuMs[nth] ?? ms));
    const [late, lateLooked] = [quantile(alone.lateMs, 0.5), quantile(looked.lateMs, 0.5)];
    return [
      measurement('observed', 'CPU time of a pair, nobody looks, median', cpu, 'ms'),
      measurement('observed', 'CPU time of a pair, observed, median', cpuLooked, 'ms'),
      measurement('observed', 'CPU time, median of the rounds’ ratios', quantile(ratios, 0.5), 'x', RATIO_AIM),
      measurement('observed', 'loop delay p99, nobody looks, median', late, 'ms'),
      measurement('observed', 'loop delay p99, observed, median', lateLooked, 'ms'),
      measurement('observed', 'loop delay p99, ratio of the medians', lateLooked / late, 'x', RATIO_AIM),
    ];
  } finally {
    for (const end of ends) await end();
  }
}

export const observedBench: Bench = {
  name: 'observed',
  summary:
    'what an AllocIP costs the daemon while nobody looks, and while streams, the page, a screen and the log are read',
  run,
};
