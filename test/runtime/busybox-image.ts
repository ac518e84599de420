/**
 * The one container image of the tests, made on the spot since no registry is reached: static busybox, its applets as links,
 * and a web root whose CGI scripts say which source address a request came from. It is the pause image too.
 * Source: OCI image-spec 1.0, image layout; containerd names an imported image by the annotation `io.containerd.image.name`.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tarArchive } from './tar-archive.ts';

export const BUSYBOX_PATH = '/bin/busybox';
export const BUSYBOX_IMAGE = 'localhost/enactor-busybox:1';
/** Not 8080, which is the OpenAPI of the lab on its nodes. */
export const WEB_PORT = 8088;
/** For a container that answers `GET /cgi-bin/source` with the caller's address, and `GET /cgi-bin/who` with its own name before that. */
export const WEB_COMMAND = ['/bin/httpd', '-f', '-p', `${WEB_PORT}`, '-h', '/www'] as const;

const APPLETS = ['cat', 'echo', 'httpd', 'ip', 'ls', 'nc', 'ping', 'sh', 'sleep'];
const WHO_SCRIPT =
  '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%s %s\\n" "$(cat /proc/sys/kernel/hostname)" "$REMOTE_ADDR"\n';
const SOURCE_SCRIPT = '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%s\\n" "$REMOTE_ADDR"\n';

const digest = (data: Uint8Array) => `sha256:${createHash('sha256').update(data).digest('hex')}`;
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

function layer(): Buffer {
  const folders = ['bin', 'dev', 'etc', 'proc', 'sys', 'tmp', 'www', 'www/cgi-bin'];
  const entries: TarEntry[] = [
    ...folders.map((path) => ({ path: `${path}/`, type: 'folder' }) as const),
    { path: 'bin/busybox', type: 'file', data: readFileSync(BUSYBOX_PATH), mode: 0o755 },
    ...APPLETS.map((name) => ({ path: `bin/${name}`, type: 'link', target: 'busybox' }) as const),
    { path: 'www/cgi-bin/who', type: 'file', data: Buffer.from(WHO_SCRIPT), mode: 0o755 },
    { path: 'www/cgi-bin/source', type: 'file', data: Buffer.from(SOURCE_SCRIPT), mode: 0o755 },
  ];
  return tarArchive(entries);
}

/** The image as an OCI layout in a tar, ready for `ctr images import`. */
export function busyboxImage(): Buffer {
  const plain = layer();
  const packed = gzipSync(plain, { level: 1 });
  const config = json({
    architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch,
    os: 'linux',
    config: { Cmd: ['/bin/sleep', '1000000'], Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [digest(plain)] },
  });
  const describe = (mediaType: string, data: Uint8Array) => ({ mediaType, digest: digest(data), size: data.length });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: describe('application/vnd.oci.image.config.v1+json', config),
    layers: [describe('application/vnd.oci.image.layer.v1.tar+gzip', packed)],
  });
  const index = json({
    schemaVersion: 2,
    manifests: [
      {
        ...describe('application/vnd.oci.image.manifest.v1+json', manifest),
        annotations: { 'io.containerd.image.name': BUSYBOX_IMAGE },
      },
    ],
  });
  const blob = (data: Buffer) =>
    ({ path: `blobs/sha256/${digest(data).slice('sha256:'.length)}`, type: 'file', data }) as const;
  return tarArchive([
    { path: 'oci-layout', type: 'file', data: json({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', type: 'file', data: index },
    ...[packed, config, manifest].map(blob),
  ]);
}
