/**
 * A tar archive in memory: files, folders and symbolic links, owned by root, with no time of their own, so that the same content gives the
 * same bytes. Names of more than 99 bytes are split as ustar has it, and where that does not help told in an extended header.
 * Source: POSIX.1-1988 ustar header; POSIX.1-2001 pax, "path" and "linkpath".
 */

export type TarEntry =
  | { readonly path: string; readonly type: 'folder'; readonly mode?: number }
  | { readonly path: string; readonly type: 'file'; readonly data: Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly type: 'link'; readonly target: string };

const BLOCK_BYTES = 512;
const NAME_BYTES = 99;
const PREFIX_BYTES = 154;
const FLAG = { file: '0', link: '2', folder: '5', extended: 'x' } as const;
const MODE = { file: 0o644, link: 0o777, folder: 0o755 } as const;

export function tarArchive(entries: readonly TarEntry[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    const place = placeOf(entry.path);
    const target = entry.type === 'link' ? entry.target : '';
    const long = {
      ...(place === null && { path: entry.path }),
      ...(Buffer.byteLength(target) > NAME_BYTES && { linkpath: target }),
    };
    if (Object.keys(long).length > 0) parts.push(...extended(long));
    const { name, prefix } = place ?? { name: cut(entry.path), prefix: '' };
    const mode = (entry.type === 'link' ? undefined : entry.mode) ?? MODE[entry.type];
    const sizeBytes = entry.type === 'file' ? entry.data.length : 0;
    parts.push(header({ flag: FLAG[entry.type], name, prefix, mode, sizeBytes, target: cut(target) }));
    if (entry.type === 'file') parts.push(...padded(entry.data));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

/** Where the header has room for a name; null when it has none. */
function placeOf(path: string): { readonly name: string; readonly prefix: string } | null {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at >= 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= NAME_BYTES) return { name, prefix };
  }
  return null;
}

const cut = (text: string): string => Buffer.from(text).subarray(0, NAME_BYTES).toString('latin1');

function extended(said: Readonly<Record<string, string>>): readonly Uint8Array[] {
  const data = Buffer.concat(Object.entries(said).map(([key, value]) => record(key, value)));
  const named = { flag: FLAG.extended, name: 'pax', prefix: '', mode: MODE.file, target: '' };
  return [header({ ...named, sizeBytes: data.length }), ...padded(data)];
}

/** Begins with its own length, that number included. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest;
  while (length !== rest + `${length}`.length) length = rest + `${length}`.length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function padded(data: Uint8Array): readonly Uint8Array[] {
  return [data, Buffer.alloc((BLOCK_BYTES - (data.length % BLOCK_BYTES)) % BLOCK_BYTES)];
}

function header(of: {
  readonly flag: string;
  readonly name: string;
  readonly prefix: string;
  readonly mode: number;
  readonly sizeBytes: number;
  readonly target: string;
}): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, offset: number, width: number) =>
    block.write(value.toString(8).padStart(width - 1, '0'), offset, 'ascii');
  block.write(of.name, 0);
  octal(of.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(of.sizeBytes, 124, 12);
  octal(0, 136, 12);
  block.fill(' ', 148, 156); // the checksum counts itself as spaces
  block.write(of.flag, 156);
  block.write(of.target, 157);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(of.prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}
