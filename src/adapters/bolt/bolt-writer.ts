/**
 * Writes a bbolt file of one bucket from nothing, as bbolt itself reads it: two metas, an empty free list, the root with the bucket, and
 * the bucket as one leaf that covers as many pages as it needs (bbolt splits it when it next writes). So leases are given back to Terway.
 * Source: go.etcd.io/bbolt 1.3 and 1.5, which open, list and change such files; cases/field F10.
 */
import {
  BUCKET_ELEMENT,
  BUCKET_HEADER_BYTES,
  CHECKSUM_AT,
  checksumOf,
  FREE_LIST_PAGE,
  LEAF_ELEMENT_BYTES,
  LEAF_PAGE,
  MAGIC,
  META_BYTES,
  META_PAGE,
  PAGE_HEADER_BYTES,
  VERSION,
} from './bolt-format.ts';

const PAGE_BYTES = 4_096;
const FREE_LIST = 2n;
const ROOT = 3n;
const BUCKET = 4n;
/** bbolt counts the elements of a page in 16 bits. */
const ELEMENTS_MAX = 0xffff;

/** Throws RangeError for more entries than one page can count. */
export function bucketFile(name: string, entries: ReadonlyMap<string, Buffer>): Buffer {
  if (entries.size > ELEMENTS_MAX) throw new RangeError(`${entries.size} entries: at most ${ELEMENTS_MAX} fit`);
  const items = [...entries].map(([key, value]) => ({ key: Buffer.from(key), value, flags: 0 }));
  // bbolt searches by halves: keys are in the order of their bytes.
  items.sort((a, b) => Buffer.compare(a.key, b.key));
  const bucket = leaf(BUCKET, items);
  const header = Buffer.alloc(BUCKET_HEADER_BYTES);
  header.writeBigUInt64LE(BUCKET, 0);
  const root = leaf(ROOT, [{ key: Buffer.from(name), value: header, flags: BUCKET_ELEMENT }]);
  const highWater = BUCKET + BigInt(bucket.length / PAGE_BYTES);
  const freeList = pageOf(FREE_LIST, FREE_LIST_PAGE, 0, PAGE_BYTES);
  return Buffer.concat([meta(0n, 0n, highWater), meta(1n, 1n, highWater), freeList, root, bucket]);
}

type Item = { readonly key: Buffer; readonly value: Buffer; readonly flags: number };

function leaf(id: bigint, items: readonly Item[]): Buffer {
  const dataBytes = items.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const page = pageOf(id, LEAF_PAGE, items.length, PAGE_HEADER_BYTES + items.length * LEAF_ELEMENT_BYTES + dataBytes);
  let dataAt = PAGE_HEADER_BYTES + items.length * LEAF_ELEMENT_BYTES;
  for (const [index, { key, value, flags }] of items.entries()) {
    const at = PAGE_HEADER_BYTES + index * LEAF_ELEMENT_BYTES;
    page.writeUInt32LE(flags, at);
    page.writeUInt32LE(dataAt - at, at + 4);
    page.writeUInt32LE(key.length, at + 8);
    page.writeUInt32LE(value.length, at + 12);
    key.copy(page, dataAt);
    value.copy(page, dataAt + key.length);
    dataAt += key.length + value.length;
  }
  return page;
}

function pageOf(id: bigint, flags: number, count: number, bytes: number): Buffer {
  const pages = Math.max(1, Math.ceil(bytes / PAGE_BYTES));
  const page = Buffer.alloc(pages * PAGE_BYTES);
  page.writeBigUInt64LE(id, 0);
  page.writeUInt16LE(flags, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(pages - 1, 12);
  return page;
}

function meta(id: bigint, transaction: bigint, highWater: bigint): Buffer {
  const page = pageOf(id, META_PAGE, 0, PAGE_BYTES);
  const body = page.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + META_BYTES);
  body.writeUInt32LE(MAGIC, 0);
  body.writeUInt32LE(VERSION, 4);
  body.writeUInt32LE(PAGE_BYTES, 8);
  body.writeBigUInt64LE(ROOT, 16);
  body.writeBigUInt64LE(FREE_LIST, 32);
  body.writeBigUInt64LE(highWater, 40);
  body.writeBigUInt64LE(transaction, 48);
  body.writeBigUInt64LE(checksumOf(body), CHECKSUM_AT);
  return page;
}
