/**
 * B64: the disk of the store is full (24 MiB, a tmpfs of the test's own mount namespace) while pods come and go. Nothing is answered that is
 * not on disk, releases are kept, the daemon lives, and all goes on by itself when there is room. A read-only remount is refused by the
 * kernel while the log is open for writing; what a write meets on such a disk takes the same way (test/adapters/level).
 */
import '../lab/in-box.ts';

import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { mount } from '../../src/lab/netns/libc.ts';
import { call, machine } from '../daemon/machine.ts';

const POD_MAX = 40;

t.setTimeout(120_000);

t.test('B64: a full disk costs new pods their address until there is room, and nothing else', async (t) => {
  const here = await machine(t, { cool_down: '0s', max_pool_size: 5 });
  mkdirSync(here.paths.dataDir);
  mount('tmpfs', here.paths.dataDir, 'tmpfs', 'size=24m');
  const socket = here.paths.jsonSocket;
  for (let n = 0; n < POD_MAX; n += 1) here.addPod(`p${n}`);
  const daemon = here.start();
  await daemon.serving();
  const answered = new Map<string, unknown>();
  for (const pod of ['p0', 'p1', 'p2']) answered.set(pod, (await call(socket, 'AllocIP', pod)).body);

  const ballast = join(here.paths.dataDir, 'ballast');
  const fill = (): void => {
    // Page by page to the very end, so that not even one record fits.
    for (let nth = 0; statfsSync(here.paths.dataDir).bavail > 0; nth += 1) {
      const { bavail, bsize } = statfsSync(here.paths.dataDir);
      try {
        writeFileSync(`${ballast}-${nth}`, Buffer.alloc(bavail * bsize));
      } catch {
        return;
      }
    }
  };
  const makeRoom = (): void => {
    for (let nth = 0; nth < 100; nth += 1) rmSync(`${ballast}-${nth}`, { force: true });
  };
  fill();
  // What is left of the last page may hold a few records yet: each that was answered has to be on disk.
  let refusal: unknown = null;
  let next = 3;
  for (; refusal === null && next < POD_MAX - 5; next += 1) {
    const { status, body } = await call(socket, 'AllocIP', `p${next}`);
    if (status === 200) answered.set(`p${next}`, body);
    else refusal = { status, body };
    fill();
  }
  t.match(refusal, { status: 503, body: { message: /cannot (write|open).*No space left/ } }, 'refused as try-again');
  t.match((await daemon.report()).store, { failing: { why: /No space left/ } }, 'and told in the report');
  const del = await call(socket, 'ReleaseIP', 'p0');
  t.equal(del.status, 503, 'a release that cannot be written is no success: the kubelet asks again');
  t.strictSame((await call(socket, 'GetIPInfo', 'p1')).body, answered.get('p1'), 'who has an address keeps it');
  t.equal((await daemon.report()).leases.length, answered.size);

  makeRoom();
  await daemon.until(async () => (await call(socket, 'ReleaseIP', 'p0')).status === 200);
  answered.delete('p0');
  await daemon.until(async () => (await call(socket, 'AllocIP', `p${next}`)).status === 200);
  answered.set(`p${next}`, (await call(socket, 'AllocIP', `p${next}`)).body);
  t.equal((await daemon.report()).store?.failing, null, 'mended without a restart');

  await daemon.kill();
  fill();
  const cramped = here.start();
  const ended = await Promise.race([cramped.ended, cramped.serving().then(() => null)]);
  if (ended !== null) {
    t.strictSame(ended, { code: 1, signal: null }, 'a start without room says so and ends');
    t.match(cramped.log, /enactord: cannot open the database.*No space left/);
  } else await cramped.kill();
  makeRoom();

  const again = here.start();
  await again.serving();
  t.equal((await again.report()).store?.setAside, null, 'a full disk is no damage');
  for (const [pod, body] of answered)
    t.strictSame((await call(socket, 'GetIPInfo', pod)).body, body, `${pod} after it all`);
  t.equal((await again.report()).leases.length, answered.size, 'bookings equal what was answered');
  t.strictSame(await again.stop(), { code: 0, signal: null });
});
