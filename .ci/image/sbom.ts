/**
 * What the image is made of, as SPDX 2.3 in JSON: each Debian package, Node, the runtime inside the plugin, and each npm package of
 * package-lock.json that is in the programs, with version, licence and digest.
 * Source: SPDX 2.3, chapters 6 to 11; package-url specification, types npm, deb and github.
 */
import type { DebianPackage } from './debian-package.ts';
import type { Locked } from './lock-file.ts';
import type { Architecture } from './oci-layout.ts';

export type Ingredients = {
  readonly version: string;
  readonly architecture: Architecture;
  /** RFC 3339. */
  readonly created: string;
  readonly npm: readonly Locked[];
  readonly debian: readonly Pick<DebianPackage, 'name' | 'version' | 'digest'>[];
};

type SpdxPackage = {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo: string;
  readonly licenseDeclared: string;
  readonly checksums?: readonly { readonly algorithm: string; readonly checksumValue: string }[];
  readonly externalRefs?: readonly object[];
};

export type Spdx = {
  readonly spdxVersion: string;
  readonly name: string;
  readonly documentNamespace: string;
  readonly packages: readonly SpdxPackage[];
  readonly relationships: readonly { readonly relatedSpdxElement: string; readonly relationshipType: string }[];
};

const UNSAID = 'NOASSERTION';

export function spdxOf({ version, architecture, created, npm, debian }: Ingredients): Spdx {
  const image = described({ id: 'enactor', name: 'enactor', version, licence: 'Apache-2.0' });
  const parts = [
    ...debian.map(({ name, version: of, digest }) =>
      described({
        id: `deb-${name}`,
        ...{ name, version: of, licence: null },
        purl: `pkg:deb/debian/${name}@${encodeURIComponent(of)}?arch=${architecture}`,
        checksum: { algorithm: 'SHA256', checksumValue: digest.replace('sha256:', '') },
      }),
    ),
    ...npm.map(({ name, version: of, licence, integrity }) =>
      described({
        id: `npm-${name}-${of}`,
        ...{ name, version: of, licence },
        purl: `pkg:npm/${name.replace('@', '%40')}@${of}`,
        checksum: {
          algorithm: 'SHA512',
          checksumValue: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
        },
      }),
    ),
  ];
  const name = `enactor-${version}-${architecture}`;
  return {
    ...{ spdxVersion: 'SPDX-2.3', SPDXID: 'SPDXRef-DOCUMENT', dataLicense: 'CC0-1.0', name },
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${created.replaceAll(/[^0-9]/g, '')}`,
    creationInfo: { created, creators: ['Tool: enactor-image'] },
    packages: [image, ...parts],
    relationships: [
      relation('SPDXRef-DOCUMENT', 'DESCRIBES', image.SPDXID),
      ...parts.map(({ SPDXID }) => relation(image.SPDXID, 'CONTAINS', SPDXID)),
    ],
  } as Spdx;
}

const relation = (spdxElementId: string, relationshipType: string, relatedSpdxElement: string) => ({
  ...{ spdxElementId, relationshipType, relatedSpdxElement },
});

function described(of: {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string | null;
  readonly purl?: string;
  readonly checksum?: { readonly algorithm: string; readonly checksumValue: string };
}): SpdxPackage {
  const ref = { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: of.purl };
  return {
    SPDXID: `SPDXRef-${of.id.replaceAll(/[^A-Za-z0-9.-]+/g, '-')}`,
    name: of.name,
    versionInfo: of.version,
    ...{ downloadLocation: UNSAID, filesAnalyzed: false, licenseConcluded: UNSAID, copyrightText: UNSAID },
    licenseDeclared: of.licence ?? UNSAID,
    ...(of.checksum !== undefined && { checksums: [of.checksum] }),
    ...(of.purl !== undefined && { externalRefs: [ref] }),
  };
}
