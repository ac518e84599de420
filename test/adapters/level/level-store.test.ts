import { chown, cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Level } from 'level';
import t, { type Test } from 'tap';
import { openLevelStore, StoreLockedError } from '../../../src/adapters/level/level-store.ts';
import { storeContract } from '../../contracts/store.ts';

/** More than the pause between two openings. */
const REOPEN_MS = 600;

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

const damages: Readonly<Record<string, (path: string) => Promise<void>>> = {
  'an empty CURRENT': (path) => writeFile(join(path, 'CURRENT'), ''),
  'no CURRENT': (path) => rm(join(path, 'CURRENT')),
  'a CURRENT of garbage': (path) => writeFile(join(path, 'CURRENT'), 'garbage'),
  'no MANIFEST': async (path) => rm(join(path, await fileOf(path, /^MANIFEST/))),
  'garbage in the middle of MANIFEST': (path) => spoil(path, /^MANIFEST/),
  'a table of length zero': async (path) => truncate(join(path, await fileOf(path, /\.ldb$/)), 0),
  'garbage in a table': (path) => spoil(path, /\.ldb$/),
};

async function fileOf(path: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(path)).find((one) => pattern.test(one));
  if (name === undefined) throw new Error(`no ${pattern} in ${path}`);
  return name;
}

async function spoil(path: string, pattern: RegExp): Promise<void> {
  const file = join(path, await fileOf(path, pattern));
  const bytes = await readFile(file);
  bytes.fill(0x5a, Math.floor(bytes.length / 4), Math.floor((bytes.length * 3) / 4));
  await writeFile(file, bytes);
}

for (const [damage, doIt] of Object.entries(damages)) {
  t.test(`B62, level: ${damage} is seen when opening, set aside and told, and an empty store goes on`, async (t) => {
    const path = join(t.testdir(), 'db');
    const raw = new Level<string, string>(path);
    await raw.sublevel('leases').put('c/eth0', '{"a":1}');
    await raw.close();
    await raw.open(); // the log becomes a table
    await raw.close();
    await doIt(path);
    const store = await openLevelStore(path);
    const { setAside } = store.state();
    t.match(setAside, { why: /database .*db|from .*db/, path: /db\.set-aside-\d{8}T\d{9}Z$/ });
    t.ok((await stat(setAside?.path ?? '')).isDirectory(), 'kept for study');
    t.strictSame(await store.read('leases'), []);
    await store.write([{ type: 'put', in: 'leases', key: 'new', value: 1 }]);
    await store.close();
    const again = await openLevelStore(path);
    t.strictSame([await again.read('leases'), again.state().setAside], [[{ key: 'new', value: 1 }], null]);
    await again.close();
  });
}

t.test('level: of what was set aside the three newest are kept', async (t) => {
  const dir = t.testdir();
  const store = await openLevelStore(join(dir, 'db'));
  for (const nth of [1, 2, 3, 4, 5]) {
    await store.write([{ type: 'put', in: 'leases', key: `k${nth}`, value: nth }]);
    await store.setAside(`for the ${nth}th time`);
  }
  const copies = (await readdir(dir)).filter((name) => name !== 'db').sort();
  t.equal(copies.length, 3);
  t.equal(copies.at(-1), basename(store.state().setAside?.path ?? ''));
  await store.close();
});

t.test(
  'B64, level: after a failed write the database is made what was acknowledged, nothing more and nothing less',
  async (t) => {
    const path = join(t.testdir(), 'db');
    const original = Level.prototype.batch;
    t.teardown(() => {
      Level.prototype.batch = original;
    });
    const put = (key: string, value: unknown) => ({ type: 'put', in: 'leases', key, value }) as const;
    const store = await openLevelStore(path);
    await store.write([put('kept', 1), put('freed', 2)]);
    // The worst: the disk has it, and the writer is told that it has not.
    let full = true;
    Level.prototype.batch = async function (this: unknown, ...args: unknown[]) {
      await Reflect.apply(original, this, args);
      if (full) throw Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
    } as unknown as typeof original;
    await t.rejects(store.write([put('refused', 3), { type: 'del', in: 'leases', key: 'freed' }]), {
      code: 'store',
      message: /No space left/,
    });
    t.match(store.state().failing, { why: /No space left/, sinceMs: Number });
    t.strictSame(
      (await store.read('leases')).map(({ key }) => key),
      ['freed', 'kept'],
      'what was refused is not told of',
    );
    await t.rejects(store.write([put('alsoRefused', 4)]), { code: 'store' }, 'as long as it is full');
    full = false;
    await eventually(t, () => store.write([put('later', 5)]));
    t.equal(store.state().failing, null);
    await store.close();
    const again = await openLevelStore(path);
    t.strictSame(await again.read('leases'), [
      { key: 'freed', value: 2 },
      { key: 'kept', value: 1 },
      { key: 'later', value: 5 },
    ]);
    await again.close();
  },
);

t.test('B62, level: a database that is destroyed while it runs is written anew from memory', async (t) => {
  const path = join(t.testdir(), 'db');
  const store = await openLevelStore(path);
  await store.write([{ type: 'put', in: 'leases', key: 'kept', value: 1 }]);
  await rm(join(path, 'CURRENT'));
  const original = Level.prototype.batch;
  Level.prototype.batch = (() => Promise.reject(new Error('IO error'))) as unknown as typeof original;
  await t.rejects(store.write([{ type: 'put', in: 'leases', key: 'refused', value: 2 }]), { code: 'store' });
  Level.prototype.batch = original;
  await eventually(t, () => store.write([{ type: 'put', in: 'leases', key: 'later', value: 3 }]));
  t.match(store.state(), { setAside: { why: /CURRENT is missing/ }, failing: null });
  await store.close();
  const again = await openLevelStore(path);
  t.strictSame(
    (await again.read('leases')).map(({ key }) => key),
    ['kept', 'later'],
  );
  await again.close();
});

t.test(
  'B62, level: a directory that is deleted while it runs is written anew, before anything more is acknowledged',
  async (t) => {
    const data = join(t.testdir(), 'data');
    const path = join(data, 'db');
    const put = (key: string) => [{ type: 'put', in: 'leases', key, value: 1 } as const];
    const keysAfterKill = async () => {
      // What a process that is killed now leaves behind.
      const left = join(t.testdirName, 'left');
      await rm(left, { recursive: true, force: true });
      await cp(path, left, { recursive: true });
      const after = await openLevelStore(left);
      const keys = (await after.read('leases')).map(({ key }) => key);
      await after.close();
      return keys;
    };
    const store = await openLevelStore(path);
    await store.write(put('kept'));
    t.equal(await store.restore?.(), false);
    await rm(data, { recursive: true });
    await store.write(put('next'));
    t.strictSame(await keysAfterKill(), ['kept', 'next']);
    t.equal(await store.restore?.(), true, 'it is told, once');
    t.equal(await store.restore?.(), false);
    await new Promise((resolve) => setTimeout(resolve, REOPEN_MS));
    await rm(data, { recursive: true });
    t.equal(await store.restore?.(), true, 'without a write too');
    t.strictSame(await keysAfterKill(), ['kept', 'next']);
    t.strictSame(store.state(), { setAside: null, failing: null });
    await store.close();
  },
);

/** Tries as a pod does. */
async function eventually(t: Test, write: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await write();
    } catch (thrown) {
      if (tries > 100) return void t.fail(`still ${thrown}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
