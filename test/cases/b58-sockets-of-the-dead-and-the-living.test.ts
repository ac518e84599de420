/**
 * B58: a crash leaves socket files and locks behind, and cleaning up must neither block the next start nor hurt a daemon that lives.
 * All four parts for the daemon's three sockets, its lock and its database.
 */
import '../lab/in-box.ts';

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { mount } from '../../src/lab/netns/libc.ts';
import { call, machine } from '../daemon/machine.ts';
import { SPEED } from './speed.ts';

// Some thirty starts of a process: a busy machine needs longer than the runner allows by itself.
t.setTimeout(300_000);

/** Twenty times as the case has it; a start takes seconds on a busy machine. */
const ROUNDS = SPEED === 1 ? 20 : 5;

t.test(`B58 (a): ${ROUNDS} times killed, as often started, nothing cleaned up by hand`, async (t) => {
  const here = await machine(t);
  here.addPod('p');
  const first = here.start();
  await first.serving();
  const granted = await call(here.paths.jsonSocket, 'AllocIP', 'p');
  t.equal(granted.status, 200);
  await first.kill();
  for (let round = 1; round <= ROUNDS; round += 1) {
    t.ok(existsSync(here.paths.jsonSocket), 'the dead one’s socket file is there');
    const daemon = here.start();
    await daemon.serving();
    t.strictSame(await call(here.paths.jsonSocket, 'GetIPInfo', 'p'), granted, `round ${round}`);
    t.equal(lstatSync(here.paths.jsonSocket).mode & 0o777, 0o600);
    await daemon.kill();
  }
  const last = here.start();
  await last.serving();
  t.strictSame(await last.stop(), { code: 0, signal: null });
});

t.test('B58 (b): a second daemon gives up, the first keeps serving and stays reachable', async (t) => {
  const here = await machine(t);
  const first = here.start();
  await first.serving();
  const inode = lstatSync(here.paths.jsonSocket).ino;

  const sameData = here.start();
  const sameLock = here.start({ dataDir: join(here.dir, 'other-data') });
  const ends = await Promise.all([sameData.ended, sameLock.ended]);
  t.strictSame(ends, Array(2).fill({ code: 1, signal: null }));
  t.match(sameData.log, /enactord: already running: another process holds the database/);
  t.match(sameLock.log, /enactord: already running: another daemon holds .*lock/);

  t.equal(lstatSync(here.paths.jsonSocket).ino, inode, 'the socket file is the first one’s');
  t.match(await call(here.paths.jsonSocket, 'GetIPInfo', 'p'), { status: 200 });
  t.equal((await first.report()).state.includes('serving'), true);
});

t.test('B58 (b): in a rolling update the new daemon takes over when the old one ends', async (t) => {
  const here = await machine(t);
  here.addPod('p');
  const old = here.start();
  await old.serving();
  const granted = await call(here.paths.jsonSocket, 'AllocIP', 'p');
  const next = here.start();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.strictSame(await old.stop(), { code: 0, signal: null });
  await next.serving();
  t.strictSame(await call(here.paths.jsonSocket, 'GetIPInfo', 'p'), granted);
});

t.test('B58 (c): what is no socket is named, and left as it is', async (t) => {
  const here = await machine(t);
  const odd = join(here.dir, 'odd');
  mkdirSync(join(odd, 'directory', 'inside'), { recursive: true });
  writeFileSync(join(odd, 'file'), 'precious');
  symlinkSync(join(odd, 'nowhere'), join(odd, 'dangling'));
  mkdirSync(join(odd, 'readonly'));
  mount('tmpfs', join(odd, 'readonly'), 'tmpfs', 'ro');

  for (const [name, why] of [
    ['file', /odd\/file is a regular file/],
    ['directory', /odd\/directory is a directory/],
    ['dangling', /odd\/dangling is a symbolic link/],
    ['readonly/s', /odd\/readonly\/s.*EROFS/],
    ['file/s', /odd\/file/],
  ] as const) {
    const path = join(odd, name);
    const daemon = here.start({ jsonSocket: path });
    t.strictSame(await daemon.ended, { code: 1, signal: null }, name);
    t.match(daemon.log, why);
    t.notOk(existsSync(here.paths.grpcSocket), 'the sockets it had bound by then are gone');
  }
  t.strictSame(readdirSync(odd).sort(), ['dangling', 'directory', 'file', 'readonly']);
  t.equal(readFileSync(join(odd, 'file'), 'utf8'), 'precious');
  t.ok(existsSync(join(odd, 'directory', 'inside')));
  t.notOk(existsSync(join(odd, 'nowhere')));

  const daemon = here.start({ jsonSocket: join(here.dir, 'made', 'for', 'it') });
  await daemon.serving();
  t.strictSame(await daemon.stop(), { code: 0, signal: null }, 'a directory that is missing is made');
});

t.test(
  'B58 (d): what is deleted under a running daemon, a socket or all of them with the lock, is there again',
  async (t) => {
    const here = await machine(t);
    here.addPod('p');
    const run = join(here.dir, 'run');
    const at = (name: string) => join(run, name);
    const flags = { jsonSocket: at('j'), grpcSocket: at('g'), debugSocket: at('d'), lockFile: at('lock') };
    const daemon = here.start(flags);
    await daemon.serving();
    const granted = await call(flags.jsonSocket, 'AllocIP', 'p');
    t.equal(granted.status, 200);

    rmSync(flags.jsonSocket);
    await t.rejects(call(flags.jsonSocket, 'GetIPInfo', 'p'), { code: 'ENOENT' });
    await daemon.until(async () => (await call(flags.jsonSocket, 'GetIPInfo', 'p')).status === 200);
    t.equal(lstatSync(flags.jsonSocket).mode & 0o777, 0o600);
    t.equal(daemon.log.split('the socket was deleted: made anew').length, 2, 'said once');

    rmSync(run, { recursive: true });
    await daemon.until(async () => ['j', 'g', 'd', 'lock'].every((name) => existsSync(at(name))));
    t.strictSame(await call(flags.jsonSocket, 'GetIPInfo', 'p'), granted);
    t.match((await daemon.report()).state, /serving/);
    t.match(daemon.log, /the lock file was deleted: made and locked anew/);
    const second = here.start({ ...flags, dataDir: join(here.dir, 'other-data') });
    t.strictSame(await second.ended, { code: 1, signal: null }, 'the lock keeps others out');
    t.match(second.log, /already running: another daemon holds .*lock/);
    t.strictSame(await call(flags.jsonSocket, 'GetIPInfo', 'p'), granted, 'and the first is reached all the while');
    t.strictSame(await daemon.stop(), { code: 0, signal: null });
    t.strictSame(readdirSync(run), ['lock'], 'nothing else is left');
  },
);
