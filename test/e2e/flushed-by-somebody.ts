/**
 * B20 against the daemon in its container, where /proc/sys is read-only and the host's processes are not seen: somebody flushes rules and tables and
 * takes the ENIs down and up. CHECK tells, the daemon makes it whole again, no pod is restarted, and pods come and go meanwhile.
 */
import type { Judge } from '../lab/whole-path.ts';
import { Middleman } from '../lab/whole-path.ts';
import type { CriPod } from '../runtime/cri-node.ts';
import type { ImageNode } from './image-node.ts';
import type { Stage, StageNode } from './stage.ts';
import { callPlugin } from './status-watch.ts';
import { until } from './until.ts';

/** `pods`: all of the node; `far`: a pod of another. `pairs`: of an ADD and a DEL under somebody who goes on flushing; 200 in a soak. */
export async function flushedBySomebody(
  stage: Stage,
  on: StageNode,
  {
    judge,
    pods,
    far,
    pairs,
  }: { readonly judge: Judge; readonly pods: readonly CriPod[]; readonly far: CriPod; readonly pairs: number },
): Promise<void> {
  const { node } = on;
  const [pod] = pods;
  if (pod === undefined) throw new Error('B20 needs a pod');
  const check = await checkOf(on, pod);
  judge.equal(await check(), '', 'B20: CHECK passes at first');

  // The daemon answers CHECK and is held before it can repair: then the plugin looks at what was broken.
  const between = { node: { dir: node.disk.folder, jsonSocket: node.jsonSocket } };
  const pid = node.daemonPid();
  const middleman = await Middleman.open(between, {
    answered: async () => {
      process.kill(pid, 'SIGSTOP');
      await flush(node);
    },
  });
  try {
    judge.match(
      await check({ daemonSocket: middleman.path }),
      /"code":\s*100.*host rule 2048 from/s,
      'B20: CHECK tells what was flushed',
    );
  } finally {
    process.kill(pid, 'SIGCONT');
    await middleman.close();
  }
  await until('CHECK passes again', async () => (await check()) === '');
  for (const each of pods) {
    judge.equal(await on.pods.sourceSeen(each, far), each.ip, `B20: ${each.name} reaches out again`);
  }
  const kinds = new Set((await node.report())?.host?.things.map(({ kind }) => kind));
  judge.ok(kinds.has('podRule') && kinds.has('eniRoute'), `B20: the repairs are told: ${[...kinds]}`);

  const failures: string[] = [];
  for (let nth = 0; nth < pairs; nth += 1) {
    try {
      const churned = await stage.pod(on, `flushed-${nth}`);
      if (nth % 4 === 3) await flush(node);
      await on.pods.stopPod(churned);
      await on.pods.removePod(churned);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  judge.strictSame(failures, [], `B20: none of ${pairs} ADDs and DELs failed beside the repair`);
  for (const each of pods) {
    const checked = await checkOf(on, each);
    await until(`CHECK of ${each.name} passes`, async () => (await checked()) === '');
  }
  await until(
    'I8: no rule of a pod that is gone is left',
    async () => (await podRules(node)).length === 2 * pods.length,
  );
}

/** Calls CHECK of a pod as its runtime would, and resolves to what it complains of; '' for nothing. */
async function checkOf({ node, pods }: StageNode, { sandboxId, ip, name }: CriPod) {
  const env = {
    ...{ CNI_CONTAINERID: sandboxId, CNI_IFNAME: 'eth0', CNI_NETNS: await pods.containerd.cri.netnsOf(sandboxId) },
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_INFRA_CONTAINER_ID=${sandboxId}`,
  };
  const prevResult = { cniVersion: '1.0.0', ips: [{ address: `${ip}/32` }] };
  return (conf: object = {}): Promise<string> =>
    callPlugin(node, 'CHECK', { env, conf: { cniVersion: '1.0.0', prevResult, ...conf } }).then(
      () => '',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
}

/** As systemd-networkd does when it starts anew, or an admin. */
async function flush(node: ImageNode): Promise<void> {
  const enis = (await node.run('ip', ['-o', 'route', 'show', 'table', 'all'])).matchAll(
    /^default .*dev (\S+) table (1\d{3}) /gm,
  );
  for (const [, device = '', table = ''] of enis) {
    await node.run('ip', ['route', 'flush', 'table', table]);
    await node.run('ip', ['link', 'set', device, 'down']);
    await node.run('ip', ['link', 'set', device, 'up']);
  }
  // One that the daemon, or a DEL, took meanwhile is gone too.
  for (const priority of (await rules(node)).filter((each) => each > 1_000 && each < 32_766))
    await node.run('ip', ['rule', 'del', 'priority', `${priority}`]).catch(() => {});
}

const rules = async (node: ImageNode): Promise<readonly number[]> =>
  (await node.run('ip', ['rule'])).split('\n').flatMap((line) => Number(/^(\d+):/.exec(line)?.[1] ?? 0));

const podRules = async (node: ImageNode) => (await rules(node)).filter((each) => each === 512 || each === 2_048);
