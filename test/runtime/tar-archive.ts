/**
 * A tar archive in memory: files, folders and symbolic links with short names, owned by root, with no time of their own, so
 * that the same content gives the same bytes.
 * Source: POSIX.1-1988 ustar header.
 */

export type TarEntry =
  | { readonly path: string; readonly type: 'folder' }
  | { readonly path: string; readonly type: 'file'; readonly data: Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly type: 'link'; readonly target: string };

const BLOCK_BYTES = 512;
const FLAG = { file: '0', link: '2', folder: '5' } as const;
const MODE = { file: 0o644, link: 0o777, folder: 0o755 } as const;

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, offset: number, width: number) =>
    block.write(value.toString(8).padStart(width - 1, '0'), offset, 'ascii');
  if (Buffer.byteLength(entry.path) > 99) throw new RangeError(`too long for a tar header: ${entry.path}`);
  block.write(entry.path, 0);
  octal((entry.type === 'file' ? entry.mode : undefined) ?? MODE[entry.type], 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.type === 'file' ? entry.data.length : 0, 124, 12);
  octal(0, 136, 12);
  block.fill(' ', 148, 156); // the checksum counts itself as spaces
  block.write(FLAG[entry.type], 156);
  if (entry.type === 'link') block.write(entry.target, 157);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  );
  return block;
}

export function tarArchive(entries: readonly TarEntry[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.type !== 'file') continue;
    parts.push(entry.data, Buffer.alloc((BLOCK_BYTES - (entry.data.length % BLOCK_BYTES)) % BLOCK_BYTES));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}
