/**
 * B68: on node start or drain tens of pods come at once, and go. Plugin processes, daemon and kernel are the real ones; the cloud takes 0.8 s a
 * call and two calls a second (both divided by the speed). In CI a part of the hundred pods, at life's speed (`npm run soak`) all of them.
 */
import '../lab/in-box.ts';

import t from 'tap';
import { INSTANCE_TYPES, type InstanceType } from '../../src/vpc/instance-types.ts';
import { mutates } from '../../src/vpc/model.ts';
import type { ApiName } from '../../src/vpc/requests.ts';
import { PROFILES } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { ip, numberedPod, type Pod, run, Sides, started } from '../bench/cni-sides.ts';
import { machine } from '../daemon/machine.ts';
import { cannotRunPlugin } from '../plugin/plugin-process.ts';
import { SPEED } from './speed.ts';

t.setTimeout(240_000);

const PODS = SPEED === 1 ? 100 : 16;
const IDLE = 10;
const PER_ENI = 30;
const CALL_MS = 800;
const PER_SECOND = 2;
/** A runtime gives up later; a busy machine may be slow. */
const ALL_WITHIN_MS = 60_000;

const type: InstanceType = {
  ...(INSTANCE_TYPES[0] as InstanceType),
  ...{ instanceType: 'bench.node', enis: 10, ipv4PerEni: PER_ENI, ipv6PerEni: 0, enisInTotal: 10 },
};
const delays = Object.fromEntries(
  Object.entries(PROFILES.realistic).map(([name, ms]) => [name, name.endsWith('CallMs') ? CALL_MS : ms]),
) as typeof PROFILES.realistic;

t.test('b68: so many pods at once come, go, and come while others go', { skip: cannotRunPlugin() }, async (t) => {
  const here = await machine(
    t,
    { cool_down: '0s', min_pool_size: IDLE, max_pool_size: IDLE + 10 },
    {
      topology: { ...defaultTopology(type.instanceType, 1), instanceTypes: [type] },
      settings: { delays, speed: SPEED, throttlePerSecond: { '*': PER_SECOND } },
    },
  );
  const pods = Array.from({ length: PODS + PODS / 2 }, (_, nth) => numberedPod('plugin', nth + 1));
  for (const { sandboxId, netns } of pods) {
    here.addPod(sandboxId);
    run(ip(['netns', 'add', netns]));
  }
  t.teardown(() => {
    for (const { netns } of pods) run(ip(['netns', 'del', netns]));
  });
  const daemon = here.start();
  await daemon.serving();
  await daemon.until(async () => ((await daemon.report()).pool?.counts.idle ?? 0) >= IDLE);
  const sides = new Sides(here.paths.jsonSocket, here.dir, 'default');
  const { ledger } = here.cloud.live.gateway;
  const startMs = performance.now();
  /** Rejects when the plugin does not end with 0. */
  const one = async (verb: 'add' | 'del', pod: Pod): Promise<number> => {
    const fromMs = performance.now();
    for (const process of sides.processes(verb, pod)) await started(process);
    return performance.now() - fromMs;
  };
  const all = (verb: 'add' | 'del', some: readonly Pod[]) => Promise.all(some.map((pod) => one(verb, pod)));
  const held = async (): Promise<readonly string[]> =>
    (await daemon.report()).leases.map((lease) => lease.grant.address.ipv4);

  const before = ledger.lastSeq;
  const first = pods.slice(0, PODS);
  const adds = await all('add', first);
  t.comment(`${PODS} ADDs: longest ${Math.round(Math.max(...adds))} ms`);
  t.ok(Math.max(...adds) < ALL_WITHIN_MS, 'nobody waits until its runtime gives up');
  t.equal(new Set(await held()).size, PODS, 'each has an address of its own');
  const mutating = ledger.read(before, null).filter(({ api }) => mutates(api as ApiName));
  const calls = mutating.map(({ api, outcome }) => `${api}:${outcome}`);
  // Pods and what is kept idle beside them; an ENI costs two calls, an Assign brings ten. Sped up, the processes of pods come more slowly than
  // the cloud answers, and fewer share a call.
  const enis = Math.ceil((PODS + IDLE) / PER_ENI);
  const most = SPEED === 1 ? 2 * enis + Math.ceil((PODS + IDLE) / 10) : PODS;
  t.ok(calls.length <= most, `not a call a pod: ${calls.join(' ')}`);

  const [half, rest] = [first.slice(0, PODS / 2), first.slice(PODS / 2)];
  const [dels, more] = await Promise.all([all('del', half), all('add', pods.slice(PODS))]);
  t.comment(`mixed: longest DEL ${Math.round(Math.max(...dels))} ms, longest ADD ${Math.round(Math.max(...more))} ms`);
  t.ok(Math.max(...dels) < ALL_WITHIN_MS / 2, 'no DEL waits behind all ADDs');
  t.ok(Math.max(...more) < ALL_WITHIN_MS);
  t.equal(new Set(await held()).size, PODS);

  await all('del', [...rest, ...pods.slice(PODS)]);
  t.strictSame(await held(), [], 'all have gone');
  const [warm] = first;
  if (warm === undefined) throw new Error('no pod');
  await daemon.until(async () => ((await daemon.report()).pool?.counts.idle ?? 0) > 0);
  t.comment(`a lone ADD from idle: ${Math.round(await one('add', warm))} ms`);
  await one('del', warm);
  t.comment(`all of it in ${Math.round(performance.now() - startMs)} ms`);
});
