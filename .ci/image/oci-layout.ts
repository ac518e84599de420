/**
 * An OCI image layout in one tar, for `ctr images import`, `skopeo` and `docker load`: layers, configuration and manifest of each platform
 * under their digests, and an index over the platforms if there are several.
 *
 * The same layers give the same digests wherever they are made: nothing here tells of the machine or the moment. (The bytes of a gzip
 * stream are zlib's; another zlib may pack otherwise. `diff_ids`, digests of the unpacked layers, are the same with any.)
 * Source: OCI image-spec 1.1; containerd names an imported image by the annotation `io.containerd.image.name`.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tarArchive } from './tar-archive.ts';

const TYPE = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** As GOARCH has them. */
export type Architecture = 'amd64' | 'arm64';

/** The part of an image's configuration that a runtime reads. */
export type ImageConfig = {
  readonly Cmd?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Env: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Labels?: Readonly<Record<string, string>>;
};

export type PlatformImage = {
  readonly architecture: Architecture;
  readonly config: ImageConfig;
  /** RFC 3339; left out, the image has no date. */
  readonly created?: string;
  /** Lowest first; each with a word on what it is, for `docker history`. */
  readonly layers: readonly { readonly about: string; readonly entries: readonly TarEntry[] }[];
};

export type OciLayout = {
  readonly tar: Buffer;
  /** Of the image: its manifest's, or its index's when there are several platforms. */
  readonly digest: string;
};

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

export const digestOf = (data: Uint8Array): string => `sha256:${createHash('sha256').update(data).digest('hex')}`;
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** `level`: zlib's, 1 for speed and 9 for size. Throws RangeError without a platform. */
export function ociLayout(name: string, platforms: readonly PlatformImage[], level = 6): OciLayout {
  const blobs = new Map<string, Buffer>();
  const keep = (mediaType: string, data: Buffer): Descriptor => {
    const digest = digestOf(data);
    blobs.set(digest, data);
    return { mediaType, digest, size: data.length };
  };
  const manifests = platforms.map((platform) => ({
    ...manifestOf(platform, level, keep),
    platform: { architecture: platform.architecture, os: 'linux' },
  }));
  const [first] = manifests;
  if (first === undefined) throw new RangeError('an image is for a platform at least');
  const top =
    manifests.length === 1 ? first : keep(TYPE.index, json({ schemaVersion: 2, mediaType: TYPE.index, manifests }));
  const ref = name.split(':').at(-1);
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': ref };
  const index = json({ schemaVersion: 2, mediaType: TYPE.index, manifests: [{ ...top, annotations }] });
  const files: TarEntry[] = [
    { path: 'blobs/', type: 'folder' },
    { path: 'blobs/sha256/', type: 'folder' },
    ...[...blobs]
      .toSorted(byDigest)
      .map(
        ([digest, data]): TarEntry => ({ path: `blobs/sha256/${digest.slice('sha256:'.length)}`, type: 'file', data }),
      ),
    { path: 'index.json', type: 'file', data: index },
    { path: 'oci-layout', type: 'file', data: json({ imageLayoutVersion: '1.0.0' }) },
  ];
  return { tar: tarArchive(files), digest: top.digest };
}

const byDigest = ([a]: readonly [string, Buffer], [b]: readonly [string, Buffer]): number => (a < b ? -1 : 1);

function manifestOf(
  { architecture, config, created, layers }: PlatformImage,
  level: number,
  keep: (mediaType: string, data: Buffer) => Descriptor,
): Descriptor {
  const packed = layers.map(({ about, entries }) => {
    const plain = tarArchive(entries);
    return { about, diffId: digestOf(plain), descriptor: keep(TYPE.layer, gzipSync(plain, { level })) };
  });
  const described = keep(
    TYPE.config,
    json({
      ...{ architecture, os: 'linux', ...(created !== undefined && { created }), config },
      rootfs: { type: 'layers', diff_ids: packed.map(({ diffId }) => diffId) },
      history: packed.map(({ about }) => ({ created_by: about, ...(created !== undefined && { created }) })),
    }),
  );
  const manifest = { schemaVersion: 2, mediaType: TYPE.manifest, config: described };
  return keep(TYPE.manifest, json({ ...manifest, layers: packed.map(({ descriptor }) => descriptor) }));
}
