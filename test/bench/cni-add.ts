/**
 * The compiled plugin's ADD and DEL beside the same kernel objects made and removed by two `ip -batch` runs, on an empty node and on a
 * crowded one.
 *
 * Both sides are whole processes, timed from spawn to exit by the same spawnSync with their input on stdin. Rounds visit the two nodes in
 * turns and alternate which side goes first. In the first round on the empty node the two sides' pods are compared, object by object, before
 * figures are believed; on both nodes each is checked to be gone afterwards. The aims are on the medians of the rounds' ratios.
 */
import { mkdtempSync } from 'node:fs';
import { openBunLibc } from '../../src/adapters/netlink/libc-bun.ts';
import {
  assertGone,
  assertSame,
  ip,
  mustBeBuilt,
  numberedPod,
  type Pod,
  run,
  type Side,
  Sides,
  startDaemon,
  type Verb,
} from './cni-sides.ts';
import { CROWD, emptyNode, makeCrowd } from './crowded-node.ts';
import { type Bench, compared, type Measurement, sampled } from './measurement.ts';

const DEFAULT_ROUNDS = 60;
const WARM_UP_ROUNDS = 5;
const RATIO_AIM = { add: 1.8, del: 1.3 } as const;
const CROWD_AIM = 1.15;
const NODES = ['empty', 'crowded'] as const;

type NodeName = (typeof NODES)[number];
type Samples = Record<`${NodeName}.${Side}.${Verb}`, number[]>;

function figures(samples: Samples): readonly Measurement[] {
  return (['add', 'del'] as const).flatMap((verb) => {
    const bench = `cni-${verb}`;
    const of = (node: NodeName, side: Side) => samples[`${node}.${side}.${verb}`];
    const aim = RATIO_AIM[verb];
    return [
      ...NODES.flatMap((node) => [
        sampled(bench, `${node} node, plugin`, of(node, 'plugin'), 'ms'),
        sampled(bench, `${node} node, ip -batch`, of(node, 'yardstick'), 'ms'),
        compared(
          bench,
          `${node} node, against ip -batch`,
          of(node, 'plugin'),
          of(node, 'yardstick'),
          node === 'empty' ? aim : null,
        ),
      ]),
      compared(bench, 'crowded against empty node, plugin', of('crowded', 'plugin'), of('empty', 'plugin'), CROWD_AIM),
      compared(bench, 'crowded against empty node, ip -batch', of('crowded', 'yardstick'), of('empty', 'yardstick')),
    ];
  });
}

export const cniAdd: Bench = {
  name: 'cni-add',
  also: ['cni-del'],
  summary: `the plugin’s ADD and DEL against the same objects made by two \`ip -batch\` runs; empty node, and ${CROWD.pods} pods, ${CROWD.routes} routes, ${CROWD.rules} rules`,
  async run({ rounds, progress }) {
    mustBeBuilt();
    const libc = openBunLibc();
    const count = (rounds ?? DEFAULT_ROUNDS) + WARM_UP_ROUNDS;
    const folder = mkdtempSync('/run/bench-');
    const pods = NODES.flatMap((node, nth) =>
      Array.from({ length: count }, (_, round) => {
        const number = nth * count + round + 1;
        return { node, round, pair: [numberedPod('plugin', number), numberedPod('yardstick', number)] as const };
      }),
    );
    const daemon = await startDaemon(
      `${folder}/enactor.socket`,
      pods.flatMap(({ pair }) => [...pair]),
    );
    const nodes = { empty: emptyNode(libc, 'empty'), crowded: emptyNode(libc, 'crowded') };
    try {
      const sides = new Sides(`${folder}/enactor.socket`, folder);
      for (const { pair } of pods) for (const { netns } of pair) run(ip(['netns', 'add', netns]));
      progress('makes the crowd');
      nodes.crowded.within(() => makeCrowd(CROWD));
      progress(`${count} rounds on each node`);
      const samples = Object.fromEntries(
        NODES.flatMap((node) =>
          ['plugin.add', 'plugin.del', 'yardstick.add', 'yardstick.del'].map((what) => [`${node}.${what}`, []]),
        ),
      ) as unknown as Samples;
      const took = (verb: Verb, pod: Pod): number =>
        sides.processes(verb, pod).reduce((ms, process) => ms + run(process), 0);
      for (const { node, round, pair } of [...pods].sort((a, b) => a.round - b.round)) {
        const order = round % 2 === 0 ? pair : pair.toReversed();
        nodes[node].within(() => {
          const added = order.map((pod) => ({ pod, ms: took('add', pod) }));
          if (round === 0 && node === 'empty') assertSame(...pair);
          const removed = order.map((pod) => ({ pod, ms: took('del', pod) }));
          if (round === 0) pair.forEach(assertGone);
          if (round < WARM_UP_ROUNDS) return;
          for (const { pod, ms } of added) samples[`${node}.${pod.side}.add`].push(ms);
          for (const { pod, ms } of removed) samples[`${node}.${pod.side}.del`].push(ms);
        });
      }
      return figures(samples);
    } finally {
      await daemon.terminate();
      for (const node of Object.values(nodes)) node.end();
    }
  },
};
