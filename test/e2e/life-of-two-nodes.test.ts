/**
 * Issue 9's `npm run e2e` in its short form: the image without Docker, by its manifests, on two nodes with containerd; pods through the plugin that it
 * installed, an update and a roll-back under load, B20 on the first node, B37 and B41 on the second, and nothing left.
 */
import '../lab/in-box.ts';

import t from 'tap';
import { missingForContainerd } from '../runtime/containerd.ts';
import { buildImage, type Image, imageFolder, NotFetched, nextImage } from './images.ts';
import { lifeOfTwoNodes } from './life-of-two-nodes.ts';

t.setTimeout(230_000);
/** Of what is fetched the first time: 100 MB. */
const FETCH_TIMEOUT_MS = 90_000;
const missing = missingForContainerd();
const skip = missing.length > 0 && `NOT RUN: containerd cannot run here: ${missing.join(', ')}`;

t.test(
  'e2e: two nodes are installed from the image, updated, rolled back under load, and left as they were',
  {
    skip,
  },
  async (t) => {
    const folder = imageFolder();
    t.teardown(() => folder.remove());
    const image = built();
    if (typeof image === 'string') {
      t.pass(image, { skip: image });
      return;
    }
    const say = (line: string) => t.comment(line);
    const next = nextImage(image, folder.path);
    // A retry comes when the daemon is there, since a slow machine's updates take longer than a kubelet waits.
    await lifeOfTwoNodes({
      ...{ judge: t, say, image, next, load: 1, kubeletPauseMs: 1_000 },
      ...{ atOnce: true, pairs: 4, outages: [['api', 'cloud', 'metadata']] },
    });
  },
);

/** Or why not: without the registries there is nothing to try. */
function built(): Image | string {
  try {
    return buildImage(FETCH_TIMEOUT_MS);
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error;
    return `NOT RUN: the package registries did not give what the image is made of: ${error.message}`;
  }
}
