/**
 * How long a daemon takes from exec to its first AllocIP that is answered, against a Node that does nothing (`node -e 0`).
 *
 * The node has its ENI and idle addresses already, so that nothing waits for the cloud: what is measured is loading, the store, the
 * recovery with its Describe, the kernel, and the watch of pods. Rounds take turns.
 */
import { spawnSync } from 'node:child_process';
import { firstAnswer, listed, onMachine } from './bench-machine.ts';
import { machineFacts } from './machine-facts.ts';
import { type Bench, compared, sampled } from './measurement.ts';

const DEFAULT_ROUNDS = 9;
/** Newer versions of Node start faster than they load. */
const RATIO_AIM = { upTo22: 8, newer: 12 } as const;
const OLD_MAJOR = 22;

function bareNode(): number {
  const startMs = performance.now();
  const { status } = spawnSync('node', ['-e', '0']);
  if (status !== 0) throw new Error('node -e 0 failed');
  return performance.now() - startMs;
}

export const start: Bench = {
  name: 'start',
  summary: 'from exec of the daemon to its first answer, against `node -e 0`',
  run: (options) =>
    onMachine({ cool_down: '0s', min_pool_size: 2, max_pool_size: 4 }, async (here) => {
      const times = options.rounds ?? DEFAULT_ROUNDS;
      for (let nth = 0; nth <= times; nth += 1) here.addPod(`first-${nth}`);
      // Makes the ENI and fills the file cache; told to end, it leaves what it has compiled, as before an upgrade or a restart of the node.
      await firstAnswer(here, 'first-0', options, async (daemon) => {
        await daemon.stop();
      });
      bareNode();
      const [ours, bare]: [number[], number[]] = [[], []];
      for (let nth = 1; nth <= times; nth += 1) {
        bare.push(bareNode());
        ours.push(await firstAnswer(here, `first-${nth}`, options));
      }
      options.progress(`first answer after ${listed(ours)} ms, bare Node ${listed(bare)} ms`);
      const major = Number(/^v(\d+)/.exec(machineFacts().node)?.[1] ?? 0);
      return [
        sampled('start', 'exec to first AllocIP', ours, 'ms'),
        sampled('start', 'node -e 0', bare, 'ms'),
        compared('start', 'against node -e 0', ours, bare, RATIO_AIM[major <= OLD_MAJOR ? 'upTo22' : 'newer']),
      ];
    }),
};
