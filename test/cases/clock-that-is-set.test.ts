/**
 * The machine's clock is set while the daemon runs: an instance whose hardware clock holds local time is eight hours ahead until NTP sets it.
 * What was to rest for a moment must not rest for eight hours. B14's rest survives it, and so does the daemon's next start.
 */
import '../lab/in-box.ts';

import { renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { cannotWalk, eventually, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';

t.setTimeout(200_000);
const skip = cannotWalk();
const AHEAD_MS = 8 * 3_600_000;
const SOON_MS = 20_000;
const DAEMON = fileURLToPath(new URL('../lab/set-clock.mjs', import.meta.url));

function setClock({ node }: Runtime, byMs: number): void {
  const path = `${node.dir}/clock`;
  writeFileSync(`${path}.new`, String(byMs));
  renameSync(`${path}.new`, path);
}

async function added(t: Test, runtime: Runtime, name: string, live: Map<Sandbox, string>): Promise<Sandbox> {
  const pod = runtime.newPod(name);
  const ran = await runtime.add(pod);
  t.equal(ran.exitCode, 0, ran.stdout);
  live.set(pod, ran.ip);
  return pod;
}

t.test('clock: set back by eight hours, nothing rests longer for it', { skip }, async (t) => {
  const config = { cool_down: '1s', hold_down: '2s', backoff: '200ms' };
  await walk(
    t,
    { config },
    async (runtime) => {
      const live = new Map<Sandbox, string>();
      const first = await added(t, runtime, 'first', live);
      setClock(runtime, AHEAD_MS);
      const refused = await runtime.add(runtime.newPod('refused'));
      t.match(
        refused.stdout,
        /clock/,
        'the cloud takes nothing from a node whose clock is wrong, and the pod is told so',
      );
      t.equal((await runtime.del(first)).exitCode, 0);
      const ip = live.get(first) ?? '';
      live.delete(first);
      setClock(runtime, 0);
      const beginMs = performance.now();
      await Promise.all([added(t, runtime, 'a', live), added(t, runtime, 'b', live)]);
      t.ok(performance.now() - beginMs < SOON_MS, 'pods have their addresses soon');
      await eventually('the freed address has rested', async () => (await runtime.stateOf(ip)) !== 'cooling', SOON_MS);
      await runtime.invariants(t, live);
    },
    DAEMON,
  );
});

t.test('clock: set back after a start that was ahead, and started again', { skip }, async (t) => {
  await walk(
    t,
    { config: { cool_down: '1s' } },
    async (runtime) => {
      const { node } = runtime;
      const live = new Map<Sandbox, string>();
      const first = await added(t, runtime, 'first', live);
      await added(t, runtime, 'second', live);
      const again = async (byMs: number) => {
        node.daemon?.signal('SIGKILL');
        await node.daemon?.ended;
        setClock(runtime, byMs);
        node.startDaemon();
        const held = async () => (await runtime.report()).leases.length === live.size;
        await eventually('it holds what it held, whatever the cloud says to it', held, SOON_MS);
      };
      await again(AHEAD_MS);
      t.equal((await runtime.del(first)).exitCode, 0);
      const ip = live.get(first) ?? '';
      live.delete(first);
      setClock(runtime, 0);
      await eventually('instants are told in the time of who reads them', async () => {
        const { enis, actors } = await runtime.report();
        const all = [...enis, ...actors].map(({ sinceMs }) => sinceMs);
        return all.every((sinceMs) => sinceMs < Date.now() + 1_000);
      });
      await again(0);
      await eventually('the freed address has rested', async () => (await runtime.stateOf(ip)) !== 'cooling', SOON_MS);
      await added(t, runtime, 'third', live);
      await runtime.invariants(t, live);
    },
    DAEMON,
  );
});
