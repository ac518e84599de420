import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { carryOutPendingDeletes } from '../../src/daemon/pending-deletes.ts';
import { writeDeletionNote } from '../../src/plugin/deletion-notes.ts';
import { allThere, FakeAllocator } from './fakes.ts';
import { leaseOf } from './lease-of.ts';

const { signal } = new AbortController();
const notesIn = (dataDir: string) => readdirSync(join(dataDir, 'pending-deletes')).sort();

t.test('noted deletions: what the plugin wrote is released and the note removed', async (t) => {
  const dataDir = t.testdir();
  const allocator = new FakeAllocator();
  for (const id of ['c1', 'c2']) {
    allocator.leases.set(`${id}/eth0`, leaseOf(id, { boundAtMs: 1_000 }));
    writeDeletionNote(dataDir, leaseOf(id).sandbox, 2_000);
  }
  t.equal(await carryOutPendingDeletes({ dataDir, allocator, sandboxes: allThere, log: silentLog }, signal), 2);
  t.strictSame([...allocator.leases.keys()], []);
  t.match(allocator.released[0], { ifName: 'eth0', pod: { namespace: 'default', name: 'p', uid: 'uid-p' } });
  t.strictSame(notesIn(dataDir), []);
  t.equal(await carryOutPendingDeletes({ dataDir, allocator, sandboxes: allThere, log: silentLog }, signal), 0);
});

t.test('noted deletions: a note stays while its release fails', async (t) => {
  const dataDir = t.testdir();
  const allocator = new FakeAllocator();
  writeDeletionNote(dataDir, leaseOf('c1').sandbox, 2_000);
  allocator.failure = new EnactorError('notReady', 'recovering');
  t.equal(await carryOutPendingDeletes({ dataDir, allocator, sandboxes: allThere, log: silentLog }, signal), 0);
  t.equal(notesIn(dataDir).length, 1);
  allocator.failure = null;
  t.equal(await carryOutPendingDeletes({ dataDir, allocator, sandboxes: allThere, log: silentLog }, signal), 1);
});

t.test('noted deletions: a note that is older than the lease is another sandbox’s and ends nothing', async (t) => {
  const dataDir = t.testdir();
  const allocator = new FakeAllocator();
  allocator.leases.set('c1/eth0', leaseOf('c1', { boundAtMs: 3_000 }));
  writeDeletionNote(dataDir, leaseOf('c1').sandbox, 2_000);
  t.equal(await carryOutPendingDeletes({ dataDir, allocator, sandboxes: allThere, log: silentLog }, signal), 1);
  t.equal(allocator.leases.size, 1);
  t.strictSame(notesIn(dataDir), []);
});

t.test('noted deletions: what cannot be read is set aside, what is unfinished is left alone', async (t) => {
  const dataDir = t.testdir();
  mkdirSync(join(dataDir, 'pending-deletes'));
  writeFileSync(join(dataDir, 'pending-deletes', 'bad.json'), '{"version":');
  writeFileSync(join(dataDir, 'pending-deletes', '.unfinished.json.12'), '');
  t.equal(
    await carryOutPendingDeletes(
      { dataDir, allocator: new FakeAllocator(), sandboxes: allThere, log: silentLog },
      signal,
    ),
    0,
  );
  t.strictSame(notesIn(dataDir), ['.unfinished.json.12', 'bad.json.unreadable']);
});

t.test('noted deletions: no directory is no notes', async (t) => {
  const dataDir = t.testdir();
  t.equal(
    await carryOutPendingDeletes(
      { dataDir, allocator: new FakeAllocator(), sandboxes: allThere, log: silentLog },
      signal,
    ),
    0,
  );
});
