/** package-lock.json, as far as an image needs it: which packages are in the programs, and what each has to be. */
import { readFileSync } from 'node:fs';
import type { NpmPackage } from './npm-package.ts';

export type Locked = {
  readonly name: string;
  readonly version: string;
  /** sha512-… */
  readonly integrity: string;
  /** An SPDX expression; null where the package says none. */
  readonly licence: string | null;
  readonly dev: boolean;
  /** Only for a system or a processor, as native parts are. */
  readonly platform: boolean;
  readonly dependencies: readonly string[];
};

type Entry = {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
};

const FOLDER = 'node_modules/';

/** By their folders, such as `node_modules/level`. */
export function lockedPackages(path = 'package-lock.json'): ReadonlyMap<string, Locked> {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { readonly packages: Readonly<Record<string, Entry>> };
  const found = Object.entries(packages).filter(([folder]) => folder !== '');
  return new Map(
    found.map(([folder, entry]) => [
      folder,
      {
        name: folder.slice(folder.lastIndexOf(FOLDER) + FOLDER.length),
        version: entry.version,
        integrity: entry.integrity ?? '',
        licence: entry.license ?? null,
        dev: entry.dev === true,
        platform: entry.os !== undefined || entry.cpu !== undefined,
        dependencies: Object.keys(entry.dependencies ?? {}),
      },
    ]),
  );
}

/** Those in the bundles or beside them, of any platform, as folders; of a version that lies in several places the first. */
export function inPrograms(locked: ReadonlyMap<string, Locked>): readonly (readonly [string, Locked])[] {
  const once = new Map<string, readonly [string, Locked]>();
  for (const [folder, one] of locked) {
    const key = `${one.name}@${one.version}`;
    if (!one.dev && !one.platform && !once.has(key)) once.set(key, [folder, one]);
  }
  return [...once.values()];
}

/** `names` and all they need. Throws Error where one has a copy of its own of what another has: such a tree is not laid flat. */
export function withDependencies(locked: ReadonlyMap<string, Locked>, names: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    const one = locked.get(FOLDER + name);
    if (one === undefined) throw new Error(`${name} is not in package-lock.json`);
    found.add(name);
    for (const needed of one.dependencies) {
      if (locked.has(`${FOLDER}${name}/${FOLDER}${needed}`)) throw new Error(`${name} has a ${needed} of its own`);
      visit(needed);
    }
  };
  names.forEach(visit);
  return [...found].sort();
}

/** Throws Error when it is not locked. */
export function lockedNpm(locked: ReadonlyMap<string, Locked>, name: string): NpmPackage {
  const one = locked.get(FOLDER + name);
  if (one === undefined) throw new Error(`${name} is not in package-lock.json`);
  return { name, version: one.version, integrity: one.integrity };
}
