/**
 * B31: whatever stalls half-way. Of helper programs there is none that could; netlink sockets may answer late, in part or not at all; and a plugin
 * that is held up is called again, and killed at the runtime's limit, wherever it is. Afterwards ADD works, and nothing is left of the earlier tries.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, hostWithEni, pluginBench, startPlugin } from '../plugin/plugin-process.ts';
import { SharedHost } from './shared-host.ts';
import { SPEED, sped } from './speed.ts';
import { type Fate, unruly } from './unruly-libc.ts';

const skip = cannotMakeNamespaces();
const skipPlugin = cannotRunPlugin();
const HELPERS = ['ip', 'tc', 'nft', 'iptables', 'ip6tables', 'ipset', 'conntrack', 'sysctl', 'modprobe', 'ethtool'];

test('B31: programs that sleep for five minutes hold nobody up, since none is run', { skip: skipPlugin }, async (t) => {
  const host = hostWithEni(t);
  const pod = new TestNamespace(t, 'pod');
  const { env, conf, daemon, directory } = await pluginBench(t, pod);
  const wrappers = join(directory, 'bin');
  mkdirSync(wrappers);
  for (const name of HELPERS) {
    writeFileSync(join(wrappers, name), `#!/bin/sh\necho ${name} >>${directory}/called\nsleep 300\n`);
    chmodSync(join(wrappers, name), 0o755);
  }
  const PATH = `${wrappers}:${process.env.PATH}`;
  const before = host.state();
  let children: readonly string[] | null = null;
  let pid = 0;
  daemon.before = () => {
    children = childrenOf(pid);
  };
  const started = (of: number) => {
    pid = of;
  };
  for (const command of ['ADD', 'CHECK', 'DEL']) {
    const prevResult = { cniVersion: '1.0.0', ips: [{ address: '192.168.0.10/32' }] };
    const ran = await startPlugin(host, { env: env(command, { PATH }), stdin: conf({ prevResult }), started });
    t.equal(ran.exitCode, 0, `${command}: ${ran.stdout}`);
    t.strictSame(children, [], `${command}: no child of the plugin while it waits for the daemon`);
  }
  t.notOk(readdirSync(directory).includes('called'), 'no program was called');
  t.equal(host.state(), before);
});

function childrenOf(pid: number): readonly string[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const lists = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'));
  return lists.flatMap((list) => list.split(' ').filter((each) => each.trim() !== ''));
}

/** One that has ended meanwhile is none to end. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ESRCH') throw error;
  }
}

/** One after the other, the datagrams of one ADD and one DEL meet this fate, from the nth on or the nth alone. */
async function eachDatagram(t: Test, what: string, fate: Fate, from: 'alone' | 'onwards'): Promise<void> {
  const kernel = unruly(libc);
  const host = await SharedHost.make(t, kernel);
  const [living, coming] = [host.pod(t, 10), host.pod(t, 11)];
  host.attach(living);
  host.attach(coming);
  host.detach(coming);
  const before = host.state();
  const meets = (nth: number) =>
    kernel.begin(({ at }) => ((from === 'alone' ? at === nth : at >= nth) ? fate : 'arrives'));
  const calm = () => kernel.begin(() => 'arrives');
  const works = (work: () => unknown): boolean => {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  };
  let [failed, done] = [0, false];
  for (let nth = 0; !done; nth += 1) {
    meets(nth);
    const made = works(() => host.attach(coming));
    done = kernel.received <= nth; // it was over before
    calm();
    if (!made) failed += 1;
    if (made && host.verify(coming) !== null) t.fail(`${what} ${nth}: made, and ${host.verify(coming)} is missing`);
    // The runtime's DEL; where a single answer was lost all is undone, and trying again at once works too.
    if (!made && (from === 'onwards' || nth % 2 === 0)) host.detach(coming);
    if (!made) host.attach(coming);
    if (host.verify(coming) !== null) t.fail(`${what} ${nth}: ADD after it leaves out ${host.verify(coming)}`);
    meets(nth);
    const gone = works(() => host.detach(coming));
    calm();
    if (gone && host.state() !== before) t.equal(host.state(), before, `${what} ${nth}: DEL said that it is done`);
    host.detach(coming);
    if (host.state() !== before) t.equal(host.state(), before, `${what} ${nth}: something is left`);
    if (nth > 500) throw new Error('an ADD of more than 500 datagrams');
  }
  t.ok(failed > 5, `${what}: ${failed} ADDs failed by it`);
  t.equal(host.verify(living), null, `${what}: the pod beside has all it had`);

  // The same of a repair, on a host on which something is to do.
  const [ip = ''] = living.ips;
  for (let nth = 0, over = false; !over; nth += SPEED === 1 ? 1 : 3) {
    host.netns.ip('rule', 'del', 'from', ip, 'priority', '2048');
    meets(nth);
    await host.keep([living], [coming]).catch(() => {});
    over = kernel.received <= nth;
    calm();
    await host.keep([living], [coming]);
    if (host.verify(living) !== null) t.fail(`${what} ${nth}: after repair ${host.verify(living)} is missing`);
    if (host.state() !== before) t.equal(host.state(), before, `${what} ${nth}: repair made or took something else`);
  }
}

test('B31: an answer of the kernel for which there was no room, each in turn', { skip }, (t) =>
  eachDatagram(t, 'dropped', 'dropped', 'alone'),
);

test('B31: a socket that is silent, from each datagram on', { skip }, (t) =>
  eachDatagram(t, 'silence', 'silence', 'onwards'),
);

test('B31: a plugin that is held up is called again and killed at the limit; then DEL, and ADD works', {
  skip: skipPlugin,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { env, conf, daemon } = await pluginBench(t, pod);
  const before = [host.state(), pod.state()];
  const run = (command: string, started: (pid: number) => void = () => {}) =>
    startPlugin(host, { env: env(command), stdin: conf(), started });
  const stopped = new Set<number>();
  let pid = 0;
  daemon.before = (method) => {
    if (method !== 'AllocIP' || stopped.has(pid)) return;
    stopped.add(pid);
    process.kill(pid, 'SIGSTOP');
  };
  const tries: Promise<unknown>[] = [];
  // Again every 10 s for five minutes; each is killed two minutes after it began, with what it had begun.
  const TRIES = SPEED === 1 ? 30 : 3;
  for (let at = 0; at < TRIES; at += 1) {
    const running = run('ADD', (of) => {
      pid = of;
    });
    const mine = pid;
    tries.push(
      running,
      sleep(sped(120_000)).then(() => process.kill(mine, 'SIGKILL')),
    );
    while (!stopped.has(mine)) await sleep(5);
    await sleep(sped(10_000));
  }
  t.equal(daemon.leases.size, 1, 'one lease for the sandbox, however often it asks');
  await Promise.all(tries);
  daemon.before = () => {};
  t.strictSame([host.state(), pod.state()], before, 'nothing was made');

  // And killed somewhere in the middle of what it makes.
  for (const afterMs of [0, 1, 2, 4, 8, 16]) {
    let mine = 0;
    daemon.before = (method) => {
      if (method === 'AllocIP') setTimeout(() => killed(mine), afterMs);
    };
    await run('ADD', (of) => {
      mine = of;
    });
    daemon.before = () => {};
    const deleted = await run('DEL');
    t.strictSame([deleted.exitCode, deleted.stdout], [0, ''], `killed after ${afterMs} ms, then DEL`);
    t.strictSame([host.state(), pod.state()], before, `killed after ${afterMs} ms: nothing is left`);
  }
  t.equal((await run('ADD')).exitCode, 0);
  t.equal((await run('DEL')).exitCode, 0);
  t.strictSame([host.state(), pod.state()], before);
});
