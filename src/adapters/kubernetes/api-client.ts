/**
 * JSON calls and line streams to the API server, with client-node's KubeConfig for address, TLS, proxy and credentials.
 *
 * Not its generated classes: they take no AbortSignal, open a connection for every call, and its Watch drops lines it cannot parse
 * and cannot be slowed. Source: @kubernetes/client-node 1.4.0, src/gen/http, src/watch.ts.
 */
import { readFile } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { untilEither } from '../../core/until-either.ts';
import { KeptCredentials } from './kept-credentials.ts';
import { KubernetesError } from './kubernetes-error.ts';

export type ApiCall = {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly contentType?: string;
};

/** A server under load queues a watch for longer than a read. */
const HEAD_TIMES = 3;
const BODY_MAX_BYTES = 64 << 20;
const LINE_MAX_CHARS = 16 << 20;

export class ApiClient {
  readonly #config: KubeConfig;
  readonly #timeoutMs: number;
  readonly #credentials: KeptCredentials<RequestOptions>;

  /** `timeoutMs` bounds a call that is not a stream. */
  constructor(config: KubeConfig, timeoutMs: number) {
    this.#config = config;
    this.#timeoutMs = timeoutMs;
    this.#credentials = new KeptCredentials(() => this.#requestOptions(), Date.now);
  }

  /** The body of a 2xx answer. Rejects with KubernetesError, or AbortError when `signal` fires. */
  async json(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    return this.#guard(call, signal, timeout, () =>
      untilEither([signal, timeout], async (either) => {
        const response = await this.#open(call, either);
        return parse(call, await textOf(call, response));
      }),
    );
  }

  /**
   * The lines of a 2xx answer as they come; the next is read when the caller asks for it. Ends when the server ends it in good order.
   * Rejects as `json` does, also when its head has not come within a few times the bound of a call, or nothing at all for `silenceMs`.
   */
  async *lines(
    call: ApiCall,
    silenceMs: number,
    signal: AbortSignal,
    opened: () => void = () => {},
  ): AsyncGenerator<string> {
    const never = new AbortController().signal;
    const late = new AbortController();
    // Also while a connection is being made, which a socket's own timeout does not cover.
    const timer = setTimeout(() => late.abort(), this.#timeoutMs * HEAD_TIMES);
    const leave = (): void => late.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    let response: IncomingMessage | null = null;
    try {
      const head = this.#guard(call, signal, late.signal, () => this.#open(call, late.signal, silenceMs));
      response = await head.finally(() => clearTimeout(timer));
      opened();
      response.setEncoding('utf8');
      const chunks = response[Symbol.asyncIterator]();
      let rest = '';
      for (;;) {
        const { value, done } = await this.#guard(call, signal, never, () => chunks.next());
        if (done === true) break;
        const lines = `${rest}${value}`.split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > LINE_MAX_CHARS) throw new KubernetesError(`${said(call)}: a line without an end`, 0, '');
        for (const line of lines) if (line !== '') yield line;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      response?.destroy();
    }
  }

  /** Everything thrown becomes AbortError (the caller's wish) or KubernetesError. */
  async #guard<T>(call: ApiCall, signal: AbortSignal, timeout: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KubernetesError) throw error;
      const why = timeout.aborted
        ? `no answer within ${this.#timeoutMs} ms`
        : error instanceof Error
          ? error.message
          : `${error}`;
      throw new KubernetesError(`${said(call)}: ${why}`, 0, '', error);
    }
  }

  /** Resolves when a 2xx head has come. */
  async #open(call: ApiCall, signal: AbortSignal, silenceMs = 0): Promise<IncomingMessage> {
    const response = await this.#credentials.answered(
      (options) => this.#send(call, options, signal, silenceMs),
      (refused) => refused.resume(),
    );
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    throw refusal(call, statusCode, await textOf(call, response));
  }

  /** A kept connection may have been closed at the other end just now: a read is then sent again, on a new one. */
  async #send(
    call: ApiCall,
    options: RequestOptions,
    signal: AbortSignal,
    silenceMs: number,
  ): Promise<IncomingMessage> {
    for (;;) {
      const { request, response } = this.#start(call, options, signal, silenceMs);
      try {
        return await response;
      } catch (error) {
        if (signal.aborted || !request.reusedSocket || call.method !== 'GET') throw error;
      }
    }
  }

  #start(
    call: ApiCall,
    options: RequestOptions,
    signal: AbortSignal,
    silenceMs: number,
  ): { request: ClientRequest; response: Promise<IncomingMessage> } {
    const url = new URL(`${(this.#config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '')}${call.path}`);
    for (const [key, value] of Object.entries(call.query ?? {})) url.searchParams.set(key, String(value));
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    const headers = {
      ...options.headers,
      accept: 'application/json',
      ...(body === null
        ? {}
        : { 'content-type': call.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    const request = send(url, { ...options, method: call.method, headers, signal });
    if (silenceMs > 0) request.setTimeout(silenceMs, () => request.destroy(new Error(`silent for ${silenceMs} ms`)));
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve).on('error', reject);
    });
    request.end(body);
    return { request, response };
  }

  async #requestOptions(): Promise<RequestOptions> {
    const value: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(value);
    const tokenFile: unknown = this.#config.getCurrentUser()?.authProvider?.config?.tokenFile;
    // The library keeps what it has read for a minute, also when the server has just refused it: tokens of service accounts rotate.
    if (typeof tokenFile === 'string') {
      const token = (await readFile(tokenFile, 'utf8')).trim();
      value.headers = { ...value.headers, Authorization: `Bearer ${token}` };
    }
    // It makes an agent that closes every connection; ours serves all calls until the credentials are read again.
    Object.assign(value.agent ?? {}, { keepAlive: true });
    return value;
  }
}

function said({ method, path }: ApiCall): string {
  return `${method} ${path}`;
}

/** The server's Status object says why; a proxy in between says something else. */
function refusal(call: ApiCall, status: number, text: string): KubernetesError {
  let reason = '';
  let message = '';
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) {
      if ('reason' in body) reason = String(body.reason);
      if ('message' in body) message = String(body.message);
    }
  } catch {
    message = text.slice(0, 200);
  }
  return new KubernetesError(`${said(call)}: HTTP ${status} ${reason} ${message}`.trim(), status, reason);
}

function parse(call: ApiCall, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KubernetesError(`${said(call)}: the answer is not JSON`, 0, '', error);
  }
}

async function textOf(call: ApiCall, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_MAX_BYTES)
      throw new KubernetesError(`${said(call)}: an answer over ${BODY_MAX_BYTES} bytes`, 0, '');
  }
  return Buffer.concat(chunks).toString();
}
