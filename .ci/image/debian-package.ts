/**
 * Debian's packages as files, of either architecture, by apt with lists and a cache of its own: the machine's own packages, lists and
 * architectures stay as they are. apt verifies the archive's signatures and tells each file's digest; files that were fetched once are looked at again.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Architecture, digestOf } from './oci-layout.ts';
import type { TarEntry } from './tar-archive.ts';
import { tarEntries } from './tar-reader.ts';

const APT_TIMEOUT_MS = 300_000;
const MOST_BYTES = 256 * 1024 * 1024;

export type DebianPackage = {
  readonly name: string;
  readonly version: string;
  /** sha256:… */
  readonly digest: string;
  readonly entries: readonly TarEntry[];
};

type Found = { readonly name: string; readonly version: string; readonly file: string; readonly digest: string };

/** Those of the last time, unless `renew`, or others are asked for. Throws Error when apt fails, or a file is not what apt's list says. */
export function debianPackages(
  names: readonly string[],
  architecture: Architecture,
  keptIn: string,
  renew: boolean,
): readonly DebianPackage[] {
  const folder = join(keptIn, `debian-${architecture}`);
  const listed = join(folder, 'packages.json');
  const listedNow = () => (existsSync(listed) ? (JSON.parse(readFileSync(listed, 'utf8')) as readonly Found[]) : []);
  const all = names.every((name) => listedNow().some((one) => one.name === name));
  if (renew || !all) fetchAll(names, architecture, folder, listed);
  const found = listedNow();
  return found.map(({ name, version, file, digest }) => {
    const path = join(folder, file);
    if (digestOf(readFileSync(path)) !== digest) throw new Error(`${file} is not what Debian's list says`);
    const tar = execFileSync('dpkg-deb', ['--fsys-tarfile', path], { maxBuffer: MOST_BYTES, timeout: APT_TIMEOUT_MS });
    return { name, version, digest, entries: tarEntries(tar) };
  });
}

function fetchAll(names: readonly string[], architecture: Architecture, folder: string, listed: string): void {
  const state = join(folder, 'apt');
  // apt tells nothing of files that lie there already.
  rmSync(folder, { recursive: true, force: true });
  for (const part of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(state, part), { recursive: true });
  const options = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State::Lists': `${state}/lists`,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': `${state}/cache`,
  };
  const set = Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const apt = (...args: readonly string[]): string =>
    execFileSync('apt-get', [...set, '-qq', ...args], { cwd: folder, encoding: 'utf8', timeout: APT_TIMEOUT_MS });
  apt('update');
  // 'address' file size SHA256:digest
  const lines = apt('--print-uris', 'download', ...names)
    .trim()
    .split('\n');
  const found = lines.map((line): Found => {
    const [, file = '', , hash = ''] = line.split(' ');
    const [name = '', version = ''] = file.split('_');
    if (!hash.startsWith('SHA256:')) throw new Error(`apt tells no SHA-256 of ${file}`);
    return { name, version: decodeURIComponent(version), file, digest: hash.toLowerCase() };
  });
  apt('download', ...names);
  writeFileSync(listed, JSON.stringify(found, null, 2));
}
