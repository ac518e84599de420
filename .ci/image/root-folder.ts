/**
 * The files of the image, as three layers: what changes seldom lies below what changes with each release. Nothing may be written, not even
 * by root of the image; all belongs to root.
 *
 * `/lib` and `/lib64` are links into `/usr`, as on Debian: Node's build names its loader below /lib, or /lib64.
 */
import { posix } from 'node:path';
import { elfNeeds } from './elf.ts';
import type { Architecture } from './oci-layout.ts';
import { CERTIFICATES, MOUNT_POINTS, PLATFORMS } from './recipe.ts';
import type { TarEntry } from './tar-archive.ts';

export type Layer = { readonly about: string; readonly entries: readonly TarEntry[] };
type File = Extract<TarEntry, { type: 'file' }>;

export const DOC = 'usr/share/doc';
const NEVER_WRITTEN = 0o555;
/** What the loader and Node ask glibc and GCC for; not their character sets and auditors, which are in folders below. */
const LIBRARY = /^usr\/lib(64)?\/(?:[^/]+-linux-gnu\/)?[^/]+\.so(\.[0-9.]+)?$/;

export type Parts = {
  readonly architecture: Architecture;
  /** Of each Debian package its name and entries. */
  readonly debian: readonly { readonly name: string; readonly entries: readonly TarEntry[] }[];
  /** Node's binary and licence. */
  readonly node: readonly TarEntry[];
  /** Below node_modules/. */
  readonly modules: readonly TarEntry[];
  /** Below /app. */
  readonly app: readonly TarEntry[];
  /** Licence texts, the SBOM: below /usr/share/doc/enactor. */
  readonly documents: readonly TarEntry[];
};

/** Throws Error when a program or a library of it would not be loaded: its library is missing, or it is of another machine. */
export function imageLayers(parts: Parts): readonly Layer[] {
  const base: TarEntry[] = [
    ...['lib', 'lib64'].map((name): TarEntry => ({ path: name, type: 'link', target: `usr/${name}` })),
    { path: 'var/run', type: 'link', target: '/run' },
    ...MOUNT_POINTS.map((path): TarEntry => ({ path, type: 'folder' })),
    ...usersAndNames(),
    { path: CERTIFICATES, type: 'file', data: Buffer.from(certificates(parts.debian)) },
    ...parts.debian.flatMap(({ entries }) => entries.map(merged).filter(wanted)),
    ...under(
      'usr',
      parts.node.filter(({ path }) => path === 'bin/node'),
    ),
    ...under(
      `${DOC}/node`,
      parts.node.filter(({ path }) => path === 'LICENSE'),
    ),
  ];
  const commands = ['enactor', 'enactord'];
  const app: TarEntry[] = [
    ...under('app', parts.app.map(startedByOurNode)),
    ...commands.map(
      (name): TarEntry => ({ path: `usr/bin/${name}`, type: 'link', target: `../../app/dist/${name}.js` }),
    ),
    ...under(`${DOC}/enactor`, parts.documents),
  ];
  const layers = [
    { about: 'Debian’s glibc, GCC runtime and certificates; Node', entries: finished(base) },
    { about: 'native modules', entries: finished(under('app/node_modules', parts.modules)) },
    { about: 'enactor', entries: finished(app) },
  ];
  const problems = notLoadable(
    layers.flatMap(({ entries }) => entries),
    parts.architecture,
  );
  if (problems.length > 0) throw new Error(`the image would not start: ${problems.join('; ')}`);
  return layers;
}

const under = (folder: string, entries: readonly TarEntry[]): readonly TarEntry[] =>
  entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }));

/** Debian 12's packages still name some files by the link. */
const merged = (entry: TarEntry): TarEntry => ({ ...entry, path: entry.path.replace(/^(lib|lib64)\//, 'usr/$1/') });

const wanted = ({ path, type }: TarEntry): boolean =>
  type !== 'folder' && (LIBRARY.test(path) || /^usr\/share\/doc\/[^/]+(\/copyright)?$/.test(path));

/** There is no `env` in the image. */
function startedByOurNode(entry: TarEntry): TarEntry {
  if (entry.type !== 'file' || !/^dist\/enactord?\.js$/.test(entry.path)) return entry;
  const text = Buffer.from(entry.data)
    .toString('utf8')
    .replace(/^#!\/usr\/bin\/env node\n/, '#!/usr/bin/node\n');
  return { ...entry, data: Buffer.from(text), mode: NEVER_WRITTEN };
}

/** As update-ca-certificates of Debian makes it. */
function certificates(debian: Parts['debian']): string {
  const files = debian
    .flatMap(({ entries }) => entries)
    .filter(
      (entry): entry is File => entry.type === 'file' && /^usr\/share\/ca-certificates\/.*\.crt$/.test(entry.path),
    );
  if (files.length === 0) throw new Error('ca-certificates has none');
  return files
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ data }) => Buffer.from(data).toString('utf8').replace(/\n?$/, '\n'))
    .join('');
}

function usersAndNames(): readonly TarEntry[] {
  const files = {
    'etc/passwd': 'root:x:0:0:root:/:/usr/sbin/nologin\n',
    'etc/group': 'root:x:0:\n',
    'etc/nsswitch.conf': 'hosts: files dns\n',
  };
  return Object.entries(files).map(([path, text]) => ({ path, type: 'file', data: Buffer.from(text) }));
}

/** By path, each with its folders before it, and nothing that may be written. Throws Error when two files want one place. */
function finished(entries: readonly TarEntry[]): readonly TarEntry[] {
  const placed = new Map<string, TarEntry>();
  for (const entry of entries) {
    for (let folder = posix.dirname(entry.path); folder !== '.'; folder = posix.dirname(folder))
      if (!placed.has(folder)) placed.set(folder, { path: folder, type: 'folder', mode: NEVER_WRITTEN });
    const before = placed.get(entry.path);
    if (before !== undefined && before.type !== 'folder') throw new Error(`two files for ${entry.path}`);
    placed.set(entry.path, readOnly(entry));
  }
  return [...placed.values()]
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map((entry) => (entry.type === 'folder' ? { ...entry, path: `${entry.path}/` } : entry));
}

function readOnly(entry: TarEntry): TarEntry {
  if (entry.type === 'link') return entry;
  const runs = entry.type === 'folder' || ((entry.mode ?? 0) & 0o111) !== 0;
  return { ...entry, mode: runs ? NEVER_WRITTEN : 0o444 };
}

/** In words; empty when every ELF file finds its loader and libraries. */
export function notLoadable(entries: readonly TarEntry[], architecture: Architecture): readonly string[] {
  const triplet = PLATFORMS[architecture].triplet;
  const names = new Set(entries.map(({ path }) => path));
  const has = (path: string): boolean => names.has(path.replace(/^\/?(lib|lib64)\//, 'usr/$1/').replace(/^\//, ''));
  return entries.flatMap((entry) => {
    const needs = entry.type === 'file' ? elfNeeds(entry.data) : null;
    if (needs === null) return [];
    if (needs.machine !== architecture) return [`${entry.path} is of another machine`];
    const loader = needs.interpreter === null || has(needs.interpreter) ? [] : [needs.interpreter];
    const missing = needs.libraries.filter(
      (name) => !has(`/lib/${triplet}/${name}`) && !has(`/lib/${name}`) && !has(`/lib64/${name}`),
    );
    return [...loader, ...missing].map((what) => `${entry.path} needs ${what}`);
  });
}
