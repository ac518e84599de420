/**
 * Port Credentials over an ordered list of sources. The first that is configured is taken, anew at each renewal; a failure of it is told,
 * and never covered by the next, which may be allowed other things.
 *
 * Nothing runs by itself: whoever asks within the last part of a key's life starts its renewal, and goes on with the old one. All who
 * ask while there is none wait for the same renewal. So it needs a clock, and no timer.
 *
 * `@alicloud/credentials` is not used for this: it takes whatever ends within 15 minutes for stale (and then asks at every call, each
 * caller by itself), has the metadata service's address built in, and asks for https from STS.
 */
import { EnactorError } from '../../core/errors.ts';
import { lastUseMs, renewalWaitMs, renewFromMs } from '../../core/renewal.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AccessKey, Credentials, CredentialsReport } from '../../ports/credentials.ts';
import type { Entropy } from '../../ports/entropy.ts';
import type { CredentialSource } from './source.ts';

/** One renewal, whoever waits for it. */
const RENEWAL_TIMEOUT_MS = 15_000;

type Held = {
  readonly key: AccessKey;
  readonly source: CredentialSource;
  readonly obtainedMs: number;
  /** Infinity: never. */
  readonly renewFromMs: number;
  readonly lastUseMs: number;
};

type RenewalFailure = { readonly sinceMs: number; readonly times: number; readonly error: EnactorError };

export type CredentialsOptions = {
  readonly sources: readonly CredentialSource[];
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly timeoutMs?: number;
  /** A signal that fires after a time; Node's own by default. */
  readonly timeout?: (ms: number) => AbortSignal;
  /** Told of what changes: another source, a renewal, the first of some failures. */
  readonly told?: (what: CredentialsNews) => void;
};

export type CredentialsNews =
  | { readonly what: 'renewed'; readonly source: string; readonly from: string; readonly untilMs: number | null }
  | { readonly what: 'failed'; readonly why: string };

type Rest = { readonly fromMs: number; readonly untilMs: number };

const noRest: Rest = { fromMs: 0, untilMs: 0 };

export class RenewingCredentials implements Credentials {
  readonly #options: CredentialsOptions;
  #held: Held | null = null;
  #refused: AccessKey | null = null;
  #renewal: Promise<Held> | null = null;
  #failure: RenewalFailure | null = null;
  /** The source that the last renewal found, be it that it failed. */
  #source: CredentialSource | null = null;
  /** Its giver is not asked then. A clock that is set back before the beginning ends it. */
  #rest: Rest = noRest;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  async current(signal: AbortSignal): Promise<AccessKey> {
    const nowMs = this.#options.clock.nowMs();
    const held = this.#held;
    const rests = nowMs >= this.#rest.fromMs && nowMs < this.#rest.untilMs;
    const mayRenew = this.#renewal !== null || !rests;
    if (held !== null && this.#refused === held.key) {
      // In between, what the cloud says to the old one is told: nobody knows better why.
      return mayRenew ? await this.#renewed(signal).catch(cancelledOr(held.key)) : held.key;
    }
    if (held !== null && nowMs < held.lastUseMs) {
      if (nowMs >= held.renewFromMs && mayRenew) this.#renew().catch(() => {});
      return held.key;
    }
    if (mayRenew) return await this.#renewed(signal);
    throw this.#failure?.error ?? new EnactorError('credentials', 'credentials: none yet');
  }

  refused(key: AccessKey): void {
    // Another caller's refusal may have led to new ones meanwhile.
    if (this.#held === null || !this.#held.key.isSame(key) || this.#refused === this.#held.key) return;
    this.#refused = this.#held.key;
    this.#rest = noRest;
  }

  report(): CredentialsReport {
    const { key, obtainedMs } = this.#held ?? { key: null, obtainedMs: null };
    const failure = this.#failure;
    return {
      source: this.#source?.name ?? null,
      from: this.#source?.from ?? null,
      obtainedMs,
      untilMs: key?.untilMs ?? null,
      failure:
        failure === null
          ? null
          : { sinceMs: failure.sinceMs, times: failure.times, why: failure.error.detail.slice(0, 500) },
    };
  }

  async #renewed(signal: AbortSignal): Promise<AccessKey> {
    return (await unlessAborted(this.#renew(), signal)).key;
  }

  /** One for all: no caller's signal ends it. */
  #renew(): Promise<Held> {
    this.#renewal ??= this.#obtain().finally(() => {
      this.#renewal = null;
    });
    this.#renewal.catch(() => {});
    return this.#renewal;
  }

  async #obtain(): Promise<Held> {
    const { clock, timeoutMs = RENEWAL_TIMEOUT_MS, timeout = (ms) => AbortSignal.timeout(ms) } = this.#options;
    try {
      const signal = timeout(timeoutMs);
      const source = await this.#firstThere(signal);
      this.#source = source;
      const key = await source.obtain(signal).catch((thrown: unknown) => {
        throw new Error(`${source.from}: ${reasonOf(thrown, timeoutMs)}`);
      });
      const held = this.#lived(source, key, clock.nowMs());
      this.#took(held);
      return held;
    } catch (thrown) {
      throw this.#failed(thrown instanceof Error ? thrown.message : String(thrown));
    }
  }

  async #firstThere(signal: AbortSignal): Promise<CredentialSource> {
    const { sources } = this.#options;
    for (const source of sources) {
      if (await source.isThere(signal)) return source;
    }
    throw new Error(`none is configured; looked for: ${sources.map((source) => source.from).join(', ')}`);
  }

  #lived(source: CredentialSource, key: AccessKey, obtainedMs: number): Held {
    const { untilMs } = key;
    const lookAgainMs = source.lookAgainMs === null ? Infinity : obtainedMs + source.lookAgainMs;
    if (untilMs === null) return { key, source, obtainedMs, renewFromMs: lookAgainMs, lastUseMs: Infinity };
    const old = this.#held;
    // The same one again has the life that it had.
    const bornMs = old?.key.isSame(key) ? old.obtainedMs : obtainedMs;
    const life = { obtainedMs: bornMs, untilMs };
    const fromMs = Math.min(lookAgainMs, renewFromMs(life, this.#options.entropy.fraction()));
    // What ends before it arrives says that one of two clocks is wrong. The cloud, whose clock counts, may yet take it.
    const endMs = untilMs <= obtainedMs ? Infinity : lastUseMs(life);
    return { key, source, obtainedMs: bornMs, renewFromMs: fromMs, lastUseMs: endMs };
  }

  #took(held: Held): void {
    const { clock, entropy, told } = this.#options;
    const old = this.#held;
    const isNew = old === null || !old.key.isSame(held.key) || old.source.name !== held.source.name;
    this.#held = held;
    if (!isNew && this.#refused !== null) {
      this.#refused = held.key;
      this.#failed('its giver still has the ones that the cloud refuses');
      return;
    }
    this.#refused = null;
    this.#failure = null;
    const lifeMs = held.key.untilMs === null ? null : held.key.untilMs - held.obtainedMs;
    // Its giver may have no newer ones yet: it is not asked at every call.
    const nowMs = clock.nowMs();
    this.#rest = isNew ? noRest : { fromMs: nowMs, untilMs: nowMs + renewalWaitMs(1, lifeMs, entropy.fraction()) };
    const { name: source, from } = held.source;
    if (isNew) told?.({ what: 'renewed', source, from, untilMs: held.key.untilMs });
  }

  #failed(why: string): EnactorError {
    const { clock, entropy, told } = this.#options;
    const nowMs = clock.nowMs();
    const times = (this.#failure?.times ?? 0) + 1;
    const { key, obtainedMs } = this.#held ?? { key: null, obtainedMs: 0 };
    const lifeMs = key?.untilMs == null ? null : key.untilMs - obtainedMs;
    this.#rest = { fromMs: nowMs, untilMs: nowMs + renewalWaitMs(times, lifeMs, entropy.fraction()) };
    const error = new EnactorError('credentials', `credentials: ${why}`);
    this.#failure = { sinceMs: this.#failure?.sinceMs ?? nowMs, times, error };
    if (times === 1) told?.({ what: 'failed', why });
    return error;
  }
}

function cancelledOr(key: AccessKey): (thrown: unknown) => AccessKey {
  return (thrown) => {
    if (thrown instanceof EnactorError && thrown.code === 'cancelled') throw thrown;
    return key;
  };
}

function reasonOf(thrown: unknown, timeoutMs: number): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.name === 'TimeoutError' || thrown.name === 'AbortError') return `no answer within ${timeoutMs} ms`;
  return thrown instanceof EnactorError ? thrown.detail : thrown.message;
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = () => reject(new EnactorError('cancelled', 'the call was given up while it waited for credentials'));
    signal.addEventListener('abort', cancel, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
    if (signal.aborted) cancel();
  });
}
