/**
 * The instance's RAM role, through the metadata service.
 *
 * Source: ECS "Instance RAM roles": `ram/security-credentials/` names the role, below it are its credentials.
 */
import type { MetadataClient } from '../metadata/metadata-client.ts';
import { objectOf, sessionKey } from './session-key.ts';
import type { CredentialSource } from './source.ts';

const ROLES = 'ram/security-credentials/';

/** `role` null: whichever the instance has. The last source, so always there: an instance without a role is a failure. */
export function ramRoleSource(metadata: Pick<MetadataClient, 'get'>, role: string | null): CredentialSource {
  return {
    name: 'ramRole',
    from: role === null ? 'RAM role of the instance' : `RAM role ${role}`,
    lookAgainMs: null,
    isThere: async () => true,
    async obtain(signal) {
      const name = role ?? (await onlyRole(metadata, signal));
      const text = await metadata.get(`${ROLES}${name}`, signal);
      if (text === null) throw new Error(`the instance does not have the RAM role ${name}`);
      const fields = objectOf(text);
      if (fields === null) throw new Error(`metadata ${ROLES}${name}: the answer is no JSON object`);
      if (fields.Code !== 'Success') throw new Error(`metadata ${ROLES}${name}: Code is ${codeOf(fields.Code)}`);
      return sessionKey(fields);
    },
  };
}

async function onlyRole(metadata: Pick<MetadataClient, 'get'>, signal: AbortSignal): Promise<string> {
  const [name] = (await metadata.get(ROLES, signal))?.split('\n') ?? [];
  if (!name) throw new Error('the instance has no RAM role, and no other credentials are configured');
  return name.trim().replace(/\/$/, '');
}

const codeOf = (code: unknown): string => (typeof code === 'string' ? JSON.stringify(code.slice(0, 80)) : 'missing');
