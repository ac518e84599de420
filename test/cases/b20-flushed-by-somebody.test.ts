/**
 * B20: somebody flushes rules and tables and takes an ENI down and up. CHECK tells, all pods reach out again without a restart, and the
 * repair neither races with ADD and DEL nor makes anything for a pod that is gone.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { cannotWalk, eventually, Middleman, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';
import { SPEED } from './speed.ts';

t.setTimeout(SPEED === 1 ? 600_000 : 120_000);
const skip = cannotWalk();

const PODS = 5;
/** 200 in a soak. */
const PAIRS = SPEED === 1 ? 200 : 12;
const AT_A_TIME = 4;

/** The case's second of a repair period is 50 ms here: a look falls into every ADD and DEL. */
const config = { kernel_period: '50ms', kernel_gather: '10ms', leftover_grace: '100ms', repair_wait: '50ms' };

const checked = (ip: string) => ({
  conf: { prevResult: { cniVersion: '1.0.0', ips: [{ address: `${ip}/32` }] } },
});

/** `ip` on the node. */
function onNode({ node }: Runtime, ...args: string[]): string {
  const { command, args: all } = node.guest.netns.command('ip', args);
  return execFileSync(command, all, { encoding: 'utf8' });
}

type Device = { readonly device: string; readonly routeTable: number };

async function devicesOf(runtime: Runtime): Promise<Device[]> {
  const { enis } = await runtime.report();
  return enis.flatMap(({ device, routeTable }) =>
    device === null || routeTable === null ? [] : { device, routeTable },
  );
}

/** As systemd-networkd does when it starts anew, or an admin. */
function flush(runtime: Runtime, enis: readonly Device[]): void {
  const rules = onNode(runtime, 'rule')
    .split('\n')
    .map((line) => Number(/^(\d+):/.exec(line)?.[1] ?? 0))
    .filter((priority) => priority > 1_000 && priority < 32_766);
  for (const priority of rules) {
    try {
      onNode(runtime, 'rule', 'del', 'priority', `${priority}`);
    } catch (error) {
      // A DEL beside us may have taken the last one meanwhile.
      if (!/No such file/.test(String(error))) throw error;
    }
  }
  for (const { device, routeTable } of enis) {
    onNode(runtime, 'route', 'flush', 'table', `${routeTable}`);
    onNode(runtime, 'link', 'set', device, 'down');
    onNode(runtime, 'link', 'set', device, 'up');
  }
}

t.test('B20: what was flushed is told by CHECK and made again; churn meanwhile leaves nothing', { skip }, async (t) => {
  await walk(t, { config }, async (runtime) => {
    const live = new Map<Sandbox, string>();
    const pods = Array.from({ length: PODS }, (_, index) => runtime.newPod(`p${index}`));
    await Promise.all(pods.map(async (pod) => live.set(pod, (await runtime.add(pod)).ip)));
    const [pod] = pods;
    const ip = pod === undefined ? undefined : live.get(pod);
    if (pod === undefined || ip === undefined) throw new Error('no pod');
    t.equal((await runtime.run('CHECK', pod, checked(ip))).exitCode, 0, 'whole at first');
    const devices = await devicesOf(runtime);
    const allPassCheck = async (): Promise<void> => {
      for (const [each, own] of live)
        await eventually(
          `CHECK of ${each.pod} passes`,
          async () => (await runtime.run('CHECK', each, checked(own))).exitCode === 0,
        );
    };

    // The daemon answers CHECK and is held before it can repair; then the plugin looks at what was broken.
    const middleman = await Middleman.open(runtime, {
      answered: async () => {
        runtime.node.daemon?.signal('SIGSTOP');
        flush(runtime, devices);
      },
    });
    const conf = { ...checked(ip).conf, daemonSocket: middleman.path };
    const broken = await runtime.run('CHECK', pod, { conf });
    t.equal(broken.exitCode, 1);
    t.match(broken.error, { code: 100, msg: /host rule 2048 from/ });
    runtime.node.daemon?.signal('SIGCONT');
    await middleman.close();
    await allPassCheck();
    for (const [each, own] of live) t.equal(await runtime.reaches(each, own), '', `${each.pod} reaches out again`);
    await eventually('the repairs are told', async () => {
      const kinds = new Set((await runtime.report()).host?.things.map(({ kind }) => kind));
      return kinds.has('podRule') && kinds.has('eniRoute');
    });

    // Churn under the repair, and somebody who flushes now and then.
    let next = 0;
    const failures: string[] = [];
    const worker = async (): Promise<void> => {
      for (let mine = next++; mine < PAIRS; mine = next++) {
        const churned = runtime.newPod(`churn-${mine}`);
        const added = await runtime.add(churned);
        if (added.exitCode !== 0) failures.push(added.stdout);
        if (mine % 4 === 3) flush(runtime, await devicesOf(runtime));
        const deleted = await runtime.del(churned);
        if (deleted.exitCode !== 0) failures.push(deleted.stdout);
        runtime.removeNetns(churned);
        runtime.deletePod(churned.pod);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    t.strictSame(failures, [], `none of ${PAIRS} ADDs and DELs failed`);
    await allPassCheck();
    // CHECKs that told of what was broken are right answers; I8 is in here.
    await runtime.invariants(t, live);
  });
});
