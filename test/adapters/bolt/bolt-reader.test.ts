/**
 * Files that bbolt 1.5 itself wrote (400-pods: 400 puts in transactions of their own, every third deleted again, a second bucket beside it;
 * terway-records: records as Terway's versions write them), and files made here, whole and damaged.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { BRANCH_PAGE } from '../../../src/adapters/bolt/bolt-format.ts';
import { readBucket } from '../../../src/adapters/bolt/bolt-reader.ts';
import { bucketFile } from '../../../src/adapters/bolt/bolt-writer.ts';
import { parseTerwayRecord } from '../../../src/core/terway-record.ts';

const written = (name: string): Buffer => gunzipSync(readFileSync(new URL(`${name}.db.gz`, import.meta.url)));

t.test('bbolt: a file with branches, deleted keys and two buckets', async (t) => {
  const found = readBucket(written('400-pods'), 'relation');
  const expected = Array.from({ length: 400 }, (_, index) => index).filter((index) => index % 3 !== 0);
  t.strictSame([...(found?.keys() ?? [])].sort(), expected.map((index) => `default/pod-${index}`).sort());
  t.match(found?.get('default/pod-251')?.toString(), '"id":"00:16:3e:00:00:01.192.168.1.1"');
  t.strictSame(readBucket(written('400-pods'), 'other')?.size, 0, 'an empty one, within its page');
  t.equal(readBucket(written('400-pods'), 'pods'), null, 'one that is not there');
});

t.test('bbolt: a value over many pages, and nothing at all', async (t) => {
  const long = Buffer.alloc(20_000, 'x');
  const found = readBucket(
    bucketFile(
      'relation',
      new Map([
        ['b', long],
        ['a', Buffer.from('1')],
      ]),
    ),
    'relation',
  );
  t.strictSame([...(found?.keys() ?? [])], ['a', 'b']);
  t.ok(found?.get('b')?.equals(long));
  t.equal(readBucket(bucketFile('relation', new Map()), 'relation')?.size, 0);
});

t.test('bbolt: of two metas the newer valid one holds', async (t) => {
  const file = written('400-pods');
  for (const at of [0, file.readUInt32LE(24)]) {
    const torn = Buffer.from(file);
    // Its root: believed, it would lead nowhere.
    torn.writeUInt8(torn.readUInt8(at + 16 + 16) ^ 0xff, at + 16 + 16);
    // The one that is left is of the transaction before the last: at most one pod differs.
    const size = readBucket(torn, 'relation')?.size ?? 0;
    t.ok(size === 266 || size === 267, `meta at ${at} is torn: ${size} pods`);
  }
});

t.test('bbolt: what is damaged is named', async (t) => {
  const refused = (file: Buffer, why: RegExp) =>
    t.throws(() => readBucket(file, 'relation'), { name: 'BoltError', message: why });
  refused(Buffer.alloc(0), /no bbolt file/);
  refused(Buffer.from('SQLite format 3'), /no bbolt file/);
  const file = written('400-pods');
  refused(file.subarray(0, 3 * 4_096), /page \d+ is past the end|cut off|reaches past/);
  const circle = bucketFile('relation', new Map([['a', Buffer.from('1')]]));
  const bucketAt = 4 * 4_096;
  circle.writeUInt16LE(BRANCH_PAGE, bucketAt + 8);
  circle.writeBigUInt64LE(4n, bucketAt + 16 + 8);
  refused(circle, /page 4 comes twice/);
  // Whatever single byte is flipped: an answer or an error that names the place, and never an endless walk.
  let damaged = 0;
  for (let at = 2 * 4_096; at < file.length; at += 97) {
    const torn = Buffer.from(file);
    torn.writeUInt8(torn.readUInt8(at) ^ 0xff, at);
    try {
      readBucket(torn, 'relation');
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'BoltError') t.fail(`byte ${at}: ${error}`);
      damaged += 1;
    }
  }
  t.ok(damaged > 10, `${damaged} of them made the file unreadable`);
});

t.test('bbolt: records as Terway’s versions write them', async (t) => {
  const bucket = readBucket(written('terway-records'), 'relation') ?? new Map<string, Buffer>();
  const told = [...bucket].map(([key, value]) => {
    const { kind, ipv4, ipv6, reserveMs, containerId } = parseTerwayRecord(key, value.toString());
    return [key, kind, ipv4, ipv6, reserveMs, containerId];
  });
  t.strictSame(told, [
    ['default/own', 'eni', '192.168.0.22', null, 0, 'c-3'],
    ['default/trunk', 'podEni', null, null, 0, 'c-4'],
    ['default/web-0', 'eniIp', '192.168.0.20', null, 300_000, 'c-0'],
    ['kube-system/dns-1', 'eniIp', '192.168.0.21', '2001:db8::21', 0, 'c-1'],
  ]);
});
