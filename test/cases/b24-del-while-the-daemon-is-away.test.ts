/**
 * B24: DEL while the daemon hangs, was killed and left its socket, or was stopped: success in bounded time and a note; what the pods had on
 * the host is gone at once, their bookings go by themselves when the daemon is back.
 *
 * A DEL that waits for a daemon that hangs ends at the plugin's own limit of six seconds: that is waited for in a soak, and for one DEL in
 * test/lab/whole-path-deaths.long.ts; here the runtime loses patience before, once the request is out. That a daemon which is stopped takes its
 * socket along is in test/daemon/daemon: here some of the plugins find no socket, others one that nobody listens on.
 */
import '../lab/in-box.ts';

import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import t, { type Test } from 'tap';
import { cannotWalk, eventually, Middleman, type Ran, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';
import { SPEED } from './speed.ts';

t.setTimeout(180_000);
const skip = cannotWalk();

/** The plugin's limit for a release, and what a busy machine adds. */
const BOUND_MS = 6_000 + 20_000;

function notes({ node }: Runtime): string[] {
  const directory = `${node.dataDir}/pending-deletes`;
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Everything of the host that speaks of pods. */
const podObjects = (runtime: Runtime, ips: readonly string[]): string[] =>
  Object.values(runtime.host())
    .flat()
    .filter((line) => /^cali|dev cali/.test(line) || ips.some((ip) => line.includes(`${ip}/32`)));

async function deletedAll(
  t: Test,
  runtime: Runtime,
  state: string,
  pods: ReadonlyMap<Sandbox, string>,
  del: (sandbox: Sandbox) => Promise<Ran> = runtime.del,
): Promise<void> {
  const others = podObjects(runtime, []).length;
  const before = notes(runtime).length;
  const rans = await Promise.all([...pods.keys()].map((sandbox) => del(sandbox)));
  for (const ran of rans) {
    t.strictSame([ran.exitCode, ran.stdout], [0, ''], `${state}: success, and silence`);
    t.ok(ran.ms < BOUND_MS, `${state}: ${Math.round(ran.ms)} ms`);
  }
  t.equal(notes(runtime).length - before, pods.size, `${state}: a note for each`);
  t.ok(podObjects(runtime, []).length < others, `${state}: devices went`);
  const left = podObjects(runtime, []).filter((line) => [...pods.values()].some((ip) => line.includes(`${ip}/32`)));
  t.strictSame(left, [], `${state}: nothing on the host leads to them`);
  for (const sandbox of pods.keys()) runtime.removeNetns(sandbox);
}

/** No DEL comes again. */
async function bookingsGo(t: Test, runtime: Runtime, pods: ReadonlyMap<Sandbox, string>): Promise<void> {
  await eventually('the notes are carried out', async () => notes(runtime).length === 0);
  const { leases } = await runtime.report();
  const ids = new Set([...pods.keys()].map(({ id }) => id));
  t.strictSame(
    leases.filter(({ sandbox }) => ids.has(sandbox.containerId)),
    [],
    'no lease is left',
  );
  for (const ip of pods.values()) await eventually(`${ip} is idle`, async () => (await runtime.stateOf(ip)) === 'idle');
}

t.test('B24: DELs without a daemon are never lost, however it is away', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { node } = runtime;
    const added = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const sandbox = runtime.newPod(`p${index}`);
        return [sandbox, (await runtime.add(sandbox)).ip] as const;
      }),
    );
    const [hung, killed, stopped] = [added.slice(0, 2), added.slice(2, 4), added.slice(4)].map((each) => new Map(each));
    if (hung === undefined || killed === undefined || stopped === undefined) throw new Error('no pods');

    node.daemon?.signal('SIGSTOP');
    await deletedAll(t, runtime, 'hung', hung, SPEED === 1 ? runtime.del : (sandbox) => impatiently(runtime, sandbox));
    node.daemon?.signal('SIGKILL');
    await node.daemon?.ended;
    t.ok(existsSync(node.jsonSocket), 'a daemon that is killed leaves its socket');
    const withoutSocket = { conf: { daemonSocket: `${node.dir}/no.sock` } };
    await deletedAll(t, runtime, 'killed or stopped', new Map([...killed, ...stopped]), (sandbox) =>
      runtime.del(sandbox, stopped.has(sandbox) ? withoutSocket : {}),
    );
    node.startDaemon();
    await node.whenServing(60_000);
    await bookingsGo(t, runtime, new Map(added));
    t.strictSame((await runtime.report()).leases, []);
    t.strictSame(podObjects(runtime, [...new Map(added).values()]), [], 'and the host has nothing of a pod');
    t.strictSame(runtime.problems, []);
  });
});

/** The DEL is ended by its runtime when its request is out and nobody answers. */
async function impatiently(runtime: Runtime, sandbox: Sandbox): Promise<Ran> {
  let plugin: ChildProcess | null = null;
  const middleman = await Middleman.open(runtime, {
    name: sandbox.id,
    asked: (text) => {
      plugin?.kill('SIGTERM');
      return text;
    },
  });
  try {
    return await runtime.del(sandbox, {
      conf: { daemonSocket: middleman.path },
      started: (child) => {
        plugin = child;
      },
    });
  } finally {
    await middleman.close();
  }
}
