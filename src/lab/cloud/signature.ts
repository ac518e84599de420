/**
 * The two signatures that clients of the OpenAPI use, computed from what arrived.
 *
 * The URL that an SDK sends leaves `!'()*` as they are although it signs them escaped: so both forms decode the query and
 * encode it anew.
 * Source: "V3 version of request body and signature mechanism" and "RPC API signature" of the OpenAPI documentation.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The ACS3-HMAC-SHA256 string to sign. `headers` are the signed ones, lower case, sorted. */
export function acs3StringToSign(parts: {
  readonly method: string;
  readonly path: string;
  readonly query: Iterable<readonly [string, string]>;
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyHash: string;
}): string {
  const canonicalHeaders = parts.headers.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const canonical = [
    parts.method,
    parts.path,
    canonicalQuery(parts.query),
    canonicalHeaders,
    parts.headers.map(([name]) => name).join(';'),
    parts.bodyHash,
  ].join('\n');
  return `ACS3-HMAC-SHA256\n${sha256Hex(canonical)}`;
}

export function acs3Signature(secret: string, stringToSign: string): string {
  return createHmac('sha256', secret).update(stringToSign).digest('hex');
}

/** The string to sign of the older RPC form; `params` without `Signature`. */
export function rpcStringToSign(method: string, params: Iterable<readonly [string, string]>): string {
  return `${method}&${encode('/')}&${encode(canonicalQuery(params))}`;
}

export function rpcSignature(secret: string, stringToSign: string): string {
  return createHmac('sha1', `${secret}&`).update(stringToSign).digest('base64');
}

export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

export function sameSignature(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function canonicalQuery(params: Iterable<readonly [string, string]>): string {
  return [...params]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** RFC 3986: everything but unreserved characters is escaped. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
