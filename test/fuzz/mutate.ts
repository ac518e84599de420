/** Inputs made of others: bytes turned, cut, doubled and joined, words that hurt put in, and, of what is JSON, its parts exchanged. */

/** From 0 up to 1, the same each time for the same seed. */
export type Random = () => number;

/** Source: mulberry32, public domain. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One input; the largest that any of them is asked to read is more. */
const MOST_BYTES = 16_384;

const HOSTILE: readonly unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1e308,
    -0,
    2 ** 53,
    0.1,
    '',
    ' ',
    [],
    {},
    [[]],
    '\0',
    '\u001b[2J\u0007',
    '\ud800',
    '\r\n',
    '../../etc/passwd',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '10.0.0.4/33',
    '::ffff:1.2.3.4',
    '999999999999999999999',
    '1e9h',
    '-1s',
    'x'.repeat(4_096),
  ],
];
const WORDS = [
  '__proto__',
  '":{"',
  ']}',
  '\\u0000',
  '\u001b[31m',
  ';',
  '=',
  '/',
  '\n',
  ',',
  '1e999',
  '/../',
  '\u202e',
  '\ufeff',
];
const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

export function mutated(corpus: readonly Buffer[], random: Random): Buffer {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  let data = pick(corpus);
  for (let left = 1 + Math.floor(random() * 4); left > 0; left -= 1) data = once(data, corpus, random, pick);
  return data.subarray(0, MOST_BYTES);
}

type Pick = <T>(from: readonly T[]) => T;

function once(data: Buffer, corpus: readonly Buffer[], random: Random, pick: Pick): Buffer {
  const at = (length = data.length) => Math.floor(random() * (length + 1));
  const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number];
  const put = (bytes: Uint8Array) => Buffer.concat([data.subarray(0, from), bytes, data.subarray(to)]);
  const parsed = random() < 0.5 ? jsonOf(data) : null;
  if (parsed !== null) return Buffer.from(JSON.stringify(changed(parsed.value, random, pick)) ?? '');
  switch (Math.floor(random() * 7)) {
    case 0: {
      const copy = Buffer.from(data);
      if (copy.length > 0) copy[at(copy.length - 1)] = Math.floor(random() * 256);
      return copy;
    }
    case 1:
      return data.subarray(0, from);
    case 2:
      return put(Buffer.alloc(0));
    case 3:
      return put(Buffer.from(pick(WORDS)));
    case 4: {
      const other = pick(corpus);
      return put(other.subarray(0, at(other.length)));
    }
    case 5:
      return Buffer.concat([data.subarray(0, to), data.subarray(from)]);
    default: {
      const copy = Buffer.from(data);
      const number = pick(NUMBERS);
      if (copy.length >= 4) copy.writeUInt32LE(number, at(copy.length - 4));
      return copy;
    }
  }
}

function jsonOf(data: Buffer): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(data.toString()) };
  } catch {
    return null;
  }
}

/** One place of the value exchanged, taken away, wrapped or doubled. */
function changed(value: unknown, random: Random, pick: Pick): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.15)
    return random() < 0.1 ? nested(value, random) : pick(HOSTILE);
  const entries = Object.entries(value);
  if (entries.length === 0 || random() < 0.1) return { ...value, [String(pick(HOSTILE))]: pick(HOSTILE) };
  const [key, inner] = pick(entries);
  if (Array.isArray(value)) {
    const copy = [...value];
    if (random() < 0.2) copy.splice(Number(key), 1);
    else copy[Number(key)] = changed(inner, random, pick);
    return copy;
  }
  const { [key]: _, ...rest } = value as Readonly<Record<string, unknown>>;
  return random() < 0.2 ? rest : { ...rest, [key]: changed(inner, random, pick) };
}

function nested(value: unknown, random: Random): unknown {
  let inner = value;
  for (let depth = Math.floor(random() * 500); depth > 0; depth -= 1) inner = random() < 0.5 ? [inner] : { a: inner };
  return inner;
}
