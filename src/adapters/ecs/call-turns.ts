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
 * A thousand nodes that restart together so find their rate without knowing of one another.
 *
 * Where it is known how many nodes there are (`fleet`), they need not be refused first: a life's looks begin at a moment drawn from as long
 * as all nodes together need for the looks of a start, unless that is less than a minute, or somebody waits (`hurry`). What is remembered is
 * served meanwhile. And what nobody waits for at all goes last (`background`): behind every other call, at a pace at which the looks of
 * all nodes take a quarter of what the account has, and only when no call was refused for a while; but it goes once in ten minutes.
 *
 * A fleet that scales out is another matter: pods wait, so that nothing is to be put off by chance. Before calls that make something (`isMaking`) a
 * node asks how many nodes want the like at this moment (`crowd`); when those would use up a minute together, each begins at a moment drawn from
 * as long as one call of all of them takes, and keeps its place from then on: as many places as there are calls, so that few are refused, and
 * whoever is draws another place. Where nobody knows the crowd, the first refusal tells that it is the fleet. A place is one of all these APIs: a fleet that
 * is refused one of them is about to be refused the others.
 *
 * A call that the credentials may not make is answered here for a while with what the cloud said, since only a person can change that.
 * Source: ECS "API throttling": counted per account, region and API; throttled in one minute, allowed again in the next.
 */
import { apiRates, type CloudApi, operatorApiRates } from '../../core/api-rates.ts';
import { EnactorError } from '../../core/errors.ts';
import type { CloudError } from '../../ports/cloud.ts';
import { type AskCrowd, CrowdSize } from './crowd-size.ts';
import { ReservedTurns } from './reserved-turns.ts';

const MINUTE_MS = 60_000;
/** The share of a node whose first call of a minute was refused, and the least that any falls to: a call in four minutes. */
const FIRST_SHARE = 1;
const LEAST_SHARE = 1 / 4;
/** Of one whose looks were spread over the minutes that all need: few are refused then, and those are to be done soon after the others. */
const SPREAD_SHARE = 4;
const SHARE_AFTER_REFUSAL = 0.5;
const SHARE_AFTER_ANSWER = 1.25;
/** Others have got what they wanted meanwhile. */
const SHARE_AFTER_MINUTE = 1.5;
/** So long after the last refusal a share is forgotten. */
const SHARE_FORGOTTEN_MS = 10 * MINUTE_MS;
/** Looks that a node makes as it starts, at most, of one API: a fleet whose looks fit into a minute need not spread them. */
const FIRST_LOOKS = 3;
/** And usually: at its ENIs by the instance and by their tags (actors/look.ts). */
const USUAL_LOOKS = 2;
/** Of what an account has, for what nobody waits for. */
const BACKGROUND_SHARE = 1 / 4;
/** After a refusal others need the calls more, for so long; and for how long they may need them at most. */
const BACKGROUND_CALM_MS = 3 * MINUTE_MS;
const BACKGROUND_MAX_MS = 10 * MINUTE_MS;
/** What makes an ENI or its addresses, of which one node needs a few at once: two of one API when it is about to be full. */
const isMaking = (api: CloudApi): boolean => api.startsWith('Create') || api.startsWith('Assign');
const MAKING_CALLS = 2;
/** How long a crowd is known. */
const CROWD_MS = 30_000;
const FORBIDDEN_MS = 60_000;
/** A turn that nobody makes use of is lost after so long. */
const RESERVED_MS = 5_000;
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
  /** How many nodes share the account's limits, as far as is known; default: one. */
  readonly fleet?: () => number;
  /** How many of them want addresses at this moment; null: nobody knows. Never rejects. Default: nobody does. */
  readonly crowd?: AskCrowd;
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

type Waiter = { readonly go: () => void; readonly sinceMs: number };
/** `background`: nobody waits for it. */
export type Turn = { readonly api: CloudApi; readonly who: string; readonly background?: boolean };
type Api = {
  readonly isLook: boolean;
  perMinute: number;
  tokens: number;
  atMs: number;
  restUntilMs: number;
  throttles: number;
  /** Calls that were answered in this minute of the cloud. */
  minute: { readonly nth: number; answered: number };
  /** Makes something: it keeps its place in a crowd. */
  readonly isMaking: boolean;
  /** Calls a minute that it takes of what all nodes share; null: nobody was refused lately, and there is no crowd. `placed`: it keeps its place. */
  share: { perMinute: number; refusedMs: number; nextMs: number; readonly placed?: true } | null;
  /** Those who wait, by caller; the caller at the front is next. */
  readonly waiting: Map<string, Waiter[]>;
  /** Those for whom nobody waits, and when the next of them may go. */
  background: Waiter[];
  backgroundMs: number;
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
  readonly #fleet: () => number;
  readonly #crowd: CrowdSize;
  readonly #startMs: number;
  /** Where in the time that all nodes need this one begins; of all APIs alike, since it needs them all. */
  readonly #place: number;
  #hurried = false;
  /** Of calls that are about to be made, by API and caller. */
  readonly #reserved: ReservedTurns;
  /** When a call of any API was refused last. */
  #refusedMs = -Infinity;

  constructor(options: CallTurnsOptions) {
    this.#options = options;
    this.#minuteMs = options.minuteMs ?? MINUTE_MS;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wallMs = options.wallMs ?? Date.now;
    this.#fraction = options.fraction ?? Math.random;
    this.#timers = options.timers ?? realTimers;
    this.#fleet = () => Math.max(1, options.fleet?.() ?? 1);
    this.#startMs = this.#nowMs();
    this.#place = this.#fraction();
    this.#crowd = new CrowdSize(options.crowd, this.#nowMs, this.#scaled(CROWD_MS));
    this.#reserved = new ReservedTurns(this.#nowMs, this.#scaled(RESERVED_MS));
  }

  /** Somebody waits: this life's looks begin now, and what was to be kept idle is had now. */
  hurry(): void {
    this.#hurried = true;
    for (const state of this.#apis.values()) {
      if (!state.isLook && state.background.length > 0) {
        state.waiting.set('', [...(state.waiting.get('') ?? []), ...state.background]);
        state.background = [];
      }
      this.#serve(state);
    }
  }

  /** Resolves when `who` may make its call. Rejects with `cancelled`, or what the cloud said when it forbade the same a while ago. */
  async take({ api, who, background = false }: Turn, signal: AbortSignal): Promise<void> {
    const forbidden = this.#forbidden.get(`${api} ${who}`);
    if (forbidden !== undefined && this.#nowMs() < forbidden.untilMs) throw forbidden.error;
    if (this.#reserved.use(`${api} ${who}`)) return;
    const state = this.#state(api);
    if (state.isMaking && this.#togetherMs(state.perMinute) > 0) await this.#joinCrowd(state);
    await new Promise<void>((resolve, reject) => {
      const cancel = () => {
        state.background = state.background.filter((one) => one !== waiter);
        for (const line of [who, '']) this.#leave(state, line, waiter);
        this.#rest(state);
        reject(new EnactorError('cancelled', 'the call was given up while it waited for its turn'));
      };
      const waiter: Waiter = {
        sinceMs: this.#nowMs(),
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
      if (background) state.background.push(waiter);
      else state.waiting.set(who, [...(state.waiting.get(who) ?? []), waiter]);
      this.#serve(state);
    });
  }

  /** As `take`, for a call that is made soon after: what it asks for may be settled then. */
  async reserve(turn: Turn, signal: AbortSignal): Promise<void> {
    await this.take(turn, signal);
    this.#reserved.add(`${turn.api} ${turn.who}`);
  }

  done(api: CloudApi, who: string): void {
    const state = this.#state(api);
    state.throttles = 0;
    this.#minuteOf(state).answered += 1;
    if (state.share !== null && state.share.placed !== true) state.share.perMinute *= SHARE_AFTER_ANSWER;
    this.#forbidden.delete(`${api} ${who}`);
  }

  throttled(api: CloudApi): void {
    const state = this.#state(api);
    const nowMs = this.#nowMs();
    this.#refusedMs = nowMs;
    // Those that were under way together are one occasion.
    if (nowMs < state.restUntilMs) return;
    if (state.isMaking && this.#togetherMs(state.perMinute) > 0) {
      // Whoever was refused without a crowd does not know it.
      const nodes = (state.share === null ? null : this.#crowd.nodes) ?? this.#fleet();
      for (const one of this.#apis.values())
        if (one === state || one.share === null) this.#takePlace(one, nodes, this.#nextMinuteMs());
      state.throttles += 1;
      state.restUntilMs = state.share?.nextMs ?? nowMs;
      return;
    }
    const perMinute = this.#shareAfterRefusal(state, nowMs);
    const minutes = this.#isSpread(state) && perMinute > 1 ? 1 / 2 : 1 / Math.min(1, perMinute);
    const partMs = this.#fraction() * minutes * this.#minuteMs;
    state.throttles += 1;
    state.restUntilMs = this.#nextMinuteMs() + partMs;
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
      isLook: api.startsWith('Describe'),
      isMaking: isMaking(api),
      ...{ perMinute, tokens: sizeOf(perMinute), atMs: this.#nowMs(), restUntilMs: -Infinity, throttles: 0 },
      ...{ minute: { nth: 0, answered: 0 }, share: null, waiting: new Map(), timer: null },
      ...{ background: [], backgroundMs: -Infinity },
    };
    // Once all have looked who begin together.
    const afterAllMs = state.isLook ? USUAL_LOOKS * this.#togetherMs(perMinute) : 0;
    state.backgroundMs = this.#startMs + afterAllMs + this.#place * this.#backgroundGapMs(state);
    this.#apis.set(api, state);
    return state;
  }

  #nextMinuteMs(): number {
    return this.#nowMs() + this.#minuteMs - (this.#wallMs() % this.#minuteMs);
  }

  /** What is wanted by so many nodes is had by each in its place, unless a minute is enough for all. */
  async #joinCrowd(state: Api): Promise<void> {
    if (!this.#crowd.asks) return;
    const nodes = await this.#crowd.told();
    if (nodes === null) return;
    if (nodes * MAKING_CALLS <= state.perMinute) {
      if (state.throttles === 0) state.share = null;
    } else if (state.share === null) this.#takePlace(state, nodes, this.#nowMs());
  }

  /** A place within the time in which all who want the like make one call each. */
  #takePlace(state: Api, nodes: number, fromMs: number): void {
    if (!state.isMaking) return;
    const gapMs = (nodes / state.perMinute) * this.#minuteMs;
    const nextMs = fromMs + this.#fraction() * gapMs;
    state.share = { perMinute: state.perMinute / nodes, refusedMs: this.#nowMs(), nextMs, placed: true };
    this.#serve(state);
  }

  #shareAfterRefusal(state: Api, nowMs: number): number {
    const { answered } = this.#minuteOf(state);
    const first = answered === 0 ? FIRST_SHARE : SHARE_AFTER_REFUSAL * answered;
    if (state.share === null) return this.#isSpread(state) ? Math.max(SPREAD_SHARE, first) : first;
    return Math.max(LEAST_SHARE, SHARE_AFTER_REFUSAL * this.#shareNow(state.share, nowMs));
  }

  #shareNow({ perMinute, refusedMs, placed }: NonNullable<Api['share']>, nowMs: number): number {
    if (placed === true) return perMinute;
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
  }

  /** Nobody waits any more. */
  #rest(state: Api): void {
    if (state.waiting.size > 0 || state.background.length > 0 || state.timer === null) return;
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
        this.#later(state, waitMs);
        return;
      }
      state.waiting.delete(who);
      if (others.length > 0) state.waiting.set(who, others); // at the end of the line
      first?.go();
    }
    for (let [next] = state.background; next !== undefined; [next] = state.background) {
      const waitMs = this.#backgroundWaitMs(state, next) || this.#drawn(state);
      if (waitMs > 0) {
        this.#later(state, waitMs);
        return;
      }
      state.background.shift();
      state.backgroundMs = this.#nowMs() + (0.5 + this.#fraction()) * this.#backgroundGapMs(state);
      next.go();
    }
  }

  #later(state: Api, waitMs: number): void {
    const againMs = this.#scaled(CROWD_MS);
    const asks = state.isMaking && state.share?.placed === true && waitMs > againMs && this.#crowd.asks;
    const goOn = asks ? () => void this.#joinCrowd(state).then(() => this.#serve(state)) : () => this.#serve(state);
    state.timer = this.#timers.setTimeout(goOn, Math.ceil(asks ? againMs : waitMs));
  }

  /** The time in which every node may make one call that nobody waits for. */
  #backgroundGapMs({ isLook, perMinute }: Api): number {
    return this.#togetherMs(perMinute) / (isLook ? BACKGROUND_SHARE : 1);
  }

  /** The time in which every node may make one call; 0 when they are so few that it does not matter. */
  #togetherMs(perMinute: number): number {
    const minutes = this.#fleet() / perMinute;
    return minutes * FIRST_LOOKS <= 1 ? 0 : minutes * this.#minuteMs;
  }

  #isSpread({ isLook, perMinute }: Api): boolean {
    return isLook && !this.#hurried && this.#togetherMs(perMinute) > 0;
  }

  #backgroundWaitMs({ backgroundMs }: Api, { sinceMs }: Waiter): number {
    const calmMs = this.#refusedMs + this.#scaled(BACKGROUND_CALM_MS * (0.75 + this.#place / 2));
    const patientMs = Math.min(calmMs, sinceMs + this.#scaled(BACKGROUND_MAX_MS));
    return Math.max(0, Math.max(backgroundMs, patientMs) - this.#nowMs());
  }

  /** When this life's looks begin. */
  #opensMs({ isLook, perMinute }: Api): number {
    if (this.#hurried || !isLook) return -Infinity;
    return this.#startMs + this.#place * USUAL_LOOKS * this.#togetherMs(perMinute);
  }

  /** 0: a token was taken; else how long until there is one. */
  #drawn(state: Api): number {
    const nowMs = this.#nowMs();
    const opensMs = Math.max(state.restUntilMs, this.#opensMs(state));
    if (nowMs < opensMs) return opensMs - nowMs;
    if (state.share !== null && nowMs - state.share.refusedMs > this.#scaled(SHARE_FORGOTTEN_MS)) state.share = null;
    if (state.share !== null && nowMs < state.share.nextMs) return state.share.nextMs - nowMs;
    const size = sizeOf(state.perMinute);
    const perMs = Math.max(1, state.perMinute - size) / this.#minuteMs;
    state.tokens = Math.min(size, state.tokens + Math.max(0, nowMs - state.atMs) * perMs);
    state.atMs = nowMs;
    if (state.tokens < 1) return (1 - state.tokens) / perMs;
    state.tokens -= 1;
    if (state.share !== null) {
      const gapMs = this.#minuteMs / this.#shareNow(state.share, nowMs);
      state.share.nextMs = nowMs + gapMs * (state.share.placed === true ? 1 : 0.5 + this.#fraction());
    }
    return 0;
  }
}

/** One second's worth, and at least one call. */
const sizeOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / 60));
