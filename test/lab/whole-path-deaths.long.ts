/** The real plugin and the real daemon, killed at any moment: whatever the order, a DEL leaves nothing and no answered address is lost. */
import './in-box.ts';

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { PENDING_DELETES_MAX } from '../../src/core/pending-delete.ts';
import { cannotWalk, eventually, type Runtime, type Sandbox, walk } from './whole-path.ts';

t.setTimeout(200_000);
const skip = cannotWalk();

/** Park and Miller's; a failure is repeated with its seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

async function killDaemon({ node }: Runtime): Promise<void> {
  node.daemon?.signal('SIGKILL');
  await node.daemon?.ended;
}

async function revive({ node }: Runtime): Promise<void> {
  node.startDaemon();
  await node.whenServing(60_000);
}

function notes({ node }: Runtime): string[] {
  const directory = `${node.dataDir}/pending-deletes`;
  return existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.json')) : [];
}

t.test(
  'deaths: a plugin killed at any moment of ADD or DEL leaves nothing that the next DEL does not take',
  { skip },
  async (t) => {
    const seed = Math.floor(Math.random() * 1e9) + 1;
    t.comment(`seed ${seed}`);
    const random = chance(seed);
    await walk(t, { config: { min_pool_size: 3 } }, async (runtime) => {
      let [killed, refused] = [0, 0];
      for (let round = 0; round < 40; round += 1) {
        const sandbox = runtime.newPod(`p${round}`);
        // An ADD takes some ten milliseconds, more on a busy machine: kills fall before, into and behind it.
        const die = (delayMs: number) => ({
          started: (child: { kill(signal: 'SIGKILL'): void }) => setTimeout(() => child.kill('SIGKILL'), delayMs),
        });
        const first = await runtime.add(sandbox, die(random() * 40));
        if (first.signal === 'SIGKILL') killed += 1;
        const again = await runtime.add(sandbox);
        if (again.exitCode === 0) t.equal(await runtime.reaches(sandbox, again.ip), '', `round ${round}`);
        else if (again.error.code === 101) refused += 1;
        // The release of the ADD whose caller died is being written: a runtime tries again.
        else if (again.error.code === 11 && /is being released/.test(again.error.msg)) refused += 1;
        else t.fail(`round ${round}: ${again.stdout}`);
        await runtime.del(sandbox, die(random() * 40));
        const last = await runtime.del(sandbox);
        if (last.exitCode !== 0) t.fail(`round ${round}: ${last.stdout}`);
        runtime.removeNetns(sandbox);
      }
      t.comment(`${killed} ADDs died in time, ${refused} found the eth0 of the one that was killed`);
      t.ok(killed > 0, 'some died');
      await runtime.invariants(t);
    });
  },
);

t.test('deaths: the daemon is killed again and again while pods come', { skip }, async (t) => {
  await walk(t, { profile: 'fast' }, async (runtime) => {
    const live = new Map<Sandbox, string>();
    const over = new AbortController();
    let tries = 0;
    // As kubelet does: a sandbox that failed is deleted, the next one has another id.
    const start = async (name: string) => {
      const uid = runtime.createPod(name);
      for (let attempt = 1; !over.signal.aborted; attempt += 1) {
        tries += 1;
        const sandbox = runtime.sandbox(`c-${name}-${attempt}`, name, uid);
        const ran = await runtime.add(sandbox);
        if (ran.exitCode === 0) {
          live.set(sandbox, ran.ip);
          return;
        }
        await runtime.del(sandbox);
        runtime.removeNetns(sandbox);
      }
    };
    const starting = Promise.all(Array.from({ length: 12 }, (_, index) => start(`p${index}`)));
    for (const afterMs of [150, 900, 60]) {
      await sleep(afterMs);
      await killDaemon(runtime);
      await revive(runtime);
    }
    const late = setTimeout(() => over.abort(), 60_000);
    await starting;
    clearTimeout(late);
    t.equal(live.size, 12, `all run, after ${tries} tries`);
    await eventually('notes are carried out', async () => notes(runtime).length === 0);
    await runtime.invariants(t, live);
    // And while they go.
    const going = Promise.all([...live.keys()].map((sandbox) => runtime.del(sandbox)));
    await sleep(20);
    await killDaemon(runtime);
    await revive(runtime);
    for (const ran of await going) t.ok(ran.exitCode === 0 || ran.error.code === 11, ran.stdout);
    await Promise.all([...live.keys()].map((sandbox) => runtime.del(sandbox)));
    await eventually('notes are carried out', async () => notes(runtime).length === 0);
    await runtime.invariants(t);
  });
});

t.test(
  'deaths: DELs without a daemon leave notes, up to 256, and the next daemon carries them out',
  { skip },
  async (t) => {
    await walk(t, {}, async (runtime) => {
      const sandboxes = Array.from({ length: 4 }, (_, index) => runtime.newPod(`p${index}`));
      const ips: string[] = [];
      for (const sandbox of sandboxes) ips.push((await runtime.add(sandbox)).ip);
      const [one, two, three, four] = sandboxes as [Sandbox, Sandbox, Sandbox, Sandbox];

      runtime.node.daemon?.signal('SIGSTOP');
      const silent = await runtime.del(one);
      t.equal(silent.exitCode, 0, silent.stdout);
      t.ok(silent.ms < 15_000, `${Math.round(silent.ms)} ms with a daemon that hangs`);
      t.equal(notes(runtime).length, 1);
      await killDaemon(runtime);

      const directory = `${runtime.node.dataDir}/pending-deletes`;
      mkdirSync(directory, { recursive: true });
      for (let index = 0; index < PENDING_DELETES_MAX - 3; index += 1) {
        const note = { version: 1, containerId: `x${index}`, ifName: 'eth0', network: 'enactor', atMs: Date.now() };
        const text = JSON.stringify({ ...note, podNamespace: 'default', podName: 'x', podUid: null });
        writeFileSync(`${directory}/${index}.json`, text);
      }
      writeFileSync(`${directory}/torn.json`, '{"version":1,"containerId":"p');
      const [noted, full] = [await runtime.del(two), await runtime.del(three)];
      t.equal(noted.exitCode, 0, 'the 256th');
      t.equal(notes(runtime).length, PENDING_DELETES_MAX);
      t.equal(full.exitCode, 1);
      t.match(full.error, { code: 11, msg: /256 deletions wait for the daemon/ });
      t.equal((await runtime.del(two)).exitCode, 0, 'a note that is there already is no further one');
      const links = runtime.host().links ?? [];
      t.equal(links.filter((line) => line.startsWith('cali')).length, 1, 'the pods’ objects are gone all the same');
      t.notOk((runtime.host().rules ?? []).some((line) => line.includes(`${ips[2]}/32`)));

      await revive(runtime);
      await eventually('all notes are carried out', async () => notes(runtime).length === 0);
      t.strictSame(readdirSync(directory), ['torn.json.unreadable'], 'what cannot be read is kept for people');
      t.equal((await runtime.del(three)).exitCode, 0);
      await runtime.invariants(t, new Map([[four, ips[3] ?? '']]));
      for (const ip of ips.slice(0, 3)) t.equal(await runtime.stateOf(ip), 'idle');
      // A note must not end a lease that is younger than it: the runtime may use a sandbox's id once more.
      await killDaemon(runtime);
      await runtime.del(four);
      await revive(runtime);
      const again = await runtime.add(four);
      t.equal(again.exitCode, 0, again.stdout);
      await sleep(2_500); // the notes are looked at every two seconds
      await runtime.invariants(t, new Map([[four, again.ip]]));
    });
  },
);
