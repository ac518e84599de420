/**
 * What the dynamic loader will ask for when it loads a program or a library: an image whose files ask for one that it lacks starts nowhere.
 * 64-bit little-endian ELF alone, which both of our architectures are.
 * Source: System V ABI, ELF-64 object file format; elf(5).
 */

const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const PT_LOAD = 1;
const DT_NEEDED = 1;
const DT_STRTAB = 5;
const MACHINES: Readonly<Record<number, 'amd64' | 'arm64'>> = { 62: 'amd64', 183: 'arm64' };

export type ElfNeeds = {
  readonly machine: 'amd64' | 'arm64' | null;
  /** The loader's path; null of a library. */
  readonly interpreter: string | null;
  /** Names of libraries. */
  readonly libraries: readonly string[];
};

/** null of what is no ELF file. */
export function elfNeeds(data: Uint8Array): ElfNeeds | null {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1) return null;
  const segments = Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const at = number(bytes, 32) + index * bytes.readUInt16LE(54);
    return {
      type: bytes.readUInt32LE(at),
      offset: number(bytes, at + 8),
      address: number(bytes, at + 16),
      sizeBytes: number(bytes, at + 32),
    };
  });
  const text = (at: number): string => bytes.subarray(at, bytes.indexOf(0, at)).toString('latin1');
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  const tags: { tag: number; value: number }[] = [];
  for (let at = dynamic?.offset ?? 0; at < (dynamic ? dynamic.offset + dynamic.sizeBytes : 0); at += 16)
    tags.push({ tag: number(bytes, at), value: number(bytes, at + 8) });
  const address = tags.find(({ tag }) => tag === DT_STRTAB)?.value ?? 0;
  const holding = segments.find(
    (one) => one.type === PT_LOAD && one.address <= address && address < one.address + one.sizeBytes,
  );
  const names = holding === undefined ? 0 : holding.offset + address - holding.address;
  return {
    machine: MACHINES[bytes.readUInt16LE(18)] ?? null,
    interpreter: interpreter === undefined ? null : text(interpreter.offset),
    libraries: tags.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => text(names + value)),
  };
}

const number = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));
