/**
 * When a call may leave: within the rate of its API, in turn between those who call, and not while the cloud has asked for a rest.
 *
 * A token bucket per API holds one second's worth, and fills so that no minute sees more calls than the limit. Who waits is served by
 * turns: an ENI with many calls does not keep another's only one.
 *
 * The cloud counts the calls of all nodes of the account by calendar minute, and a node does not know of the others. So a refusal tells
 * that this minute is used up: the API rests until the next one, and then for a part of it drawn by chance, or all nodes would come
 * together again. From then on the node takes a share (`fair`, calls a minute, often less than one): half of what it had got through,
 * half of that when it is refused again, more with every call that is answered; it is forgotten when nobody was refused for a while.
 * A thousand nodes that restart together so find their rate without knowing of one another (bench fleet).
 *
 * A call that the credentials may not make is answered here for a while with what the cloud said, since only a person can change that.
 * Source: ECS "API throttling": counted per account, region and API; throttled in one minute, allowed again in the next.
 */
import { apiRates, type CloudApi, operatorApiRates } from '../../core/api-rates.ts';
import { EnactorError } from '../../core/errors.ts';
import type { CloudError } from '../../ports/cloud.ts';

const MINUTE_MS = 60_000;
/** The share of a node whose first call of a minute was refused, and the least that any falls to: a call in four minutes. */
const FIRST_SHARE = 1;
const LEAST_SHARE = 1 / 4;
const SHARE_AFTER_REFUSAL = 0.5;
const SHARE_AFTER_ANSWER = 1.25;
/** Others have got what they wanted meanwhile. */
const SHARE_AFTER_MINUTE = 1.5;
/** So long after the last refusal a share is forgotten. */
const SHARE_FORGOTTEN_MS = 10 * MINUTE_MS;
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
  /** The time of day, by which the cloud's minutes begin. */
  readonly wallMs?: () => number;
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
  /** Calls that were answered in this minute of the cloud. */
  minute: { readonly nth: number; answered: number };
  /** Calls a minute that it takes of what all nodes share; null: nobody was refused lately. */
  share: { perMinute: number; refusedMs: number; nextMs: number } | null;
  /** Those who wait, by caller; the caller at the front is next. */
  readonly waiting: Map<string, Waiter[]>;
  timer: unknown;
};

export type ThrottledApi = { readonly api: string; readonly times: number; readonly forMs: number };

export class CallTurns {
  readonly #options: CallTurnsOptions;
  readonly #minuteMs: number;
  readonly #nowMs: () => number;
  readonly #wallMs: () => number;
  readonly #fraction: () => number;
  readonly #timers: TurnTimers;
  readonly #apis = new Map<CloudApi, Api>();
  readonly #forbidden = new Map<string, { readonly untilMs: number; readonly error: CloudError }>();

  constructor(options: CallTurnsOptions) {
    this.#options = options;
    this.#minuteMs = options.minuteMs ?? MINUTE_MS;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wallMs = options.wallMs ?? Date.now;
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
    const state = this.#state(api);
    state.throttles = 0;
    this.#minuteOf(state).answered += 1;
    if (state.share !== null) state.share.perMinute *= SHARE_AFTER_ANSWER;
    this.#forbidden.delete(`${api} ${who}`);
  }

  throttled(api: CloudApi): void {
    const state = this.#state(api);
    const nowMs = this.#nowMs();
    // Those that were under way together are one occasion.
    if (nowMs < state.restUntilMs) return;
    const perMinute = this.#shareAfterRefusal(state, nowMs);
    const untilNextMinuteMs = this.#minuteMs - (this.#wallMs() % this.#minuteMs);
    const partMs = (this.#fraction() * this.#minuteMs) / Math.min(1, perMinute);
    state.throttles += 1;
    state.restUntilMs = nowMs + untilNextMinuteMs + partMs;
    state.share = { perMinute, refusedMs: nowMs, nextMs: state.restUntilMs };
    state.tokens = Math.min(state.tokens, 1);
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
      ...{ minute: { nth: 0, answered: 0 }, share: null, waiting: new Map(), timer: null },
    };
    this.#apis.set(api, state);
    return state;
  }

  #shareAfterRefusal(state: Api, nowMs: number): number {
    const { answered } = this.#minuteOf(state);
    if (state.share === null) return answered === 0 ? FIRST_SHARE : SHARE_AFTER_REFUSAL * answered;
    return Math.max(LEAST_SHARE, SHARE_AFTER_REFUSAL * this.#shareNow(state.share, nowMs));
  }

  #shareNow({ perMinute, refusedMs }: NonNullable<Api['share']>, nowMs: number): number {
    return perMinute * SHARE_AFTER_MINUTE ** ((nowMs - refusedMs) / this.#minuteMs);
  }

  #minuteOf(state: Api): Api['minute'] {
    const nth = Math.floor(this.#wallMs() / this.#minuteMs);
    if (state.minute.nth !== nth) state.minute = { nth, answered: 0 };
    return state.minute;
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
    if (state.share !== null && nowMs - state.share.refusedMs > this.#scaled(SHARE_FORGOTTEN_MS)) state.share = null;
    if (state.share !== null && nowMs < state.share.nextMs) return state.share.nextMs - nowMs;
    const size = sizeOf(state.perMinute);
    const perMs = Math.max(1, state.perMinute - size) / this.#minuteMs;
    state.tokens = Math.min(size, state.tokens + Math.max(0, nowMs - state.atMs) * perMs);
    state.atMs = nowMs;
    if (state.tokens < 1) return (1 - state.tokens) / perMs;
    state.tokens -= 1;
    if (state.share !== null)
      state.share.nextMs = nowMs + (this.#minuteMs / this.#shareNow(state.share, nowMs)) * (0.5 + this.#fraction());
    return 0;
  }
}

/** One second's worth, and at least one call. */
const sizeOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / 60));
