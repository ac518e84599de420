import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import t from 'tap';
import { openLevelStore, StoreLockedError } from '../../../src/adapters/level/level-store.ts';
import { EnactorError } from '../../../src/core/errors.ts';
import { storeContract } from '../../contracts/store.ts';

storeContract(t, 'level', async (t) => {
  const path = join(t.testdir(), 'data', 'db');
  return () => openLevelStore(path);
});

t.test('level: the directory is made for its owner alone', async (t) => {
  const path = join(t.testdir(), 'a', 'db');
  const store = await openLevelStore(path);
  t.equal((await stat(path)).mode & 0o777, 0o700);
  await store.close();
});

t.test('level: writers that wait for a sync share the next one', async (t) => {
  const path = join(t.testdir(), 'db');
  let batches = 0;
  const original = Level.prototype.batch;
  t.teardown(() => {
    Level.prototype.batch = original;
  });
  Level.prototype.batch = function (this: unknown, ...args: unknown[]) {
    batches += 1;
    t.strictSame(args[1], { sync: true });
    return Reflect.apply(original, this, args);
  } as typeof original;
  const store = await openLevelStore(path);
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => store.write([{ type: 'put', in: 'leases', key: `${n}`, value: n }])),
  );
  t.equal(batches, 2, 'the first alone, the other 99 together');
  await store.close();
});

t.test('level: a second opener is told that somebody else runs', async (t) => {
  const path = join(t.testdir(), 'db');
  const store = await openLevelStore(path);
  const refusal = await openLevelStore(path).catch((thrown: unknown) => thrown);
  t.ok(refusal instanceof StoreLockedError);
  await t.rejects(openLevelStore(path), { message: /already running.*db/, code: 'store' });
  await store.close();
  await (await openLevelStore(path)).close();
});

t.test('level: a record that is no JSON is reported under its key, the others are read', async (t) => {
  const path = join(t.testdir(), 'db');
  const raw = new Level<string, string>(path);
  await raw.sublevel('leases').put('bad', '{"half":');
  await raw.sublevel('leases').put('good', '{"a":1}');
  await raw.close();
  const store = await openLevelStore(path);
  t.strictSame(await store.read('leases'), [
    { key: 'bad', value: null, unreadable: '{"half":' },
    { key: 'good', value: { a: 1 } },
  ]);
  await store.close();
});

t.test('level: a file in the place of the directory, or of one above it, is named', async (t) => {
  const dir = t.testdir({ file: 'x' });
  await t.rejects(openLevelStore(join(dir, 'file')), { message: /file.*is not a directory/, code: 'store' });
  await t.rejects(openLevelStore(join(dir, 'file', 'db')), { message: /is not a directory/, code: 'store' });
});

t.test(
  "level: somebody else's directory is refused by name",
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async (t) => {
    const path = join(t.testdir({ db: {} }), 'db');
    await chown(path, 12345, 12345);
    await t.rejects(openLevelStore(path), { message: /belongs to user 12345/, code: 'store' });
  },
);

t.test('level: a damaged database is an error that names it, and nothing is deleted', async (t) => {
  const path = join(t.testdir(), 'db');
  await mkdir(path);
  await chmod(path, 0o700);
  await writeFile(join(path, 'CURRENT'), 'garbage');
  await t.rejects(openLevelStore(path), { code: 'store' });
  await t.rejects(openLevelStore(path), EnactorError);
  t.ok(await stat(join(path, 'CURRENT')));
});
