/**
 * Where credentials come from, and in which order they are looked for: the first that is configured is taken.
 *
 * 1. `addonFiles`      the two files of an add-on's secret, which win over the configuration as in Terway
 * 2. `config`          `access_key` and `access_secret`
 * 3. `tokenFile`       the encrypted token file that `credential_path` names
 * 4. `oidcRole`        ALIBABA_CLOUD_ROLE_ARN, _OIDC_PROVIDER_ARN and _OIDC_TOKEN_FILE, or the flags of the same names
 * 5. `addonTokenFile`  `/var/addon/token-config`, where managed clusters have it
 * 6. `ramRole`         the instance's RAM role
 *
 * The key `credential_source` names one of them, which then is the only one.
 */
import type { CredentialSourceName } from '../../ports/credentials.ts';
import type { MetadataClient } from '../metadata/metadata-client.ts';
import { type KeyPair, keyPairSource } from './key-pair.ts';
import { type OidcRoleOptions, oidcRoleSource } from './oidc-role.ts';
import { ramRoleSource } from './ram-role.ts';
import { secretFilesSource } from './secret-files.ts';
import type { CredentialSource } from './source.ts';
import { tokenFileSource } from './token-file.ts';

export type SourcesOptions = {
  readonly keyPair: KeyPair | null;
  readonly addonSecretDir: string;
  /** The file that the configuration names; null: none. */
  readonly tokenFile: string | null;
  readonly addonTokenFile: string;
  readonly oidc: OidcRoleOptions;
  readonly metadata: Pick<MetadataClient, 'get'>;
  /** null: whichever the instance has. */
  readonly ramRole: string | null;
  /** The only one that is looked at; null: all, in their order. */
  readonly only: CredentialSourceName | null;
};

export function credentialSources(options: SourcesOptions): readonly CredentialSource[] {
  const { tokenFile, only } = options;
  const all = [
    secretFilesSource(options.addonSecretDir),
    keyPairSource(options.keyPair),
    ...(tokenFile === null ? [] : [tokenFileSource('tokenFile', tokenFile)]),
    oidcRoleSource(options.oidc),
    tokenFileSource('addonTokenFile', options.addonTokenFile),
    ramRoleSource(options.metadata, options.ramRole),
  ];
  return only === null ? all : all.filter((source) => source.name === only);
}
