/**
 * B62 with the daemon as a process, its database in LevelDB and pods in the kernel: whatever becomes of the files, no address is given
 * twice, and the node becomes whole without a hand.
 */
import '../lab/in-box.ts';

import { chownSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { deleteLink } from '../../src/adapters/netlink/wire/link.ts';
import type { NetConf } from '../../src/core/wire.ts';
import { call, type Machine, machine } from '../daemon/machine.ts';
import { podOnHost } from '../daemon/pod-on-host.ts';

t.setTimeout(240_000);

const LIVE = ['live-0', 'live-1', 'live-2', 'foreign'];
const config = { cool_down: '0s', min_pool_size: 1, max_pool_size: 4, call_timeout: '2s', backoff: '100ms' };

const confOf = (body: unknown): NetConf | undefined => (body as { NetConfs?: NetConf[] }).NetConfs?.[0];
const ipOf = (body: unknown): string => confOf(body)?.BasicInfo?.PodIP?.IPv4 ?? '';

/** Four pods that live: three of our plugin, one that bears no mark. */
async function withPods(here: Machine): Promise<Map<string, string>> {
  const host = new Netlink(openKoffiLibc());
  const ips = new Map<string, string>();
  for (const name of LIVE) {
    here.addPod(name);
    const { body } = await call(here.paths.jsonSocket, 'AllocIP', name);
    const pod = { namespace: 'default', name, uid: null };
    const sandbox = { containerId: `sandbox-${name}`, ifName: 'eth0', pod };
    podOnHost(host, sandbox, ipOf(body), confOf(body)?.ENIInfo?.RouteTable ?? 0, name !== 'foreign');
    ips.set(name, ipOf(body));
  }
  host.close();
  return ips;
}

const file = (db: string, pattern: RegExp): string => {
  const name = readdirSync(db).find((one) => pattern.test(one));
  if (name === undefined) throw new Error(`no ${pattern} in ${readdirSync(db)}`);
  return join(db, name);
};

/** CI takes two; all of them are tried on the adapter alone in every run (test/adapters/level). */
const IN_CI = ['no CURRENT', 'no directory'];
const soak = process.env.ENACTOR_SPEED === '1';

const damages: Readonly<Record<string, (db: string) => void>> = {
  'an empty CURRENT': (db) => writeFileSync(join(db, 'CURRENT'), ''),
  'no CURRENT': (db) => rmSync(join(db, 'CURRENT')),
  'no MANIFEST': (db) => rmSync(file(db, /^MANIFEST/)),
  'garbage in MANIFEST': (db) => writeFileSync(file(db, /^MANIFEST/), 'x'.repeat(500)),
  'a table of length zero': (db) => truncateSync(file(db, /\.ldb$/), 0),
  'a log of length zero, of which LevelDB says nothing': (db) => truncateSync(file(db, /\.log$/), 0),
  'no directory': (db) => rmSync(db, { recursive: true }),
};

t.test('B62: pods live on whatever becomes of the database, and nobody gets their address', async (t) => {
  const here = await machine(t, config);
  const db = join(here.paths.dataDir, 'db');
  const socket = here.paths.jsonSocket;
  let daemon = here.start();
  await daemon.serving();
  const live = await withPods(here);
  let nth = 0;
  for (const [damage, doIt] of Object.entries(damages).filter(([name]) => soak || IN_CI.includes(name))) {
    await daemon.kill();
    if (damage.includes('table')) {
      // A life in between makes a table of the log.
      daemon = here.start();
      await daemon.serving();
      await daemon.kill();
    }
    doIt(db);
    daemon = here.start();
    await daemon.serving();
    const report = await daemon.report();
    if (!/directory|says nothing/.test(damage)) {
      t.match(report.store, { setAside: { path: /db\.set-aside-/ } }, `${damage}: set aside and told`);
      t.equal(daemon.log.match(/database was damaged and is set aside/g)?.length, 1, 'once');
    }
    for (const [pod, ip] of live) {
      if (pod === 'foreign') continue;
      t.equal(ipOf((await call(socket, 'GetIPInfo', pod)).body), ip, `${damage}: ${pod} has its address`);
    }
    const fresh: string[] = [];
    for (let more = 0; more < 3; more += 1) {
      const pod = `fresh-${nth}`;
      nth += 1;
      here.addPod(pod);
      await daemon.until(async () => {
        const { status, body } = await call(socket, 'AllocIP', pod);
        if (status === 200) fresh.push(ipOf(body));
        return status === 200;
      });
    }
    t.equal(new Set([...live.values(), ...fresh]).size, live.size + 3, `${damage}: nobody else has one of theirs`);
    for (let back = nth - 3; back < nth; back += 1) await call(socket, 'ReleaseIP', `fresh-${back}`);
  }
  t.ok(readdirSync(here.paths.dataDir).filter((name) => name.startsWith('db.set-aside-')).length <= 3, 'bounded');

  for (const pod of LIVE.slice(0, 3)) t.equal((await call(socket, 'ReleaseIP', pod)).status, 200, `DEL of ${pod}`);
  // The pod of which nothing but the address is known goes without a DEL of ours: host and API server agree.
  const host = new Netlink(openKoffiLibc());
  for (const link of host.links()) if (link.name.startsWith('cali')) host.apply([deleteLink(link)]);
  host.close();
  await daemon.until(async () => (await daemon.report()).leases.length === 0);
  await daemon.kill();

  const away = `${db}-away`;
  renameSync(db, away);
  writeFileSync(db, 'no directory');
  const file0 = here.start();
  t.strictSame(await file0.ended, { code: 1, signal: null });
  t.match(file0.log, /enactord: .*db.* is not a directory/);
  rmSync(db);
  renameSync(away, db);
  if (process.env.ENACTOR_BOX === 'root') {
    chownSync(db, 12_345, 12_345);
    const other = here.start();
    t.strictSame(await other.ended, { code: 1, signal: null });
    t.match(other.log, /belongs to user 12345/);
    chownSync(db, 0, 0);
  }
  daemon = here.start();
  await daemon.serving();
  t.strictSame((await daemon.report()).store, { setAside: null, failing: null }, 'what was refused was left as it is');
});

t.test('B62: a data directory that is deleted under the daemon costs nothing that was answered', async (t) => {
  const here = await machine(t, config);
  const { dataDir, jsonSocket: socket } = here.paths;
  const daemon = here.start();
  await daemon.serving();
  for (const pod of ['freed', 'kept']) {
    here.addPod(pod);
    t.equal((await call(socket, 'AllocIP', pod)).status, 200);
  }
  rmSync(dataDir, { recursive: true });
  t.equal((await call(socket, 'ReleaseIP', 'freed')).status, 200);
  await daemon.until(async () => /the database was deleted/.test(daemon.log));
  await daemon.kill();
  const again = here.start();
  await again.serving();
  const { leases, store } = await again.report();
  t.strictSame(
    leases.map(({ sandbox }) => sandbox.pod.name),
    ['kept'],
  );
  t.strictSame(store, { setAside: null, failing: null });
});
