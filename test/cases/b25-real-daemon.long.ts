/**
 * B25 with the real daemon: when an ADD fails at allocation, `msg` is the first cause (the cloud's own code), whatever fails after it
 * and whoever gives up first.
 */
import '../lab/in-box.ts';

import { existsSync } from 'node:fs';
import t, { type Test } from 'tap';
import { cannotWalk, eventually, Middleman, type Runtime, walk } from '../lab/whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();

/** The surroundings of the case: debugging on, and whatever could take the messages away. */
const surroundings = [
  { redirect: '2>&-', conf: {} },
  { redirect: '', conf: { logFile: '/proc/none/cni.log' } },
] as const;

/** As a runtime that has less patience: the plugin's own hundred seconds are too long for a test. */
async function hurried(runtime: Runtime, ms: number, work: (daemonSocket: string) => Promise<void>): Promise<void> {
  const asked = (text: string) => text.replace(/connect-timeout-ms: \d+/i, `connect-timeout-ms: ${ms}`);
  const middleman = await Middleman.open(runtime, { asked });
  try {
    await work(middleman.path);
  } finally {
    await middleman.close();
  }
}

async function oneError(t: Test, runtime: Runtime, pod: string, daemonSocket: string, msg: RegExp): Promise<void> {
  const sandbox = runtime.newPod(pod);
  for (const { redirect, conf } of surroundings) {
    const ran = await runtime.add(sandbox, { redirect, conf: { ...conf, daemonSocket } });
    t.equal(ran.exitCode, 1);
    t.equal(ran.stdout.trim().split('\n').length, 1, 'one line');
    t.match(ran.error, { cniVersion: '1.0.0', code: 11, msg });
  }
  runtime.removeNetns(sandbox);
}

t.test('B25: the cloud’s code is what the runtime reads', { skip }, async (t) => {
  await walk(t, { config: { hold_down: '100ms' } }, async (runtime) => {
    let planted: readonly string[] = [];
    const failing = async (api: string, code: string) => {
      const before = planted;
      planted = await runtime.plant({ api, times: 1_000, effect: 'fail', code });
      // Never a moment in which an ENI could be had: its addresses would serve the next one.
      for (const id of before) await runtime.clearFault(id);
      const pod = code.toLowerCase();
      await hurried(runtime, 2_000, (socket) => oneError(t, runtime, pod, socket, new RegExp(code)));
    };
    await failing('CreateNetworkInterface', 'QuotaExceeded.Eni');
    await failing('CreateNetworkInterface', 'InvalidVSwitchId.IpNotEnough');
    // Last, since an API that was throttled rests.
    await failing('CreateNetworkInterface', 'Throttling.User');
    await runtime.invariants(t);
    t.strictSame(runtime.enis, [], 'and no ENI was made');
  });
});

t.test('B25: an Attach that is refused again and again, and a right that is missing', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const code = 'InvalidOperation.InvalidEniState';
    await runtime.plant({ api: 'AttachNetworkInterface', times: 1_000, effect: 'fail', code });
    await hurried(runtime, 2_000, (socket) => oneError(t, runtime, 'p', socket, new RegExp(code)));
    // And one that no waiting mends, planted before the other is gone so that no ENI can be had meanwhile.
    await runtime.plant({ api: 'CreateNetworkInterface', times: 1_000, effect: 'fail', code: 'Forbidden.RAM' });
    await eventually('what could not be attached is deleted', async () => runtime.enis.length === 0);
    await hurried(runtime, 2_000, (socket) => oneError(t, runtime, 'q', socket, /Forbidden\.RAM/));
  });
});

t.test('B25: the node is full: the error says so', { skip }, async (t) => {
  await walk(t, { config: { max_eni: 1 } }, async (runtime) => {
    const live = new Map();
    for (let index = 0; index < 4; index += 1) {
      const sandbox = runtime.newPod(`p${index}`);
      live.set(sandbox, (await runtime.add(sandbox)).ip);
    }
    await hurried(runtime, 2_000, (socket) => oneError(t, runtime, 'too-many', socket, /no address available|in use/));
    await runtime.invariants(t, live);
  });
});

t.test('B25: the API server is away, and then the daemon too', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { lab, node } = runtime;
    await lab.api.close();
    await hurried(runtime, 3_000, (socket) =>
      oneError(t, runtime, 'asked', socket, /kubernetes|API server|GET .*pods/i),
    );
    node.daemon?.signal('SIGKILL');
    await node.daemon?.ended;
    await oneError(t, runtime, 'nobody', node.jsonSocket, /daemon is not reachable on .*json\.sock/);
    t.equal(existsSync(`${node.dataDir}/pending-deletes`), false, 'nothing was given, so nothing is noted');
    node.startDaemon();
    await node.whenServing(30_000);
    await eventually('it serves', async () => (await runtime.report()).state.includes('serving'));
  });
});
