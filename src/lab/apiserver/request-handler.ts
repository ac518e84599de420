/**
 * One HTTP request to the API server, from its headers to its answer. Knows nothing of sockets, so that any server can call it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Admin, Fault } from './admin.ts';
import { ApiError, failureStatus, notFound, unsupportedMediaType } from './api-error.ts';
import { authenticate, type Tokens } from './authenticate.ts';
import { contentType, readJson, readObject } from './body.ts';
import { deleteOptions } from './deletion.ts';
import { discovery } from './discovery.ts';
import type { JsonObject, KubeObject } from './kube-object.ts';
import type { Lifecycle } from './lifecycle.ts';
import { type Lister, selectorOf } from './list.ts';
import { PATCH_TYPES, patched } from './patch.ts';
import { type ApiRequest, route } from './route.ts';
import type { ObjectStore } from './store.ts';
import { WatchStream } from './watch.ts';

export type HandlerOptions = {
  readonly store: ObjectStore;
  readonly lifecycle: Lifecycle;
  readonly lister: Lister;
  readonly admin: Admin;
  readonly tokens: Tokens;
  readonly now: () => number;
  readonly bookmarkMs: number;
  readonly watchTimeoutMs: number;
};

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

type Answer = { readonly code: number; readonly body: JsonObject };

export function requestHandler(options: HandlerOptions): RequestHandler {
  return (request, response) => {
    response.setHeader('audit-id', randomUUID());
    serve(options, request, response).catch((error: unknown) => refuse(response, error));
  };
}

async function serve(options: HandlerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://apiserver');
  const found = discovery(url.pathname);
  // Health is told to anyone.
  const user = found === 'ok' ? '' : authenticate(request, options.tokens);
  if (found !== null && request.method === 'GET') return send(response, 200, found);
  const asked = route(request.method ?? '', url);
  const { fault, delayMs } = options.admin.meet(user, asked, options.now());
  if (delayMs > 0) await wait(delayMs, undefined, { ref: false });
  if (response.destroyed) return; // whoever asked has not waited, and a watch would go on for nobody
  if (fault !== null && fault.code !== 'resetAfter') return fail(response, fault);
  accept(request);
  if (asked.verb === 'watch') return watch(options, asked, response);
  const answer = await act(options, asked, request);
  if (fault !== null) response.destroy();
  else send(response, answer.code, answer.body);
}

async function act(options: HandlerOptions, asked: ApiRequest, request: IncomingMessage): Promise<Answer> {
  const { lifecycle, lister } = options;
  const { resource, namespace, query } = asked;
  switch (asked.verb) {
    case 'create': {
      const body = await readObject(request);
      if (asked.subresource !== 'binding') return { code: 201, body: lifecycle.create(resource, namespace, body) };
      lifecycle.bind(resource, find(options.store, asked), body);
      return { code: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
    }
    case 'update': {
      const body = await readObject(request);
      return { code: 200, body: lifecycle.update(resource, find(options.store, asked), body, statusOnly(asked)) };
    }
    case 'patch': {
      const type = contentType(request);
      if (!PATCH_TYPES.some((known) => known === type)) throw unsupportedMediaType(PATCH_TYPES);
      const patch = await readJson(request);
      const old = find(options.store, asked);
      return {
        code: 200,
        body: lifecycle.update(resource, old, patched(resource, old, type, patch), statusOnly(asked)),
      };
    }
    case 'delete': {
      const wanted = deleteOptions(await readJson(request), query);
      return { code: 200, body: lifecycle.delete(resource, find(options.store, asked), wanted) };
    }
    case 'deletecollection': {
      const wanted = deleteOptions(await readJson(request), query);
      const list = lister.list(asked);
      const all = options.store.list(resource, namespace).filter(selectorOf(asked));
      for (const object of all) lifecycle.delete(resource, object, wanted);
      return { code: 200, body: list };
    }
    case 'list':
      return { code: 200, body: lister.list(asked) };
    default:
      return { code: 200, body: find(options.store, asked) };
  }
}

function statusOnly({ subresource }: ApiRequest): 'status' | null {
  return subresource === 'status' ? 'status' : null;
}

function find(store: ObjectStore, { resource, namespace, name }: ApiRequest): KubeObject {
  const object = store.get(resource, namespace, name ?? '');
  if (object === null) throw notFound(resource, name ?? '');
  return object;
}

function watch(options: HandlerOptions, request: ApiRequest, response: ServerResponse): void {
  const { store, admin, bookmarkMs, watchTimeoutMs: timeoutMs } = options;
  admin.opened(new WatchStream({ store, request, response, bookmarkMs, timeoutMs, gone: admin.gone }));
}

/** This server writes JSON only; a client that can read nothing but protobuf is told so. */
function accept(request: IncomingMessage): void {
  const accepted = (request.headers.accept ?? '*/*').toLowerCase();
  if (['application/json', 'application/*', '*/*'].some((type) => accepted.includes(type))) return;
  const message = 'only the following media types are accepted: application/json';
  throw new ApiError(406, 'NotAcceptable', message);
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function fail(
  response: ServerResponse,
  { code, message = 'a fault that a test asked for', retryAfterSeconds }: Fault,
): void {
  if (typeof code === 'string') {
    response.destroy();
    return;
  }
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds);
  refuse(response, new ApiError(code, REASONS[code] ?? 'Unknown', message));
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known =
    error instanceof ApiError
      ? error
      : new ApiError(
          500,
          'InternalError',
          `Internal error occurred: ${error instanceof Error ? error.message : error}`,
        );
  if (known.code === 413) response.setHeader('connection', 'close');
  send(response, known.code, failureStatus(known));
}

function send(response: ServerResponse, code: number, body: JsonObject | string): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  response.writeHead(code, {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  });
  response.end(bytes);
}
