/**
 * `npm run e2e` at its full size, for the soak: nodes are updated one after the other, each is asked all the time, a kubelet's pause lies between two
 * tries, B20 has its 200 pairs, and B41 each of its four outages.
 */
import '../lab/in-box.ts';

import t from 'tap';
import { missingForContainerd } from '../runtime/containerd.ts';
import { buildImage, imageFolder, nextImage } from './images.ts';
import { lifeOfTwoNodes } from './life-of-two-nodes.ts';

t.setTimeout(1_800_000);
const missing = missingForContainerd();
const skip = missing.length > 0 && `NOT RUN: containerd cannot run here: ${missing.join(', ')}`;

t.test(
  'e2e at full size: two nodes are installed from the image, updated, rolled back under load, and left as they were',
  {
    skip,
  },
  async (t) => {
    const folder = imageFolder();
    t.teardown(() => folder.remove());
    const image = buildImage();
    const say = (line: string) => t.comment(line);
    const next = nextImage(image, folder.path);
    await lifeOfTwoNodes({
      ...{ judge: t, say, image, next, load: 2, kubeletPauseMs: 10_000 },
      ...{ atOnce: false, pairs: 200 },
      outages: [['api'], ['cloud'], ['metadata'], ['api', 'cloud', 'metadata']],
    });
  },
);
