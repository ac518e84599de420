/** Who is calling: a bearer token or a client certificate of our CA. Whoever is known may do everything; there is no RBAC. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { ApiError } from './api-error.ts';

/** Token -> user name. */
export type Tokens = ReadonlyMap<string, string>;

/** The user's name. Throws ApiError 401: also for a wrong token beside a good certificate, as the real server does. */
export function authenticate(request: IncomingMessage, tokens: Tokens): string {
  const [scheme = '', given = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer') {
    for (const [token, user] of tokens) if (equal(token, given)) return user;
    throw unauthorized();
  }
  const { socket } = request;
  if (!(socket instanceof TLSSocket) || !socket.authorized) throw unauthorized();
  const name = socket.getPeerCertificate().subject?.CN;
  if (typeof name !== 'string' || name === '') throw unauthorized();
  return name;
}

function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

function equal(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
