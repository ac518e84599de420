/**
 * A role assumed with the pod's own OIDC token (RRSA): AssumeRoleWithOIDC of STS, which needs no signature.
 *
 * The token file is read for each call: kubelet writes a new token long before the old one ends.
 * Source: STS API 2015-04-01, AssumeRoleWithOIDC; ACK "RRSA", which sets the four environment variables.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Entropy } from '../../ports/entropy.ts';
import { trimmed } from './secret-files.ts';
import { objectOf, sessionKey } from './session-key.ts';
import type { CredentialSource } from './source.ts';

const VERSION = '2015-04-01';
/** Source: AssumeRoleWithOIDC, RoleSessionName: 2 to 64 of these. */
const NOT_IN_SESSION_NAMES = /[^\w.@-]/g;

export type OidcRole = {
  readonly roleArn: string;
  readonly providerArn: string;
  readonly tokenFile: string;
  readonly sessionName: string;
};

export type OidcRoleOptions = {
  /** null: not configured. */
  readonly role: OidcRole | null;
  /** `host[:port]`; asked for each call, since the region may not be known at the start. */
  readonly endpoint: (signal: AbortSignal) => Promise<string>;
  readonly scheme: 'http' | 'https';
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'token'>;
};

export function oidcRoleSource(options: OidcRoleOptions): CredentialSource {
  const { role } = options;
  return {
    name: 'oidcRole',
    from: role === null ? 'OIDC role (ALIBABA_CLOUD_ROLE_ARN)' : `OIDC role ${role.roleArn}`,
    lookAgainMs: null,
    isThere: async () => role !== null,
    async obtain(signal) {
      if (role === null) throw new Error('is not configured');
      const token = await trimmed(role.tokenFile);
      if (!token) throw new Error(`the OIDC token file ${role.tokenFile} is ${token === null ? 'missing' : 'empty'}`);
      return await assumed(options, role, token, signal);
    },
  };
}

async function assumed(options: OidcRoleOptions, role: OidcRole, token: string, signal: AbortSignal) {
  const { scheme, clock, entropy } = options;
  const endpoint = await options.endpoint(signal);
  const query = new URLSearchParams({
    Action: 'AssumeRoleWithOIDC',
    Version: VERSION,
    Format: 'JSON',
    Timestamp: new Date(clock.nowMs()).toISOString().replace(/\.\d+/, ''),
    SignatureNonce: entropy.token(),
  });
  const body = new URLSearchParams({
    RoleArn: role.roleArn,
    OIDCProviderArn: role.providerArn,
    OIDCToken: token,
    RoleSessionName: role.sessionName.replace(NOT_IN_SESSION_NAMES, '-').slice(0, 64).padEnd(2, '-'),
  });
  const answer = await fetch(`${scheme}://${endpoint}/?${query}`, { method: 'POST', body, redirect: 'error', signal });
  const fields = objectOf(await answer.text());
  if (answer.status !== 200) {
    const { Code, Message, RequestId } = fields ?? {};
    if (typeof Code !== 'string') throw new Error(`STS at ${endpoint}: HTTP ${answer.status}`);
    const request = typeof RequestId === 'string' ? `, request ${RequestId}` : '';
    throw new Error(`${Code}${request}, AssumeRoleWithOIDC: ${withoutToken(Message, token)}`);
  }
  const credentials = fields?.Credentials;
  if (typeof credentials !== 'object' || credentials === null)
    throw new Error(`STS at ${endpoint}: the answer has no Credentials`);
  return sessionKey(credentials as Record<string, unknown>);
}

/** What the server says might quote what it was sent. */
function withoutToken(message: unknown, token: string): string {
  return typeof message === 'string' ? message.replaceAll(token, '***').slice(0, 300) : 'refused';
}
