/** The store's own record: whose it is, which program may read it, and what a new version does to its records (P7, P25). */
import t from 'tap';
import { claimStore, type Migration, markWhole, refuseNewerStore } from '../../actors/claim-store.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import type { Log } from '../../src/ports/log.ts';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
const metaOf = (disk: MemoryDisk) => JSON.parse(disk.get('meta')?.get('store') ?? 'null');
const put = (key: string, value: unknown, sublevel: 'leases' | 'coolDowns' = 'leases') =>
  ({ type: 'put', in: sublevel, key, value }) as const;

t.test('an empty store is not whole until somebody says so, and stays so over restarts', async (t) => {
  const disk: MemoryDisk = new Map();
  const open = () => ({ store: memoryStore(disk), log: silent });
  t.equal(await claimStore(open(), 'i-1'), false);
  t.strictSame(metaOf(disk), { version: 1, readableFrom: 1, instanceId: 'i-1', whole: false, remembersEnis: true });
  t.equal(await claimStore(open(), 'i-1'), false, 'also after a crash');
  await markWhole(memoryStore(disk));
  t.equal(await claimStore(open(), 'i-1'), true);
});

t.test('a store of before there was such a record is whole', async (t) => {
  const disk: MemoryDisk = new Map();
  const store = memoryStore(disk);
  await store.write([put('c/eth0', { version: 1 })]);
  t.equal(await claimStore({ store, log: silent }, 'i-1'), true);
  t.match(metaOf(disk), { version: 1, instanceId: 'i-1', whole: true });
  t.equal(disk.get('leases')?.size, 1);
});

t.test('what is remembered of ENIs goes when a program that does not remember had the store', async (t) => {
  const disk: MemoryDisk = new Map();
  const store = memoryStore(disk);
  const record = { type: 'put', in: 'enis', key: 'eni-1', value: { version: 1 } } as const;
  await claimStore({ store, log: silent }, 'i-1');
  await store.write([record]);
  await claimStore({ store, log: silent }, 'i-1');
  t.equal((await store.read('enis')).length, 1, 'kept over restarts');
  // What a program of before writes when it takes the store.
  const { remembersEnis: _, ...older } = metaOf(disk);
  await store.write([{ type: 'put', in: 'meta', key: 'store', value: older }]);
  await claimStore({ store, log: silent }, 'i-1');
  t.strictSame(await store.read('enis'), []);
  t.match(metaOf(disk), { remembersEnis: true });
});

t.test('P7: the store of another instance is set aside, told of by name, and nothing of it is read', async (t) => {
  const disk: MemoryDisk = new Map();
  const store = memoryStore(disk);
  await claimStore({ store, log: silent }, 'i-original');
  await store.write([put('c/eth0', { version: 1 })]);
  await markWhole(store);
  const told: object[] = [];
  const log: Log = { ...silent, error: (fields) => void told.push(fields) };
  t.equal(await claimStore({ store, log }, 'i-clone'), false);
  t.match(told, [{ why: 'it is that of instance i-original, this is i-clone' }]);
  t.match(store.state(), { setAside: { why: /i-original/ } });
  t.strictSame(await store.read('leases'), []);
  t.match(metaOf(disk), { instanceId: 'i-clone', whole: false });
});

t.test('P25: a store that only newer programs can read is refused with both versions, and left as it is', async (t) => {
  const disk: MemoryDisk = new Map();
  const newer = { version: 7, readableFrom: 6, instanceId: 'i-1', whole: true };
  disk.set('meta', new Map([['store', JSON.stringify(newer)]]));
  const before = JSON.stringify([...disk].map(([name, records]) => [name, [...records]]));
  const refusal = { code: 'store', message: /of version 7.*from version 6 on.*this one has version 1/ };
  await t.rejects(refuseNewerStore(memoryStore(disk)), refusal);
  await t.rejects(claimStore({ store: memoryStore(disk), log: silent }, 'i-1'), refusal);
  t.equal(JSON.stringify([...disk].map(([name, records]) => [name, [...records]])), before);
});

t.test('P25: one to which a newer program only added something is used, and stays of its version', async (t) => {
  const disk: MemoryDisk = new Map();
  disk.set(
    'meta',
    new Map([['store', JSON.stringify({ version: 2, readableFrom: 1, instanceId: 'i-1', whole: true, more: 'x' })]]),
  );
  t.equal(await claimStore({ store: memoryStore(disk), log: silent }, 'i-1'), true);
  t.match(metaOf(disk), { version: 2, readableFrom: 1 });
});

t.test(
  'P25: the steps of a migration go together with the new version, each over what the one before made',
  async (t) => {
    const disk: MemoryDisk = new Map();
    const store = memoryStore(disk);
    await store.write([put('a', { n: 1 }), put('b', { n: 2 }), put('192.0.2.1', 5, 'coolDowns')]);
    const steps: Migration[] = [
      { to: 2, ops: ({ leases }) => leases.map(({ key, value }) => put(key, { n: (value as { n: number }).n * 10 })) },
      {
        to: 1,
        ops: ({ leases }) => [
          { type: 'del', in: 'leases', key: 'b' },
          ...leases.map(({ value }) => put('c', { n: (value as { n: number }).n + 1 })),
        ],
      },
    ];
    let batches = 0;
    const watched = {
      ...store,
      write: (...args: Parameters<typeof store.write>) => {
        batches += 1;
        return store.write(...args);
      },
    };
    await t.rejects(
      claimStore(
        { store: { ...watched, write: () => Promise.reject(new Error('crashed')) }, log: silent },
        'i-1',
        steps,
      ),
    );
    t.equal((await store.read('leases')).length, 2, 'a crash before the batch leaves all as it was');
    await claimStore({ store: watched, log: silent }, 'i-1', steps);
    t.equal(batches, 1);
    t.strictSame(await store.read('leases'), [
      { key: 'a', value: { n: 10 } },
      { key: 'c', value: { n: 30 } },
    ]);
    t.strictSame(await store.read('coolDowns'), [{ key: '192.0.2.1', value: 5 }]);
  },
);
