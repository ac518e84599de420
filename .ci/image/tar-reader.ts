/**
 * What a tar archive holds, as npm and Debian pack them: ustar with GNU's or pax's long names. Owner, time and mode bits beyond "may be
 * executed" are nobody's concern here; hard links are refused, since none of what we read has them.
 * Source: POSIX.1-2001 pax; GNU tar, types L and K.
 */
import type { TarEntry } from './tar-archive.ts';

const BLOCK_BYTES = 512;

/** Paths without `./` before and `/` behind. Throws RangeError at what cannot be read. */
export function tarEntries(archive: Buffer): readonly TarEntry[] {
  const entries: TarEntry[] = [];
  let long: { path?: string; target?: string } = {};
  for (let at = 0; at + BLOCK_BYTES <= archive.length; ) {
    const block = archive.subarray(at, at + BLOCK_BYTES);
    if (block.every((byte) => byte === 0)) break;
    const sizeBytes = Number.parseInt(text(block, 124, 12).trim() || '0', 8);
    const data = archive.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + sizeBytes);
    if (!Number.isSafeInteger(sizeBytes) || data.length < sizeBytes) throw new RangeError('tar: cut off');
    at += BLOCK_BYTES + Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
    const flag = String.fromCharCode(block[156] ?? 0);
    if (flag === 'L') long.path = text(data, 0, data.length);
    else if (flag === 'K') long.target = text(data, 0, data.length);
    else if (flag === 'x') long = { ...long, ...paxOf(data.toString('utf8')) };
    else if (flag !== 'g') {
      const prefix = text(block, 257, 5) === 'ustar' && block[262] === 0 ? text(block, 345, 155) : '';
      const name = long.path ?? `${prefix === '' ? '' : `${prefix}/`}${text(block, 0, 100)}`;
      const path = name.replace(/^(\.\/|\/)+/, '').replace(/\/+$/, '');
      const mode = Number.parseInt(text(block, 100, 8).trim() || '0', 8);
      if (path !== '' && path !== '.')
        entries.push(entry(flag, path, data, mode, long.target ?? text(block, 157, 100)));
      long = {};
    }
  }
  return entries;
}

function entry(flag: string, path: string, data: Buffer, mode: number, target: string): TarEntry {
  if (path.split('/').includes('..')) throw new RangeError(`tar: ${path} leads out of the archive`);
  if (flag === '0' || flag === '\0') return { path, type: 'file', data, mode };
  if (flag === '5') return { path, type: 'folder' };
  if (flag === '2') return { path, type: 'link', target };
  throw new RangeError(`tar: ${path} is of type ${JSON.stringify(flag)}`);
}

function text(bytes: Buffer, from: number, length: number): string {
  const field = bytes.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString('utf8');
}

function paxOf(records: string): { path?: string; target?: string } {
  const said = new Map([...records.matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
  const [path, target] = [said.get('path'), said.get('linkpath')];
  return { ...(path !== undefined && { path }), ...(target !== undefined && { target }) };
}
