/**
 * Netlink attributes: length and type in host byte order, payload, padding to four bytes.
 *
 * Host byte order is taken to be little endian, as on every machine ECS offers. Source: netlink(7), RFC 3549.
 */
const HEADER_BYTES = 4;
const TYPE_MASK = 0x3fff; // the two upper bits say "nested" and "network byte order"

export function align(size: number): number {
  return (size + 3) & ~3;
}

export function attribute(type: number, payload: Uint8Array): Buffer {
  const size = HEADER_BYTES + payload.length;
  const out = Buffer.alloc(align(size));
  out.writeUInt16LE(size, 0);
  out.writeUInt16LE(type, 2);
  out.set(payload, HEADER_BYTES);
  return out;
}

export function u32Attribute(type: number, value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32LE(value >>> 0, 0);
  return attribute(type, payload);
}

/** In network byte order, as the netfilter families want numbers. */
export function be32Attribute(type: number, value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value >>> 0, 0);
  return attribute(type, payload);
}

/** NUL terminated text. */
export function textAttribute(type: number, text: string): Buffer {
  return attribute(type, Buffer.from(`${text}\0`, 'utf8'));
}

/** The attributes from `offset` on, by type; the last of a type wins. A length that runs out of the buffer ends the list. */
export function attributes(bytes: Buffer, offset = 0): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  let at = offset;
  while (at + HEADER_BYTES <= bytes.length) {
    const size = bytes.readUInt16LE(at);
    if (size < HEADER_BYTES || at + size > bytes.length) break;
    found.set(bytes.readUInt16LE(at + 2) & TYPE_MASK, bytes.subarray(at + HEADER_BYTES, at + size));
    at += align(size);
  }
  return found;
}

export function textOf(payload: Buffer | undefined): string | null {
  if (payload === undefined) return null;
  const end = payload.indexOf(0);
  return payload.toString('utf8', 0, end < 0 ? payload.length : end);
}

export function u32Of(payload: Buffer | undefined): number | null {
  return payload !== undefined && payload.length >= 4 ? payload.readUInt32LE(0) : null;
}
