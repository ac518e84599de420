/**
 * B59, the daemon's part: a unix socket path holds 107 bytes, and the runtime cuts longer ones without a word, so that two daemons
 * could meet at a name neither was given.
 */
import '../lab/in-box.ts';

import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { call, machine } from '../daemon/machine.ts';

/** A path of exactly `size` bytes in `dir`, of the filler as far as it goes. */
function pathOf(dir: string, size: number, filler = 'x'): string {
  const room = size - Buffer.byteLength(`${dir}/`);
  const unit = Buffer.byteLength(filler);
  return `${dir}/${filler.repeat(Math.floor(room / unit))}${'x'.repeat(room % unit)}`;
}

t.test('B59: up to 107 bytes a path works end to end, however many characters that is', async (t) => {
  const here = await machine(t);
  const dir = join(here.dir, 's');
  mkdirSync(dir);
  for (const [what, path, cwd] of [
    ['100 bytes', pathOf(dir, 100), here.dir],
    ['107 bytes', pathOf(dir, 107), here.dir],
    ['107 bytes of two each', pathOf(dir, 107, 'é'), here.dir],
    ['a relative path', 'j', dir],
  ] as const) {
    const daemon = here.start({ jsonSocket: path }, cwd);
    await daemon.serving();
    const absolute = path.startsWith('/') ? path : join(cwd, path);
    t.match(await call(absolute, 'GetIPInfo', 'p'), { status: 200 }, what);
    t.strictSame(
      readdirSync(dir).map((name) => join(dir, name)),
      [absolute],
      'bound under the very name',
    );
    t.strictSame(await daemon.stop(), { code: 0, signal: null });
    t.strictSame(readdirSync(dir), []);
  }
});

t.test('B59: beyond it is refused at once, naming path and limit, and nothing is made', async (t) => {
  const here = await machine(t);
  const dir = join(here.dir, 's');
  mkdirSync(dir);
  const before = readdirSync(here.dir).sort();
  const shared = pathOf(dir, 107);
  const long = [
    pathOf(dir, 108),
    pathOf(dir, 109),
    pathOf(dir, 200),
    pathOf(dir, 109, 'é'),
    `${shared}-one`,
    `${shared}-two`,
  ];
  for (const path of long) {
    for (const socket of ['jsonSocket', 'grpcSocket', 'debugSocket'] as const) {
      if (socket !== 'jsonSocket' && path !== long[0]) continue;
      const daemon = here.start({ [socket]: path });
      t.strictSame(await daemon.ended, { code: 2, signal: null }, 'wrong usage');
      t.ok(daemon.log.includes(`socket path ${path} is ${Buffer.byteLength(path)} bytes long; the limit is 107`));
    }
  }
  t.strictSame(readdirSync(dir), []);
  const after = readdirSync(here.dir).filter((name) => !name.startsWith('log-'));
  t.strictSame(after.sort(), before, 'no data directory, no lock, no other socket');
  t.notOk(existsSync(here.paths.dataDir));
});
