/**
 * STS of the lab's cloud: AssumeRoleWithOIDC, the one call that is not signed, since the OIDC token says who calls.
 *
 * Source: STS API 2015-04-01, AssumeRoleWithOIDC and its error codes (HTTP 401 for tokens).
 */
import { CloudError } from '../../vpc/errors.ts';
import type { KeyRing } from './keys.ts';
import type { OidcIssuer } from './oidc-issuer.ts';
import { isoInstant } from './wire-api.ts';

export const STS_VERSION = '2015-04-01';
export const ASSUME_ROLE_WITH_OIDC = 'AssumeRoleWithOIDC';

/** A role that who has a token of this issuer and subject may assume. */
export type OidcTrust = {
  readonly roleArn: string;
  readonly providerArn: string;
  readonly issuer: OidcIssuer;
  readonly audience: string;
  readonly subject: string;
};

type Params = Readonly<Record<string, string>>;

const DURATION_SECONDS = { least: 900, usual: 3_600, most: 43_200 } as const;

export class Sts {
  readonly #trusts: readonly OidcTrust[];
  readonly #keys: KeyRing;
  /** Over what the caller asks for, so that a test need not wait for a quarter of an hour; null: as asked. */
  readonly #lifeMs: number | null;

  constructor(trusts: readonly OidcTrust[], keys: KeyRing, lifeMs: number | null) {
    this.#trusts = trusts;
    this.#keys = keys;
    this.#lifeMs = lifeMs;
  }

  /** The answer without RequestId. Throws CloudError. */
  assumeRoleWithOidc(params: Params, nowMs: number): object {
    const given = (name: string) => params[name] || refused(400, `Missing${name}`, `${name} is mandatory.`);
    const [roleArn, providerArn, sessionName] = [given('RoleArn'), given('OIDCProviderArn'), given('RoleSessionName')];
    const token = given('OIDCToken');
    if (!/^[\w.@-]{2,64}$/.test(sessionName))
      refused(400, 'InvalidParameter.RoleSessionName', 'The RoleSessionName is wrongly formed.');
    const seconds = Number(params.DurationSeconds || DURATION_SECONDS.usual);
    if (!(seconds >= DURATION_SECONDS.least && seconds <= DURATION_SECONDS.most))
      refused(400, 'InvalidParameter.DurationSeconds', 'The Min/Max value of DurationSeconds is 15min/12hr.');
    const provided = this.#trusts.find((trust) => trust.providerArn === providerArn);
    if (provided === undefined) refused(401, 'AuthenticationFail.NoPermission', 'No such OIDC Provider registered.');
    const claims = provided.issuer.check(token, nowMs);
    if (typeof claims === 'string') refused(401, `AuthenticationFail.OIDCToken.${claims}`, sentences[claims]);
    if (!claims.aud.includes(provided.audience))
      refused(401, 'AuthenticationFail.OIDCToken.AudienceNotMatch', 'Invalid audience.');
    const role = this.#trusts.find((trust) => trust.roleArn === roleArn && trust.providerArn === providerArn);
    if (role === undefined) refused(404, 'EntityNotExist.Role', 'The role not exists.');
    if (role.subject !== claims.sub) refused(401, 'AuthenticationFail.NoPermission', 'There is no permission');
    const key = this.#keys.ofSession(nowMs, this.#lifeMs ?? seconds * 1_000);
    return {
      OIDCTokenInfo: {
        Subject: claims.sub,
        Issuer: claims.iss,
        ClientIds: claims.aud.join(','),
        ExpirationTime: isoInstant(claims.exp * 1_000),
        IssuanceTime: isoInstant(claims.iat * 1_000),
      },
      AssumedRoleUser: { Arn: `${roleArn}/${sessionName}`, AssumedRoleId: `300000000000001:${sessionName}` },
      Credentials: {
        AccessKeyId: key.accessKeyId,
        AccessKeySecret: key.accessKeySecret,
        Expiration: isoInstant(key.endMs),
        SecurityToken: key.securityToken,
      },
    };
  }
}

const sentences = {
  Invalid: "The number of Jwt field should be divided into 3 parts with '.' .",
  InvalidSignature: 'OIDC token validate failed: invalid signature.',
  Expired: 'This JsonWebToken is expired.',
} as const;

function refused(status: number, code: string, message: string): never {
  throw new CloudError(code, message, status);
}
