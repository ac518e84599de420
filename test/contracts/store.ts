/** What port Store promises, run against the real adapter and its fake. */
import type { Test } from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import type { Store } from '../../src/ports/store.ts';

/** `open` gives a store over the same durable state at each call; the one before has been closed. */
export type OpenStore = () => Promise<Store>;

export function storeContract(t: Test, name: string, newDisk: (t: Test) => Promise<OpenStore>): void {
  t.test(`${name}: what was written is there after closing and opening again`, async (t) => {
    const open = await newDisk(t);
    const first = await open();
    await first.write([
      { type: 'put', in: 'leases', key: 'c1/eth0', value: { a: 1, list: [null, 'x'] } },
      { type: 'put', in: 'meta', key: 'version', value: 1 },
    ]);
    await first.close();
    const second = await open();
    t.strictSame(await second.read('leases'), [{ key: 'c1/eth0', value: { a: 1, list: [null, 'x'] } }]);
    t.strictSame(await second.read('meta'), [{ key: 'version', value: 1 }]);
    t.strictSame(await second.read('intents'), [], 'another sublevel is empty');
    await second.close();
  });

  t.test(
    `${name}: an unsynced batch is whole, can be read at once, and outlives the process that wrote it`,
    async (t) => {
      const open = await newDisk(t);
      const first = await open();
      const synced = first.write([{ type: 'put', in: 'leases', key: 'k', value: 1 }]);
      await first.write(
        [
          { type: 'put', in: 'inputs', key: '1', value: 'a' },
          { type: 'put', in: 'inputs', key: '2', value: 'b' },
          { type: 'del', in: 'inputs', key: '1' },
        ],
        { synced: false },
      );
      await synced;
      t.strictSame(await first.read('inputs'), [{ key: '2', value: 'b' }]);
      const last = first.write([{ type: 'put', in: 'inputs', key: '3', value: 'c' }], { synced: false });
      await Promise.all([last, first.close()]);
      const second = await open();
      t.strictSame(
        (await second.read('inputs')).map(({ key }) => key),
        ['2', '3'],
      );
      t.strictSame(await second.read('leases'), [{ key: 'k', value: 1 }]);
      await t.rejects(second.write([{ type: 'put', in: 'inputs', key: 'k', value: undefined }], { synced: false }), {
        code: 'store',
      });
      await second.close();
    },
  );

  t.test(`${name}: keys come in the order of their bytes and sublevels do not mix`, async (t) => {
    const store = await (await newDisk(t))();
    const keys = ['b', 'a/1', 'a', 'é', '\uffee', '\u{1f600}', 'a!b', 'B'];
    await store.write(keys.map((key) => ({ type: 'put', in: 'pods', key, value: key })));
    await store.write([{ type: 'put', in: 'leases', key: 'a', value: 'lease' }]);
    const read = (await store.read('pods')).map(({ key }) => key);
    t.strictSame(
      read,
      [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
    await store.close();
  });

  t.test(`${name}: a batch is applied whole and in order; deleting what is not there is no error`, async (t) => {
    const store = await (await newDisk(t))();
    await store.write([
      { type: 'put', in: 'leases', key: 'k', value: 1 },
      { type: 'del', in: 'leases', key: 'k' },
      { type: 'put', in: 'leases', key: 'k', value: 2 },
      { type: 'del', in: 'coolDowns', key: 'never' },
    ]);
    t.strictSame(await store.read('leases'), [{ key: 'k', value: 2 }]);
    await store.close();
  });

  t.test(`${name}: a batch with a value that is no JSON is refused whole and alone`, async (t) => {
    const store = await (await newDisk(t))();
    const good = store.write([{ type: 'put', in: 'leases', key: 'good', value: 1 }]);
    const bad = store.write([
      { type: 'put', in: 'leases', key: 'half', value: 1 },
      { type: 'put', in: 'leases', key: 'bad', value: undefined },
    ]);
    const alsoGood = store.write([{ type: 'put', in: 'leases', key: 'good2', value: 2 }]);
    await t.rejects(bad, EnactorError);
    await t.rejects(bad, { code: 'store' });
    await Promise.all([good, alsoGood]);
    t.strictSame(
      (await store.read('leases')).map(({ key }) => key),
      ['good', 'good2'],
    );
    await store.close();
  });

  t.test(`${name}: two hundred concurrent writers all find their record`, async (t) => {
    const store = await (await newDisk(t))();
    const keys = Array.from({ length: 200 }, (_, index) => `k${String(index).padStart(3, '0')}`);
    await Promise.all(keys.map((key) => store.write([{ type: 'put', in: 'leases', key, value: { key } }])));
    t.strictSame(
      (await store.read('leases')).map(({ key }) => key),
      keys,
    );
    await store.close();
  });

  t.test(
    `${name}: writes under way are kept by close; afterwards everything is refused, and close is repeatable`,
    async (t) => {
      const open = await newDisk(t);
      const store = await open();
      const writing = store.write([{ type: 'put', in: 'leases', key: 'late', value: 1 }]);
      await Promise.all([writing, store.close(), store.close()]);
      await t.rejects(store.write([{ type: 'put', in: 'leases', key: 'x', value: 1 }]), { code: 'store' });
      await t.rejects(store.read('leases'), { code: 'store' });
      const again = await open();
      t.strictSame(await again.read('leases'), [{ key: 'late', value: 1 }]);
      await again.close();
    },
  );

  t.test(`${name}: set aside, it is empty, says why, and takes what is written`, async (t) => {
    const open = await newDisk(t);
    const store = await open();
    t.strictSame(store.state(), { setAside: null, failing: null });
    await store.write([{ type: 'put', in: 'leases', key: 'old', value: 1 }]);
    const setAside = store.setAside('it is somebody else’s');
    const writing = store.write([{ type: 'put', in: 'intents', key: 'new', value: 2 }]).catch(() => {});
    await setAside;
    await writing;
    t.match(store.state(), { setAside: { why: 'it is somebody else’s', path: /./ }, failing: null });
    t.strictSame(await store.read('leases'), []);
    await store.write([{ type: 'put', in: 'leases', key: 'new', value: 1 }]);
    await store.close();
    const again = await open();
    t.strictSame(await again.read('leases'), [{ key: 'new', value: 1 }]);
    await again.close();
    await t.rejects(again.setAside('too late'), { code: 'store' });
  });
}
