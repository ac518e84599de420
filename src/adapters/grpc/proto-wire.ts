/**
 * Messages of proto3 by tables of their fields, in the form that the JSON transport has (src/core/wire.ts): names as they are written, enums as
 * numbers, uint64 as text, what is absent left out.
 *
 * The plugin's own: a library for protobuf would be parsed at every pod's start, also where nobody speaks gRPC. Source: Protocol Buffers,
 * Encoding; held against proto-loader in the tests.
 */

export type Kind = 'text' | 'bool' | 'number' | 'bigText' | Fields;
export type Field = { readonly no: number; readonly kind: Kind; readonly list?: true; readonly optional?: true };
export type Fields = { readonly [name: string]: Field };
export type Message = { readonly [name: string]: unknown };

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const VARINT_MAX_BYTES = 10;

/** Values of another type than their field's are refused by TypeError, naming the field. */
export function encodeMessage(fields: Fields, message: Message): Buffer {
  const parts: Buffer[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const value = message[name];
    const all = field.list === true && Array.isArray(value) ? value : [value];
    for (const one of all) parts.push(...encodedField(name, field, one));
  }
  return Buffer.concat(parts);
}

function encodedField(name: string, { no, kind, list, optional }: Field, value: unknown): Buffer[] {
  if (value === undefined || value === null) return [];
  const isKept = list === true || optional === true;
  const tag = (type: number): Buffer => varint(BigInt((no << 3) | type));
  if (typeof kind === 'object') {
    if (typeof value !== 'object') throw new TypeError(`${name} is no message`);
    const body = encodeMessage(kind, value as Message);
    return [tag(BYTES), varint(BigInt(body.length)), body];
  }
  if (kind === 'text') {
    if (typeof value !== 'string') throw new TypeError(`${name} is no text`);
    const body = Buffer.from(value, 'utf8');
    return body.length === 0 && !isKept ? [] : [tag(BYTES), varint(BigInt(body.length)), body];
  }
  if (typeof value === 'object') throw new TypeError(`${name} is no ${kind}`);
  const number = BigInt.asUintN(64, BigInt(value as string | number | boolean));
  return number === 0n && !isKept ? [] : [tag(VARINT), varint(number)];
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** Fields that the table has not are passed over. Bytes that are no message are refused by RangeError. */
export function decodeMessage(fields: Fields, bytes: Buffer): Message {
  const byNumber = new Map(Object.entries(fields).map(([name, field]) => [field.no, { name, field }]));
  const message: Record<string, unknown> = {};
  const reader = new Reader(bytes);
  while (!reader.atEnd) {
    const key = reader.varint();
    const [no, type] = [Number(key >> 3n), Number(key & 7n)];
    const known = byNumber.get(no);
    const isVarint = known !== undefined && typeof known.field.kind === 'string' && known.field.kind !== 'text';
    if (known === undefined || type !== (isVarint ? VARINT : BYTES)) {
      reader.skip(type);
      continue;
    }
    const value = readValue(known.field.kind, reader);
    const before = message[known.name];
    message[known.name] = known.field.list === true ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  return message;
}

function readValue(kind: Kind, reader: Reader): unknown {
  if (typeof kind === 'object') return decodeMessage(kind, reader.bytes());
  if (kind === 'text') return reader.bytes().toString('utf8');
  const value = reader.varint();
  if (kind === 'bool') return value !== 0n;
  return kind === 'bigText' ? `${value}` : Number(BigInt.asIntN(32, value));
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let size = 0; size < VARINT_MAX_BYTES; size += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << BigInt(7 * size);
      if ((byte & 0x80) === 0) return BigInt.asUintN(64, value);
    }
    throw new RangeError('a number in the message has no end');
  }

  bytes(): Buffer {
    const size = this.varint();
    if (size > BigInt(this.#bytes.length - this.#at))
      throw new RangeError('a part of the message is longer than the whole');
    this.#at += Number(size);
    return this.#bytes.subarray(this.#at - Number(size), this.#at);
  }

  skip(type: number): void {
    if (type === VARINT) this.varint();
    else if (type === BYTES) this.bytes();
    else if (type === FIXED_32 || type === FIXED_64) this.#at += type === FIXED_32 ? 4 : 8;
    else throw new RangeError(`a field of the message has type ${type}`);
    if (this.#at > this.#bytes.length) throw new RangeError('a part of the message is longer than the whole');
  }
}
