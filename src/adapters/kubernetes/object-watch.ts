/**
 * Follows objects of one kind: list, watch from the list's version, and again from the last version seen when a watch ends.
 *
 * Between two watches there is always a pause, since a server or proxy that closes at once must not be asked in a busy loop: it
 * doubles while watches are short and starts over after one that has lived for a while.
 *
 * How long a change may go unnoticed when a connection dies silently: `watchSeconds` (the server's own timeout for a watch) and
 * `silenceMarginMs`, together 5.5 minutes, and a pause. Whatever else may be lost is found by the list that is made anew every `relistMs`.
 * Source: Kubernetes API concepts, "Efficient detection of changes"; client-go reflector.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { failureOf } from '../../core/errors.ts';
import type { ApiClient } from './api-client.ts';
import { isAhead, isGone, KubernetesError } from './kubernetes-error.ts';

export type WatchPace = {
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** A watch that lived this long was no failure. */
  readonly steadyMs: number;
  /** Asked of the server for each watch. */
  readonly watchSeconds: number;
  /** A connection that is silent for this much longer than the watch was to live is dead. */
  readonly silenceMarginMs: number;
  /** All objects are listed anew when a watch ends this long after the last list. */
  readonly relistMs: number;
  /** Uniform in [0, 1). */
  readonly fraction: () => number;
};

/** What is watched, and how one of it is read. */
export type Watched<T> = {
  /** For messages: `pods`. */
  readonly what: string;
  readonly path: string;
  readonly fieldSelector: string;
  /** All there are, at one version. */
  readonly list: (signal: AbortSignal) => Promise<{ readonly version: string; readonly items: readonly T[] }>;
  readonly read: (json: unknown) => T;
};

/** As PodWatchEvent of the port, for any kind. */
export type WatchEvent<T> =
  | { readonly type: 'synced'; readonly items: readonly T[] }
  | { readonly type: 'changed' | 'gone'; readonly item: T };

export class ObjectWatch<T> {
  readonly #client: ApiClient;
  readonly #watched: Watched<T>;
  readonly #onEvent: (event: WatchEvent<T>) => void | Promise<void>;
  readonly #pace: WatchPace;
  /** Where the next watch starts; null: list first. */
  #version: string | null = null;
  #listedMs = 0;

  constructor(
    client: ApiClient,
    watched: Watched<T>,
    onEvent: (event: WatchEvent<T>) => void | Promise<void>,
    pace: WatchPace,
  ) {
    this.#client = client;
    this.#watched = watched;
    this.#onEvent = onEvent;
    this.#pace = pace;
  }

  /** Resolves when `signal` fires. `onTrouble` hears of each failure, and null when the watch is open again. */
  async run(signal: AbortSignal, onTrouble: (why: string | null) => void): Promise<void> {
    let short = 0;
    let away = false;
    const opened = (): void => {
      if (away) onTrouble(null);
      away = false;
    };
    while (!signal.aborted) {
      const startMs = performance.now();
      try {
        await this.#follow(signal, opened);
      } catch (error) {
        if (signal.aborted) return;
        // What the reader has missed is not known, unless it is the connection alone that failed.
        if (isGone(error) || isAhead(error) || !(error instanceof KubernetesError)) this.#version = null;
        away = true;
        onTrouble(failureOf(error).detail);
      }
      short = performance.now() - startMs >= this.#pace.steadyMs ? 0 : short + 1;
      await this.#pause(short, signal);
    }
  }

  async #follow(signal: AbortSignal, opened: () => void): Promise<void> {
    const { path, fieldSelector, list } = this.#watched;
    if (this.#version === null || performance.now() - this.#listedMs >= this.#pace.relistMs) {
      this.#listedMs = performance.now();
      const { version, items } = await list(signal);
      await this.#onEvent({ type: 'synced', items });
      this.#version = version;
    }
    const call = {
      method: 'GET',
      path,
      query: {
        watch: true,
        allowWatchBookmarks: true,
        fieldSelector,
        resourceVersion: this.#version,
        timeoutSeconds: this.#pace.watchSeconds,
      },
    } as const;
    const silenceMs = this.#pace.watchSeconds * 1_000 + this.#pace.silenceMarginMs;
    for await (const line of this.#client.lines(call, silenceMs, signal, opened)) await this.#take(line);
  }

  async #take(line: string): Promise<void> {
    const { type, object } = watchLine(line);
    if (type === 'ERROR') {
      const { code = 0, reason = '', message = '' } = statusSchema.parse(object);
      throw new KubernetesError(`watch of ${this.#watched.what}: ${code} ${reason} ${message}`, code, reason);
    }
    if (type !== 'BOOKMARK')
      await this.#onEvent({ type: type === 'DELETED' ? 'gone' : 'changed', item: this.#watched.read(object) });
    this.#version = versionSchema.parse(object).metadata.resourceVersion;
  }

  async #pause(short: number, signal: AbortSignal): Promise<void> {
    const { firstPauseMs, maxPauseMs, fraction } = this.#pace;
    const fullMs = Math.min(firstPauseMs * 2 ** Math.min(short, 30), maxPauseMs);
    await wait(fullMs * (0.5 + fraction() / 2), undefined, { signal }).catch(() => {});
  }
}

const lineSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.unknown(),
});
const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const statusSchema = z.object({
  code: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

/** A line that is no watch event makes the watcher list anew: what it has missed cannot be known. */
function watchLine(line: string): z.infer<typeof lineSchema> {
  return lineSchema.parse(JSON.parse(line));
}
