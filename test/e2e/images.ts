/**
 * The images of the run: the one that `npm run image` makes, without Docker, and one that differs from it as the next release would: another
 * version in its package.json and its label, as a layer on top.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { digestOf } from '../../.ci/image/oci-layout.ts';
import { type TarEntry, tarArchive } from '../../.ci/image/tar-archive.ts';
import { tarEntries } from '../../.ci/image/tar-reader.ts';

const BUILD_TIMEOUT_MS = 600_000;
const PACKAGE = 'app/package.json';

export type Image = {
  /** With its tag. */
  readonly name: string;
  readonly version: string;
  /** An OCI layout. */
  readonly tar: string;
};

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };
type Manifest = { readonly config: Descriptor; readonly layers: readonly Descriptor[] };
type Config = {
  readonly config: { readonly Labels: Readonly<Record<string, string>> };
  readonly rootfs: { readonly diff_ids: readonly string[] };
  readonly history: readonly object[];
};

/** The package registries did not give what an image is made of. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched';
}

/** Words of apt, npm and the resolver, of whom the build asks. */
const FETCHING =
  /Command failed: (apt-get|npm)|Failed to fetch|failure resolving|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET/;

/** Needs dist/. Throws NotFetched, or Error with the build's words. `timeoutMs`: of the build, most of which is what is fetched the first time. */
export function buildImage(timeoutMs = BUILD_TIMEOUT_MS): Image {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const args = ['.ci/image.ts', '--level', '1'];
  const { status, stderr, error } = spawnSync('node_modules/.bin/bun', args, { encoding: 'utf8', timeout: timeoutMs });
  const said = `${error?.message ?? ''} ${stderr ?? ''}`.trim().slice(-2_000);
  if (status !== 0) throw FETCHING.test(said) ? new NotFetched(said) : new Error(`the image is not built: ${said}`);
  return { name: `localhost/enactor:${version}`, version, tar: `dist/image/enactor-${version}.tar` };
}

/** To be imported after the other, whose layers it does not repeat. Throws Error when the layout is not of one platform. */
export function nextImage({ name, version, tar }: Image, folder: string): Image {
  const next = version.replace(/\d+$/, (patch) => `${Number(patch) + 1}`);
  const files = new Map(
    tarEntries(readFileSync(tar)).flatMap((one) => (one.type === 'file' ? [[one.path, one.data]] : [])),
  );
  const blobPath = (digest: string) => `blobs/${digest.replace(':', '/')}`;
  const read = <T>(path: string): T => JSON.parse(Buffer.from(files.get(path) ?? []).toString()) as T;
  // What both have is in the runtime's store already.
  const more = new Map<string, Uint8Array>();
  const keep = (data: Buffer, { mediaType }: Pick<Descriptor, 'mediaType'>): Descriptor => {
    const digest = digestOf(data);
    more.set(blobPath(digest), data);
    return { mediaType, digest, size: data.length };
  };
  const index = read<{ readonly manifests: readonly (Descriptor & { readonly annotations: object })[] }>('index.json');
  const [top] = index.manifests;
  if (top === undefined) throw new Error(`${tar} has no manifest`);
  const manifest = read<Manifest>(blobPath(top.digest));
  const config = read<Config>(blobPath(manifest.config.digest));
  const highest = manifest.layers?.at(-1);
  if (highest === undefined) throw new Error(`${tar} is of several platforms`);

  const app = tarEntries(gunzipSync(files.get(blobPath(highest.digest)) ?? ''));
  const found = app.find((one) => one.path === PACKAGE);
  if (found?.type !== 'file') throw new Error(`${tar} has no ${PACKAGE}`);
  const text = { ...(JSON.parse(Buffer.from(found.data).toString()) as object), version: next };
  const layer = tarArchive([{ path: PACKAGE, type: 'file', data: Buffer.from(JSON.stringify(text)), mode: 0o444 }]);
  const labels = { ...config.config.Labels, 'org.opencontainers.image.version': next };
  const described = {
    ...config,
    config: { ...config.config, Labels: labels },
    rootfs: { ...config.rootfs, diff_ids: [...config.rootfs.diff_ids, digestOf(layer)] },
    history: [...config.history, { created_by: `version ${next}` }],
  };
  const made = keep(
    json({
      ...manifest,
      config: keep(json(described), manifest.config),
      layers: [...manifest.layers, keep(gzipSync(layer), highest)],
    }),
    top,
  );
  const nextName = name.replace(/[^:]+$/, next);
  const annotations = {
    ...top.annotations,
    'io.containerd.image.name': nextName,
    'org.opencontainers.image.ref.name': next,
  };
  more.set('oci-layout', files.get('oci-layout') ?? Buffer.alloc(0));
  more.set('index.json', json({ ...index, manifests: [{ ...top, ...made, annotations }] }));
  const entries = [...more].map(([path, data]): TarEntry => ({ path, type: 'file', data }));
  const path = join(folder, `enactor-${next}.tar`);
  writeFileSync(path, tarArchive(entries));
  return { name: nextName, version: next, tar: path };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Below a folder for the time of the run. */
export function imageFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'enactor-e2e-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
