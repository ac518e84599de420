/**
 * The `:authority` of an HTTP/2 client's header block, overwritten with one that Node accepts.
 *
 * grpc-go up to 1.56 sends the path of a unix socket as it is, which is no authority, and Node's HTTP/2 ends the stream before anybody
 * is asked. Terway's plugins up to v1.9.3 carry it. Nobody reads an authority on a unix socket, so whatever stands there is replaced by as
 * many bytes of plain text: frames keep their lengths. The client's table of headers may count more bytes for the entry than ours then
 * (it was compressed), so ours drops entries later than the client's, and never one that the client still refers to.
 * Source: RFC 9113 4.1, 6.2; RFC 7541 2.3.3, 4.4, 6.
 */

const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_BYTES = 5;
/** Of `:authority` in the static table. */
const AUTHORITY = 1;
const PLAIN = 'unix-socket-';

/** @param payload of a HEADERS frame; changed in place. What is no header block is left to whoever reads it next. */
export function overwriteAuthority(payload: Buffer, flags: number): void {
  const padding = (flags & PADDED) === 0 ? 0 : (payload[0] ?? 0);
  const begin = ((flags & PADDED) === 0 ? 0 : 1) + ((flags & PRIORITY) === 0 ? 0 : PRIORITY_BYTES);
  const block = new HeaderBlock(payload.subarray(begin, Math.max(begin, payload.length - padding)));
  for (let field = block.next(); field !== null; field = block.next()) {
    if (field.name !== AUTHORITY || field.value === null) continue;
    for (const at of field.value.keys()) field.value[at] = PLAIN.charCodeAt(at % PLAIN.length);
    block.markPlain();
  }
}

/** `value`: the bytes of one that is written out; null for one of a table. */
type Field = { readonly name: number; readonly value: Buffer | null };

/** Where one field of a block ends and the next begins; nothing is looked up in a table. */
class HeaderBlock {
  readonly #bytes: Buffer;
  #at = 0;
  /** Where the length of the last value stands, whose first bit tells that it is compressed. */
  #lengthAt = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** null: at the end, or where it cannot be read. */
  next(): Field | null {
    const first = this.#bytes[this.#at];
    if (first === undefined) return null;
    if ((first & 0x80) !== 0) return this.#indexed(7);
    if ((first & 0xe0) === 0x20) return this.#indexed(5); // the size of the table
    const name = this.#integer((first & 0x40) === 0 ? 4 : 6);
    if (name === null || (name === 0 && this.#text() === null)) return null;
    const value = this.#text();
    return value === null ? null : { name, value };
  }

  /** The value read last is not compressed, and its length takes the same bytes. */
  markPlain(): void {
    this.#bytes[this.#lengthAt] = (this.#bytes[this.#lengthAt] ?? 0) & 0x7f;
  }

  #indexed(prefixBits: number): Field | null {
    return this.#integer(prefixBits) === null ? null : { name: 0, value: null };
  }

  #text(): Buffer | null {
    this.#lengthAt = this.#at;
    const size = this.#integer(7);
    if (size === null || this.#at + size > this.#bytes.length) return null;
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  #integer(prefixBits: number): number | null {
    const most = (1 << prefixBits) - 1;
    const first = this.#bytes[this.#at];
    if (first === undefined) return null;
    this.#at += 1;
    let value = first & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) return null;
      this.#at += 1;
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
    return null;
  }
}
