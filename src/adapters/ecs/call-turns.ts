/**
 * When a call may leave: within the rate of its API, in turn between those who call, and not while the cloud has asked for a rest.
 *
 * A token bucket per API holds one second's worth, and fills so that no minute sees more calls than the limit. Who waits is served by
 * turns: an ENI with many calls does not keep another's only one. An API that was throttled rests for a time that doubles and is drawn by
 * chance, since all nodes of the account are throttled together. A call that the credentials may not make is answered here for a
 * while with what the cloud said, since only a person can change that.
 * Source: ECS "API throttling": counted per account, region and API.
 */
import { apiRates, type CloudApi, operatorApiRates } from '../../core/api-rates.ts';
import { EnactorError } from '../../core/errors.ts';
import type { CloudError } from '../../ports/cloud.ts';

const MINUTE_MS = 60_000;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;
const FORBIDDEN_MS = 60_000;
/** Things a node may not do, remembered at most. */
const FORBIDDEN_MAX = 256;

/** Requests a minute by API; a function tells those that hold at the moment. */
export type RateOverrides = Readonly<Record<string, number>> | (() => Readonly<Record<string, number>>);

export type CallTurnsOptions = {
  /** Over the built-in ones. */
  readonly rateLimits: RateOverrides;
  /** How long a minute lasts: shorter where everything is sped up. */
  readonly minuteMs?: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
  readonly fraction?: () => number;
  /** Of the same time as `nowMs`. */
  readonly timers?: TurnTimers;
};

export type TurnTimers = {
  setTimeout(fire: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
};

const realTimers: TurnTimers = {
  setTimeout: (fire, delayMs) => setTimeout(fire, delayMs),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

type Waiter = { readonly go: () => void };
type Api = {
  perMinute: number;
  tokens: number;
  atMs: number;
  restUntilMs: number;
  throttles: number;
  /** Those who wait, by caller; the caller at the front is next. */
  readonly waiting: Map<string, Waiter[]>;
  timer: unknown;
};

export type ThrottledApi = { readonly api: string; readonly times: number; readonly forMs: number };

export class CallTurns {
  readonly #options: CallTurnsOptions;
  readonly #minuteMs: number;
  readonly #nowMs: () => number;
  readonly #fraction: () => number;
  readonly #timers: TurnTimers;
  readonly #apis = new Map<CloudApi, Api>();
  readonly #forbidden = new Map<string, { readonly untilMs: number; readonly error: CloudError }>();

  constructor(options: CallTurnsOptions) {
    this.#options = options;
    this.#minuteMs = options.minuteMs ?? MINUTE_MS;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#fraction = options.fraction ?? Math.random;
    this.#timers = options.timers ?? realTimers;
  }

  /** Resolves when `who` may make its call. Rejects with `cancelled`, or what the cloud said when it forbade the same a while ago. */
  async take(api: CloudApi, who: string, signal: AbortSignal): Promise<void> {
    const forbidden = this.#forbidden.get(`${api} ${who}`);
    if (forbidden !== undefined && this.#nowMs() < forbidden.untilMs) throw forbidden.error;
    const state = this.#state(api);
    await new Promise<void>((resolve, reject) => {
      const cancel = () => {
        this.#leave(state, who, waiter);
        reject(new EnactorError('cancelled', 'the call was given up while it waited for its turn'));
      };
      const waiter: Waiter = {
        go: () => {
          signal.removeEventListener('abort', cancel);
          resolve();
        },
      };
      if (signal.aborted) {
        cancel();
        return;
      }
      signal.addEventListener('abort', cancel, { once: true });
      state.waiting.set(who, [...(state.waiting.get(who) ?? []), waiter]);
      this.#serve(state);
    });
  }

  done(api: CloudApi, who: string): void {
    this.#state(api).throttles = 0;
    this.#forbidden.delete(`${api} ${who}`);
  }

  throttled(api: CloudApi): void {
    const state = this.#state(api);
    const nowMs = this.#nowMs();
    // Those that were under way together are one occasion.
    if (nowMs < state.restUntilMs) return;
    const wholeMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(10, state.throttles));
    state.throttles += 1;
    state.restUntilMs = nowMs + this.#scaled(wholeMs * (0.5 + this.#fraction()));
    state.tokens = Math.min(state.tokens, 0);
    state.atMs = state.restUntilMs;
  }

  forbidden(api: CloudApi, who: string, error: CloudError): void {
    const [oldest] = this.#forbidden.keys();
    if (this.#forbidden.size >= FORBIDDEN_MAX && oldest !== undefined) this.#forbidden.delete(oldest);
    const untilMs = this.#nowMs() + this.#scaled(FORBIDDEN_MS * (0.75 + this.#fraction() / 2));
    this.#forbidden.set(`${api} ${who}`, { untilMs, error });
  }

  /** APIs that rest now, as the cloud has asked. */
  resting(): readonly ThrottledApi[] {
    const nowMs = this.#nowMs();
    return [...this.#apis]
      .filter(([, { restUntilMs }]) => restUntilMs > nowMs)
      .map(([api, { throttles, restUntilMs }]) => ({ api, times: throttles, forMs: Math.ceil(restUntilMs - nowMs) }));
  }

  #scaled(ms: number): number {
    return (ms * this.#minuteMs) / MINUTE_MS;
  }

  #state(api: CloudApi): Api {
    const known = this.#apis.get(api);
    const perMinute = this.#perMinute(api);
    if (known !== undefined) {
      known.perMinute = perMinute;
      return known;
    }
    const state: Api = {
      ...{ perMinute, tokens: sizeOf(perMinute), atMs: this.#nowMs(), restUntilMs: -Infinity, throttles: 0 },
      ...{ waiting: new Map(), timer: null },
    };
    this.#apis.set(api, state);
    return state;
  }

  #perMinute(api: CloudApi): number {
    const { rateLimits } = this.#options;
    const own = typeof rateLimits === 'function' ? rateLimits() : rateLimits;
    return own[api] ?? { ...apiRates, ...operatorApiRates }[api];
  }

  #leave(state: Api, who: string, waiter: Waiter): void {
    const left = (state.waiting.get(who) ?? []).filter((one) => one !== waiter);
    if (left.length === 0) state.waiting.delete(who);
    else state.waiting.set(who, left);
    if (state.waiting.size > 0 || state.timer === null) return;
    this.#timers.clearTimeout(state.timer);
    state.timer = null;
  }

  /** Lets go whoever may, and comes back when the next one may. */
  #serve(state: Api): void {
    if (state.timer !== null) this.#timers.clearTimeout(state.timer);
    state.timer = null;
    for (const [who, [first, ...others]] of state.waiting) {
      const waitMs = this.#drawn(state);
      if (waitMs > 0) {
        state.timer = this.#timers.setTimeout(() => this.#serve(state), Math.ceil(waitMs));
        return;
      }
      state.waiting.delete(who);
      if (others.length > 0) state.waiting.set(who, others); // at the end of the line
      first?.go();
    }
  }

  /** 0: a token was taken; else how long until there is one. */
  #drawn(state: Api): number {
    const nowMs = this.#nowMs();
    if (nowMs < state.restUntilMs) return state.restUntilMs - nowMs;
    const size = sizeOf(state.perMinute);
    const perMs = Math.max(1, state.perMinute - size) / this.#minuteMs;
    state.tokens = Math.min(size, state.tokens + Math.max(0, nowMs - state.atMs) * perMs);
    state.atMs = nowMs;
    if (state.tokens < 1) return (1 - state.tokens) / perMs;
    state.tokens -= 1;
    return 0;
  }
}

/** One second's worth, and at least one call. */
const sizeOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / 60));
