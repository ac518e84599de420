/**
 * A hundred pods at once: from the start of the first process to the end of the last, by the plugin and by pairs of `ip -batch` runs.
 *
 * Warm: the executable is in the file cache and the daemon answers at once. All processes are started from one thread without waiting, as
 * a runtime does; a pair's second one starts when its first has ended. The kernel changes its network under one lock, so both sides queue
 * there. Rounds alternate which side goes first; the pods' namespaces are used again, empty as they were.
 */
import { mkdtempSync } from 'node:fs';
import {
  assertGone,
  assertSame,
  ENI,
  ip,
  makeEni,
  mustBeBuilt,
  numberedPod,
  type Pod,
  run,
  type Side,
  Sides,
  startDaemon,
  started,
  type Verb,
} from './cni-sides.ts';
import { type Bench, compared, quantile, sampled } from './measurement.ts';

const PODS = 100;
/** Beyond those that bench cni-add leaves behind in the same run. */
const FIRST = 5_001;
const DEFAULT_ROUNDS = 12;
const RATIO_AIM = 1.3;

export const cniParallel: Bench = {
  name: 'cni-parallel',
  summary: `${PODS} ADDs at once against ${PODS} pairs of \`ip -batch\` runs at once`,
  async run({ rounds, progress }) {
    mustBeBuilt();
    const folder = mkdtempSync('/run/bench-');
    const pods = (side: Side) => Array.from({ length: PODS }, (_, nth) => numberedPod(side, FIRST + nth));
    const of = { plugin: pods('plugin'), yardstick: pods('yardstick') };
    makeEni();
    const daemon = await startDaemon(`${folder}/enactor.socket`, of.plugin);
    try {
      const sides = new Sides(`${folder}/enactor.socket`, folder);
      for (const { netns } of [...of.plugin, ...of.yardstick]) run(ip(['netns', 'add', netns]));
      const one = async (verb: Verb, pod: Pod, startMs: number): Promise<number> => {
        for (const process of sides.processes(verb, pod)) await started(process);
        return performance.now() - startMs;
      };
      const all = (verb: Verb, side: Side): Promise<number[]> => {
        const startMs = performance.now();
        return Promise.all(of[side].map((pod) => one(verb, pod, startMs)));
      };
      const samples: Record<`${Side}.${'add' | 'del' | 'half'}`, number[]> = {
        'plugin.add': [],
        'plugin.del': [],
        'plugin.half': [],
        'yardstick.add': [],
        'yardstick.del': [],
        'yardstick.half': [],
      };
      for (let round = 0; round <= (rounds ?? DEFAULT_ROUNDS); round += 1) {
        const order: readonly Side[] = round % 2 === 0 ? ['plugin', 'yardstick'] : ['yardstick', 'plugin'];
        for (const side of order) {
          const added = await all('add', side);
          if (round === 0) continue;
          samples[`${side}.add`].push(Math.max(...added));
          samples[`${side}.half`].push(quantile(added, 0.5));
        }
        const [first, second] = [of.plugin[0], of.yardstick[0]];
        if (round === 0 && first !== undefined && second !== undefined) assertSame(first, second);
        for (const side of order) {
          const removed = await all('del', side);
          if (round > 0) samples[`${side}.del`].push(Math.max(...removed));
        }
        if (round === 0) [...of.plugin, ...of.yardstick].slice(0, 2).forEach(assertGone);
      }
      progress(`${samples['plugin.add'].length} rounds`);
      const both = (what: 'add' | 'del' | 'half') => [samples[`plugin.${what}`], samples[`yardstick.${what}`]] as const;
      return [
        sampled('cni-parallel', `${PODS} ADDs, plugin`, samples['plugin.add'], 'ms'),
        sampled('cni-parallel', `${PODS} ADDs, ip -batch`, samples['yardstick.add'], 'ms'),
        compared('cni-parallel', `${PODS} ADDs, until the last`, ...both('add'), RATIO_AIM),
        compared('cni-parallel', `${PODS} ADDs, until half of them`, ...both('half')),
        compared('cni-parallel', `${PODS} DELs, until the last`, ...both('del')),
      ];
    } finally {
      await daemon.terminate();
      run(ip(['link', 'del', ENI.device])); // the benches with a machine have devices of that name
    }
  },
};
