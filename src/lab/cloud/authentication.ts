/**
 * Tells who calls, and what: finds the signature in its new or old form, checks it, the clock and the nonce.
 *
 * Throws CloudError with the gateway's codes. Secrets never leave this file, signatures are not passed on.
 * Source: OpenAPI gateway error codes; facts of the SDK measured on the wire.
 */
import { CloudError, cloudError } from '../../vpc/errors.ts';
import type { HttpMessage } from './http-message.ts';
import type { AccessKey, KeyRing } from './keys.ts';
import {
  acs3Signature,
  acs3StringToSign,
  rpcSignature,
  rpcStringToSign,
  sameSignature,
  sha256Hex,
} from './signature.ts';

export type AuthenticCall = {
  readonly action: string;
  readonly version: string;
  /** Those of the API; what belongs to the gateway is taken out. */
  readonly params: Readonly<Record<string, string>>;
};

const CLOCK_SKEW_MAX_MS = 15 * 60_000;
const NONCES_MAX = 200_000;
const SIGNED_AT_LEAST = ['host', 'x-acs-action', 'x-acs-date', 'x-acs-signature-nonce', 'x-acs-version'];
const GATEWAY_PARAMS = new Set([
  'Action',
  'Version',
  'Format',
  'Timestamp',
  'SignatureNonce',
  'SignatureMethod',
  'SignatureVersion',
  'SignatureType',
  'AccessKeyId',
  'SecurityToken',
  'Signature',
]);

export class Authentication {
  readonly #keys: KeyRing;
  /** Nonce -> when its time stamp is too old to be replayed anyway. */
  readonly #nonces = new Map<string, number>();

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  /** `nowMs` is the wall clock: time stamps are compared with it. */
  check(message: HttpMessage, nowMs: number): AuthenticCall {
    return message.headers.authorization === undefined ? this.#rpc(message, nowMs) : this.#acs3(message, nowMs);
  }

  #acs3(message: HttpMessage, nowMs: number): AuthenticCall {
    const parts = /^ACS3-HMAC-SHA256 Credential=([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$/.exec(
      header(message, 'authorization'),
    );
    const [, accessKeyId = '', names = '', signature = ''] = parts ?? [];
    if (parts === null) throw cloudError('IncompleteSignature', 'The Authorization header is not well formed.');
    const signed = names.split(';');
    const missing = SIGNED_AT_LEAST.find((name) => !signed.includes(name));
    if (missing !== undefined) throw cloudError('IncompleteSignature', `The header ${missing} is not signed.`);
    const key = this.#key(accessKeyId);
    const bodyHash = header(message, 'x-acs-content-sha256');
    if (bodyHash !== sha256Hex(message.body)) {
      throw cloudError('IncompleteSignature', 'x-acs-content-sha256 is not the hash of the body.');
    }
    const stringToSign = acs3StringToSign({
      method: message.method,
      path: message.path,
      query: message.query,
      headers: signed.map((name) => [name, header(message, name)] as const),
      bodyHash,
    });
    if (!sameSignature(acs3Signature(key.accessKeySecret, stringToSign), signature)) {
      throw cloudError('SignatureDoesNotMatch', stringToSign);
    }
    checkToken(key, header(message, 'x-acs-security-token'), nowMs);
    this.#fresh(header(message, 'x-acs-date'), header(message, 'x-acs-signature-nonce'), nowMs);
    return {
      action: header(message, 'x-acs-action'),
      version: header(message, 'x-acs-version'),
      params: apiParams([...message.query, ...formOf(message)]),
    };
  }

  #rpc(message: HttpMessage, nowMs: number): AuthenticCall {
    const all = [...message.query, ...formOf(message)];
    const params = new Map(all);
    const given = (name: string) => {
      const value = params.get(name);
      if (value === undefined || value === '') throw cloudError('MissingParameter', name);
      return value;
    };
    const [action, version, signature] = [given('Action'), given('Version'), given('Signature')];
    if (given('SignatureMethod') !== 'HMAC-SHA1' || given('SignatureVersion') !== '1.0') {
      throw cloudError('IncompleteSignature', 'SignatureMethod is HMAC-SHA1, SignatureVersion 1.0.');
    }
    const key = this.#key(given('AccessKeyId'));
    const stringToSign = rpcStringToSign(
      message.method,
      all.filter(([name]) => name !== 'Signature'),
    );
    if (!sameSignature(rpcSignature(key.accessKeySecret, stringToSign), signature)) {
      const { code, message: text } = cloudError('SignatureDoesNotMatch', stringToSign);
      throw new CloudError(code, text, 403); // the older form answers with this status
    }
    checkToken(key, params.get('SecurityToken') ?? '', nowMs);
    this.#fresh(given('Timestamp'), given('SignatureNonce'), nowMs);
    return { action, version, params: apiParams(all) };
  }

  #key(accessKeyId: string): AccessKey {
    const key = this.#keys.find(accessKeyId);
    if (key === null) throw cloudError('InvalidAccessKeyId.NotFound');
    return key;
  }

  #fresh(timestamp: string, nonce: string, nowMs: number): void {
    const signedMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
    if (Number.isNaN(signedMs)) throw cloudError('InvalidTimeStamp.Format');
    if (Math.abs(nowMs - signedMs) > CLOCK_SKEW_MAX_MS) throw cloudError('InvalidTimeStamp.Expired');
    if (nonce === '') throw cloudError('IncompleteSignature', 'The nonce is empty.');
    if ((this.#nonces.get(nonce) ?? 0) > nowMs) throw cloudError('SignatureNonceUsed');
    for (const [old, untilMs] of this.#nonces) {
      if (untilMs > nowMs && this.#nonces.size < NONCES_MAX) break;
      this.#nonces.delete(old);
    }
    this.#nonces.set(nonce, nowMs + 2 * CLOCK_SKEW_MAX_MS);
  }
}

function checkToken(key: AccessKey, token: string, nowMs: number): void {
  if (key.securityToken === null) {
    if (token !== '') throw cloudError('InvalidSecurityToken.MismatchWithAccessKey');
    return;
  }
  if (token === '') throw cloudError('MissingSecurityToken');
  if (!sameSignature(token, key.securityToken)) throw cloudError('InvalidSecurityToken.Malformed');
  if (key.expiresMs !== null && nowMs >= key.expiresMs) throw cloudError('InvalidSecurityToken.Expired');
}

function header(message: HttpMessage, name: string): string {
  const value = message.headers[name];
  return (Array.isArray(value) ? value.join(',') : value) ?? '';
}

function formOf(message: HttpMessage): readonly (readonly [string, string])[] {
  if (!header(message, 'content-type').startsWith('application/x-www-form-urlencoded')) return [];
  return [...new URLSearchParams(message.body.toString('utf8'))];
}

function apiParams(all: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(all.filter(([name]) => !GATEWAY_PARAMS.has(name)));
}
