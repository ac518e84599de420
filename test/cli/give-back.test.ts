/** F10: what keeps a node’s leases from going back to Terway, and that nothing is changed then. With a real daemon: test/cases/p14-p15-f10-in-and-out-of-terway.test.ts. */
import '../lab/in-box.ts';

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { readTerwayDatabase } from '../../src/adapters/bolt/terway-database.ts';
import { openLevelStore } from '../../src/adapters/level/level-store.ts';
import { tryFileLock } from '../../src/adapters/locks/file-lock.ts';
import { type GiveBack, giveBack } from '../../src/cli/give-back.ts';
import type { Lease } from '../../src/core/lease.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import { leaseOf } from '../daemon/lease-of.ts';

const NOW_MS = 1_000_000;

function podLease(name: string, ipv4: string, more: Partial<Lease['sandbox']> = {}): Lease {
  const lease = leaseOf(`c-${name}`);
  const sandbox = { ...lease.sandbox, pod: { namespace: 'default', name, uid: null }, ...more };
  return { ...lease, sandbox, grant: { ...lease.grant, address: { ipv4, ipv6: null } } };
}

async function node(t: Test, leases: readonly Lease[]) {
  const dir = t.testdir();
  const options: GiveBack = {
    ...{ dataDir: dir, lockFile: join(dir, 'lock'), db: join(dir, 'terway', 'ResRelation.db') },
    ...{ cniConfDir: null, leaveOut: false },
  };
  const store = await openLevelStore(join(dir, 'db'));
  await store.write(
    leases.map((lease) => ({ type: 'put', in: 'leases', key: sandboxKey(lease.sandbox), value: lease })),
  );
  await store.close();
  return { dir, options };
}

t.test('give back: a pod that cannot go keeps all where they are, unless it is left out', async (t) => {
  const own = podLease('own', '192.168.0.6', { ownEni: true });
  const { dir, options } = await node(t, [podLease('web', '192.168.0.5'), own]);
  const refused = await giveBack(options, NOW_MS);
  t.match(refused, { written: [], refused: [{ pod: 'default/own', why: /an ENI of its own/ }], store: null });
  t.notOk(existsSync(options.db), 'nothing is written');
  const given = await giveBack({ ...options, leaveOut: true }, NOW_MS);
  t.match(given, { refused: [{ pod: 'default/own' }], store: /db\.set-aside-/, before: null });
  t.strictSame(
    readTerwayDatabase(options.db)?.records.map(({ ipv4 }) => ipv4),
    ['192.168.0.5'],
  );
  t.match(await giveBack(options, NOW_MS), { written: [], refused: [], store: null }, 'a second time');
  t.equal(readTerwayDatabase(options.db)?.records.length, 1, 'what was written stays');
  t.ok(
    readdirSync(dir).some((name) => name.startsWith('db.set-aside-')),
    'our store is kept for study',
  );
});

t.test('give back: a node without pods goes back too, and Terway’s database stays as it is', async (t) => {
  const { dir, options } = await node(t, []);
  const db = join(dir, 'old.db');
  const old = bucketFile('relation', new Map([['default/kept', Buffer.from('{}')]]));
  writeFileSync(db, old);
  const conflist = join(dir, '10-enactor.conflist');
  writeFileSync(conflist, '{}');
  const store = await openLevelStore(join(dir, 'db'));
  await store.write([{ type: 'put', in: 'enis', key: 'eni-1', value: {} }]);
  await store.close();
  const given = await giveBack({ ...options, db, cniConfDir: dir }, NOW_MS);
  t.match(given, { written: [], refused: [], store: /db\.set-aside-/, before: null });
  t.ok(readFileSync(db).equals(old));
  t.notOk(existsSync(conflist), 'the runtime goes on using nothing of ours');
  t.match(await giveBack({ ...options, db, cniConfDir: dir }, NOW_MS), { written: [], store: null }, 'and again');
});

t.test('give back: not while either daemon runs, nor over a database that is open; an old one is kept', async (t) => {
  const { dir, options } = await node(t, [podLease('web', '192.168.0.5')]);
  const store = await openLevelStore(join(dir, 'db'));
  await t.rejects(giveBack(options, NOW_MS), { message: /the daemon runs: stop it first/ });
  await store.close();
  const terway = tryFileLock(options.lockFile);
  await t.rejects(giveBack(options, NOW_MS), { message: /Terway’s daemon runs: it holds/ });
  terway?.release();
  const db = join(dir, 'old.db');
  const old = bucketFile('relation', new Map([['default/before', Buffer.from('{}')]]));
  writeFileSync(db, old);
  const open = tryFileLock(db);
  await t.rejects(giveBack({ ...options, db }, NOW_MS), { message: /somebody has it open/ });
  t.ok(readFileSync(db).equals(old));
  open?.release();
  const given = await giveBack({ ...options, db }, NOW_MS);
  t.ok(readFileSync(given.before ?? '').equals(old));
  t.match(readTerwayDatabase(db)?.records, [{ pod: { name: 'web' }, ipv4: '192.168.0.5' }]);
  await t.rejects(giveBack({ ...options, dataDir: join(dir, 'nowhere') }, NOW_MS), { message: /there is no store/ });
});
