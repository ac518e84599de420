/** Who is calling: a bearer token or a client certificate of our CA. What they may do is authorize.ts's. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { ApiError } from './api-error.ts';

/** May do everything. Source: Kubernetes RBAC, "Default roles". */
export const MASTERS = 'system:masters';

/** As admission policies see it. */
export type User = {
  readonly username: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
};

/** Token -> who has it. */
export type Tokens = ReadonlyMap<string, User>;

export function administrator(username: string): User {
  return { username, groups: [MASTERS, 'system:authenticated'], extra: {} };
}

/**
 * A pod's, by the token that is projected into it.
 * Source: Kubernetes, pkg/serviceaccount/util.go (names, groups), ServiceAccountTokenPodNodeInfo (the node's name, 1.30 and later).
 */
export function serviceAccount(account: {
  readonly namespace: string;
  readonly name: string;
  readonly pod: string;
  readonly node: string;
}): User {
  const { namespace, name, pod, node } = account;
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra: {
      'authentication.kubernetes.io/pod-name': [pod],
      'authentication.kubernetes.io/node-name': [node],
    },
  };
}

/** Throws ApiError 401: also for a wrong token beside a good certificate, as the real server does. */
export function authenticate(request: IncomingMessage, tokens: Tokens): User {
  const [scheme = '', given = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer') {
    for (const [token, user] of tokens) if (equal(token, given)) return user;
    throw unauthorized();
  }
  const { socket } = request;
  if (!(socket instanceof TLSSocket) || !socket.authorized) throw unauthorized();
  const name = socket.getPeerCertificate().subject?.CN;
  if (typeof name !== 'string' || name === '') throw unauthorized();
  return administrator(name);
}

function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

function equal(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
