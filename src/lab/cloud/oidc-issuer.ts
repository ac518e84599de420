/**
 * An issuer of OIDC tokens, as a cluster's API server is one for its service accounts: signs JWTs (ES256), and checks them.
 *
 * Source: RFC 7519; Kubernetes "Service account token volume projection".
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign, verify } from 'node:crypto';

export type OidcClaims = {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly iat: number;
  readonly exp: number;
};

/** Why a token is refused, in the words of the codes of STS. */
export type OidcRefusal = 'Invalid' | 'InvalidSignature' | 'Expired';

const HEADER = { alg: 'ES256', typ: 'JWT' };

export class OidcIssuer {
  readonly url: string;
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

  constructor(url = 'https://oidc.lab.invalid') {
    this.url = url;
    this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  }

  /** A token of this subject, such as `system:serviceaccount:kube-system:enactor`. */
  issue(subject: string, { nowMs = Date.now(), lifeMs = 3_600_000, audience = 'sts.aliyuncs.com' } = {}): string {
    const iat = Math.floor(nowMs / 1_000);
    const claims = {
      iss: this.url,
      sub: subject,
      aud: [audience],
      iat,
      exp: (nowMs + lifeMs) / 1_000,
      jti: randomUUID(),
    };
    const signed = `${part(HEADER)}.${part(claims)}`;
    const key = { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  }

  check(token: string, nowMs: number): OidcClaims | OidcRefusal {
    const parts = token.split('.');
    const [header = '', body = '', signature = ''] = parts;
    const [head, claims] = [objectOf(header), objectOf(body)];
    if (parts.length !== 3 || head?.alg !== HEADER.alg || claims === null) return 'Invalid';
    const key = { key: this.#keys.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    const good = verify('sha256', Buffer.from(`${header}.${body}`), key, Buffer.from(signature, 'base64url'));
    if (!good || claims.iss !== this.url) return 'InvalidSignature';
    const { exp } = claims;
    return typeof exp === 'number' && nowMs < exp * 1_000 ? (claims as unknown as OidcClaims) : 'Expired'; // signed by us
  }
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
