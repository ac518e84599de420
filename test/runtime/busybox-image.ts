/**
 * The one container image of the tests, made on the spot since no registry is reached: static busybox, its applets as links,
 * and a web root whose CGI scripts say which source address a request came from. It is the pause image too.
 */
import { readFileSync } from 'node:fs';
import { ociLayout } from '../../.ci/image/oci-layout.ts';
import type { TarEntry } from '../../.ci/image/tar-archive.ts';

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

function layer(): readonly TarEntry[] {
  const folders = ['bin', 'dev', 'etc', 'proc', 'sys', 'tmp', 'www', 'www/cgi-bin'];
  return [
    ...folders.map((path) => ({ path: `${path}/`, type: 'folder' }) as const),
    { path: 'bin/busybox', type: 'file', data: readFileSync(BUSYBOX_PATH), mode: 0o755 },
    ...APPLETS.map((name) => ({ path: `bin/${name}`, type: 'link', target: 'busybox' }) as const),
    { path: 'www/cgi-bin/who', type: 'file', data: Buffer.from(WHO_SCRIPT), mode: 0o755 },
    { path: 'www/cgi-bin/source', type: 'file', data: Buffer.from(SOURCE_SCRIPT), mode: 0o755 },
  ];
}

/** The image as an OCI layout in a tar, ready for `ctr images import`. */
export function busyboxImage(): Buffer {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const config = { Cmd: ['/bin/sleep', '1000000'], Env: ['PATH=/bin'] };
  return ociLayout(BUSYBOX_IMAGE, [{ architecture, config, layers: [{ about: 'busybox', entries: layer() }] }], 1).tar;
}
