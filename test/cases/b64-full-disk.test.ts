/**
 * B64: the disk of the store is full, or read-only (24 MiB, a tmpfs of the test's own mount namespace), while pods come and go. Nothing is
 * answered that is not on disk, releases are kept, the daemon lives, and all goes on by itself when it can be written again.
 *
 * The kernel refuses a read-only remount while the log is open for writing. So it comes at the moment it can on a real node: a write has failed
 * (the disk was full), the log is closed, and before it is opened again the file system is read-only.
 */
import '../lab/in-box.ts';

import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { mount, SystemCallError } from '../../src/lab/netns/libc.ts';
import { writeDeletionNote } from '../../src/plugin/deletion-notes.ts';
import { ask, call, type Machine, machine } from '../daemon/machine.ts';
import { atLeast } from './speed.ts';

const POD_MAX = 40;
const MS_RDONLY = 1;
const MS_REMOUNT = 32;
const EBUSY = 16;
/** Ten seconds on a real disk. */
const STALL_MS = atLeast(1_000, 10_000);

t.setTimeout(120_000);

/** A small disk for the store. */
class Disk {
  readonly #path: string;

  constructor({ paths }: Machine) {
    this.#path = paths.dataDir;
    mkdirSync(this.#path);
    mount('tmpfs', this.#path, 'tmpfs', 'size=24m');
  }

  /** Page by page to the very end, so that not even one record fits. */
  fill(): void {
    for (let nth = 0; statfsSync(this.#path).bavail > 0; nth += 1) {
      const { bavail, bsize } = statfsSync(this.#path);
      try {
        writeFileSync(this.#ballast(nth), Buffer.alloc(bavail * bsize));
      } catch {
        return;
      }
    }
  }

  makeRoom(): void {
    for (let nth = 0; nth < 100; nth += 1) rmSync(this.#ballast(nth), { force: true });
  }

  /** False while somebody has a file open for writing. */
  readOnly(): boolean {
    try {
      mount('tmpfs', this.#path, 'tmpfs', '', MS_REMOUNT | MS_RDONLY);
      return true;
    } catch (error) {
      if (error instanceof SystemCallError && error.errno === EBUSY) return false;
      throw error;
    }
  }

  writable(): void {
    mount('tmpfs', this.#path, 'tmpfs', '', MS_REMOUNT);
  }

  #ballast(nth: number): string {
    return join(this.#path, `ballast-${nth}`);
  }
}

t.test('B64: a full disk costs new pods their address until there is room, and nothing else', async (t) => {
  const here = await machine(t, { cool_down: '0s', max_pool_size: 5, min_pool_size: 5 });
  const disk = new Disk(here);
  const socket = here.paths.jsonSocket;
  for (let n = 0; n < POD_MAX; n += 1) here.addPod(`p${n}`);
  const daemon = here.start();
  await daemon.serving();
  const answered = new Map<string, unknown>();
  for (const pod of ['p0', 'p1', 'p2']) answered.set(pod, (await call(socket, 'AllocIP', pod)).body);

  disk.fill();
  // What is left of the last page may hold a few records yet: each that was answered has to be on disk.
  let refusal: unknown = null;
  let next = 3;
  for (; refusal === null && next < POD_MAX - 5; next += 1) {
    const { status, body } = await call(socket, 'AllocIP', `p${next}`);
    if (status === 200) answered.set(`p${next}`, body);
    else refusal = { status, body };
    disk.fill();
  }
  t.match(refusal, { status: 503, body: { message: /cannot (write|open).*No space left/ } }, 'refused as try-again');
  t.match((await daemon.report()).store, { failing: { why: /No space left/ } }, 'and told in the report');
  const del = await call(socket, 'ReleaseIP', 'p0');
  t.equal(del.status, 503, 'a release that cannot be written is no success: the kubelet asks again');
  t.strictSame((await call(socket, 'GetIPInfo', 'p1')).body, answered.get('p1'), 'who has an address keeps it');
  t.equal((await daemon.report()).leases.length, answered.size);

  disk.makeRoom();
  await daemon.until(async () => (await call(socket, 'ReleaseIP', 'p0')).status === 200);
  answered.delete('p0');
  await daemon.until(async () => (await call(socket, 'AllocIP', `p${next}`)).status === 200);
  answered.set(`p${next}`, (await call(socket, 'AllocIP', `p${next}`)).body);
  t.equal((await daemon.report()).store?.failing, null, 'mended without a restart');

  await daemon.kill();
  disk.fill();
  const again = here.start();
  await again.until(async () => /recover: /.test((await again.report()).missing.join()));
  t.match(
    await again.report(),
    { missing: [/recover: cannot open.*No space left/], store: { failing: { why: /No space left/ }, setAside: null } },
    'a start without room says so',
  );
  t.match(await ask(here.paths.debugSocket, 'GET', '/v1/health'), {
    status: 503,
    body: { missing: [/No space left/] },
  });
  t.match(
    await call(socket, 'AllocIP', 'p1'),
    { status: 503, body: { code: 'unavailable', message: /No space left/ } },
    'its socket answers: try again, and why',
  );
  t.equal((await call(socket, 'ReleaseIP', 'p1')).status, 503, 'who wants to go asks again');
  disk.makeRoom();
  await again.serving();
  t.match(again.log, /there is room: the database is open/);
  t.equal((await again.report()).store?.failing, null, 'and it is whole by itself');
  t.equal((await again.report()).store?.setAside, null, 'a full disk is no damage');
  for (const [pod, body] of answered)
    t.strictSame((await call(socket, 'GetIPInfo', pod)).body, body, `${pod} after it all`);
  t.equal((await again.report()).leases.length, answered.size, 'bookings equal what was answered');
  t.strictSame(await again.stop(), { code: 0, signal: null });
});

t.test('B64: a read-only disk is told by its name, loses no DEL and doubles nothing', async (t) => {
  const here = await machine(t, { cool_down: '0s', max_pool_size: 5, min_pool_size: 5 });
  const disk = new Disk(here);
  const socket = here.paths.jsonSocket;
  for (let n = 0; n < POD_MAX; n += 1) here.addPod(`p${n}`);
  const daemon = here.start();
  await daemon.serving();
  const answered = new Map<string, unknown>();
  for (const pod of ['p0', 'p1', 'p2']) answered.set(pod, (await call(socket, 'AllocIP', pod)).body);

  disk.fill();
  let next = 3;
  for (; next < POD_MAX - 20; next += 1) {
    const { status, body } = await call(socket, 'AllocIP', `p${next}`);
    if (status !== 200) break;
    answered.set(`p${next}`, body);
    disk.fill();
  }
  await daemon.until(async () => disk.readOnly());
  const { ledger } = here.cloud.live.gateway;
  const isRefused = async (method: 'AllocIP' | 'ReleaseIP', pod: string) => {
    const { status, body } = await call(socket, method, pod);
    return status === 503 && /Read-only file system/.test((body as { message: string }).message);
  };
  // The last reason that was met is told until the next try.
  await daemon.until(() => isRefused('AllocIP', `p${next}`));
  const { lastSeq } = ledger;
  for (let n = next; n < next + 10; n += 1) t.ok(await isRefused('AllocIP', `p${n}`), `p${n} is to try again`);
  t.match((await daemon.report()).store, { failing: { why: /Read-only file system/ } });
  t.ok(await isRefused('ReleaseIP', 'p0'), 'a release that cannot be written is no success: the kubelet asks again');
  t.equal((await daemon.report()).leases.length, answered.size, 'and nothing of it was done');
  t.strictSame((await call(socket, 'GetIPInfo', 'p1')).body, answered.get('p1'), 'who has an address keeps it');
  t.strictSame(
    ledger.read(lastSeq, null).filter(({ changed }) => changed),
    [],
    'what cannot be noted is not done in the cloud',
  );
  const pod = { namespace: 'default', name: 'p0', uid: null };
  const sandbox = { containerId: 'sandbox-p0', ifName: 'eth0', netns: '', network: '', pod };
  t.throws(
    () => writeDeletionNote(here.paths.dataDir, sandbox, Date.now()),
    { code: 11, message: /EROFS/ },
    'were the daemon away, the plugin too would have DEL tried again',
  );
  const other = here.start();
  t.match(await other.ended, { code: 1 }, 'a start says so and ends');
  t.match(other.log, /enactord: cannot open the database.*Read-only file system|already running/);

  disk.writable();
  disk.makeRoom();
  await daemon.until(async () => (await call(socket, 'ReleaseIP', 'p0')).status === 200);
  answered.delete('p0');
  for (let n = next; n < next + 10; n += 1) {
    await daemon.until(async () => (await call(socket, 'AllocIP', `p${n}`)).status === 200);
    answered.set(`p${n}`, (await call(socket, 'AllocIP', `p${n}`)).body);
  }
  const report = await daemon.report();
  t.equal(report.store?.failing, null, 'mended without a restart');
  t.equal(report.store?.setAside, null, 'and it is no damage');
  const ips = report.leases.map(({ grant }) => grant.address.ipv4);
  t.equal(new Set(ips).size, answered.size, 'no address twice, none lost');
  await daemon.until(async () => {
    const { enis } = await daemon.report();
    const booked = enis.flatMap((eni) => eni.addresses.map(({ ipv4 }) => ipv4)).sort();
    const there = here.cloud.model.truth(Date.now()).enis.flatMap((eni) => (eni.type === 'Primary' ? [] : eni.ipv4));
    return booked.join() === there.sort().join();
  });

  await daemon.kill();
  const again = here.start();
  await again.serving();
  for (const [name, body] of answered)
    t.strictSame((await call(socket, 'GetIPInfo', name)).body, body, `${name} after it all`);
  t.equal((await again.report()).leases.length, answered.size);
  t.strictSame(await again.stop(), { code: 0, signal: null });
});

t.test(
  'B64: a disk that stalls, a full one for the log and a CNI directory that is read-only hold up no other pod',
  async (t) => {
    const here = await machine(t, { cool_down: '0s', max_pool_size: 5, min_pool_size: 5 });
    const socket = here.paths.jsonSocket;
    const [cni, slow] = [join(here.dir, 'cni-ro'), join(here.dir, 'slow')];
    mkdirSync(cni);
    mount('tmpfs', cni, 'tmpfs', '', MS_RDONLY);
    for (const pod of ['first', 'stalled', 'gone']) here.addPod(pod);
    const hook = new URL('../daemon/slow-write.mjs', import.meta.url);
    const nodeArgs = ['--import', `${hook.href}?ms=${STALL_MS}&while=${encodeURIComponent(slow)}`];
    // Of /dev/full every write fails with ENOSPC.
    const daemon = here.start({ cniConfDir: cni, logTo: '/dev/full' }, here.dir, nodeArgs);
    await daemon.serving();
    const first = await call(socket, 'AllocIP', 'first');
    t.equal(first.status, 200, 'without a log and without a file for the runtime it serves');

    writeFileSync(slow, '');
    const startMs = performance.now();
    let answered = false;
    const stalled = call(socket, 'AllocIP', 'stalled').finally(() => {
      answered = true;
    });
    await daemon.until(async () => (await daemon.report()).actors.some(({ path }) => path.includes('sandbox-stalled')));
    t.strictSame((await call(socket, 'GetIPInfo', 'first')).body, first.body, 'who asks meanwhile is answered');
    t.notOk(answered, 'nothing is answered that is not on disk');
    t.equal((await stalled).status, 200, 'and it is when it is');
    t.ok(performance.now() - startMs >= STALL_MS);
    rmSync(slow);
    t.equal((await call(socket, 'ReleaseIP', 'stalled')).status, 200);

    t.notOk(existsSync(join(cni, '10-enactor.conflist')));
    mount('tmpfs', cni, 'tmpfs', '', MS_REMOUNT);
    await daemon.until(async () => existsSync(join(cni, '10-enactor.conflist')));
    t.strictSame(await daemon.stop(), { code: 0, signal: null });
  },
);
