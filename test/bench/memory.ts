/**
 * What the daemon keeps: resident memory at rest without pods and with 250, and its heap, after a forced collection, while pods come and go.
 *
 * Resident memory is of a daemon as it runs on a node, with no flag of Node. The heap is of one that collects when it is told to; its growth
 * is counted from the first 2,000 cycles on, when code is compiled and rings are full. `--profile memory` tells what it has more of.
 *
 * What a released sandbox may have left on the host is remembered until the host was looked at, usually for 15 to 75 seconds, here for two: else
 * the heap would depend on how quick the machine is, and on the instant (half a kilobyte for each pod of the last minute).
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type Machine } from '../daemon/machine.ts';
import { endOf, idleAtLeast, inLots, onMachine, startFor } from './bench-machine.ts';
import { heapArgs, heapLook } from './heap-looks.ts';
import { type Bench, type Measurement, measurement } from './measurement.ts';

const PODS = 250;
const RSS_AIM_MB = 120;
const CYCLES = 20_000;
const COUNTED_AFTER = 2_000;
const AT_ONCE = 16;
const GROWTH_AIM_PERCENT = 3;
/** Node gives memory back to the system late. */
const REST_MS = 8_000;
const MB = 1_000_000;
/** Until journals are written, which are so behind, and what was left on the host is known to be gone. */
const SETTLED_MS = 4_000;
const KEYS = { cool_down: '0s', leftover_grace: '1s', kernel_period: '1s' };
const BENCH = 'memory';

/** Source: proc(5), status. */
export function residentMb(pid: number): number {
  const [, kb = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(kb) * 1_024) / MB;
}

async function asked(here: Machine, method: string, pod: string, sandbox: string): Promise<void> {
  const { status, body } = await call(here.paths.jsonSocket, method, pod, { K8sPodInfraContainerId: sandbox });
  if (status !== 200) throw new Error(`${method} answered ${status}: ${JSON.stringify(body)}`);
}

/** `count` pods that come and go, so many at once; each has a name of its own, as those of jobs have. */
async function cycles(here: Machine, from: number, count: number): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    for (let nth = next++; nth < from + count; nth = next++) {
      const pod = `job-${nth}`;
      here.addPod(pod);
      await asked(here, 'AllocIP', pod, `cycle-${nth}`);
      await asked(here, 'ReleaseIP', pod, `cycle-${nth}`);
      here.removePod(pod);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

export const memory: Bench = {
  name: BENCH,
  summary: `resident memory at rest with 0 and ${PODS} pods, and the heap over ${CYCLES} pods that come and go`,
  run: (options) =>
    onMachine({ ...KEYS, min_pool_size: PODS, max_pool_size: 2 * PODS }, async (here) => {
      const { progress, rounds, profileInto } = options;
      for (let nth = 0; nth < PODS; nth += 1) here.addPod(`pod-${nth}`);
      const rows: Measurement[] = [];
      const daemon = startFor(here, options);
      await daemon.serving();
      await idleAtLeast(daemon, PODS);
      await sleep(REST_MS);
      rows.push(measurement(BENCH, 'resident at rest, no pod', residentMb(daemon.pid), 'MB', RSS_AIM_MB));
      await inLots(PODS, (nth) => asked(here, 'AllocIP', `pod-${nth}`, `held-${nth}`));
      await sleep(REST_MS);
      rows.push(measurement(BENCH, `resident at rest, ${PODS} pods`, residentMb(daemon.pid), 'MB', RSS_AIM_MB));
      await inLots(PODS, (nth) => asked(here, 'ReleaseIP', `pod-${nth}`, `held-${nth}`));
      await endOf(daemon, options);

      const second = here.start({}, here.dir, heapArgs);
      await second.serving();
      const heaps: number[] = [];
      const steps = rounds ?? CYCLES / COUNTED_AFTER;
      for (let step = 0; step < steps; step += 1) {
        await cycles(here, step * COUNTED_AFTER, COUNTED_AFTER);
        await sleep(SETTLED_MS);
        const isProfiled = step === 0 || step === steps - 1;
        const { heapUsed, rss } = await heapLook(second.pid, here.dir, isProfiled ? profileInto : null);
        heaps.push(heapUsed / MB);
        progress(
          `${(step + 1) * COUNTED_AFTER} cycles: heap ${(heapUsed / MB).toFixed(1)} MB, resident ${(rss / MB).toFixed(0)} MB`,
        );
      }
      await endOf(second, options);
      const [first = 0, last = 0] = [heaps[0], heaps.at(-1)];
      const growth = 100 * (last / first - 1);
      return [
        ...rows,
        measurement(BENCH, `heap after ${COUNTED_AFTER} cycles`, first, 'MB'),
        measurement(BENCH, `heap after ${steps * COUNTED_AFTER} cycles`, last, 'MB'),
        measurement(BENCH, `growth of the heap since ${COUNTED_AFTER} cycles`, growth, '%', GROWTH_AIM_PERCENT),
      ];
    }),
};
