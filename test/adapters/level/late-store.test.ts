/** A database that cannot be opened yet is not an empty one. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { lateStore } from '../../../src/adapters/level/late-store.ts';
import { memoryStore } from '../../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../../src/core/errors.ts';

const noRoom = new EnactorError('store', 'cannot open the database db: No space left on device');
const refused = { code: 'store', detail: noRoom.detail };

t.test('late store: nothing is read or written until it opens by itself, and then all of it is there', async (t) => {
  const inner = memoryStore();
  await inner.write([{ type: 'put', in: 'leases', key: 'a', value: 1 }]);
  let tries = 0;
  const opened: unknown[] = [];
  const store = lateStore(
    async () => {
      tries += 1;
      if (tries < 2) throw noRoom;
      return inner;
    },
    noRoom,
    (one) => opened.push(one),
  );
  await t.rejects(store.read('leases'), refused);
  await t.rejects(store.write([]), refused);
  await t.rejects(store.setAside('why'), refused);
  t.match(store.state(), { failing: { why: noRoom.detail } });
  const { sinceMs } = store.state().failing ?? {};
  while (opened.length === 0) await sleep(50);
  t.equal(tries, 2);
  t.match(store.state(), { failing: null });
  t.ok(sinceMs);
  t.strictSame(await store.read('leases'), [{ key: 'a', value: 1 }]);
  await store.close();
  await t.rejects(store.read('leases'), { code: 'store' });
});

t.test('late store: one that is closed before it has opened tries no longer, and leaves nothing open', async (t) => {
  let tries = 0;
  const store = lateStore(
    async () => {
      tries += 1;
      throw noRoom;
    },
    noRoom,
    () => t.fail('it never opened'),
  );
  await store.close();
  await sleep(1_200);
  t.equal(tries, 0);
});
