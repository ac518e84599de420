/** Single leaves of the metadata service as they come: neither trimmed nor read. */
import { httpWire } from '../adapters/metadata/metadata-wire.ts';

const TOKEN_TTL_SECONDS = 600;
const TIMEOUT_MS = 5_000;

export type Leaf = { readonly status: number; readonly text: string };

export type RawMetadata = {
  /** `path` below `/latest/meta-data/`. Rejects when there is no answer. */
  readonly leaf: (path: string) => Promise<Leaf>;
};

/** `baseUrl` without a slash at its end. Rejects when the service does not answer. */
export async function rawMetadata(baseUrl: string, signal: AbortSignal): Promise<RawMetadata> {
  const send = (method: string, path: string, headers: Record<string, string>) =>
    httpWire.send(method, `${baseUrl}${path}`, headers, AbortSignal.any([signal, httpWire.timeout(TIMEOUT_MS)]));
  const ttl = { 'x-aliyun-ecs-metadata-token-ttl-seconds': String(TOKEN_TTL_SECONDS) };
  const token = await send('PUT', '/latest/api/token', ttl);
  const headers: Record<string, string> =
    token.status === 200 ? { 'x-aliyun-ecs-metadata-token': token.text.trim() } : {};
  return { leaf: (path) => send('GET', `/latest/meta-data/${path}`, headers) };
}
