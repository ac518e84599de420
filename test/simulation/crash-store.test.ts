import t from 'tap';
import { CrashDisk, crashStore } from '../../src/simulation/crash-store.ts';
import { Life } from '../../src/simulation/life.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { storeContract } from '../contracts/store.ts';
import { runningClock } from './running-clock.ts';

storeContract(t, 'crash store', async (t) => {
  const disk = new CrashDisk();
  const clock = runningClock(t);
  return async () => crashStore({ disk, life: new Life(1, clock), delayMs: () => 3 });
});

t.test(
  'crash store: a crash keeps the first of the pending batches, each whole, and the writers never hear of it',
  async (t) => {
    const clock = new VirtualClock(0);
    const disk = new CrashDisk();
    const life = new Life(1, clock);
    const store = crashStore({ disk, life, delayMs: () => 5 });
    const heard: string[] = [];
    const put = (key: string) =>
      void store
        .write([
          { type: 'put', in: 'leases', key, value: 1 },
          { type: 'put', in: 'meta', key, value: 2 },
        ])
        .then(() => heard.push(key));
    put('synced');
    clock.fireNext();
    await settle();
    for (const key of ['a', 'b', 'c']) put(key);
    await settle();
    t.equal(disk.pending, 3);
    life.end();
    disk.crash(2);
    while (clock.fireNext()) await settle();
    t.strictSame(heard, ['synced']);
    t.strictSame([...disk.synced('leases').keys()], ['synced', 'a', 'b']);
    t.strictSame([...disk.synced('meta').keys()], ['synced', 'a', 'b']);
  },
);

t.test('crash store: a write that fails leaves everything as it was', async (t) => {
  const clock = runningClock(t);
  const disk = new CrashDisk();
  let failures = 1;
  const tap = {
    writing() {},
    pending() {},
    synced() {},
    failing: () => (failures-- > 0 ? 'no space left' : null),
  };
  const store = crashStore({ disk, life: new Life(1, clock), tap });
  await t.rejects(store.write([{ type: 'put', in: 'leases', key: 'k', value: 1 }]), { code: 'store' });
  t.equal(disk.synced('leases').size, 0);
  await store.write([{ type: 'put', in: 'leases', key: 'k', value: 1 }]);
  t.equal(disk.synced('leases').size, 1);
});
