import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bucketFile } from '../../../src/adapters/bolt/bolt-writer.ts';
import { readTerwayDatabase } from '../../../src/adapters/bolt/terway-database.ts';
import { tryFileLock } from '../../../src/adapters/locks/file-lock.ts';

const record = JSON.stringify({ Resources: [{ type: 'eniIp', id: '00:16:3e:00:00:01.192.168.0.5' }] });

t.test(
  'Terway’s database: read whole, but not while somebody has it open, and what cannot be read is named',
  async (t) => {
    const path = join(t.testdir(), 'ResRelation.db');
    t.equal(readTerwayDatabase(path), null, 'there is none');
    const entries = new Map([
      ['default/web-0', Buffer.from(record)],
      ['default/torn', Buffer.from('{')],
    ]);
    writeFileSync(path, bucketFile('relation', entries));
    t.match(readTerwayDatabase(path), {
      records: [{ pod: { namespace: 'default', name: 'web-0' }, ipv4: '192.168.0.5', containerId: '' }],
      unreadable: [/record default\/torn: it is no JSON/],
    });
    // As bbolt locks it for as long as it is open.
    const open = tryFileLock(path);
    t.ok(open);
    t.throws(() => readTerwayDatabase(path), { code: 'store', message: /somebody has it open/ });
    open?.release();
    t.equal(readTerwayDatabase(path)?.records.length, 1);
    writeFileSync(path, bucketFile('pods', new Map()));
    t.throws(() => readTerwayDatabase(path), { message: /has no bucket “relation”/ });
    writeFileSync(path, 'SQLite format 3');
    t.throws(() => readTerwayDatabase(path), { message: /ResRelation\.db: no bbolt file/ });
    t.throws(() => readTerwayDatabase(t.testdirName), { code: 'store', message: /EISDIR/ });
  },
);
