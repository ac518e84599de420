import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tryFileLock } from '../../src/adapters/locks/file-lock.ts';
import { exclusive } from '../../src/daemon/exclusive.ts';

const never = new AbortController().signal;

t.test('file lock: one holder at a time, and whoever lets go lets the next in', async (t) => {
  const path = join(t.testdir(), 'made', 'lock');
  const first = tryFileLock(path);
  t.ok(first);
  t.equal(tryFileLock(path), null);
  first?.release();
  const second = tryFileLock(path);
  t.ok(second);
  second?.release();
  mkdirSync(`${path}.d`);
  chmodSync(`${path}.d`, 0o700);
  t.throws(() => tryFileLock(`${path}.d`), { message: /cannot open lock file .*lock\.d/ });
});

t.test('exclusive: the next daemon waits for the one that is ending', async (t) => {
  const dir = t.testdir();
  const paths = [join(dir, 'db'), join(dir, 'lock')] as const;
  const first = await exclusive(...paths, never);
  const second = exclusive(...paths, never);
  setTimeout(() => void first.release(), 300);
  await (await second).release();
  await (await exclusive(...paths, never)).release();
});

t.test('exclusive: whoever holds either lock for long is told of, and nothing of theirs is kept', async (t) => {
  const dir = t.testdir();
  const first = await exclusive(join(dir, 'db'), join(dir, 'lock'), never);
  const refused = await Promise.allSettled([
    exclusive(join(dir, 'db'), join(dir, 'other-lock'), never),
    exclusive(join(dir, 'other-db'), join(dir, 'lock'), never),
  ]);
  t.match(refused, [
    { reason: { message: /already running: another process holds the database/ } },
    { reason: { message: /already running: another daemon holds .*lock/ } },
  ]);
  await (await exclusive(join(dir, 'other-db'), join(dir, 'other-lock'), never)).release();
  await first.release();
});

t.test('exclusive: waiting ends with the signal', async (t) => {
  const dir = t.testdir();
  const first = await exclusive(join(dir, 'db'), join(dir, 'lock'), never);
  await t.rejects(exclusive(join(dir, 'db'), join(dir, 'lock'), AbortSignal.timeout(50)), { name: 'AbortError' });
  await first.release();
});

t.test('exclusive: a lock file that was deleted is locked anew, unless somebody else was quicker', async (t) => {
  const dir = t.testdir();
  const lockPath = join(dir, 'run', 'lock');
  const first = await exclusive(join(dir, 'db'), lockPath, never);
  t.equal(first.restoreLock(), false);
  rmSync(join(dir, 'run'), { recursive: true });
  t.equal(first.restoreLock(), true);
  t.equal(tryFileLock(lockPath), null, 'it is held');
  t.equal(first.restoreLock(), false);
  rmSync(lockPath);
  const other = tryFileLock(lockPath);
  t.ok(other);
  t.throws(() => first.restoreLock(), { message: /another daemon holds .*lock/ });
  other?.release();
  await first.release();
});
