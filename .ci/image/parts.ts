/** Gathers what an image is made of, for one architecture: from the tree (dist/, node_modules), the npm registry and Debian's. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianPackages } from './debian-package.ts';
import { inPrograms, type Locked, lockedNpm, lockedPackages, withDependencies } from './lock-file.ts';
import { npmEntries } from './npm-package.ts';
import type { Architecture } from './oci-layout.ts';
import { DEBIAN_PACKAGES, NATIVE_PACKAGES, NODE_VERSION, PLATFORMS } from './recipe.ts';
import type { Parts } from './root-folder.ts';
import { type Spdx, spdxOf } from './sbom.ts';
import type { TarEntry } from './tar-archive.ts';

const COMPILE_TIMEOUT_MS = 300_000;
/** What a module is at run time: neither its sources nor its types, nor prebuilds of other systems. */
const RUNS = /\.(c?js|mjs|json)$/;
const LICENCE = /^(licen[cs]e|copying|notice)[^/]*$/i;

export type Gathered = { readonly parts: Parts; readonly sbom: Spdx };

/** Needs dist/, as `npm run build` fills it. Throws Error naming what is missing or not what it should be. */
export function gather(
  architecture: Architecture,
  from: { readonly keptIn: string; readonly created: string; readonly renew: boolean },
): Gathered {
  const { npm, nodeIntegrity } = PLATFORMS[architecture];
  const locked = lockedPackages();
  const node = { name: `node-linux-${npm}`, version: NODE_VERSION, integrity: nodeIntegrity };
  const debian = debianPackages(DEBIAN_PACKAGES, architecture, from.keptIn, from.renew);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const native = withDependencies(locked, NATIVE_PACKAGES);
  const koffi = lockedNpm(locked, `@koromix/koffi-linux-${npm}`);
  const bun = lockedNpm(locked, `@oven/bun-linux-${PLATFORMS[architecture].bun}`);
  const programs = inPrograms(locked);
  const sbom = spdxOf({
    ...{ version, architecture, created: from.created, debian },
    npm: [
      ...programs.map(([, one]) => one),
      ...[koffi, bun, node].map(
        (one): Locked => ({ ...one, licence: 'MIT', dev: false, platform: true, dependencies: [] }),
      ),
    ],
  });
  const modules = native.flatMap((name) =>
    folder(`node_modules/${name}`, name, (path) => runsHere(path, architecture)),
  );
  const koffiEntries = npmEntries(koffi, from.keptIn).filter(
    ({ path }) => !path.startsWith('musl') && !path.endsWith('.md'),
  );
  return {
    sbom,
    parts: {
      ...{ architecture, debian, node: npmEntries(node, from.keptIn) },
      modules: [...modules, ...koffiEntries.map((entry) => ({ ...entry, path: `${koffi.name}/${entry.path}` }))],
      app: appFiles(version, plugin(architecture, from.keptIn)),
      documents: [...licences(programs), { path: 'sbom.spdx.json', type: 'file', data: json(sbom) }],
    },
  };
}

const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);

/** Files below a folder of the tree, named as below `as`; a later version of a file's name decides nothing, so they are sorted. */
function folder(path: string, as: string, take: (path: string) => boolean): readonly TarEntry[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => take(name) && statSync(join(path, name)).isFile())
    .sort()
    .map((name) => ({ path: `${as}/${name}`, type: 'file', data: readFileSync(join(path, name)) }));
}

function runsHere(path: string, architecture: Architecture): boolean {
  if (path.endsWith('.node'))
    return path.startsWith(`prebuilds/linux-${PLATFORMS[architecture].npm}/`) && !path.includes('musl');
  return RUNS.test(path) && !/^(deps|vendor|doc|test)\//.test(path);
}

function appFiles(version: string, cni: Buffer): readonly TarEntry[] {
  if (!existsSync('dist/enactord.js')) throw new Error('dist/ is not built (npm run build)');
  const built = readdirSync('dist').filter((name) => /\.(js|cjs|proto|html|css)$/.test(name));
  return [
    {
      path: 'package.json',
      type: 'file',
      data: json({ name: 'enactor', version, type: 'module', license: 'Apache-2.0' }),
    },
    { path: 'LICENSE', type: 'file', data: readFileSync('LICENSE') },
    ...built
      .sort()
      .map((name): TarEntry => ({ path: `dist/${name}`, type: 'file', data: readFileSync(`dist/${name}`) })),
    { path: 'dist/enactor-cni', type: 'file', data: cni, mode: 0o755 },
  ];
}

/** The one of `npm run build`, or, for another machine than this one, compiled into the runtime that npm has for it. */
function plugin(architecture: Architecture, keptIn: string): Buffer {
  const { npm, bun } = PLATFORMS[architecture];
  if (npm === process.arch) return readFileSync('dist/enactor-cni');
  const runtime = npmEntries(lockedNpm(lockedPackages(), `@oven/bun-linux-${bun}`), keptIn).find(
    ({ path }) => path === 'bin/bun',
  );
  if (runtime?.type !== 'file') throw new Error(`Bun’s package for ${npm} has no bin/bun`);
  return compiled(npm, runtime.data, keptIn);
}

function compiled(npm: string, runtime: Uint8Array, keptIn: string): Buffer {
  const [program, outfile] = [join(keptIn, `bun-${npm}`), join(keptIn, `enactor-cni-${npm}`)];
  writeFileSync(program, runtime, { mode: 0o755 });
  const options = ['--compile', '--minify', `--target=bun-linux-${npm}`, `--compile-executable-path=${program}`];
  const args = ['build', ...options, '--external', 'koffi', 'src/plugin/main.ts', '--outfile', outfile];
  execFileSync('node_modules/.bin/bun', args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: COMPILE_TIMEOUT_MS });
  return readFileSync(outfile);
}

/** Of each package in the programs the texts that have to go with it. */
function licences(programs: readonly (readonly [string, Locked])[]): readonly TarEntry[] {
  return programs.flatMap(([path, { name, version }]) => {
    if (!existsSync(path)) return [];
    const as = `licences/${name.replace('/', '__')}@${version}`;
    return readdirSync(path)
      .filter((file) => LICENCE.test(file) && statSync(join(path, file)).isFile())
      .map((file): TarEntry => ({ path: `${as}/${file}`, type: 'file', data: readFileSync(join(path, file)) }));
  });
}
