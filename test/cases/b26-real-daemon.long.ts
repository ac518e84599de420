/**
 * B26 with the real daemon: ADD is made to fail at each of the case's five points; the node is as before, the address ends idle in the
 * daemon's own report, and once the cause is gone the retry succeeds.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { differences } from '../lab/host-snapshot.ts';
import { cannotWalk, eventually, Middleman, type Ran, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();

/** The node has one ENI with one idle address, so that the next pod's address is known. */
async function oneIdle(runtime: Runtime): Promise<string> {
  const first = runtime.newPod('first');
  const { ip } = await runtime.add(first);
  await runtime.del(first);
  runtime.removeNetns(first);
  await eventually(`${ip} is idle`, async () => (await runtime.stateOf(ip)) === 'idle');
  return ip;
}

function ipIn(
  netns: { command: (program: string, args: string[]) => { command: string; args: string[] } },
  ...args: string[]
) {
  const inside = netns.command('ip', args);
  return execFileSync(inside.command, inside.args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The failure, then that nothing is left of it, then the retry and its end. */
async function failsAndHeals(
  t: Test,
  runtime: Runtime,
  sandbox: Sandbox,
  given: { failing: () => Promise<Ran>; code: number; msg: RegExp; mend: () => Promise<void> | void; ip: string },
): Promise<void> {
  const before = runtime.host();
  const ran = await given.failing();
  t.equal(ran.exitCode, 1, ran.stdout);
  t.match(ran.error, { code: given.code, msg: given.msg });
  const more = differences(before, runtime.host()).filter((line) => !line.startsWith('sockets: - unix')); // a dead daemon's
  t.strictSame(more, [], 'no link, rule or route was added');
  await given.mend();
  await runtime.invariants(t);
  t.equal(await runtime.stateOf(given.ip), 'idle', 'the address ends idle');
  const again = await runtime.add(sandbox);
  t.equal(again.exitCode, 0, again.stdout);
  t.equal(again.ip, given.ip, 'the retry gets it');
  await runtime.invariants(t, new Map([[sandbox, again.ip]]));
  t.equal((await runtime.del(sandbox)).exitCode, 0);
  await runtime.invariants(t);
}

/** Runs `work` with a configuration whose daemon is behind a middleman, who acts once AllocIP was answered and not yet read. */
async function between(
  runtime: Runtime,
  act: () => Promise<unknown>,
  work: (conf: { daemonSocket: string }) => Promise<void>,
): Promise<void> {
  let acted = false; // the answer of the release that follows tells the same things
  const middleman = await Middleman.open(runtime, {
    answered: async (answer) => {
      if (acted || !answer.includes('"RouteTable"')) return;
      acted = true;
      await act();
    },
  });
  try {
    await work({ daemonSocket: middleman.path });
  } finally {
    await middleman.close();
  }
}

function notes({ node }: Runtime): string[] {
  const directory = `${node.dataDir}/pending-deletes`;
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Each begins and ends with one idle address, `ip`, and nothing else. */
const points: Readonly<Record<string, (t: Test, runtime: Runtime, ip: string) => Promise<void>>> = {
  'eth0 exists already in the pod: refused, untouched, no address taken': async (t, runtime, ip) => {
    const sandbox = runtime.newPod('taken');
    const { netns } = sandbox;
    ipIn(netns, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
    ipIn(netns, 'addr', 'add', '10.5.5.5/24', 'dev', 'eth0');
    const shown = ipIn(netns, 'addr');
    await failsAndHeals(t, runtime, sandbox, {
      ip,
      failing: () => runtime.add(sandbox),
      code: 101,
      msg: /eth0 exists/,
      mend: () => {
        t.equal(ipIn(netns, 'addr'), shown, 'the eth0 that was there is as it was');
        ipIn(netns, 'link', 'del', 'eth0');
      },
    });
  },

  'the namespace disappears, or eth0 appears in it, after the address was given': async (t, runtime, ip) => {
    const gone = runtime.newPod('gone');
    const fresh = runtime.sandbox('c-fresh', 'gone', gone.uid);
    await between(
      runtime,
      async () => runtime.removeNetns(gone),
      async (conf) => {
        await failsAndHeals(t, runtime, fresh, {
          ip,
          failing: () => runtime.add(gone, { conf }),
          code: 11,
          msg: /network namespace .* is gone/,
          mend: () => {},
        });
      },
    );
    const raced = runtime.newPod('raced');
    const appear = async () => {
      ipIn(raced.netns, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
    };
    await between(runtime, appear, async (conf) => {
      await failsAndHeals(t, runtime, raced, {
        ip,
        failing: () => runtime.add(raced, { conf }),
        code: 11,
        msg: /eth0 in .*EEXIST/,
        mend: () => {
          t.match(ipIn(raced.netns, 'link'), /other@eth0/, 'whoever made it keeps it');
          ipIn(raced.netns, 'link', 'del', 'eth0');
        },
      });
    });
  },

  'a route to the address lies on another device of the host': async (t, runtime, ip) => {
    const host = runtime.node.guest.netns;
    ipIn(host, 'route', 'add', ip, 'dev', 'eth0');
    const sandbox = runtime.newPod('routed');
    await failsAndHeals(t, runtime, sandbox, {
      ip,
      failing: () => runtime.add(sandbox),
      code: 11,
      msg: /a route to .* exists on eth0 already/,
      mend: () => {
        t.match(ipIn(host, 'route'), `${ip} dev eth0`, 'it stays');
        ipIn(host, 'route', 'del', ip, 'dev', 'eth0');
      },
    });
  },

  'what has to be set below /proc/sys cannot be written': async (t, runtime, ip) => {
    const { netns } = runtime.node.guest;
    // New devices come without forwarding, so that the plugin has to set it.
    netns.run(() => execFileSync('sysctl', ['-qw', 'net.ipv4.conf.default.forwarding=0']));
    const readOnly = 'mount -o bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys';
    const sandbox = runtime.newPod('read-only');
    await failsAndHeals(t, runtime, sandbox, {
      ip,
      failing: () => runtime.add(sandbox, { before: readOnly }),
      code: 11,
      msg: /cannot set \/proc\/sys\/net\/ipv4\/conf\/cali.*EROFS/,
      mend: () => netns.run(() => void execFileSync('sysctl', ['-qw', 'net.ipv4.conf.default.forwarding=1'])),
    });
  },

  'the daemon dies between its reply and the set-up': async (t, runtime, ip) => {
    const { node } = runtime;
    const die = async () => {
      node.daemon?.signal('SIGKILL');
      await node.daemon?.ended;
    };
    const revive = async () => {
      node.startDaemon();
      await node.whenServing(30_000);
    };
    // The set-up works: the lease was durable before it was answered, so the pod keeps its address.
    const lucky = runtime.newPod('lucky');
    await between(runtime, die, async (conf) => {
      const ran = await runtime.add(lucky, { conf });
      t.equal(ran.exitCode, 0, ran.stdout);
      t.equal(ran.ip, ip);
      await revive();
      await runtime.invariants(t, new Map([[lucky, ip]]));
      t.equal((await runtime.del(lucky)).exitCode, 0);
      await runtime.invariants(t);
    });
    // The set-up fails: nobody hears of the roll-back, so a note is left, which the next daemon carries out.
    const unlucky = runtime.newPod('unlucky');
    const fresh = runtime.sandbox('c-after', 'unlucky', unlucky.uid);
    await between(
      runtime,
      async () => {
        runtime.removeNetns(unlucky);
        await die();
      },
      async (conf) => {
        await failsAndHeals(t, runtime, fresh, {
          ip,
          failing: () => runtime.add(unlucky, { conf }),
          code: 11,
          msg: /network namespace .* is gone/,
          mend: async () => {
            t.equal(notes(runtime).length, 1, 'a note is left');
            await revive();
            await eventually('the note is carried out', async () => notes(runtime).length === 0);
          },
        });
      },
    );
  },

  'a plugin that is killed between reply and set-up leaves what the DEL takes away': async (t, runtime, ip) => {
    const sandbox = runtime.newPod('killed');
    let kill = () => {};
    await between(
      runtime,
      async () => kill(),
      async (conf) => {
        const ran = await runtime.add(sandbox, { conf, started: (child) => (kill = () => void child.kill('SIGKILL')) });
        t.equal(ran.signal, 'SIGKILL');
        await sleep(50);
      },
    );
    t.equal(await runtime.stateOf(ip), 'bound', 'the daemon cannot know');
    t.equal((await runtime.del(sandbox)).exitCode, 0);
    await runtime.invariants(t);
    t.equal(await runtime.stateOf(ip), 'idle');
  },
};

t.test('B26: an ADD that fails leaves nothing, and the retry works', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const ip = await oneIdle(runtime);
    for (const [name, point] of Object.entries(points)) await t.test(`B26: ${name}`, (t) => point(t, runtime, ip));
  });
});
