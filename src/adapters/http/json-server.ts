/**
 * The backend as JSON over HTTP/1.1: the unary form of the Connect protocol, POST /rpc.TerwayBackend/<method>, and
 * /enactor.v1.Node/<method> for what Terway has not. It exists because the plugin can call it in 4 ms, while gRPC alone costs it 13.
 *
 * A caller that disconnects has cancelled.
 * Source: Connect protocol, "Unary-Request"; proto3 JSON mapping.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { EnactorError, errorTable, failureOf, failureText } from '../../core/errors.ts';
import { serviceOf, type WireError } from '../../core/wire.ts';
import type { Backend } from '../../ports/backend.ts';
import type { Log } from '../../ports/log.ts';
import { httpStatusOf } from './connect-status.ts';
import { dispatch, isBackendMethod, REQUEST_MAX_BYTES } from './dispatcher.ts';

/** How long a caller may take to send its request. */
const REQUEST_TIMEOUT_MS = 10_000;

/** A refusal of the transport itself, before any backend is asked. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function jsonServer(backend: Backend, log: Log): Server {
  const server = createServer((request, response) => {
    answer(backend, request, response).catch((thrown: unknown) => fail(response, thrown, log));
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  // Answers may take as long as an ENI takes to attach: only the dispatcher ends a call.
  server.timeout = 0;
  return server;
}

async function answer(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const method = methodOf(request);
  const timeoutMs = timeoutOf(request);
  const wire = parsedJson(await bodyOf(request));
  send(response, 200, await dispatch(backend, method, wire, { timeoutMs, gone: gone.signal, trace: traceOf(request) }));
}

function methodOf(request: IncomingMessage) {
  const [path = ''] = (request.url ?? '').split('?');
  const [, service, method = '', ...rest] = path.split('/');
  if (rest.length > 0 || !isBackendMethod(method) || service !== serviceOf[method])
    throw new Refusal(404, 'unimplemented', `no such method: ${path.slice(0, 200)}`);
  if (request.method !== 'POST') throw new Refusal(405, 'unimplemented', `${request.method} is not allowed, only POST`);
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refusal(
      415,
      'unknown',
      `content-type ${type === '' ? 'is missing' : type}, only application/json is read`,
    );
  return method;
}

function traceOf({ headers: { traceparent } }: IncomingMessage): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}

function timeoutOf(request: IncomingMessage): number | null {
  const header = request.headers['connect-timeout-ms'];
  if (header === undefined) return null;
  if (typeof header !== 'string' || !/^\d{1,10}$/.test(header))
    throw new EnactorError('invalidArgument', `Connect-Timeout-Ms: not a number of milliseconds: ${header}`);
  return Number(header);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes <= REQUEST_MAX_BYTES) chunks.push(chunk as Buffer);
  }
  // Read to its end: whoever writes to a connection that is closed sees that, and not the answer.
  if (sizeBytes > REQUEST_MAX_BYTES)
    throw new Refusal(413, 'resource_exhausted', `the request is larger than ${REQUEST_MAX_BYTES} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}

function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (thrown) {
    throw new EnactorError('invalidArgument', `request: ${(thrown as Error).message}`);
  }
}

function fail(response: ServerResponse, thrown: unknown, log: Log): void {
  if (thrown instanceof Refusal) {
    // What is left of a request that was not read must not become the next one.
    response.setHeader('connection', 'close');
    const refused: WireError = { code: thrown.code, message: `code: InvalidArgs, msg: ${thrown.message}` };
    send(response, thrown.status, refused);
    return;
  }
  const failure = failureOf(thrown);
  if (failure.code === 'internal') log.error({ err: thrown }, 'a request met a fault of the daemon');
  const body: WireError = { code: errorTable[failure.code].status, message: failureText(failure) };
  send(response, httpStatusOf(body.code), body);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
