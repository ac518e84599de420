/**
 * What the daemon itself costs an ADD: AllocIP over real gRPC with idle addresses there, each lease synced to LevelDB before it is answered,
 * against a call that does nothing on the same server and connection (GetIPInfo of a sandbox that nobody has). The pod's uid is named, as our plugin
 * does; without it the daemon asks the API server who the pod is.
 *
 * The caller is a process of its own, under Node as the daemon is; at so many at once it keeps that many calls under way, so throughput and
 * latency are two views of one thing: with 64 under way a mean latency is 64 over the throughput.
 */
import type { AllocLoad, AllocLoadAnswer, LoadSamples } from './alloc-load.ts';
import { endOf, idleAtLeast, onMachine, startFor } from './bench-machine.ts';
import { type Bench, compared, type Measurement, measurement, quantile, sampled } from './measurement.ts';
import { runUnderNode } from './node-program.ts';

const PODS = 200;
const AT_ONCE = [1, 16, 64];
const WARM_UP = 3;
const DEFAULT_ROUNDS = 10;
const THROUGHPUT_AIM = { atLeast: 0.45 };
const P99_AIM = 1.5;
const HELD_AT = 64;
const BENCH = 'alloc-warm';

export const allocWarm: Bench = {
  name: BENCH,
  summary: `AllocIP over gRPC, durable, at ${AT_ONCE.join(', ')} at once, against a call that does nothing on the same server`,
  run: (options) =>
    onMachine({ cool_down: '0s', min_pool_size: PODS, max_pool_size: 2 * PODS }, async (here) => {
      const { rounds, progress } = options;
      const uids = Array.from({ length: PODS }, (_, nth) => here.addPod(`pod-${nth}`));
      const daemon = startFor(here, options);
      await daemon.serving();
      await idleAtLeast(daemon, PODS);
      progress(`${PODS} addresses are idle`);
      const { grpcSocket, jsonSocket } = here.paths;
      const load: AllocLoad = {
        ...{ pid: daemon.pid, grpcSocket, jsonSocket, uids, atOnce: AT_ONCE },
        ...{ warmUp: WARM_UP, rounds: rounds ?? DEFAULT_ROUNDS },
      };
      const answer = await runUnderNode<AllocLoadAnswer>('alloc-load', load, { progress, profileInto: null });
      await endOf(daemon, options);
      return answer.flatMap(({ atOnce, of }) => figures(atOnce, of));
    }),
};

function figures(atOnce: number, of: AllocLoadAnswer[number]['of']): readonly Measurement[] {
  const at = (what: string): string => `at ${atOnce}: ${what}`;
  const p99 = ({ ms }: LoadSamples): number => quantile(ms, 0.99);
  const held = atOnce === HELD_AT;
  const ms = (us: readonly number[]): readonly number[] => us.map((one) => one / 1_000);
  return [
    sampled(BENCH, at('AllocIP'), of.alloc.perSecond, '/s'),
    sampled(BENCH, at('nothing'), of.noop.perSecond, '/s'),
    sampled(BENCH, at('AllocIP over JSON'), of.json.perSecond, '/s'),
    sampled(BENCH, at('AllocIP without a uid'), of.nameless.perSecond, '/s'),
    compared(
      BENCH,
      at('throughput, of nothing’s'),
      of.alloc.perSecond,
      of.noop.perSecond,
      held ? THROUGHPUT_AIM : null,
    ),
    sampled(BENCH, at('processor time of AllocIP'), ms(of.alloc.busyUs), 'ms'),
    sampled(BENCH, at('processor time of nothing'), ms(of.noop.busyUs), 'ms'),
    compared(BENCH, at('processor time, of nothing’s'), of.alloc.busyUs, of.noop.busyUs),
    measurement(BENCH, at('p99 of AllocIP'), p99(of.alloc), 'ms'),
    measurement(BENCH, at('p99 of nothing'), p99(of.noop), 'ms'),
    measurement(BENCH, at('p99 of AllocIP over JSON'), p99(of.json), 'ms'),
    measurement(BENCH, at('p99, of nothing’s'), p99(of.alloc) / p99(of.noop), 'x', held ? P99_AIM : null),
  ];
}
