import t from 'tap';
import { type MemoryDisk, memoryStore } from '../../../src/adapters/level/memory-store.ts';
import { storeContract } from '../../contracts/store.ts';

storeContract(t, 'memory', async () => {
  const disk: MemoryDisk = new Map();
  return async () => memoryStore(disk);
});

t.test('memory: text planted on the disk that is no JSON is reported', async (t) => {
  const store = memoryStore(new Map([['leases', new Map([['bad', '{']])]]));
  t.strictSame(await store.read('leases'), [{ key: 'bad', value: null, unreadable: '{' }]);
});
