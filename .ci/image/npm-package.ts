/** Packages of the npm registry as files, by the ordinary client; what was fetched once is kept, and looked at again before use. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { TarEntry } from './tar-archive.ts';
import { tarEntries } from './tar-reader.ts';

const FETCH_TIMEOUT_MS = 300_000;

export type NpmPackage = { readonly name: string; readonly version: string; readonly integrity: string };

/** The entries of the package's tarball below `package/`. Throws Error when what came is not what the integrity says. */
export function npmEntries({ name, version, integrity }: NpmPackage, keptIn: string): readonly TarEntry[] {
  const path = join(keptIn, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  if (!existsSync(path)) {
    mkdirSync(keptIn, { recursive: true });
    const args = ['pack', '--silent', '--pack-destination', keptIn, `${name}@${version}`];
    const said = execFileSync('npm', args, { encoding: 'utf8', timeout: FETCH_TIMEOUT_MS });
    const [file = ''] = said.trim().split('\n').slice(-1);
    if (join(keptIn, file) !== path) renameSync(join(keptIn, file), path);
  }
  const packed = readFileSync(path);
  const found = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  if (found !== integrity) throw new Error(`${name}@${version} is not what was expected: ${found}`);
  return tarEntries(gunzipSync(packed)).map((entry) => ({ ...entry, path: entry.path.replace(/^[^/]+\//, '') }));
}
