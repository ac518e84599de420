/**
 * Reads single paths of the metadata service, with its token.
 *
 * A token is kept for half its life. A 401 renews it once for all who read meanwhile; a service without the token path is read
 * without one, until it answers 403.
 * Source: ECS "Use instance metadata", security-hardened mode.
 */
import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { EnactorError } from '../../core/errors.ts';
import { httpWire, type MetadataAnswer, type MetadataWire } from './metadata-wire.ts';

const TOKEN_PATH = '/latest/api/token';
const META_DATA = '/latest/meta-data/';
const TOKEN_TTL_SECONDS = 21_600; // the longest the service gives
/** Values of one reader that are read at once: each listens to the reader's signal, and all of them may wait for one token. */
const READS_MAX = 128;
/** Requests under way, and so connections: the service counts both, and readers may be many. The others wait for their turn. */
const REQUESTS_MAX = 16;
/** 429, 5xx and the network are worth another try; each pause is this much longer than the last. */
const PAUSE_GROWTH = 1.2;
/** For one read. */
const RENEWALS_MAX = 3;

export type MetadataClientOptions = {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** For each request. */
  readonly timeoutMs: number;
  readonly tries: number;
  readonly pauseMs: number;
  readonly nowMs: () => number;
  readonly wire: MetadataWire;
  /** Hears of each path that was read, or why it could not be: null when it could, or the service has no such path. */
  readonly heard: (why: string | null) => void;
};

/** null: the service has no tokens. */
type Token = { readonly value: string | null; readonly untilMs: number };

/** With the defaults of a real instance: http://100.100.100.200, 5 s for a request, four tries. */
export function metadataClient(options: Partial<MetadataClientOptions> = {}): MetadataClient {
  return new MetadataClient({
    baseUrl: (options.baseUrl ?? 'http://100.100.100.200').replace(/\/+$/, ''),
    timeoutMs: options.timeoutMs ?? 5_000,
    tries: options.tries ?? 4,
    pauseMs: options.pauseMs ?? 500,
    nowMs: options.nowMs ?? Date.now,
    wire: options.wire ?? httpWire,
    heard: options.heard ?? (() => {}),
  });
}

export class MetadataClient {
  readonly #options: MetadataClientOptions;
  readonly #inTurn = pLimit(REQUESTS_MAX);
  #token: Token | null = null;
  #renewal: Promise<Token> | null = null;

  constructor(options: MetadataClientOptions) {
    this.#options = options;
  }

  /**
   * The trimmed text at a path below `/latest/meta-data/`; null when the service says 404.
   * Rejects with EnactorError `metadata` naming the path, or with AbortError. An empty answer or an HTML page is an error too.
   */
  async get(path: string, signal: AbortSignal): Promise<string | null> {
    try {
      const text = await this.#get(path, signal);
      this.#options.heard(null);
      return text;
    } catch (error) {
      if (!signal.aborted) this.#options.heard(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async #get(path: string, signal: AbortSignal): Promise<string | null> {
    // More than ten are no leak: Node would say so.
    setMaxListeners(READS_MAX, signal);
    let used = await this.#currentToken(signal);
    let answer = await this.#read(path, used, signal);
    // A token may end on its way, and so may the next one: service and reader have different clocks, and readers are many.
    for (let left = RENEWALS_MAX; left > 0 && isRefused(answer, used); left -= 1) {
      used = await this.#tokenAfter(used, signal);
      answer = await this.#read(path, used, signal);
    }
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw metadataError(path, `HTTP ${answer.status}`);
    const text = answer.text.trim();
    if (text === '') throw metadataError(path, 'the answer is empty');
    if (text.startsWith('<'))
      throw metadataError(path, 'the answer is an HTML page: something stands in for the service');
    return text;
  }

  #read(path: string, token: Token, signal: AbortSignal): Promise<MetadataAnswer> {
    const headers = token.value === null ? {} : { 'x-aliyun-ecs-metadata-token': token.value };
    return this.#request('GET', `${META_DATA}${path}`, headers, signal);
  }

  #currentToken(signal: AbortSignal): Promise<Token> {
    const token = this.#token;
    return token !== null && this.#options.nowMs() < token.untilMs ? Promise.resolve(token) : this.#renew(signal);
  }

  /** A token other than the one refused: another reader may have renewed it already. */
  #tokenAfter(refused: Token, signal: AbortSignal): Promise<Token> {
    if (this.#token === refused) this.#token = null;
    return this.#currentToken(signal);
  }

  /** One request for all readers, so no reader's signal ends it: it ends by its own timeout. */
  async #renew(signal: AbortSignal): Promise<Token> {
    this.#renewal ??= this.#issue().finally(() => {
      this.#renewal = null;
    });
    // When every reader has been aborted nobody is left to hear of a failure, which must not end the process.
    this.#renewal.catch(() => {});
    return unlessAborted(this.#renewal, signal);
  }

  async #issue(): Promise<Token> {
    const headers = { 'x-aliyun-ecs-metadata-token-ttl-seconds': String(TOKEN_TTL_SECONDS) };
    const { status, text } = await this.#request('PUT', TOKEN_PATH, headers, new AbortController().signal);
    const isWithout = status === 404 || status === 405;
    const value = text.trim();
    if (!isWithout && status !== 200) throw metadataError(TOKEN_PATH, `HTTP ${status}`);
    if (!isWithout && !/^[\w+/=.~-]+$/.test(value)) throw metadataError(TOKEN_PATH, 'the answer is no token');
    const untilMs = this.#options.nowMs() + (TOKEN_TTL_SECONDS * 1_000) / 2;
    this.#token = { value: isWithout ? null : value, untilMs };
    return this.#token;
  }

  async #request(
    method: string,
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<MetadataAnswer> {
    let pauseMs = this.#options.pauseMs;
    for (let left = this.#options.tries - 1; ; left -= 1) {
      const turn = this.#inTurn(() => this.#once(method, path, headers, signal));
      turn.catch(() => {}); // whoever gave up before its turn does not hear of it
      const outcome = await unlessAborted(turn, signal);
      const isWorthATry = 'failure' in outcome || outcome.status === 429 || outcome.status >= 500;
      if (!isWorthATry) return outcome;
      if (left <= 0 && 'failure' in outcome) throw outcome.failure;
      if (left <= 0) return outcome as MetadataAnswer;
      await this.#options.wire.pause(pauseMs, signal);
      pauseMs *= PAUSE_GROWTH;
    }
  }

  async #once(
    method: string,
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<MetadataAnswer | { readonly failure: EnactorError }> {
    const { baseUrl, timeoutMs, wire } = this.#options;
    signal.throwIfAborted();
    const timeout = wire.timeout(timeoutMs);
    try {
      return await wire.send(method, `${baseUrl}${path}`, headers, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      const why = timeout.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error);
      return { failure: metadataError(path, why, error) };
    }
  }
}

function isRefused({ status }: MetadataAnswer, used: Token): boolean {
  return status === 401 || (status === 403 && used.value === null);
}

/** Names the whole path, as an operator would fetch it. */
export function metadataError(path: string, why: string, cause?: unknown): EnactorError {
  const whole = path.startsWith('/') ? path : `${META_DATA}${path}`;
  return new EnactorError('metadata', `metadata ${whole}: ${why}`, cause);
}

/** fetch says `fetch failed` and keeps the reason in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
