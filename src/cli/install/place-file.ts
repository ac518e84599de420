/**
 * Putting a file in its place whole: whoever reads or runs the old one meanwhile goes on with that, and after a power cut it is the one or the other.
 *
 * It is written beside its place under a hidden name that was not there before (what somebody planted under it, a link say, is never written
 * through), and renamed. Source: rename(2), open(2) O_EXCL; cases/bugs B30.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** True when it had to be written. `trial` looks at the unfinished file by its path, and throws when it will not do. Throws the system error, which names the path; then nothing is left of the new one. */
export function placeFile(
  path: string,
  data: Uint8Array,
  mode: number,
  trial: (unfinished: string) => void = () => {},
): boolean {
  if (sameFile(path, data)) return false;
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  const unfinished = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    const fd = openSync(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      writeFileSync(fd, data);
      fchmodSync(fd, mode); // whatever the mask says
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    trial(unfinished);
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  const fd = openSync(folder, 'r');
  fsyncSync(fd);
  closeSync(fd);
  return true;
}

function sameFile(path: string, data: Uint8Array): boolean {
  try {
    const fd = openSync(path, constants.O_RDONLY | O_NOFOLLOW);
    try {
      return readFileSync(fd).equals(data);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}
