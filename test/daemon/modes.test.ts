/** Whatever mask the daemon is started with, and whatever somebody planted before: what it makes is nobody else's to write, and sockets are its own. */
import '../lab/in-box.ts';

import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tryFileLock } from '../../src/adapters/locks/file-lock.ts';
import { placeFile } from '../../src/cli/install/place-file.ts';
import { machine } from './machine.ts';

t.test(
  'modes: a daemon started with umask 0 makes nothing that others may write, and sockets for its owner alone',
  async (t) => {
    const here = await machine(t, { min_pool_size: 0, max_pool_size: 0 });
    const { grpcSocket, jsonSocket, debugSocket, dataDir, lockFile } = here.paths;
    rmSync(dataDir, { recursive: true, force: true });
    const mask = process.umask(0);
    const daemon = here.start();
    process.umask(mask);
    await daemon.serving();

    for (const path of [grpcSocket, jsonSocket, debugSocket]) t.equal(lstatSync(path).mode & 0o777, 0o600, path);
    const made = [
      dataDir,
      ...readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).map((name) => join(dataDir, name)),
    ];
    t.ok(made.length > 3);
    for (const path of [...made, lockFile]) {
      const found = lstatSync(path, { throwIfNoEntry: false }); // some are renamed meanwhile
      if (found !== undefined) t.equal(found.mode & 0o022, 0, path);
    }
  },
);

t.test('modes: a link planted in the lock’s place is refused, and what it leads to is not made', async (t) => {
  const dir = t.testdir();
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'terwayd.lock'));
  t.throws(() => tryFileLock(join(dir, 'terwayd.lock')), { code: 'invalidArgument', message: /terwayd\.lock/ });
  t.notOk(readdirSync(dir).includes('elsewhere'));
});

t.test('modes: a directory in a file’s place, or a file in a directory’s, is told and left', async (t) => {
  const dir = t.testdir();
  writeFileSync(join(dir, 'file'), 'theirs');
  mkdirSync(join(dir, 'folder'));
  t.throws(() => placeFile(join(dir, 'file', 'below'), Buffer.from('x'), 0o644), /file/);
  t.equal(readFileSync(join(dir, 'file'), 'utf8'), 'theirs');
  t.throws(() => tryFileLock(join(dir, 'folder')), { code: 'invalidArgument' });
});
