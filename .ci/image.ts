/**
 * `npm run image`: the container image without Docker, as an OCI layout in dist/image/enactor-VERSION.tar, from dist/ and what the npm
 * registry and Debian's give. The same tree and the same packages give the same digest. Needs dpkg-deb and apt (Debian 12), no root.
 *
 * --arch amd64,arm64   for which machines; default: this one
 * --level N            how hard to pack, 1 to 9; default 6
 * --renew              asks Debian for its newest packages; else those of the last time
 * --rootfs DIRECTORY   lays the files there and makes no image: the Dockerfile's way
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Architecture, ociLayout } from './image/oci-layout.ts';
import { gather } from './image/parts.ts';
import { imageConfig, PLATFORMS } from './image/recipe.ts';
import { imageLayers, type Layer } from './image/root-folder.ts';

const OUT = 'dist/image';
const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: process.arch === 'arm64' ? 'arm64' : 'amd64' },
    level: { type: 'string', default: '6' },
    renew: { type: 'boolean', default: false },
    rootfs: { type: 'string' },
  },
});
const architectures = values.arch.split(',').filter((name): name is Architecture => name in PLATFORMS);
if (architectures.length !== values.arch.split(',').length)
  throw new Error(`--arch: amd64, arm64 or both, not ${values.arch}`);

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
const git = (...args: readonly string[]): string => {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
};
// Not the moment of the build, which would be another digest each time.
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? (git('log', '-1', '--format=%ct') || 0));
const created = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
const revision = git('rev-parse', 'HEAD');
const labels = {
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.created': created,
  ...(revision !== '' && { 'org.opencontainers.image.revision': revision }),
};

mkdirSync(OUT, { recursive: true });
const platforms = architectures.map((architecture) => {
  const { parts, sbom } = gather(architecture, { keptIn: join(OUT, 'inputs'), created, renew: values.renew });
  writeFileSync(join(OUT, `sbom-${architecture}.spdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  return { architecture, config: imageConfig(labels), created, layers: imageLayers(parts) };
});
if (values.rootfs !== undefined) layOut(values.rootfs, platforms[0]?.layers ?? []);
else {
  const name = `localhost/enactor:${version}`;
  const { tar, digest } = ociLayout(name, platforms, Number(values.level));
  const path = join(OUT, `enactor-${version}.tar`);
  writeFileSync(path, tar);
  console.log(`${path}: ${name} for ${architectures.join(', ')}, ${(tar.length / 1e6).toFixed(0)} MB, ${digest}`);
}

/** Folders get their modes from whoever packs them: what is below still has to be written. */
function layOut(root: string, layers: readonly Layer[]): void {
  for (const entry of layers.flatMap(({ entries }) => entries)) {
    const path = join(root, entry.path);
    mkdirSync(entry.type === 'folder' ? path : dirname(path), { recursive: true });
    if (entry.type === 'link') symlinkSync(entry.target, path);
    if (entry.type === 'file') writeFileSync(path, entry.data, { mode: entry.mode ?? 0o444 });
  }
  console.log(`${root}: the files of the image`);
}
