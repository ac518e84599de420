/** The node's credentials for the cloud, from wherever configuration, flags and environment say. */

import { wallClock } from '../adapters/clock/steady-clock.ts';
import { RenewingCredentials } from '../adapters/credentials/renewing-credentials.ts';
import { credentialSources } from '../adapters/credentials/sources.ts';
import type { MetadataClient } from '../adapters/metadata/metadata-client.ts';
import type { CredentialSettings } from '../core/config.ts';
import type { Credentials } from '../ports/credentials.ts';
import type { Log } from '../ports/log.ts';
import { systemEntropy } from './entropy.ts';
import type { Flags } from './flags.ts';

export type NodeCredentialsParts = {
  readonly flags: Pick<
    Flags,
    'oidcRole' | 'stsEndpoint' | 'endpointType' | 'cloudScheme' | 'addonSecretDir' | 'addonTokenFile'
  >;
  readonly settings: CredentialSettings;
  readonly metadata: MetadataClient;
  readonly region: (signal: AbortSignal) => Promise<string>;
  readonly log: Log;
};

export function nodeCredentials({ flags, settings, metadata, region, log }: NodeCredentialsParts): Credentials {
  const inVpc = flags.endpointType === 'vpc';
  const sources = credentialSources({
    keyPair: settings.keyPair,
    addonSecretDir: flags.addonSecretDir,
    tokenFile: settings.tokenFile,
    addonTokenFile: flags.addonTokenFile,
    oidc: {
      role: flags.oidcRole,
      endpoint: async (signal) =>
        flags.stsEndpoint ?? `${inVpc ? 'sts-vpc' : 'sts'}.${await region(signal)}.aliyuncs.com`,
      scheme: flags.cloudScheme,
      clock: wallClock,
      entropy: systemEntropy,
    },
    metadata,
    ramRole: settings.ramRole,
    only: settings.source,
  });
  return new RenewingCredentials({
    sources,
    clock: wallClock,
    entropy: systemEntropy,
    told: (news) => {
      const { what, ...fields } = news;
      if (what === 'renewed') log.info(fields, 'credentials for the cloud obtained');
      else log.warn(fields, 'credentials for the cloud cannot be renewed');
    },
  });
}
