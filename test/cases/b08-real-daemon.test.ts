/** B08 with the real daemon and plugin: the callers are processes that are killed while their ADD waits. */
import '../lab/in-box.ts';

import { readdirSync } from 'node:fs';
import t from 'tap';
import { cannotWalk, eventually, type Runtime, walk } from '../lab/whole-path.ts';
import { names } from './rig.ts';
import { atLeast } from './speed.ts';

t.setTimeout(900_000);
const skip = cannotWalk();
const PODS = 30;
const NEXT = 5;
const SLOW_MS = 40_000;

const requests = async (runtime: Runtime): Promise<number> =>
  (await runtime.report()).actors.filter((actor) => /\/lease:[^/]*\/[^/]*$/.test(actor.path)).length;
const openFiles = (runtime: Runtime): number => readdirSync(`/proc/${runtime.node.daemon?.pid}/fd`).length;

t.test('B08: plugins killed while their ADD waits, with DELs that cross', { skip }, async (t) => {
  const slowMs = atLeast(2_500, SLOW_MS);
  const options = {
    instanceType: 'ecs.g7.xlarge',
    config: { call_timeout: `${Math.round(slowMs / 2)}ms`, attach_timeout: '60s' },
  };
  await walk(t, options, async (runtime) => {
    const beforeFiles = openFiles(runtime);
    for (const api of ['CreateNetworkInterface', 'AssignPrivateIpAddresses'])
      await runtime.plant({ api, effect: 'delay', ms: slowMs, times: 4 });
    const pods = names('pod', PODS).map((name) => runtime.newPod(name));
    const kill: (() => void)[] = [];
    const adds = pods.map((pod) => runtime.add(pod, { started: (child) => kill.push(() => child.kill('SIGKILL')) }));
    await eventually('all wait in the daemon', async () => (await requests(runtime)) === PODS);
    for (const end of kill) end();
    const dels = await Promise.all(pods.slice(0, PODS / 2).map((pod) => runtime.del(pod)));
    for (const del of dels) t.equal(del.exitCode, 0, del.stdout);
    for (const ran of await Promise.all(adds)) t.equal(ran.signal, 'SIGKILL');
    await eventually('no request is left', async () => (await requests(runtime)) === 0);
    await runtime.clearFaults();
    await runtime.invariants(t);
    const counts = (await runtime.report()).pool?.counts;
    t.equal(counts?.bound, 0);

    const next = names('next', NEXT).map((name) => runtime.newPod(name));
    const answers = await Promise.all(next.map((pod) => runtime.add(pod)));
    for (const ran of answers) t.equal(ran.exitCode, 0, ran.stdout);
    const live = new Map(next.map((pod, index) => [pod, answers[index]?.ip ?? '']));
    await runtime.invariants(t, live);
    const told = async () => (await runtime.report()).leases.map((lease) => lease.grant.address.ipv4).sort();
    const before = await told();
    await runtime.node.daemon?.stop();
    runtime.node.startDaemon();
    await runtime.node.whenServing(30_000);
    t.strictSame(await told(), before, 'the same after a restart');
    await runtime.invariants(t, live);
    for (const pod of next) t.equal((await runtime.del(pod)).exitCode, 0);
    await runtime.invariants(t);
    // Connections to the cloud are kept for a moment.
    await eventually(
      `hardly more files are open than the ${beforeFiles} before`,
      async () => openFiles(runtime) <= beforeFiles + 8,
    );
  });
});
