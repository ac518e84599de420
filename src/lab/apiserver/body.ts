/** Request bodies: bounded, JSON, of a content type that the verb takes. */
import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest, unsupportedMediaType } from './api-error.ts';
import { isJsonObject, type Json, type JsonObject } from './kube-object.ts';

/** Source: apiserver, MaxRequestBodyBytes. */
export const BODY_MAX_BYTES = 3 << 20;

/** The media type without its parameters, lower case; empty when absent. */
export function contentType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** An object sent as JSON. Throws ApiError 400, 413, 415. A client that names no type means JSON. */
export async function readObject(request: IncomingMessage): Promise<JsonObject> {
  const type = contentType(request);
  if (type !== '' && type !== 'application/json') throw unsupportedMediaType(['application/json']);
  const body = await readJson(request);
  if (!isJsonObject(body)) throw badRequest('the object provided is unrecognized: the body is no JSON object');
  return body;
}

/** null when the body is empty. Throws ApiError 400 or 413. */
export async function readJson(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    sizeBytes += bytes.length;
    if (sizeBytes > BODY_MAX_BYTES) {
      throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${BODY_MAX_BYTES}`);
    }
    chunks.push(bytes);
  }
  const text = Buffer.concat(chunks).toString();
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(
      `the object provided is unrecognized (must be of type JSON): ${error instanceof Error ? error.message : error}`,
    );
  }
}
