/**
 * One HTTP request to the API server, from its headers to its answer. Knows nothing of sockets, so that any server can call it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { Admin, Fault } from './admin.ts';
import { admit } from './admission.ts';
import { ApiError, badRequest, failureStatus, notFound, unsupportedMediaType } from './api-error.ts';
import { authenticate, type Tokens, type User } from './authenticate.ts';
import { authorize } from './authorize.ts';
import { contentType, readJson, readObject } from './body.ts';
import { deleteOptions } from './deletion.ts';
import { discovery } from './discovery.ts';
import type { JsonObject, KubeObject } from './kube-object.ts';
import type { Lifecycle } from './lifecycle.ts';
import { type Lister, selectorOf } from './list.ts';
import { OPENAPI_V2_TYPE } from './openapi.ts';
import { PATCH_TYPES, patched } from './patch.ts';
import { containerOf, execOver, isWebSocket, type Kubelets, kubeletOf } from './pod-access.ts';
import type { Resource } from './resource.ts';
import { type ApiRequest, route } from './route.ts';
import type { ObjectStore } from './store.ts';
import { tableOf, wantsTable } from './table.ts';
import { WatchStream } from './watch.ts';

/** Rejects with ApiError for an object with fields that its kind does not have: what a client may ask for, by `fieldValidation=Strict`. */
export type FieldCheck = (resource: Resource, object: JsonObject) => Promise<void>;

export type HandlerOptions = {
  readonly store: ObjectStore;
  readonly lifecycle: Lifecycle;
  readonly lister: Lister;
  readonly admin: Admin;
  readonly tokens: Tokens;
  readonly kubelets: Kubelets;
  readonly checkFields: FieldCheck | null;
  readonly now: () => number;
  readonly bookmarkMs: number;
  readonly watchTimeoutMs: number;
};

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

type Answer = { readonly code: number; readonly body: JsonObject | string };

export function requestHandler(options: HandlerOptions): RequestHandler {
  return (request, response) => {
    response.setHeader('audit-id', randomUUID());
    serve(options, request, response).catch((error: unknown) => refuse(response, error));
  };
}

/** The same of a connection that the client wants for itself: `kubectl exec`. */
export function upgradeHandler(options: HandlerOptions): UpgradeHandler {
  return (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    upgrade(options, request, socket, head).catch((error: unknown) => {
      const { code, message } = asApiError(error);
      socket.end(`HTTP/1.1 ${code} refused\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${message}\n`);
    });
  };
}

async function upgrade(options: HandlerOptions, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const asked = route(request.method ?? '', new URL(request.url ?? '/', 'https://apiserver'));
  const user = authenticate(request, options.tokens);
  options.admin.meet(user.username, asked, options.now());
  options.admin.judge(() => authorize(options.store, user, asked));
  if (asked.subresource !== 'exec' || !isWebSocket(request))
    throw badRequest('the lab runs a command over a WebSocket alone (kubectl 1.30 or later)');
  const pod = find(options.store, asked);
  const [access, container] = [kubeletOf(options.kubelets, pod), containerOf(asked, pod)];
  const run = () => access.exec(pod, container, asked.query.getAll('command'));
  await execOver({ request, socket, head, isTerminal: asked.query.get('tty') === 'true' }, run);
}

async function serve(options: HandlerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://apiserver');
  const found = discovery(url.pathname, { checksFields: options.checkFields !== null });
  // Health is told to anyone.
  const user = found === 'ok' ? null : authenticate(request, options.tokens);
  if (found !== null && request.method === 'GET') return send(response, 200, found);
  const asked = route(request.method ?? '', url);
  const { fault, delayMs } = options.admin.meet(user?.username ?? '', asked, options.now());
  if (delayMs > 0) await wait(delayMs, undefined, { ref: false });
  if (response.destroyed) return; // whoever asked has not waited, and a watch would go on for nobody
  if (fault !== null && fault.code !== 'resetAfter') return fail(response, fault);
  if (user !== null) options.admin.judge(() => authorize(options.store, user, asked));
  accept(request);
  if (asked.verb === 'watch') return watch(options, asked, response);
  const { code, body } = await act(options, asked, request, user ?? NOBODY);
  const read = asked.verb === 'get' || asked.verb === 'list';
  const asTable = read && typeof body !== 'string' && wantsTable(request.headers.accept ?? '');
  if (fault !== null) response.destroy();
  else send(response, code, asTable ? tableOf(asked.resource, body, options.now()) : body);
}

const NOBODY: User = { username: '', groups: [], extra: {} };

async function act(options: HandlerOptions, asked: ApiRequest, request: IncomingMessage, user: User): Promise<Answer> {
  const { store, lifecycle, lister } = options;
  const { resource, namespace, query } = asked;
  const checkFields = query.get('fieldValidation') === 'Strict' ? options.checkFields : null;
  const admitted = (oldObject: KubeObject | null) => (object: KubeObject) =>
    options.admin.judge(() =>
      admit(store, { user, asked, operation: oldObject === null ? 'CREATE' : 'UPDATE', object, oldObject }),
    );
  if (asked.subresource === 'exec') throw badRequest('Upgrade request required');
  if (asked.subresource === 'log') {
    const pod = find(store, asked);
    return { code: 200, body: await kubeletOf(options.kubelets, pod).log(pod, containerOf(asked, pod)) };
  }
  switch (asked.verb) {
    case 'create': {
      const body = await readObject(request);
      await checkFields?.(resource, body);
      if (asked.subresource !== 'binding')
        return { code: 201, body: lifecycle.create(resource, namespace, body, admitted(null)) };
      lifecycle.bind(resource, find(options.store, asked), body);
      return { code: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
    }
    case 'update': {
      const body = await readObject(request);
      await checkFields?.(resource, body);
      const old = find(store, asked);
      return { code: 200, body: lifecycle.update(resource, old, body, statusOnly(asked), admitted(old)) };
    }
    case 'patch': {
      const type = contentType(request);
      if (!PATCH_TYPES.some((known) => known === type)) throw unsupportedMediaType(PATCH_TYPES);
      const patch = await readJson(request);
      await checkFields?.(resource, patched(resource, find(store, asked), type, patch));
      const old = find(store, asked);
      const body = patched(resource, old, type, patch);
      return { code: 200, body: lifecycle.update(resource, old, body, statusOnly(asked), admitted(old)) };
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
  const known = asApiError(error);
  if (known.code === 413) response.setHeader('connection', 'close');
  send(response, known.code, failureStatus(known));
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const said = error instanceof Error ? error.message : String(error);
  return new ApiError(500, 'InternalError', `Internal error occurred: ${said}`);
}

/** Text and JSON say what they are by what they are; the only bytes are those of OpenAPI. */
function send(response: ServerResponse, code: number, body: JsonObject | string | Buffer): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(isText ? body : JSON.stringify(body));
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(code, {
    'content-type': Buffer.isBuffer(body) ? OPENAPI_V2_TYPE : type,
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  });
  response.end(bytes);
}
