/** A request with its body read, as the parts of this server pass it on. */
import type { IncomingMessage } from 'node:http';

export type HttpMessage = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
};

const BODY_MAX_BYTES = 4 * 1024 * 1024;

/** Rejects when the body is over 4 MiB or the connection breaks. */
export async function readMessage(request: IncomingMessage): Promise<HttpMessage> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_MAX_BYTES) throw new RangeError(`body of more than ${BODY_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const [path = '/', ...query] = (request.url ?? '/').split('?');
  return {
    method: request.method ?? 'GET',
    path,
    query: new URLSearchParams(query.join('?')),
    headers: request.headers,
    body: Buffer.concat(chunks),
  };
}
