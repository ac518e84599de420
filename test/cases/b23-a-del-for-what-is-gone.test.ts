/**
 * B23: a DEL whose namespace, interface, ENI, pod or result is gone, or whose sandbox nobody knows, succeeds each time it comes and gives
 * everything back the first time.
 */
import '../lab/in-box.ts';

import { spawnSync } from 'node:child_process';
import t from 'tap';
import { cannotWalk, eventually, type RunOptions, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();

type Variant = {
  /** What happens between ADD and DEL. */
  readonly spoil?: (runtime: Runtime, sandbox: Sandbox) => void;
  readonly options?: (ip: string) => RunOptions;
  /** The API server has forgotten the pod. */
  readonly absent?: true;
};

const inPod = ({ netns }: Sandbox, ...args: string[]): void => {
  const { command, args: all } = netns.command('ip', args);
  const { status, stderr } = spawnSync(command, all, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
};

/** Rules and routes of the node about this address. */
function leadingTo({ node }: Runtime, ip: string): string[] {
  const { command, args } = node.guest.netns.command('sh', ['-c', 'ip rule; ip route show table all']);
  const { stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.split(' ').includes(ip));
}

const withResult = (prevResult: unknown): RunOptions => ({ conf: { prevResult } });

/** Half of the pods are still known to the API server. */
const variants: Readonly<Record<string, Variant>> = {
  'no namespace': { options: () => ({ netns: '' }), absent: true },
  'a path that is gone': {
    spoil: (runtime, sandbox) => runtime.removeNetns(sandbox),
    absent: true,
  },
  'a path of a namespace that never was': { options: () => ({ netns: '/run/netns/enactor-never-was' }) },
  'a path that is no namespace': { options: () => ({ netns: '/etc/hostname' }), absent: true },
  'the interface is gone': { spoil: (_, sandbox) => inPod(sandbox, 'link', 'del', 'eth0') },
  'no prevResult': { options: () => withResult(undefined), absent: true },
  'a prevResult of CNI 0.2.0': { options: (ip) => withResult({ cniVersion: '0.2.0', ip4: { ip: `${ip}/32` } }) },
  'a prevResult of CNI 0.3.1, with another address': {
    options: () => withResult({ cniVersion: '0.3.1', ips: [{ version: '4', address: '10.1.1.1/24', interface: 9 }] }),
  },
  'a malformed prevResult': { options: () => withResult({ cniVersion: 7, ips: 'x' }), absent: true },
};

t.test('B23: each DEL succeeds and is silent, and the first one gives all back', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const added = await Promise.all(
      Object.entries(variants).map(async ([name, variant], index) => {
        const sandbox = runtime.newPod(`p${index}`);
        return { name, variant, sandbox, ip: (await runtime.add(sandbox)).ip };
      }),
    );
    const neighbour = runtime.newPod('neighbour');
    const live = new Map([[neighbour, (await runtime.add(neighbour)).ip]]);
    const quietly = async (name: string, sandbox: Sandbox, options: RunOptions) => {
      const ran = await runtime.del(sandbox, options);
      t.strictSame([ran.exitCode, ran.stdout], [0, ''], name);
    };
    await Promise.all(
      added.map(async ({ name, variant, sandbox, ip }) => {
        t.equal(leadingTo(runtime, ip).length, 3, `${name}: ${ip} has its route and rules`);
        variant.spoil?.(runtime, sandbox);
        if (variant.absent) runtime.deletePod(sandbox.pod);
        const options = variant.options?.(ip) ?? {};
        await quietly(name, sandbox, options);
        // The first was enough, at once: no sweep is waited for.
        t.strictSame(leadingTo(runtime, ip), [], `${name}: nothing leads to ${ip}`);
        const { leases } = await runtime.report();
        t.notOk(
          leases.some((lease) => lease.sandbox.containerId === sandbox.id),
          `${name}: no lease`,
        );
        await quietly(`${name}, again`, sandbox, options);
        if (variant.absent) return;
        runtime.deletePod(sandbox.pod);
        await quietly(`${name}, without the pod`, sandbox, options);
      }),
    );
    const unknown = runtime.sandbox('never-seen', 'neighbour');
    for (const netns of [unknown.netns.path, '']) await quietly('another sandbox of a pod', unknown, { netns });
    for (const { ip } of added) await eventually(`${ip} is idle`, async () => (await runtime.stateOf(ip)) === 'idle');
    await runtime.invariants(t, live);

    // Last, since an ENI that somebody took is no rest (B13).
    const ip = live.get(neighbour) ?? '';
    const { enis } = await runtime.report();
    const eniId = enis.find(({ addresses }) => addresses.some(({ ipv4 }) => ipv4 === ip))?.eniId ?? '';
    await runtime.change({ change: 'detachEni', eniId });
    await eventually('the device is away', async () => runtime.lab.hypervisor.deviceOf(eniId) === null);
    for (const time of ['without the ENI', 'without the ENI, again']) {
      await quietly(time, neighbour, {});
      t.strictSame(leadingTo(runtime, ip), [], `${time}: nothing leads to ${ip}`);
      t.strictSame((await runtime.report()).leases, [], `${time}: no lease`);
    }
    t.strictSame(runtime.problems, []);
  });
});
