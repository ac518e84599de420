/**
 * Terway's daemon over its own socket: one unary call of gRPC, by the HTTP/2 client of the runtime that the plugin is compiled with.
 *
 * Its authority is `localhost`, which every server takes. Source: gRPC over HTTP/2, requests and responses; grpc-status codes.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { socketPathProblem } from '../../core/limits.ts';
import { type BackendMethod, type BackendMethods, serviceOf } from '../../core/wire.ts';
import { type BackendClient, BackendError, type CallOptions, transportError } from '../http/backend-client.ts';
import { backendMessages, type TerwayMethod } from './backend-messages.ts';
import { decodeMessage, encodeMessage, type Message } from './proto-wire.ts';

/** In the order of their numbers. Source: gRPC, "Status codes and their use in gRPC". */
const STATUSES = [
  ...['ok', 'canceled', 'unknown', 'invalid_argument', 'deadline_exceeded', 'not_found', 'already_exists'],
  ...['permission_denied', 'resource_exhausted', 'failed_precondition', 'aborted', 'out_of_range', 'unimplemented'],
  ...['internal', 'unavailable', 'data_loss', 'unauthenticated'],
];
const FRAME_HEADER_BYTES = 5;
const REPLY_MAX_BYTES = 4 * 1024 * 1024;

/** Throws RangeError when the path cannot be a socket's. Methods that Terway's daemon has not are `unimplemented`, unasked. */
export function grpcBackendClient(socketPath: string): BackendClient {
  const problem = socketPathProblem(socketPath);
  if (problem !== null) throw new RangeError(problem);
  return {
    socketPath,
    async call<M extends BackendMethod>(method: M, request: BackendMethods[M]['request'], options: CallOptions) {
      if (!isTerways(method)) throw new BackendError('unimplemented', `Terway's daemon has no ${method}`);
      const reply = await unary(socketPath, method, request as Message, options);
      return reply as BackendMethods[M]['reply']; // bytes enter here
    },
  };
}

const isTerways = (method: BackendMethod): method is TerwayMethod => Object.hasOwn(backendMessages, method);

async function unary(
  socketPath: string,
  method: TerwayMethod,
  request: Message,
  { timeoutMs, signal }: CallOptions,
): Promise<Message> {
  const { request: asked, reply } = backendMessages[method];
  const timeout = AbortSignal.timeout(Math.max(1, Math.round(timeoutMs)));
  const until = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
  let answer: Answer;
  try {
    answer = await post(
      socketPath,
      `/${serviceOf[method]}/${method}`,
      framed(encodeMessage(asked, request)),
      timeoutMs,
      until,
    );
  } catch (error) {
    throw transportError(error, {
      method,
      socketPath,
      timeoutMs,
      timedOut: timeout.aborted,
      cancelled: signal?.aborted,
    });
  }
  const status = answer.headers['grpc-status'];
  const code = STATUSES[Number(status)];
  if (status === undefined || code === undefined)
    throw new BackendError(
      'broken',
      `${method}: ${socketPath} answered HTTP ${answer.headers[':status']} without a status of gRPC`,
    );
  if (code !== 'ok') throw new BackendError(code, textOf(answer.headers['grpc-message']) || code);
  try {
    return decodeMessage(reply, unframed(answer.body));
  } catch (error) {
    throw new BackendError(
      'broken',
      `${method}: ${socketPath} answered what cannot be read: ${(error as Error).message}`,
      error,
    );
  }
}

type Answer = { readonly headers: IncomingHttpHeaders; readonly body: Buffer };

/** The runtime's HTTP/2 is loaded only now: the plugin is one file, of which whatever is imported above is loaded with each start (5 ms). */
async function post(
  socketPath: string,
  path: string,
  body: Buffer,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Answer> {
  const [{ connect: connectHttp2 }, { connect }] = await Promise.all([import('node:http2'), import('node:net')]);
  return new Promise((resolve, reject) => {
    const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) });
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', abort);
      session.destroy();
      reject(error);
    };
    const abort = (): void => fail(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    session.on('error', fail);
    session.on('close', () => fail(new Error('the daemon closed the connection')));
    const stream = session.request({
      ...{ ':method': 'POST', ':path': path, ':authority': 'localhost', te: 'trailers' },
      ...{ 'content-type': 'application/grpc', 'grpc-timeout': `${Math.max(1, Math.round(timeoutMs))}m` },
    });
    let headers: IncomingHttpHeaders = {};
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    stream.on('response', (first) => {
      headers = { ...headers, ...first };
    });
    stream.on('trailers', (last) => {
      headers = { ...headers, ...last };
    });
    stream.on('data', (part: Buffer) => {
      sizeBytes += part.length;
      if (sizeBytes > REPLY_MAX_BYTES) fail(new RangeError(`the answer is over ${REPLY_MAX_BYTES} bytes long`));
      parts.push(part);
    });
    stream.on('error', fail);
    stream.on('close', () => {
      if (headers['grpc-status'] === undefined && headers[':status'] === undefined)
        return fail(new Error('the daemon closed the call'));
      signal.removeEventListener('abort', abort);
      resolve({ headers, body: Buffer.concat(parts) });
      session.destroy();
    });
    stream.end(body);
  });
}

function framed(message: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

function unframed(body: Buffer): Buffer {
  if (body.length < FRAME_HEADER_BYTES) throw new RangeError('it holds no message');
  if (body[0] !== 0) throw new RangeError('it is compressed');
  const size = body.readUInt32BE(1);
  if (body.length - FRAME_HEADER_BYTES < size) throw new RangeError('its message is cut off');
  return body.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + size);
}

/** Percent-encoded where it is not plain. */
function textOf(message: string | readonly string[] | undefined): string {
  const text = typeof message === 'string' ? message : '';
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
