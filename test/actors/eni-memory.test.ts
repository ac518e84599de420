/** What is remembered of ENIs may be too little, and never too much. */
import t from 'tap';
import { EniMemory } from '../../actors/eni-memory.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../src/core/errors.ts';
import type { Intent } from '../../src/core/intent.ts';
import { parseRememberedEni, type RememberedEni, sureIps } from '../../src/core/remembered-eni.ts';
import type { StoreOp, WriteOptions } from '../../src/ports/store.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';

const eni = (eniId: string, ...ipv4: string[]): RememberedEni => ({
  version: 1,
  ...{ eniId, mac: '00:16:3e:00:00:01', vSwitchId: 'vsw-1', ipv4, ipv6: [], routeTable: 1005 },
  subnet: { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null },
  ...{ instanceId: 'i-1', bootId: 'boot-1', nodeIp: '10.0.0.1' },
});

async function rig() {
  const disk: MemoryDisk = new Map();
  const store = memoryStore(disk);
  const clock = new VirtualClock(0);
  const books: { now: readonly RememberedEni[] | null } = { now: [] };
  const writes: { ops: readonly StoreOp[]; options: WriteOptions | undefined }[] = [];
  const faults = { next: 0 };
  /** Holds writes back until it is called. */
  let letGo: (() => void) | null = null;
  const hold = (): void => {
    letGo = () => {};
  };
  const write = async (ops: readonly StoreOp[], options?: WriteOptions): Promise<void> => {
    writes.push({ ops, options });
    if (letGo !== null) await new Promise<void>((resolve) => (letGo = resolve));
    faults.next -= 1;
    if (faults.next >= 0) throw new EnactorError('store', 'full');
    await store.write(ops);
  };
  const memory = new EniMemory(
    { ...store, write },
    {
      setTimeout: (fire, delayMs) => clock.after(delayMs, fire),
      clearTimeout: (timer) => clock.cancel(timer as ReturnType<typeof clock.after>),
    },
    { debug() {}, info() {}, warn() {}, error() {} },
    () => books.now,
  );
  const quiet = async (): Promise<void> => {
    await settle();
    for (let turns = 0; turns < 20 && clock.fireNext(); turns += 1) await settle();
  };
  const onDisk = (): Record<string, readonly string[]> =>
    Object.fromEntries(
      [...(disk.get('enis') ?? [])].map(([id, text]) => [id, parseRememberedEni(JSON.parse(text))?.ipv4 ?? []]),
    );
  await memory.begin();
  return { memory, books, writes, faults, quiet, onDisk, disk, hold, release: () => letGo?.() };
}

const intent = (kind: 'unassign' | 'detach' | 'assign', eniId: string, ...ips: string[]): Intent =>
  ({ version: 1, id: eniId, slot: 0, atMs: 0, kind, eniId, ips }) as unknown as Intent;

t.test(
  'eni memory: a burst of changes is one write, which no request waits for, and what has not changed is none',
  async (t) => {
    const { memory, books, writes, quiet, onDisk } = await rig();
    books.now = [eni('eni-1', '10.0.0.2')];
    for (let nth = 0; nth < 50; nth += 1) memory.touch();
    t.equal(writes.length, 0, 'not at once');
    await quiet();
    t.match(writes, [{ options: { synced: false } }]);
    t.equal(writes.length, 1);
    t.strictSame(onDisk(), { 'eni-1': ['10.0.0.2'] });
    memory.touch();
    await quiet();
    t.equal(writes.length, 1);
    books.now = [eni('eni-2', '10.0.0.9')];
    memory.touch();
    await quiet();
    t.strictSame(onDisk(), { 'eni-2': ['10.0.0.9'] }, 'one that is gone is forgotten');
  },
);

t.test(
  'eni memory: what an intent takes away is struck out with it, also while an older record is being written',
  async (t) => {
    const { memory, books, writes, quiet, onDisk, hold, release, disk } = await rig();
    books.now = [eni('eni-1', '10.0.0.2', '10.0.0.3'), eni('eni-2', '10.0.0.9')];
    hold();
    memory.touch();
    await quiet();
    t.equal(writes.length, 1);
    let ops: readonly StoreOp[] | null = null;
    void memory.struckOut(intent('unassign', 'eni-1', '10.0.0.3')).then((struck) => (ops = struck));
    await settle();
    t.equal(ops, null, 'the older one would overwrite it');
    release();
    await settle();
    t.match(ops, [{ type: 'put', in: 'enis', key: 'eni-1', value: { ipv4: ['10.0.0.2'] } }]);
    t.strictSame(await memory.struckOut(intent('detach', 'eni-2')), [{ type: 'del', in: 'enis', key: 'eni-2' }]);
    t.strictSame(await memory.struckOut(intent('assign', 'eni-1')), [], 'what is brought takes nothing');
    t.strictSame(await memory.struckOut(intent('unassign', 'eni-9', '10.0.0.4')), []);
    // The batch was written, and the call came to nothing: the same book as before counts anew.
    disk.get('enis')?.set('eni-1', JSON.stringify(eni('eni-1', '10.0.0.2')));
    memory.touch();
    await quiet();
    release();
    await quiet();
    t.strictSame(onDisk()['eni-1'], ['10.0.0.2', '10.0.0.3']);
  },
);

t.test('eni memory: a write that fails is made again, and nobody is told that could not tell', async (t) => {
  const { memory, books, faults, quiet, onDisk } = await rig();
  books.now = [eni('eni-1', '10.0.0.2')];
  faults.next = 1;
  memory.touch();
  await quiet();
  t.strictSame(onDisk(), { 'eni-1': ['10.0.0.2'] });
  books.now = null;
  await memory.flush();
  t.strictSame(onDisk(), { 'eni-1': ['10.0.0.2'] }, 'a node that ends forgets nothing');
});

t.test('eni memory: what leaves or is not there is not sure, and the primary address comes first', (t) => {
  const entry = (ipv4: string, state: string, more: object = {}) =>
    ({
      address: { ipv4, ipv6: null },
      primary: false,
      state,
      sandbox: null,
      pod: null,
      requestId: null,
      atMs: 0,
      ...more,
    }) as never;
  const book = [
    entry('10.0.0.3', 'idle'),
    entry('10.0.0.4', 'leaving', { address: { ipv4: '10.0.0.4', ipv6: 'fd00::4' } }),
    entry('10.0.0.5', 'invalid'),
    entry('10.0.0.6', 'bound', { address: { ipv4: '10.0.0.6', ipv6: 'fd00::6' } }),
    entry('10.0.0.2', 'cooling', { primary: true }),
  ];
  const halves = { ipv4: [], ipv6: [{ ip: 'fd00::7', untilMs: 0 }], leaving: ['fd00::8'], heldBack: ['fd00::9'] };
  t.strictSame(sureIps({ book, halves }), {
    ipv4: ['10.0.0.2', '10.0.0.3', '10.0.0.6'],
    ipv6: ['fd00::6', 'fd00::7', 'fd00::9'],
  });
  const record = eni('eni-1', '10.0.0.2');
  t.strictSame(parseRememberedEni(record), record);
  for (const broken of [
    null,
    'x',
    {},
    { ...record, version: 2 },
    { ...record, mac: '' },
    { ...record, ipv4: [1] },
    { ...record, subnet: null },
  ])
    t.equal(parseRememberedEni(broken), null);
  t.end();
});
