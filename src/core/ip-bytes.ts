/**
 * IP addresses between text and bytes, without regular expressions: the plugin reads a handful of addresses in a process that
 * lives for some milliseconds, where compiling a library's expressions costs more than all of them (1 ms of 7).
 *
 * Text out is canonical: dotted quads, and RFC 5952 for IPv6 (lower case, the longest run of zeros as `::`, no mixed form).
 */
const COLON = 58;

/** 4 or 16 bytes in network order; null when the text is no address. IPv4 must be a full dotted quad without leading zeros. */
export function parseIp(text: string): Uint8Array | null {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

export function formatIp(bytes: Uint8Array): string {
  return bytes.length === 4 ? bytes.join('.') : formatIpv6(bytes);
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4) return null;
  const bytes = new Uint8Array(4);
  for (let index = 0; index < 4; index += 1) {
    const value = parseDigits(parts[index] ?? '', 10, 3);
    if (value === null || value > 255) return null;
    bytes[index] = value;
  }
  return bytes;
}

function parseIpv6(text: string): Uint8Array | null {
  const gap = text.indexOf('::');
  if (gap >= 0 && text.indexOf('::', gap + 1) >= 0) return null;
  const head = groupsOf(gap < 0 ? text : text.slice(0, gap), gap < 0);
  const tail = groupsOf(gap < 0 ? '' : text.slice(gap + 2), true);
  if (head === null || tail === null) return null;
  const given = head.length + tail.length;
  if (gap < 0 ? given !== 8 : given > 7) return null;
  const bytes = new Uint8Array(16);
  [...head, ...new Array<number>(8 - given).fill(0), ...tail].forEach((group, index) => {
    bytes[index * 2] = group >> 8;
    bytes[index * 2 + 1] = group & 255;
  });
  return bytes;
}

/** Groups of 16 bits; `last` allows a dotted quad at the end, as two of them. null when malformed. */
function groupsOf(text: string, last: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (last && index === parts.length - 1 && part.includes('.')) {
      const quad = parseIpv4(part);
      if (quad === null) return null;
      const [a = 0, b = 0, c = 0, d = 0] = quad;
      groups.push((a << 8) | b, (c << 8) | d);
      continue;
    }
    const value = parseDigits(part, 16, 4);
    if (value === null) return null;
    groups.push(value);
  }
  return groups;
}

/** Decimal digits may not start with a zero that says nothing: some readers take it for octal. */
function parseDigits(text: string, radix: 10 | 16, max: number): number | null {
  if (text.length === 0 || text.length > max) return null;
  if (radix === 10 && text.length > 1 && text.startsWith('0')) return null;
  let value = 0;
  for (let index = 0; index < text.length; index += 1) {
    const digit = digitOf(text.charCodeAt(index));
    if (digit < 0 || digit >= radix) return null;
    value = value * radix + digit;
  }
  return value;
}

function digitOf(code: number): number {
  if (code >= 48 && code < COLON) return code - 48;
  const letter = (code | 32) - 97;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

function formatIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0));
  const { start, length } = longestZeros(groups);
  const text = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  return length < 2 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

/** The first of the longest runs. Source: RFC 5952, section 4.2.3. */
function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start += 1) {
    let length = 0;
    while (start + length < groups.length && groups[start + length] === 0) length += 1;
    if (length > best.length) best = { start, length };
  }
  return best;
}
