/** Reads one bucket of a bbolt file whole. The file may be cut off or damaged: then the page is named, and nothing is read past the end. */
import {
  BRANCH_ELEMENT_BYTES,
  BRANCH_PAGE,
  BUCKET_ELEMENT,
  BUCKET_HEADER_BYTES,
  CHECKSUM_AT,
  checksumOf,
  LEAF_ELEMENT_BYTES,
  LEAF_PAGE,
  MAGIC,
  META_BYTES,
  META_PAGE,
  PAGE_HEADER_BYTES,
  VERSION,
} from './bolt-format.ts';

export class BoltError extends Error {
  override readonly name = 'BoltError';
}

type Meta = { readonly pageSize: number; readonly root: bigint; readonly transaction: bigint };
type Element = { readonly key: Buffer; readonly value: Buffer; readonly isBucket: boolean };

/** Page sizes are those of machines. */
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536] as const;

/** Keys (UTF-8) to values, in the order of the file; null: there is no such bucket. Throws BoltError. */
export function readBucket(file: Buffer, name: string): ReadonlyMap<string, Buffer> | null {
  const meta = metaOf(file);
  const pages = new Pages(file, meta.pageSize);
  for (const { key, value, isBucket } of pages.elements(meta.root)) {
    if (!isBucket || key.toString() !== name) continue;
    if (value.length < BUCKET_HEADER_BYTES) throw new BoltError(`bucket ${name}: its header is cut off`);
    const root = value.readBigUInt64LE(0);
    // A small bucket is a page within its element.
    const elements = root === 0n ? pages.inline(value.subarray(BUCKET_HEADER_BYTES)) : pages.elements(root);
    return new Map([...elements].filter((one) => !one.isBucket).map((one) => [one.key.toString(), one.value]));
  }
  return null;
}

/** The second one's place depends on the page size, which only a meta tells: a broken first one leaves the sizes there are. */
function metaOf(file: Buffer): Meta {
  const first = metaAt(file, 0);
  const places = first === null ? PAGE_SIZES : [first.pageSize];
  const metas = [first, ...places.map((size) => metaAt(file, size))].filter((one) => one !== null);
  const [newest] = metas.toSorted((a, b) => (a.transaction < b.transaction ? 1 : -1));
  if (newest === undefined) throw new BoltError('no bbolt file: neither of its two first pages is a valid meta');
  return newest;
}

function metaAt(file: Buffer, at: number): Meta | null {
  const start = at + PAGE_HEADER_BYTES;
  if (file.length < start + META_BYTES || (file.readUInt16LE(at + 8) & META_PAGE) === 0) return null;
  const meta = file.subarray(start, start + META_BYTES);
  if (meta.readUInt32LE(0) !== MAGIC || meta.readUInt32LE(4) !== VERSION) return null;
  if (meta.readBigUInt64LE(CHECKSUM_AT) !== checksumOf(meta)) return null;
  const pageSize = meta.readUInt32LE(8);
  if (pageSize < 1_024 || (pageSize & (pageSize - 1)) !== 0) return null;
  return { pageSize, root: meta.readBigUInt64LE(16), transaction: meta.readBigUInt64LE(48) };
}

class Pages {
  readonly #file: Buffer;
  readonly #pageSize: number;
  /** A damaged file's pages may lead in a circle. */
  readonly #seen = new Set<bigint>();

  constructor(file: Buffer, pageSize: number) {
    this.#file = file;
    this.#pageSize = pageSize;
  }

  *elements(id: bigint): Generator<Element> {
    if (this.#seen.has(id)) throw new BoltError(`page ${id} comes twice`);
    this.#seen.add(id);
    const start = Number(id) * this.#pageSize;
    if (start + PAGE_HEADER_BYTES > this.#file.length) throw new BoltError(`page ${id} is past the end of the file`);
    const overflow = this.#file.readUInt32LE(start + 12);
    const page = this.#file.subarray(start, start + (overflow + 1) * this.#pageSize);
    if (page.readBigUInt64LE(0) !== id)
      throw new BoltError(`page ${id} says that it is page ${page.readBigUInt64LE(0)}`);
    yield* this.#read(page, `page ${id}`);
  }

  inline(page: Buffer): Generator<Element> {
    if (page.length < PAGE_HEADER_BYTES) throw new BoltError('a bucket within a page is cut off');
    return this.#read(page, 'a bucket within a page');
  }

  *#read(page: Buffer, what: string): Generator<Element> {
    const flags = page.readUInt16LE(8);
    const count = page.readUInt16LE(10);
    const bytes = flags & LEAF_PAGE ? LEAF_ELEMENT_BYTES : BRANCH_ELEMENT_BYTES;
    if ((flags & (LEAF_PAGE | BRANCH_PAGE)) === 0) throw new BoltError(`${what} is neither leaf nor branch (${flags})`);
    if (PAGE_HEADER_BYTES + count * bytes > page.length) throw new BoltError(`${what} is cut off`);
    for (let index = 0; index < count; index += 1) {
      const at = PAGE_HEADER_BYTES + index * bytes;
      if ((flags & BRANCH_PAGE) !== 0) {
        yield* this.elements(page.readBigUInt64LE(at + 8));
        continue;
      }
      const keyAt = at + page.readUInt32LE(at + 4);
      const valueAt = keyAt + page.readUInt32LE(at + 8);
      const end = valueAt + page.readUInt32LE(at + 12);
      if (end > page.length) throw new BoltError(`${what}: element ${index} reaches past its end`);
      const isBucket = (page.readUInt32LE(at) & BUCKET_ELEMENT) !== 0;
      yield { key: page.subarray(keyAt, valueAt), value: page.subarray(valueAt, end), isBucket };
    }
  }
}
