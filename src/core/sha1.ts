/**
 * SHA-1 of a short text, in hex. For names that others compute too, not for security.
 *
 * The compiled plugin has it built in; loading node:crypto instead would cost 2 ms of its 7, and running the loops below in an
 * interpreter half of one. Elsewhere they run. Source: FIPS 180-4, section 6.1.
 */
type BuiltIn = { new (algorithm: 'sha1'): { update(text: string): { digest(encoding: 'hex'): string } } };

const CryptoHasher = (globalThis as { Bun?: { CryptoHasher: BuiltIn } }).Bun?.CryptoHasher;

export function sha1Hex(text: string): string {
  return CryptoHasher === undefined ? computed(text) : new CryptoHasher('sha1').update(text).digest('hex');
}

function computed(text: string): string {
  const words = paddedWords(Buffer.from(text, 'utf8'));
  const hash = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const schedule = new Int32Array(80);
  for (let block = 0; block < words.length; block += 16) {
    for (let t = 0; t < 16; t += 1) schedule[t] = words[block + t] as number;
    mix(hash, schedule);
  }
  let hex = '';
  for (const word of hash) hex += (word >>> 0).toString(16).padStart(8, '0');
  return hex;
}

/** The message, a one bit, zeros, and its length in bits, as big-endian words. */
function paddedWords(message: Buffer): Int32Array {
  const size = Math.ceil((message.length + 9) / 64) * 64;
  const words = new Int32Array(size / 4);
  const view = new DataView(words.buffer);
  const bytes = new Uint8Array(words.buffer);
  bytes.set(message);
  bytes[message.length] = 0x80;
  view.setUint32(size - 4, message.length * 8);
  for (let index = 0; index < words.length; index += 1) words[index] = view.getInt32(index * 4);
  return words;
}

/** Indexes are within their arrays by construction, which is what the assertions below say. */
function mix(hash: Int32Array, schedule: Int32Array): void {
  for (let t = 16; t < 80; t += 1) {
    const word =
      (schedule[t - 3] as number) ^
      (schedule[t - 8] as number) ^
      (schedule[t - 14] as number) ^
      (schedule[t - 16] as number);
    schedule[t] = (word << 1) | (word >>> 31);
  }
  let a = hash[0] as number;
  let b = hash[1] as number;
  let c = hash[2] as number;
  let d = hash[3] as number;
  let e = hash[4] as number;
  for (let t = 0; t < 80; t += 1) {
    const chosen = t < 20 ? (b & c) | (~b & d) : t < 40 || t >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
    const constant = t < 20 ? 0x5a827999 : t < 40 ? 0x6ed9eba1 : t < 60 ? 0x8f1bbcdc : 0xca62c1d6;
    const next = (((a << 5) | (a >>> 27)) + chosen + e + constant + (schedule[t] as number)) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  hash[0] = (hash[0] as number) + a;
  hash[1] = (hash[1] as number) + b;
  hash[2] = (hash[2] as number) + c;
  hash[3] = (hash[3] as number) + d;
  hash[4] = (hash[4] as number) + e;
}
