/** The image's builder on small parts: what is in it, that nothing of it may be written, and that it is the same each time. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { elfNeeds } from '../../.ci/image/elf.ts';
import { inPrograms, lockedPackages, withDependencies } from '../../.ci/image/lock-file.ts';
import { type Architecture, ociLayout } from '../../.ci/image/oci-layout.ts';
import { DEBIAN_PACKAGES, imageConfig, MOUNT_POINTS, NATIVE_PACKAGES, PLATFORMS } from '../../.ci/image/recipe.ts';
import { imageLayers, notLoadable, type Parts } from '../../.ci/image/root-folder.ts';
import { spdxOf } from '../../.ci/image/sbom.ts';
import { type TarEntry, tarArchive } from '../../.ci/image/tar-archive.ts';
import { tarEntries } from '../../.ci/image/tar-reader.ts';

const file = (path: string, data = path, mode = 0o644): TarEntry => ({
  ...{ path, type: 'file', data: Buffer.from(data), mode },
});
const parts: Parts = {
  architecture: 'amd64',
  debian: [
    {
      name: 'libc6',
      entries: [
        file('lib/x86_64-linux-gnu/libc.so.6', 'libc', 0o755),
        file('usr/lib/x86_64-linux-gnu/gconv/ANSI.so'),
        file('usr/share/doc/libc6/copyright'),
        file('usr/share/doc/libc6/changelog.gz'),
      ],
    },
    {
      name: 'ca-certificates',
      entries: [
        file('usr/share/ca-certificates/mozilla/b.crt', 'B'),
        file('usr/share/ca-certificates/mozilla/a.crt', 'A\n'),
      ],
    },
  ],
  node: [file('bin/node', 'node', 0o755), file('LICENSE'), file('include/node/node.h')],
  modules: [file('level/index.js')],
  app: [file('dist/enactord.js', '#!/usr/bin/env node\nrun()', 0o644), file('dist/enactor-cni', 'cni', 0o755)],
  documents: [file('sbom.spdx.json')],
};

type Blob = { readonly digest: string; readonly size: number };
const sha = (data: Uint8Array) => `sha256:${createHash('sha256').update(data).digest('hex')}`;

function laidOut(tar: Buffer) {
  const files = new Map(tarEntries(tar).map((entry) => [entry.path, entry.type === 'file' ? entry.data : null]));
  const blob = ({ digest, size }: Blob): Buffer => {
    const data = Buffer.from(files.get(`blobs/sha256/${digest.replace('sha256:', '')}`) ?? []);
    t.equal(sha(data), digest, 'a blob is what its name says');
    t.equal(data.length, size);
    return data;
  };
  const json = (of: Blob) => JSON.parse(blob(of).toString());
  return { index: JSON.parse(Buffer.from(files.get('index.json') ?? []).toString()), blob, json, files };
}

t.test('image: an OCI layout whose every digest and size is right, for one platform', async (t) => {
  const config = imageConfig({ 'org.opencontainers.image.version': '1' });
  const layers = imageLayers(parts);
  const { tar, digest } = ociLayout('localhost/enactor:1', [{ architecture: 'amd64', config, layers }], 1);
  const { index, blob, json, files } = laidOut(tar);
  t.ok(files.has('oci-layout'));
  const [top] = index.manifests;
  t.equal(top.digest, digest);
  t.match(top, {
    platform: { architecture: 'amd64', os: 'linux' },
    annotations: { 'io.containerd.image.name': 'localhost/enactor:1' },
  });
  const manifest = json(top);
  const described = json(manifest.config);
  t.equal(manifest.layers.length, 3);
  manifest.layers.forEach((layer: Blob, at: number) => {
    t.equal(
      sha(gunzipSync(blob(layer))),
      described.rootfs.diff_ids[at],
      'the layer unpacked is what the configuration says',
    );
  });
  t.match(described.config, { Entrypoint: ['/usr/bin/enactord'], User: '0:0' });
});

t.test('image: the same parts give the same bytes, and one other byte another digest', async (t) => {
  const made = (of: Parts) =>
    ociLayout('localhost/enactor:1', [{ architecture: 'amd64', config: imageConfig({}), layers: imageLayers(of) }], 1);
  t.equal(made(parts).digest, made({ ...parts, app: parts.app.toReversed() }).digest, 'in whatever order they came');
  t.ok(made(parts).tar.equals(made(parts).tar));
  t.not(made({ ...parts, modules: [file('level/index.js', 'other')] }).digest, made(parts).digest);
});

t.test('image: for two platforms an index over both', async (t) => {
  const platforms = (['amd64', 'arm64'] as const).map((architecture: Architecture) => ({
    ...{ architecture, config: imageConfig({}), layers: [{ about: architecture, entries: [file(architecture)] }] },
  }));
  const { index, json } = laidOut(ociLayout('localhost/enactor:1', platforms, 1).tar);
  const { manifests } = json(index.manifests[0]);
  t.strictSame(
    manifests.map((one: { platform: { architecture: string } }) => one.platform.architecture),
    ['amd64', 'arm64'],
  );
  for (const one of manifests) t.equal(json(json(one).config).os, 'linux');
});

t.test('image: nothing in it may be written, and only what is needed is there', async (t) => {
  const entries = imageLayers(parts).flatMap(({ entries }) => entries);
  for (const entry of entries) {
    if (entry.type === 'link') continue;
    t.equal((entry.mode ?? 0o777) & 0o222, 0, `${entry.path} may not be written`);
  }
  const paths = entries.map(({ path }) => path);
  for (const path of ['usr/lib/x86_64-linux-gnu/libc.so.6', 'usr/bin/node', 'usr/share/doc/libc6/copyright'])
    t.ok(paths.includes(path), path);
  for (const path of MOUNT_POINTS) t.ok(paths.includes(`${path}/`), `a place for ${path}`);
  t.notOk(paths.some((path) => /gconv|changelog|include/.test(path)));
  const named = (path: string) => entries.find((entry) => entry.path === path);
  const certificates = named('etc/ssl/certs/ca-certificates.crt');
  t.equal(certificates?.type === 'file' && Buffer.from(certificates.data).toString(), 'A\nB\n');
  const program = named('app/dist/enactord.js');
  t.match(program?.type === 'file' && Buffer.from(program.data).toString(), /^#!\/usr\/bin\/node\n/, 'there is no env');
  t.match(named('usr/bin/enactord'), { type: 'link', target: '../../app/dist/enactord.js' });
});

t.test(
  'image: a program whose library is not there, or of another machine, is told before it is shipped',
  async (t) => {
    const native = readFileSync(`node_modules/@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`);
    const needs = elfNeeds(native);
    t.ok(needs?.libraries.includes('libc.so.6'), `koffi needs ${needs?.libraries}`);
    t.match(elfNeeds(readFileSync(process.execPath))?.interpreter, /ld-linux/);
    t.equal(elfNeeds(Buffer.from('#!/bin/sh')), null);
    const here: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const koffi: TarEntry = { path: 'app/koffi.node', type: 'file', data: native };
    const libraries = needs?.libraries.map((name) => file(`usr/lib/${PLATFORMS[here].triplet}/${name}`)) ?? [];
    t.strictSame(notLoadable([koffi, ...libraries], here), []);
    t.match(notLoadable([koffi, ...libraries.slice(1)], here), [/^app\/koffi\.node needs lib/]);
    t.match(notLoadable([koffi, ...libraries], here === 'amd64' ? 'arm64' : 'amd64'), [/of another machine/]);
    t.throws(() => imageLayers({ ...parts, modules: [{ ...koffi, path: 'koffi.node' }] }), /would not start/);
  },
);

t.test('image: what was packed is read again, long names and links included', async (t) => {
  const long = `${'folder/'.repeat(30)}${'n'.repeat(120)}.js`;
  const entries: TarEntry[] = [
    file(`a/${'b'.repeat(90)}/c.js`, 'split'),
    file(long, 'extended', 0o755),
    { path: 'link', type: 'link', target: long },
  ];
  const read = tarEntries(tarArchive(entries));
  t.match(
    read,
    entries.map((entry) => ({ path: entry.path, type: entry.type })),
  );
  t.match(read[1], { mode: 0o755 });
  t.match(read[2], { target: long });
  t.throws(() => tarEntries(tarArchive([file('../out')])), /leads out/);
  t.throws(() => tarEntries(tarArchive([file('long', 'x'.repeat(2000))]).subarray(0, 1024)), /cut off/);
});

t.test('image: the SBOM names each package of the programs once, with its digest', async (t) => {
  const npm = inPrograms(lockedPackages()).map(([, one]) => one);
  const debian = DEBIAN_PACKAGES.map((name) => ({ name, version: '1', digest: `sha256:${'0'.repeat(64)}` }));
  const { packages, relationships } = spdxOf({
    version: '1',
    architecture: 'amd64',
    created: '2026-01-01T00:00:00Z',
    npm,
    debian,
  });
  t.equal(new Set(packages.map(({ SPDXID }) => SPDXID)).size, packages.length);
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  for (const [name, version] of Object.entries(dependencies))
    t.ok(
      packages.some((one) => one.name === name && one.versionInfo === version),
      `${name}@${version}`,
    );
  for (const { name, checksums } of packages.slice(1))
    t.match(checksums?.[0]?.checksumValue, /^[0-9a-f]{64,128}$/, name);
  t.equal(relationships.length, packages.length);
});

t.test('image: native modules come with all they need', async (t) => {
  const all = withDependencies(lockedPackages(), NATIVE_PACKAGES);
  for (const name of ['koffi', 'abstract-level', 'node-gyp-build', 'module-error']) t.ok(all.includes(name), name);
});
