/**
 * The ports of one life where nothing that opens a door lives for ever: the production's own holders of tokens and keys (src/adapters), over
 * issuers that give and end them in virtual time.
 */
import { ramRoleSource } from '../adapters/credentials/ram-role.ts';
import { RenewingCredentials } from '../adapters/credentials/renewing-credentials.ts';
import { KeptCredentials } from '../adapters/kubernetes/kept-credentials.ts';
import { metadataClient } from '../adapters/metadata/metadata-client.ts';
import { metadataService } from '../adapters/metadata/metadata-service.ts';
import { EnactorError } from '../core/errors.ts';
import type { Credentials } from '../ports/credentials.ts';
import type { Metadata } from '../ports/metadata.ts';
import type { Life } from './life.ts';
import type { Issuers } from './lifetimes.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import { timeoutOf, virtualMetadata } from './virtual-metadata.ts';

export type Endings = {
  readonly metadata: Metadata;
  readonly credentials: Credentials;
  /** What a call of the API server shows, and what becomes of it. */
  readonly guarded: <T>(call: () => Promise<T>) => Promise<T>;
};

type Reply<T> = { readonly statusCode: 200; readonly value: T } | { readonly statusCode: 401 };

export function withLifetimes(options: {
  readonly cloud: VirtualCloud;
  readonly instanceId: string;
  readonly life: Life;
  readonly issuers: Issuers;
  readonly delayMs: () => number;
  readonly failing: () => string | null;
  readonly fraction: () => number;
}): Endings {
  const { life, issuers, instanceId, fraction } = options;
  const client = metadataClient({ nowMs: life.nowMs, wire: virtualMetadata(options) });
  const credentials = new RenewingCredentials({
    sources: [ramRoleSource(client, null)],
    clock: { nowMs: life.nowMs },
    entropy: { fraction },
    timeout: (ms) => timeoutOf(life, ms),
  });
  const account = new KeptCredentials(async () => issuers.accountToken(instanceId), life.nowMs);
  return {
    metadata: metadataService(client),
    credentials,
    guarded: async <T>(call: () => Promise<T>): Promise<T> => {
      const reply = await account.answered(async (token): Promise<Reply<T>> => {
        if (!issuers.opens('accountToken', token, instanceId)) return { statusCode: 401 };
        return { statusCode: 200, value: await call() };
      });
      if (reply.statusCode === 401) throw new EnactorError('kubernetes', 'HTTP 401 Unauthorized');
      return reply.value;
    },
  };
}
