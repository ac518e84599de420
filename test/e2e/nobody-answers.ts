/**
 * B41 against the daemon in its container: it is killed with pods on the node, and when the kubelet has started it again the API server, the cloud, the
 * metadata service or all of them are away. DELs succeed, an ADD succeeds or is to be tried again, nothing is given twice, and what returns is enough.
 *
 * They are cut off on the node itself by a filter on its loopback, where the lab has them; connections that are open are reset too.
 */

import { API_SERVER_PORT, OPENAPI_PORT } from '../../src/lab/node/lab-node.ts';
import type { Judge } from '../lab/whole-path.ts';
import type { CriPod } from '../runtime/cri-node.ts';
import type { ImageNode } from './image-node.ts';
import type { Stage, StageNode } from './stage.ts';
import { until } from './until.ts';

const PORTS = { api: API_SERVER_PORT, cloud: OPENAPI_PORT, metadata: 80 } as const;
export type Who = keyof typeof PORTS;
/** The words of a refusal that a runtime tries again. */
const TRY_AGAIN = /AllocIP failed: (unavailable|unreachable|deadline_exceeded|aborted)/;
const TRIES = 30;
const PAUSE_MS = 1_000;

/** `pods`: of the node, of which two go. Resolves to those that are there afterwards. */
export async function nobodyAnswers(
  stage: Stage,
  on: StageNode,
  { judge, pods, away }: { readonly judge: Judge; readonly pods: readonly CriPod[]; readonly away: readonly Who[] },
): Promise<readonly CriPod[]> {
  const { node } = on;
  const who = `B41, away: ${away.join(', ')}`;
  const [one, two, ...stay] = pods;
  if (one === undefined || two === undefined) throw new Error('B41 needs two pods that go');
  process.kill(node.daemonPid(), 'SIGKILL');
  await cut(node, away);
  try {
    await on.daemon?.restart('enactord');
    const apiAlone = away.every((each) => each === 'api');
    await until(`${who}: the socket answers, and says how it is`, async () => {
      const health = await node.health();
      return apiAlone ? health?.status === 200 : health?.status === 503 && /degraded.*identify: /s.test(health.body);
    });
    for (const pod of [one, two]) {
      await on.pods.stopPod(pod);
      await on.pods.removePod(pod);
    }
    judge.ok(true, `${who}: two DELs succeed`);
    const refused: string[] = [];
    let mended = false;
    const adding = [0, 1].map((nth) =>
      on.pods.startPod(`away-${away.join('-')}-${nth}`, {
        tries: TRIES,
        failed: async ({ message }) => {
          if (!mended || !TRY_AGAIN.test(message)) refused.push(message);
          await stage.pause(on, PAUSE_MS);
        },
      }),
    );
    let answered = 0;
    const count = () => {
      answered += 1;
    };
    for (const one of adding) one.then(count, count);
    await until(
      `${who}: both ADDs are answered once, by an address or a refusal`,
      async () => answered + refused.length >= 2,
    );
    judge.strictSame(
      refused.filter((message) => !TRY_AGAIN.test(message)),
      [],
      `${who}: an ADD succeeds or is to be tried again`,
    );
    await mend(node);
    mended = true;
    const added = await Promise.all(adding);
    await until(`${who}: the daemon serves again, without a restart`, () => node.serves());
    const there = [...stay, ...added];
    const report = await node.report();
    const leased = report?.leases.map(({ grant }) => grant.address.ipv4).sort();
    judge.strictSame(
      leased,
      there.map(({ ip }) => ip).sort(),
      `${who}: each pod has its own address, and nothing was freed wrongly`,
    );
    judge.strictSame(report?.invalidLeases, [], `${who}: all of them are there`);
    return there;
  } finally {
    await mend(node);
  }
}

async function cut(node: ImageNode, away: readonly Who[]): Promise<void> {
  const ports = away.map((each) => PORTS[each]).join(', ');
  const chain = `type filter hook input priority -200; iif lo tcp dport { ${ports} } reject with tcp reset`;
  await node.run('nft', ['-f', '-'], `table ip outage {\n chain in {\n ${chain}\n }\n}\n`);
}

/** Idempotent. */
async function mend(node: ImageNode): Promise<void> {
  await node.run('nft', ['delete', 'table', 'ip', 'outage']).catch(() => {});
}
