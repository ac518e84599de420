/**
 * The daemon's methods as JSON over HTTP/1.1 on a unix socket: the unary form of the Connect protocol.
 *
 * What carries the bytes is handed in (post-streams.ts in the compiled plugin, post-node.ts under Node), since node:http and
 * Bun's own fetch cost the plugin more than the call. Source: connectrpc.com/docs/protocol, unary requests; facts/ground, plugin start-up.
 */
import { innerTimeoutMs, socketPathProblem } from '../../core/limits.ts';
import { type BackendMethod, type BackendMethods, serviceOf } from '../../core/wire.ts';

export type PostRequest = {
  readonly socketPath: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
};

/** Rejects with the system error (its `code` is ENOENT, ECONNREFUSED, …) or with the signal's reason. */
export type Post = (request: PostRequest) => Promise<{ readonly status: number; readonly body: string }>;

/**
 * Why a call failed. `code` is the daemon's status in Connect's snake case, or one of ours: `unreachable` (nobody listens, the
 * call cannot have had an effect), `broken` (the connection ended or the answer is no JSON: the effect is unknown),
 * `deadline_exceeded` and `canceled` (we gave up: the effect is unknown).
 */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** True when the daemon cannot have acted. */
  get withoutEffect(): boolean {
    return this.code === 'unreachable';
  }
}

/** Codes of connect(2) on a unix socket that mean that no daemon is there. */
const UNREACHABLE: readonly string[] = [
  'ENOENT',
  'ECONNREFUSED',
  'EACCES',
  'ENOTSOCK',
  'EPROTOTYPE',
  'ENOTDIR',
  'EPERM',
];

export type CallOptions = { readonly timeoutMs: number; readonly signal?: AbortSignal };

export type BackendClient = {
  readonly socketPath: string;
  /** One call, no retry. Rejects with BackendError only. */
  call<M extends BackendMethod>(
    method: M,
    request: BackendMethods[M]['request'],
    options: CallOptions,
  ): Promise<BackendMethods[M]['reply']>;
};

/** `headers` go along with each call. Throws RangeError when the path cannot be a socket's (src/core/limits.ts). */
export function backendClient(
  socketPath: string,
  post: Post,
  headers: Readonly<Record<string, string>> = {},
): BackendClient {
  const problem = socketPathProblem(socketPath);
  if (problem !== null) throw new RangeError(problem);
  return { socketPath, call: (method, request, options) => call(socketPath, post, method, request, options, headers) };
}

async function call<M extends BackendMethod>(
  socketPath: string,
  post: Post,
  method: M,
  request: BackendMethods[M]['request'],
  { timeoutMs, signal }: CallOptions,
  own: Readonly<Record<string, string>>,
): Promise<BackendMethods[M]['reply']> {
  const timeout = AbortSignal.timeout(Math.max(1, Math.round(timeoutMs)));
  const headers = {
    ...own,
    'content-type': 'application/json',
    'connect-protocol-version': '1',
    'connect-timeout-ms': `${Math.max(1, Math.round(innerTimeoutMs(timeoutMs)))}`,
  };
  let answer: Awaited<ReturnType<Post>>;
  try {
    answer = await post({
      socketPath,
      path: `/${serviceOf[method]}/${method}`,
      headers,
      body: JSON.stringify(request),
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
  } catch (error) {
    throw transportError(error, {
      method,
      socketPath,
      timeoutMs,
      timedOut: timeout.aborted,
      cancelled: signal?.aborted,
    });
  }
  const parsed = parseObject(answer.body);
  if (answer.status === 200 && parsed !== null) return parsed as BackendMethods[M]['reply']; // bytes enter here
  throw answeredError(method, socketPath, answer, parsed);
}

export type Attempt = {
  readonly method: string;
  readonly socketPath: string;
  readonly timeoutMs: number;
  readonly timedOut: boolean;
  readonly cancelled: boolean | undefined;
};

export function transportError(error: unknown, attempt: Attempt): BackendError {
  const { method, socketPath, timeoutMs } = attempt;
  if (attempt.cancelled === true) return new BackendError('canceled', `${method} was cancelled`, error);
  if (attempt.timedOut) {
    return new BackendError('deadline_exceeded', `${method}: no answer on ${socketPath} within ${timeoutMs} ms`, error);
  }
  const code = errorCode(error);
  if (UNREACHABLE.includes(code)) {
    return new BackendError('unreachable', `daemon is not reachable on ${socketPath}: ${code}`, error);
  }
  const why = code === '' ? (error instanceof Error ? error.message : String(error)) : code;
  return new BackendError('broken', `${method}: the connection to ${socketPath} broke: ${why}`, error);
}

function answeredError(
  method: string,
  socketPath: string,
  answer: { readonly status: number; readonly body: string },
  parsed: Record<string, unknown> | null,
): BackendError {
  const { code, message } = parsed ?? {};
  if (answer.status !== 200 && typeof code === 'string') {
    return new BackendError(code, typeof message === 'string' && message !== '' ? message : code);
  }
  const start = JSON.stringify(answer.body.slice(0, 80));
  return new BackendError('broken', `${method}: ${socketPath} answered HTTP ${answer.status} with ${start}`);
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : errorCode(error.cause);
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
