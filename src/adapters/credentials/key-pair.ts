/** The key pair of the configuration: `access_key`, `access_secret`. */
import { AccessKey } from '../../ports/credentials.ts';
import type { CredentialSource } from './source.ts';

export type KeyPair = { readonly accessKeyId: string; readonly accessKeySecret: string };

export function keyPairSource(pair: KeyPair | null): CredentialSource {
  return {
    name: 'config',
    from: 'access_key in the configuration',
    lookAgainMs: null,
    isThere: async () => pair !== null,
    async obtain() {
      if (pair === null) throw new Error('is not set');
      return new AccessKey(pair);
    },
  };
}
