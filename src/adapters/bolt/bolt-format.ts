/**
 * The file format of bbolt, as far as one bucket of keys and values needs it: Terway keeps what pods hold in such a file.
 *
 * Pages of a fixed size; the first two are metas, of which the one with the higher transaction id and a right checksum holds. A page begins
 * with 16 bytes (id, flags, count of elements, how many further pages it covers), then come its elements, then keys and values, which the
 * elements point at from where they stand themselves. Numbers are little endian: the file is written as the machine has them.
 * Source: go.etcd.io/bbolt, page.go, db.go, bucket.go (version 2 of the format).
 */
export const MAGIC = 0xed0cdaed;
export const VERSION = 2;
export const PAGE_HEADER_BYTES = 16;
export const LEAF_ELEMENT_BYTES = 16;
export const BRANCH_ELEMENT_BYTES = 16;
export const BUCKET_HEADER_BYTES = 16;
/** From behind the page's header: magic, version, page size, flags, root bucket, free list, high water, transaction, checksum. */
export const META_BYTES = 64;
export const CHECKSUM_AT = 56;

export const BRANCH_PAGE = 0x01;
export const LEAF_PAGE = 0x02;
export const META_PAGE = 0x04;
export const FREE_LIST_PAGE = 0x10;
/** Of a leaf's element: its value is a bucket. */
export const BUCKET_ELEMENT = 0x01;

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

/** FNV-1a, 64 bits. */
export function checksumOf(meta: Uint8Array): bigint {
  let sum = FNV_OFFSET;
  for (const byte of meta.subarray(0, CHECKSUM_AT)) sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * FNV_PRIME);
  return sum;
}
