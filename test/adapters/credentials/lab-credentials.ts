/** The key that the lab's cloud takes when nobody chooses another. */
import { type KeyPair, keyPairSource } from '../../../src/adapters/credentials/key-pair.ts';
import { RenewingCredentials } from '../../../src/adapters/credentials/renewing-credentials.ts';
import { LAB_ACCESS_KEY } from '../../../src/lab/cloud/keys.ts';
import type { Credentials } from '../../../src/ports/credentials.ts';

export function labCredentials(pair: KeyPair = LAB_ACCESS_KEY): Credentials {
  return new RenewingCredentials({
    sources: [keyPairSource(pair)],
    clock: { nowMs: Date.now },
    entropy: { fraction: Math.random },
  });
}
