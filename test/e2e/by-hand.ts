/**
 * `npm run e2e -- --by-hand`: the cluster of the e2e run, with nothing of Enactor on it, and a shell in which deploy/install.md can be followed by
 * whoever sits there. When the shell ends everything is taken down.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUSYBOX_IMAGE, WEB_COMMAND } from '../runtime/busybox-image.ts';
import type { Image } from './images.ts';
import { PAGE } from './page.ts';
import { Stage } from './stage.ts';
import { forwards } from './strict-host.ts';

/** Of the cluster's network, for somebody to look at: a pod on each node. */
const PODS = 'pods.json';

/** Resolves to what was left of it. Rejects when the cluster does not come up. */
export async function byHand(images: readonly [Image, Image], say: (line: string) => void): Promise<readonly string[]> {
  const stage = await Stage.open({ nodes: 2, images, say });
  try {
    const [image, next] = images;
    for (const { node } of stage.nodes) forwards(node);
    stage.deploy.nameImage(image);
    stage.deploy.configure();
    writeFileSync(join(stage.deploy.folder, PODS), JSON.stringify(podOnEachNode(), null, 2));
    const { env } = stage.hands;
    if (env === null) throw new Error('there is no kubectl (Debian: kubernetes-client)');
    say(
      `two nodes wait, and ${stage.hands.name} knows them. In this folder deploy/ is edited as install.md says, for this cluster.`,
    );
    say(`images: ${image.name}, and ${next.name} to update to. For pods on both nodes: kubectl apply -f ${PODS}`);
    say(`begin with: ${PAGE.apply}`);
    const shell = process.env.SHELL ?? '/bin/sh';
    const child = spawn(shell, [], { stdio: 'inherit', cwd: stage.deploy.folder, env: { ...process.env, ...env } });
    await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
    for (const refused of new Set(stage.lab.api.admin.denied)) say(`the API server refused a daemon: ${refused}`);
    return await stage.close();
  } catch (error) {
    await stage.close();
    throw error;
  }
}

function podOnEachNode(): object {
  const labels = { app: 'web' };
  const container = { name: 'web', image: BUSYBOX_IMAGE, command: WEB_COMMAND };
  return {
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'web', namespace: 'default' } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  };
}
