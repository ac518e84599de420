/**
 * P13 with the daemon in its container, held to 10 % and 25 % of a processor by the limit that a cluster's administrator would write into the manifest
 * (by the runtime's control group): its start, and a burst of 40 pods over CRI on a cold node. Figures are comments; what is asserted is that all come.
 */
import '../lab/in-box.ts';

import t, { type Test } from 'tap';
import { missingForContainerd } from '../runtime/containerd.ts';
import { buildImage, type Image } from './images.ts';
import { Stage } from './stage.ts';

t.setTimeout(900_000);
const missing = missingForContainerd();
const skip = missing.length > 0 && `NOT RUN: containerd cannot run here: ${missing.join(', ')}`;

const PODS = 40;
/** Four ENIs of 15 addresses, one of them the node's own. */
const INSTANCE_TYPE = 'ecs.g7.2xlarge';
/** A kubelet's, between two tries. */
const PAUSE_MS = 10_000;
const TRIES = 3;

for (const cpu of ['100m', '250m'])
  t.test(`P13: a daemon with cpu ${cpu} starts, and 40 pods at once have their addresses`, { skip }, async (t) => {
    const image = buildImage();
    const say = (line: string) => t.comment(line);
    const stage = await Stage.open({ nodes: 1, instanceType: INSTANCE_TYPE, images: [image], say });
    try {
      await burst(t, stage, image, cpu);
    } finally {
      t.strictSame(await stage.close(), [], 'the stage went down in order');
    }
  });

async function burst(t: Test, stage: Stage, image: Image, cpu: string): Promise<void> {
  const [on] = stage.nodes;
  if (on === undefined) throw new Error('the stage has a node');
  stage.deploy.edit('base/daemonset.yaml', 'memory: 512Mi', `memory: 512Mi\n              cpu: ${cpu}`);
  const startMs = performance.now();
  await stage.apply(image, { min_pool_size: 0, max_pool_size: 5 });
  await on.node.containerd.whenNetworkReady();
  const readyMs = performance.now() - startMs;

  const burstMs = performance.now();
  const retried: string[] = [];
  const times: number[] = [];
  const pods = await Promise.all(
    Array.from({ length: PODS }, async (_, nth) => {
      const failed = async ({ message }: Error) => {
        retried.push(message);
        await stage.pause(on, PAUSE_MS);
      };
      const pod = await on.pods.startPod(`burst-${nth}`, { tries: TRIES, failed });
      times.push(performance.now() - burstMs);
      return pod;
    }),
  );
  t.equal(new Set(pods.map(({ ip }) => ip)).size, PODS, 'each has an address of its own');
  const report = await on.node.report();
  t.equal(report?.leases.length, PODS, 'and a lease');
  times.sort((a, b) => a - b);
  const s = (ms: number | undefined) => `${((ms ?? 0) / 1_000).toFixed(1)} s`;
  t.comment(
    `cpu ${cpu}: ready ${s(readyMs)} after the pod was made (its init container is not limited); of ${PODS} pods at once ` +
      `the first ran after ${s(times[0])}, half after ${s(times[PODS / 2 - 1])}, the last after ${s(times.at(-1))}; ` +
      `${retried.length} ADDs were tried again`,
  );
  await stage.drain(on);
}
