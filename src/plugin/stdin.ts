/** All of stdin, synchronously: the runtime writes the configuration and closes. */
import { fstatSync, readFileSync, readSync } from 'node:fs';
import { CNI_CODE, CniError } from './cni-error.ts';
import { CONFIGURATION_MAX_BYTES } from './configuration.ts';

const STDIN = 0;
const O_ACCMODE = 3;
const O_RDWR = 2;

/** At most one byte more than a configuration may have, so that too much is seen and not kept. Throws CniError 5. */
export function readStdin(): Buffer {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    while (size <= CONFIGURATION_MAX_BYTES) {
      const chunk = Buffer.allocUnsafe(65_536);
      const got = readSync(STDIN, chunk, 0, chunk.length, null);
      if (got === 0) break;
      chunks.push(chunk.subarray(0, got));
      size += got;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CniError(CNI_CODE.ioFailure, `stdin cannot be read: ${why}`, '', error);
  }
  if (size === 0 && wasClosed()) throw new CniError(CNI_CODE.ioFailure, 'stdin is closed');
  return Buffer.concat(chunks);
}

/**
 * The runtime of this program puts /dev/null in place of a closed stdin, open for reading and writing; a caller who redirects
 * opens it for reading.
 */
function wasClosed(): boolean {
  try {
    if (!fstatSync(STDIN).isCharacterDevice()) return false;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${STDIN}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & O_ACCMODE) === O_RDWR;
  } catch {
    return false;
  }
}
