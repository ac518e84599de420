/**
 * A database that cannot be used is renamed beside, with the date, so that people can study it; the newest few are kept, since a
 * machine that damages one a day must not fill its disk.
 */
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EnactorError } from '../../core/errors.ts';

export const SET_ASIDE_MAX = 3;
const MARK = '.set-aside-';

/** Resolves to the new path. Rejects with EnactorError `store` when the rename is refused. */
export async function setAside(path: string, nowMs: number): Promise<string> {
  const beside = dirname(path);
  const stem = `${basename(path)}${MARK}`;
  const stamp = new Date(nowMs).toISOString().replace(/[-:.]/g, '');
  const kept = `${path}${MARK}${stamp}`;
  try {
    await rename(path, kept);
  } catch (thrown) {
    throw new EnactorError('store', `cannot set ${path} aside: ${(thrown as Error).message}`, thrown);
  }
  // Names sort as their dates do.
  const copies = (await readdir(beside).catch(() => [])).filter((name) => name.startsWith(stem)).sort();
  for (const old of copies.slice(0, -SET_ASIDE_MAX))
    await rm(join(beside, old), { recursive: true, force: true }).catch(() => {});
  return kept;
}
