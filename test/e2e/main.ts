/**
 * `npm run e2e`: builds the image without Docker, installs it on two nodes of a lab by the manifests of deploy/, updates and rolls back under load, and
 * uninstalls. A line for each step, and one for each thing that was looked at; 1 when one of them is not so. Nothing is left of it, also on failure.
 *
 * --load N    pods that come and go at a time on each node; default 2
 * --by-hand   the same cluster with nothing on it, and a shell to follow deploy/install.md in, with kubectl
 */
import { parseArgs } from 'node:util';
import { BoxError, insideBox } from '../../src/lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../../src/lab/box/run-in-box.ts';
import { missingForContainerd } from '../runtime/containerd.ts';
import { byHand } from './by-hand.ts';
import { buildImage, imageFolder, nextImage } from './images.ts';
import { lifeOfTwoNodes } from './life-of-two-nodes.ts';
import { linesJudge } from './lines-judge.ts';

/** Source: Kubernetes, pkg/kubelet/kubelet.go, backOffPeriod. */
const KUBELET_PAUSE_MS = 10_000;

const { values } = parseArgs({
  options: { load: { type: 'string', default: '2' }, 'by-hand': { type: 'boolean', default: false } },
});
const beginMs = performance.now();
const say = (line: string) =>
  console.log(`${((performance.now() - beginMs) / 1_000).toFixed(1).padStart(6)} s  ${line}`);

process.exitCode = await main();

async function main(): Promise<number> {
  const missing = missingForContainerd();
  if (missing.length > 0) {
    console.error(`e2e cannot run here: ${missing.join(', ')}`);
    return 1;
  }
  if (!insideBox()) {
    // Out here, where the registries are: the box has a network of its own.
    say(`${buildImage().name} is built, without Docker`);
    try {
      return await runInBox([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      console.error(error.message);
      return 1;
    }
  }
  // The kernel takes the box away with this process: nothing else has to be ended.
  onStopRequest(
    () => process.exit(130),
    () => process.exit(130),
  );
  const folder = imageFolder();
  process.once('exit', () => folder.remove());
  const judge = linesJudge(say);
  const image = buildImage();
  const next = nextImage(image, folder.path);
  say(`${next.name} differs from it by its version`);
  if (values['by-hand']) {
    const left = await byHand([image, next], say);
    for (const line of left) console.error(line);
    return left.length === 0 ? 0 : 1;
  }
  await lifeOfTwoNodes({
    judge,
    say,
    image,
    next,
    load: Number(values.load),
    kubeletPauseMs: KUBELET_PAUSE_MS,
    atOnce: false,
    pairs: 20,
    outages: [['api'], ['cloud'], ['metadata'], ['api', 'cloud', 'metadata']],
  });
  say(
    judge.failed === 0
      ? `ok: ${judge.looked} things looked at`
      : `NOT OK: ${judge.failed} of ${judge.looked} are not so`,
  );
  return judge.failed === 0 ? 0 : 1;
}
